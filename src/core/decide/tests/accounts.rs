use super::{
    ledger::used,
    world::{Shown, World, main_chat},
};
use crate::{
    account::{Budgets, Scope, Wanted},
    agent::{AgentEvent, OrderKind},
    bridge::Level,
    command::{Command, Refusal, Reply},
    outage::GO_ON,
};

/// Millionths of a dollar, as tokens of output of the model that has a price.
fn pays(w: &mut World, name: &str, message: &str, micro_usd: u64) {
    let entries = vec![used(message, micro_usd / 10)];
    w.report(name, AgentEvent::Usage { entries });
}

fn world(mut budgets: Budgets, names: &[&str]) -> World {
    let mut w = World::new();
    budgets.turn = 100;
    w.state.rules.budgets = budgets;
    for name in names {
        w.start(name);
    }
    w
}

fn interrupts(w: &World, name: &str) -> usize {
    let id = w.id(name);
    let ours = |(session, order): &&(_, crate::agent::Order)| {
        *session == id && order.what == OrderKind::Interrupt
    };
    w.orders.iter().filter(ours).count()
}

fn works(w: &mut World, name: &str, text: &str) {
    w.writes(&format!("[{name}] {text}"));
    w.takes(name);
}

fn budget(w: &mut World, name: &str, wanted: Wanted) -> String {
    let (name, wanted) = (Some(name.into()), Some(wanted));
    match w.ask(Command::Budget { name, wanted }) {
        Ok(Reply::Done { words }) => words,
        other => panic!("expected words, found {other:?}"),
    }
}

#[test]
fn people_are_warned_once_and_the_turn_is_stopped_at_the_limit() {
    let mut w = world(Budgets { session: Some(1000), ..Budgets::default() }, &["PD-1"]);
    works(&mut w, "PD-1", "go");
    pays(&mut w, "PD-1", "a", 790);
    assert!(!w.said("is spent"));
    pays(&mut w, "PD-1", "b", 10);
    assert_eq!(w.level_of("is spent. At the limit"), Level::Note);
    pays(&mut w, "PD-1", "c", 100);
    assert_eq!(interrupts(&w, "PD-1"), 0);
    pays(&mut w, "PD-1", "d", 100);
    assert_eq!(interrupts(&w, "PD-1"), 1);
    assert_eq!(w.level_of("Its turn is stopped"), Level::Ring);
    let said = w.shown.len();
    pays(&mut w, "PD-1", "e", 100);
    assert_eq!(interrupts(&w, "PD-1"), 1, "it is on its way");
    assert_eq!(w.shown.len(), said, "said once");
}

#[test]
fn a_turn_begins_only_when_its_dearest_so_far_fits_into_what_is_left() {
    let mut w = world(Budgets { session: Some(1000), ..Budgets::default() }, &["PD-1"]);
    works(&mut w, "PD-1", "first");
    pays(&mut w, "PD-1", "a", 600);
    w.finishes("PD-1", "Done.");
    let message = w.writes("[PD-1] second");
    assert_eq!(w.handed("PD-1"), ["first"]);
    assert_eq!(w.level_of("Does it go on with as much again?"), Level::Ring);
    let mark = format!("{:?}", w.mark(&message));
    assert!(mark.contains("/budget PD-1 more lets it go on"), "{mark}");
    let rings = w.shown.len();
    w.writes("[PD-1] third");
    w.crash();
    w.state.rules.budgets = Budgets { session: Some(1000), turn: 100, ..Budgets::default() };
    w.writes("[PD-1] fourth");
    let asked = |w: &World| w.shown.iter().filter(|s| s.text().contains("as much again?")).count();
    assert_eq!(asked(&w), 1, "asked once, over a start as well: {rings}");
    w.taps("As much again");
    assert_eq!(w.handed("PD-1"), ["first", "second"], "the line goes on where it stood");
}

#[test]
fn two_turns_never_begin_on_the_same_money() {
    let day = Budgets { day: Some(1000), ..Budgets::default() };
    let mut w = world(day, &["PD-1", "PD-2"]);
    works(&mut w, "PD-1", "go");
    pays(&mut w, "PD-1", "a", 500);
    w.finishes("PD-1", "Done.");
    works(&mut w, "PD-2", "go");
    w.writes("[PD-1] again");
    // 500 are spent, 100 set aside for PD-2, and a turn of PD-1 costs 500: it waits and nobody is asked.
    assert_eq!(w.handed("PD-1"), ["go"]);
    assert!(!w.said("as much again?"));
    w.finishes("PD-2", "Done.");
    assert_eq!(w.handed("PD-1"), ["go", "again"], "what was set aside is free");
}

#[test]
fn what_is_handed_over_and_not_taken_yet_has_its_money_set_aside() {
    let mut w = world(Budgets { day: Some(150), ..Budgets::default() }, &["PD-1", "PD-2"]);
    w.writes("[PD-1] go");
    w.writes("[PD-2] go");
    assert_eq!((w.handed("PD-1").len(), w.handed("PD-2").len()), (1, 0));
    assert!(!w.said("as much again?"), "it goes in once the other turned out cheap");
    w.takes("PD-1");
    w.finishes("PD-1", "Done.");
    assert_eq!(w.handed("PD-2").len(), 1);
}

#[test]
fn a_story_is_all_its_sessions_and_a_tree_all_that_was_started() {
    let story = Budgets { story: Some(1000), ..Budgets::default() };
    let mut w = world(story, &["PD-1-a", "PD-1-b", "PD-2"]);
    for name in ["PD-1-a", "PD-1-b", "PD-2"] {
        works(&mut w, name, "go");
    }
    pays(&mut w, "PD-1-a", "a", 600);
    pays(&mut w, "PD-1-b", "b", 600);
    assert_eq!([1, 1, 0], ["PD-1-a", "PD-1-b", "PD-2"].map(|name| interrupts(&w, name)));
    assert!(w.said("for the story PD-1 is spent"));

    let mut w = world(Budgets { tree: Some(1000), ..Budgets::default() }, &["PD-1"]);
    w.child("PD-1", "PD-7");
    works(&mut w, "PD-1", "go");
    pays(&mut w, "PD-7", "a", 1000);
    assert_eq!(interrupts(&w, "PD-1"), 1);
    assert!(w.said("for PD-1 and all it started is spent"));
}

#[test]
fn a_new_day_begins_in_its_zone_with_all_its_money() {
    let zone = crate::ledger::Zone::Pacific__Kiritimati;
    let day = Budgets { day: Some(1000), zone, ..Budgets::default() };
    let mut w = world(day, &["PD-1"]);
    works(&mut w, "PD-1", "go");
    pays(&mut w, "PD-1", "a", 1000);
    w.finishes("PD-1", "Done.");
    w.writes("[PD-1] again");
    assert_eq!(w.handed("PD-1"), ["go"]);
    let today = w.now.with_timezone(&zone).date_naive();
    while w.now.with_timezone(&zone).date_naive() == today {
        w.now += chrono::TimeDelta::hours(1);
    }
    // Its dearest turn is a whole day's money, which a new day has.
    w.step(crate::decide::Event::Tick);
    assert_eq!(w.handed("PD-1"), ["go", "again"]);
}

#[test]
fn a_person_sets_what_a_session_or_story_may_cost() {
    let mut w = world(Budgets::default(), &["PD-1", "docs"]);
    let words = budget(&mut w, "PD-1", Wanted::Usd { micro_usd: 2_500_000 });
    assert_eq!(words, "the story PD-1 may cost $2.50; $0.00 is spent.");
    let words = budget(&mut w, "docs", Wanted::Usd { micro_usd: 1000 });
    assert_eq!(words, "docs may cost $0.001; $0.00 is spent.");
    works(&mut w, "docs", "go");
    pays(&mut w, "docs", "a", 1000);
    assert_eq!(interrupts(&w, "docs"), 1);
    w.report("docs", AgentEvent::Interrupted { turn: None });
    w.doing("docs", crate::agent::Doing::Idle);
    w.crash();
    w.state.rules.budgets.turn = 100;
    w.writes("[docs] again");
    assert_eq!(w.handed("docs"), ["go"], "its limit is a row");
    budget(&mut w, "docs", Wanted::More);
    w.step(crate::decide::Event::Tick);
    assert_eq!(w.handed("docs"), ["go", GO_ON], "the turn that was stopped goes on first");
    w.takes("docs");
    w.finishes("docs", "Done.");
    assert_eq!(w.handed("docs"), ["go", GO_ON, "again"]);
    let words = budget(&mut w, "docs", Wanted::NoLimit);
    assert_eq!(words, "docs may cost as much as it takes; under $0.01 is spent.");
    let none = w.ask(Command::Budget { name: Some("PX".into()), wanted: Some(Wanted::More) });
    assert!(matches!(none, Err(Refusal::NoSession { .. })), "{none:?}");
}

/// What lists say of it.
fn limited(w: &mut World, name: &str) -> Option<crate::outage::LimitedView> {
    let id = w.id(name);
    let Ok(Reply::Sessions(views)) = w.ask(Command::Sessions) else { panic!("sessions") };
    views.into_iter().find(|view| view.session.id == id).unwrap().limited
}

fn kept(w: &mut World, name: &str) -> Option<String> {
    let (session, text, form) = (name.into(), "more".into(), crate::agent::PromptForm::Text);
    match w.ask(Command::Send { session, text, form }) {
        Ok(Reply::Stored { kept, .. }) => kept,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_session_without_money_is_seen_everywhere_and_goes_on_where_it_was() {
    let mut w = world(Budgets { session: Some(50_000), ..Budgets::default() }, &["docs"]);
    works(&mut w, "docs", "go");
    pays(&mut w, "docs", "a", 60_000);
    assert_eq!(limited(&mut w, "docs"), None, "its turn still runs");
    w.report("docs", AgentEvent::Interrupted { turn: None });
    w.doing("docs", crate::agent::Doing::Idle);
    let view = limited(&mut w, "docs").unwrap();
    assert_eq!(
        view.sentence(),
        "docs has used up its money ($0.06 of $0.05); budget docs more lets it go on"
    );
    assert_eq!(
        kept(&mut w, "docs").unwrap(),
        "docs has used up its money ($0.06 of $0.05); vigie budget docs more lets it go on"
    );
    w.writes("/status");
    let text = w.last().text();
    assert!(text.contains("limited") && text.contains("$0.06 of $0.05 spent"), "{text}");
    w.writes("/waiting");
    let text = w.last().text();
    assert!(text.contains("docs has used up its money"), "{text}");
    w.writes("/digest");
    let text = w.last().text();
    assert!(text.contains("docs: $0.06 of $0.05 for docs is spent"), "{text}");
    assert_eq!(w.handed("docs"), ["go"]);
    w.crash();
    w.state.rules.budgets = Budgets { session: Some(50_000), turn: 100, ..Budgets::default() };
    assert!(limited(&mut w, "docs").is_some(), "after a start as well");
    w.taps("As much again");
    assert_eq!(w.handed("docs"), ["go", GO_ON]);
    w.takes("docs");
    w.finishes("docs", "Done.");
    assert_eq!(w.handed("docs"), ["go", GO_ON, "more"]);
}

#[test]
fn whoever_stops_a_turn_at_its_budget_does_not_have_it_go_on() {
    let mut w = world(Budgets { session: Some(1000), ..Budgets::default() }, &["docs"]);
    works(&mut w, "docs", "go");
    pays(&mut w, "docs", "a", 1000);
    w.writes("/stop docs");
    w.report("docs", AgentEvent::Interrupted { turn: None });
    w.doing("docs", crate::agent::Doing::Idle);
    budget(&mut w, "docs", Wanted::More);
    assert_eq!(w.handed("docs"), ["go"]);
}

#[test]
fn what_is_told_of_money_is_as_loud_as_limits_are() {
    use crate::ringing::{Kind, Loudness};
    let mut w = world(Budgets { session: Some(1000), ..Budgets::default() }, &["docs"]);
    w.state.rules.ringing.levels.insert(Kind::Limit, Loudness::Note);
    works(&mut w, "docs", "go");
    pays(&mut w, "docs", "a", 1000);
    assert_eq!(w.level_of("as much again?"), Level::Note);
}

#[test]
fn a_day_that_keeps_a_session_is_let_go_on_by_the_sessions_name() {
    let mut w = world(Budgets { day: Some(1000), ..Budgets::default() }, &["docs"]);
    works(&mut w, "docs", "go");
    pays(&mut w, "docs", "a", 950);
    w.finishes("docs", "Done.");
    w.writes("[docs] again");
    assert_eq!(w.handed("docs"), ["go"]);
    let day = w.now.format("%Y-%m-%d").to_string();
    assert_eq!(budget(&mut w, "docs", Wanted::More), format!("Now $0.002 for the day {day}."));
    assert_eq!(w.handed("docs"), ["go", "again"]);
    assert_eq!(
        budget(&mut w, "day", Wanted::Usd { micro_usd: 5_000_000 }),
        format!("the day {day} may cost $5.00; under $0.01 is spent.")
    );
    assert_eq!(
        budget(&mut w, "docs", Wanted::More),
        "docs has no limit that more would raise; under $0.01 is spent."
    );
}

#[test]
fn more_for_the_day_is_no_more_for_the_stories_that_have_used_up_theirs() {
    let budgets = Budgets { day: Some(5000), story: Some(1000), ..Budgets::default() };
    let mut w = world(budgets, &["PD-1", "PD-2"]);
    for name in ["PD-1", "PD-2"] {
        works(&mut w, name, "go");
        pays(&mut w, name, name, 1000);
        w.report(name, AgentEvent::Interrupted { turn: None });
        w.doing(name, crate::agent::Doing::Idle);
    }
    let words = budget(&mut w, "day", Wanted::More);
    assert!(words.ends_with("may cost $0.01; under $0.01 is spent."), "{words}");
    w.step(crate::decide::Event::Tick);
    assert_eq!((w.handed("PD-1").len(), w.handed("PD-2").len()), (1, 1), "both still ask");
    let limits = w.state.accounts.values().filter(|it| it.renewed > 0);
    assert_eq!(limits.count(), 1, "the day's alone");
}

#[test]
fn a_day_that_is_used_up_is_over_at_its_midnight_though_nothing_else_happens() {
    let mut w = world(Budgets { day: Some(1000), ..Budgets::default() }, &["docs"]);
    works(&mut w, "docs", "go");
    pays(&mut w, "docs", "a", 950);
    w.finishes("docs", "Done.");
    w.writes("[docs] again");
    let next = crate::decide::next_deadline(&w.state).unwrap();
    assert!(next <= w.now + chrono::TimeDelta::days(1), "{next}");
    w.wait(chrono::TimeDelta::days(1));
    assert_eq!(w.handed("docs"), ["go", "again"]);
}

#[test]
fn who_may_not_approve_may_not_spend() {
    let mut w = world(Budgets { session: Some(100), ..Budgets::default() }, &["docs"]);
    works(&mut w, "docs", "go");
    pays(&mut w, "docs", "a", 100);
    let scope = Scope::Session { session: w.id("docs") };
    let before = w.state.accounts[&scope].clone();
    w.writes_as("mate", &main_chat(), "/budget docs more", None);
    assert!(w.last().text().contains("may not decide what may be spent"));
    assert_eq!(w.state.accounts[&scope], before);
}

#[test]
fn costs_are_told_in_a_chat_by_day_and_story() {
    let mut w = world(Budgets { day: Some(5_000_000), ..Budgets::default() }, &["PD-1-a"]);
    works(&mut w, "PD-1-a", "go");
    pays(&mut w, "PD-1-a", "a", 1_230_000);
    w.writes("/cost");
    let text = w.last().text();
    let day = w.now.format("%Y-%m-%d");
    assert!(text.contains(&format!("the day {day}: $1.23 of $5.00")), "{text}");
    assert!(text.contains("the story PD-1: $1.23"), "{text}");
    assert!(text.contains("PD-1-a: $1.23, 0 tokens in, 123,000 out, 0 through caches"), "{text}");
    w.writes("/budget PD-1 3");
    assert!(w.last().text().contains("the story PD-1 may cost $3.00"), "{}", w.last().text());
    w.writes("/budget PD-1 a lot");
    assert!(w.last().text().contains("such as /budget PD-285 5"), "{}", w.last().text());
}

#[test]
fn what_an_agent_without_records_tells_counts_until_its_records_are_read() {
    let mut w = world(Budgets { day: Some(1000), ..Budgets::default() }, &["docs", "other"]);
    works(&mut w, "docs", "go");
    pays(&mut w, "other", "a", 100);
    let cost = |micro_usd| AgentEvent::Cost { micro_usd, input_tokens: 1, output_tokens: 1 };
    w.report("docs", cost(400));
    w.report("docs", cost(500));
    let day = |w: &World| {
        let days = w.state.accounts.values().filter(|a| matches!(a.scope, Scope::Day { .. }));
        days.map(|account| account.micro_usd).collect::<Vec<_>>()
    };
    assert_eq!(day(&w), [600]);
    pays(&mut w, "docs", "b", 300);
    assert_eq!(day(&w), [400]);
    pays(&mut w, "docs", "c", 600);
    assert_eq!(interrupts(&w, "docs"), 1);
}

#[test]
fn a_second_tap_on_the_same_question_adds_nothing() {
    let mut w = world(Budgets { session: Some(1000), ..Budgets::default() }, &["PD-1"]);
    works(&mut w, "PD-1", "go");
    pays(&mut w, "PD-1", "a", 1000);
    w.report("PD-1", AgentEvent::Interrupted { turn: None });
    w.doing("PD-1", crate::agent::Doing::Idle);
    let limit = |w: &World| {
        let id = w.id("PD-1");
        w.state.limit_of(&w.state.accounts[&Scope::Session { session: id }])
    };
    w.taps("As much again");
    let once = limit(&w);
    assert!(once > Some(1000), "{once:?}");
    w.wait(chrono::TimeDelta::seconds(10));
    w.takes("PD-1"); // it goes on by itself, and what it is expected to cost is set aside
    w.taps("As much again");
    assert_eq!(limit(&w), once);
}

#[test]
fn another_agent_goes_on_with_the_money_that_is_left() {
    let mut w = world(Budgets { session: Some(1000), ..Budgets::default() }, &["PD-1"]);
    works(&mut w, "PD-1", "go");
    pays(&mut w, "PD-1", "a", 1000);
    let command = Command::HandOver { session: "PD-1".into(), agent: "claude".into() };
    w.ask(command).unwrap();
    w.exits("PD-1", 0);
    w.comes_up("PD-1");
    assert!(w.handed("PD-1").is_empty(), "nothing is left for it: {:?}", w.handed("PD-1"));
}

#[test]
fn more_in_words_is_for_whatever_keeps_that_session() {
    let mut w = world(Budgets { session: Some(1000), ..Budgets::default() }, &["PD-1"]);
    works(&mut w, "PD-1", "go");
    pays(&mut w, "PD-1", "a", 1000);
    w.report("PD-1", AgentEvent::Interrupted { turn: None });
    w.doing("PD-1", crate::agent::Doing::Idle);
    let handed = w.handed("PD-1").len();
    w.writes("[PD-1] go on");
    w.writes("/budget PD-1 more"); // the name of its story as well, which has no limit
    let texts: Vec<_> = w.shown.iter().map(Shown::text).collect();
    assert!(
        texts.iter().any(|text| text.starts_with("Now $") && text.contains("for PD-1.")),
        "{texts:?}"
    );
    w.wait(chrono::TimeDelta::seconds(10));
    assert_eq!(w.handed("PD-1").len(), handed + 1, "and it goes on");
}

#[test]
fn who_waits_for_money_keeps_nobody_of_their_account_waiting() {
    let mut w = world(Budgets { story: Some(1000), ..Budgets::default() }, &["PD-1", "PD-2"]);
    works(&mut w, "PD-1", "go");
    pays(&mut w, "PD-1", "a", 1000);
    w.report("PD-1", AgentEvent::Interrupted { turn: None });
    w.doing("PD-1", crate::agent::Doing::Idle);
    w.writes("[PD-1] again");
    works(&mut w, "PD-2", "go");
    let failed = AgentEvent::TurnFailed {
        turn: None,
        kind: crate::agent::FailureKind::Limit,
        text: "You've hit your session limit".into(),
    };
    w.wait(chrono::TimeDelta::seconds(1));
    w.report("PD-2", failed);
    w.doing("PD-2", crate::agent::Doing::Idle);
    let mut texts = w.shown.iter().map(crate::decide::tests::world::Shown::text);
    let held = texts.rfind(|text| text.contains("Held: ")).unwrap();
    assert!(held.contains("PD-1 (cut off, 1 message waits, and its money is spent)"), "{held}");
    assert!(held.contains("What waits for this alone goes on by itself then."), "{held}");
    let view = w.state.limited(w.state.session_named("PD-1").unwrap(), w.now).unwrap();
    assert_eq!(view.ends, crate::outage::Ends::BySomebody, "nothing hides it: {}", view.words);
    w.ask(Command::RetryAccount { account: None }).unwrap();
    w.takes("PD-2");
    w.finishes("PD-2", "Done.");
    w.wait(chrono::TimeDelta::seconds(10));
    assert!(w.state.troubles.is_empty(), "{:?}", w.state.troubles);
    w.writes("[PD-2] more");
    assert_eq!(w.handed("PD-2"), ["go", GO_ON, "more"], "at once");
    assert_eq!(w.handed("PD-1"), ["go"]);
}
