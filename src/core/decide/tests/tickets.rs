use chrono::TimeDelta;

use super::world::{World, agent_start};
use crate::{
    agent::{AgentEvent, Asked, AtDesk, Choice, Decision, Doing, ExitStatus, OrderKind, Settled},
    bridge::{CardState, Level, Mark},
    caller::{
        AgentCommand, AgentRefusal, AgentReply, AgentStart, Asking, Isolated, Multiple, Standing,
        StopHow, TicketView, TokenScope, Until, Wanted, WholeTree,
    },
    command::{Command, Refusal},
    decide::Event,
    gate::{Asker, GateState, Waits},
    id::{GateId, MailId, RequestId, TicketId},
    mail::{Mail, MailState, Offer, Recipient, Sender},
    state::Row,
};

fn ticket(reply: Result<AgentReply, AgentRefusal>) -> TicketView {
    match reply {
        Ok(AgentReply::Ticket(view)) => view,
        other => panic!("expected a ticket, found {other:?}"),
    }
}

fn waits(w: &mut World, by: &str, names: &[&str], until: Until) -> TicketView {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    ticket(w.call(by, AgentCommand::Wait { names, until }))
}

fn looks(w: &mut World, by: &str, id: TicketId) -> Standing {
    ticket(w.call(by, AgentCommand::Look { ticket: id })).standing
}

/// What holds it up.
fn held(w: &mut World, by: &str, id: TicketId) -> String {
    match looks(w, by, id) {
        Standing::Waiting { words } => words,
        other => panic!("expected to wait, found {other:?}"),
    }
}

/// The sessions it waited for, and what each said last.
fn done(standing: Standing) -> Vec<(String, Option<String>)> {
    match standing {
        Standing::Sessions { sessions } => {
            sessions.into_iter().map(|s| (s.name.to_string(), s.last_words)).collect()
        }
        other => panic!("expected sessions, found {other:?}"),
    }
}

fn asking(question: &str, options: &[&str]) -> Asking {
    let choice = |label: &&str| Choice { label: (*label).into(), description: String::new() };
    Asking {
        question: question.into(),
        header: "Store".into(),
        options: options.iter().map(choice).collect(),
        multiple: Multiple::No,
    }
}

fn asks(w: &mut World, by: &str, question: &str, options: &[&str]) -> (TicketId, GateId) {
    let view = ticket(w.call(by, AgentCommand::AskHuman(asking(question, options))));
    w.now += TimeDelta::seconds(5); // whoever answers has read it
    let Wanted::Answer { gate, .. } = view.ticket.what else { panic!("no question: {view:?}") };
    (view.ticket.id, gate)
}

fn answered(standing: Standing) -> Vec<String> {
    match standing {
        Standing::Answered { answer } => match answer.decision {
            Decision::Answers { answers } => answers,
            other => panic!("expected answers, found {other:?}"),
        },
        other => panic!("expected an answer, found {other:?}"),
    }
}

fn unanswered(standing: Standing) -> String {
    match standing {
        Standing::Unanswered { why } => why,
        other => panic!("expected no answer, found {other:?}"),
    }
}

/// The message with the answer is in this state; where none waits, one is.
fn mail_is(w: &mut World, gate: GateId, state: MailState) -> MailId {
    let known = w.state.mails.values().find(|mail| mail.answers == Some(gate)).cloned();
    let asked = w.state.gates[&gate].session().unwrap();
    let mail = known.unwrap_or_else(|| {
        let id = MailId::from_parts(w.now, 1);
        let name = w.state.sessions[&asked].name.clone();
        let number = w.state.next_mail;
        w.state.next_mail += 1;
        Mail {
            id,
            number,
            from: Sender::Vigie,
            to: Recipient::Session { session: asked, name },
            thread: id,
            reply_to: None,
            batch: id,
            text: "the answer".into(),
            key: None,
            sent: w.now,
            hops: 0,
            depth: 0,
            answers: Some(gate),
            tries: 0,
            state: state.clone(),
        }
    });
    let mail = Mail { state, ..mail };
    w.state.put(&Row::Mail(mail.clone()));
    mail.id
}

#[test]
fn a_wait_says_what_holds_it_up_until_the_work_is_done() {
    let mut w = World::with(&["PD-1"]);
    w.call("PD-1", AgentCommand::Start(agent_start("X-1"))).unwrap();
    let view = waits(&mut w, "PD-1", &["X-1"], Until::Idle);
    let id = view.ticket.id;
    w.now += TimeDelta::seconds(7);
    assert_eq!(held(&mut w, "PD-1", id), "X-1 starts since 7 s");
    w.comes_up("X-1");
    assert_eq!(held(&mut w, "PD-1", id), "X-1 has something new to read");
    w.takes("X-1");
    w.now += TimeDelta::minutes(3);
    assert_eq!(held(&mut w, "PD-1", id), "X-1 works since 3 min");
    w.asks_to_run("X-1", "r1", "make test");
    w.now += TimeDelta::minutes(4);
    let words = held(&mut w, "PD-1", id);
    assert!(words.starts_with("X-1 waits for a person since 4 min: "), "{words}");
    assert!(!words.contains("make test"), "{words}");
    w.taps("Approve");
    w.settled("X-1", "r1", Settled::Ours);
    w.crash();
    assert!(held(&mut w, "PD-1", id).starts_with("X-1 works since"), "also after a restart");
    w.finishes("X-1", "All tests pass.");
    let result = looks(&mut w, "PD-1", id);
    assert_eq!(done(result.clone()), [("X-1".to_owned(), Some("All tests pass.".to_owned()))]);
    assert_eq!(done(looks(&mut w, "PD-1", id)), done(result), "an answer that was lost is fetched");
}

#[test]
fn background_work_and_the_next_prompt_are_not_done() {
    let mut w = World::with(&["PD-1", "PD-2"]);
    w.writes("[PD-2] go");
    w.takes("PD-2");
    w.writes("[PD-2] and lint");
    let id = waits(&mut w, "PD-1", &["PD-2"], Until::Idle).ticket.id;
    let text = "started it".to_owned();
    w.report("PD-2", AgentEvent::Finished { turn: None, text, provisional: true });
    assert!(held(&mut w, "PD-1", id).contains("works"));
    w.finishes("PD-2", "done");
    assert!(held(&mut w, "PD-1", id).contains("something new to read"));
    w.takes("PD-2");
    w.finishes("PD-2", "linted");
    done(looks(&mut w, "PD-1", id));
}

#[test]
fn whatever_only_a_person_can_end_is_not_done() {
    let mut w = World::with(&["PD-1"]);
    w.child("PD-1", "X-1");
    w.child("PD-1", "X-2");
    let why = "a dialog is open".to_owned();
    w.doing("X-1", Doing::NeedsDesk { why, screen: vec![] });
    let cost = AgentEvent::Cost { micro_usd: 3_000_000, input_tokens: 1, output_tokens: 1 };
    w.report("X-2", cost);
    let id = waits(&mut w, "PD-1", &["X-1", "X-2"], Until::Idle).ticket.id;
    let words = held(&mut w, "PD-1", id);
    assert!(words.contains("X-1 waits for a person since 0 s: needs a person at the desk"));
    assert!(words.contains("X-2 waits for a person since 0 s: has used up"), "{words}");
}

#[test]
fn ended_and_lost_count_as_done_and_an_end_is_waited_for() {
    let mut w = World::with(&["PD-1"]);
    w.child("PD-1", "X-1");
    w.child("PD-1", "X-2");
    let id = waits(&mut w, "PD-1", &["X-1", "x-1", "X-2"], Until::Ended).ticket.id;
    let words = held(&mut w, "PD-1", id);
    assert_eq!(words, "X-1 is idle since 0 s; X-2 is idle since 0 s");
    w.exits("X-1", 0);
    assert_eq!(held(&mut w, "PD-1", id), "X-2 is idle since 0 s");
    w.report("X-2", AgentEvent::Exited { how: ExitStatus::Unknown, last: vec![] });
    assert_eq!(done(looks(&mut w, "PD-1", id)).len(), 2, "each once");
    let ended = waits(&mut w, "PD-1", &["X-1"], Until::Idle);
    assert_eq!(done(ended.standing).len(), 1, "at once");
}

#[test]
fn one_waits_for_what_one_sees_and_not_for_oneself() {
    let mut w = World::with(&["PD-1", "PD-2"]);
    let apart = AgentStart { isolated: Isolated::Yes, ..agent_start("R-1") };
    w.call("PD-1", AgentCommand::Start(apart)).unwrap();
    w.comes_up("R-1");
    waits(&mut w, "PD-1", &["R-1"], Until::Idle);
    let wait = |names: &[&str]| AgentCommand::Wait {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        until: Until::Idle,
    };
    let refusal = w.call("PD-2", wait(&["R-1"])).unwrap_err();
    assert!(matches!(refusal, AgentRefusal::Same(Refusal::NoSession { .. })));
    assert!(w.call("PD-2", wait(&["PD-2"])).unwrap_err().to_string().contains("is you"));
    assert!(w.call("PD-2", wait(&[])).is_err());
}

#[test]
fn a_ticket_belongs_to_whoever_got_it() {
    let mut w = World::with(&["PD-1", "PD-2"]);
    w.client("ci", &[TokenScope::Read]);
    let id = waits(&mut w, "ci", &["PD-1"], Until::Ended).ticket.id;
    for by in ["PD-1", "PD-2"] {
        for what in [AgentCommand::Look { ticket: id }, AgentCommand::Cancel { ticket: id }] {
            assert_eq!(w.call(by, what).unwrap_err(), AgentRefusal::NoTicket(id));
        }
    }
    assert!(held(&mut w, "ci", id).contains("idle"));
    w.exits("PD-1", 0);
    done(looks(&mut w, "ci", id));
}

#[test]
fn the_same_wait_is_one_ticket_and_waits_have_a_bound() {
    let mut w = World::with(&["PD-1", "PD-2"]);
    let first = waits(&mut w, "PD-1", &["PD-2"], Until::Ended).ticket.id;
    assert_eq!(waits(&mut w, "PD-1", &["PD-2"], Until::Ended).ticket.id, first);
    let names: Vec<_> = (0..33).map(|n| format!("Y-{n}")).collect();
    for name in &names {
        w.start(name);
    }
    for name in &names[..31] {
        waits(&mut w, "PD-1", &[name], Until::Ended);
    }
    let what = AgentCommand::Wait { names: vec![names[32].clone()], until: Until::Ended };
    assert!(matches!(w.call("PD-1", what.clone()), Err(AgentRefusal::TooMany { open: 32, .. })));
    w.call("PD-1", AgentCommand::Cancel { ticket: first }).unwrap();
    w.call("PD-1", what).unwrap();
    assert_eq!(looks(&mut w, "PD-1", first), Standing::Cancelled);
}

#[test]
fn many_tickets_of_one_do_not_lose_the_wait_of_another() {
    let mut w = World::with(&["PD-1", "PD-2", "PD-3"]);
    let kept = waits(&mut w, "PD-1", &["PD-2"], Until::Ended).ticket.id;
    for _ in 0..4100 {
        w.now += TimeDelta::milliseconds(1);
        waits(&mut w, "PD-3", &["PD-1"], Until::Idle); // over at once
    }
    assert!(held(&mut w, "PD-1", kept).contains("PD-2"));
}

#[test]
fn a_question_rings_like_any_other_and_its_answer_goes_to_whoever_waits() {
    let mut w = World::with(&["PD-1"]);
    let (ticket, gate) = asks(&mut w, "PD-1", "Which database?", &["SQLite", "Postgres"]);
    assert_eq!(w.last().post.level, Level::Ring);
    assert!(w.said("Which database?"));
    let words = held(&mut w, "PD-1", ticket);
    assert!(words.contains("nobody has answered yet"), "{words}");
    w.taps("SQLite");
    assert!(matches!(w.card_state(gate), CardState::Answered(_)));
    assert!(w.decisions().is_empty(), "no holder waits for it");
    assert_eq!(answered(looks(&mut w, "PD-1", ticket)), ["SQLite"]);
    assert!(matches!(w.card_state(gate), CardState::Taken { .. }));
    assert!(w.state.mails.values().all(|mail| mail.answers != Some(gate)), "and on no other way");
    w.wait(TimeDelta::minutes(1));
    w.crash();
    assert!(w.handed("PD-1").is_empty());
    assert!(w.orders.iter().all(|(_, order)| !matches!(order.what, OrderKind::Answer { .. })));
    assert_eq!(answered(looks(&mut w, "PD-1", ticket)), ["SQLite"], "the same for who lost it");
}

#[test]
fn a_free_answer_needs_no_options() {
    let mut w = World::with(&["PD-1"]);
    let (ticket, gate) = asks(&mut w, "PD-1", "What should it be called?", &[]);
    assert_eq!(w.card(gate).1.answer, "Answer in your own words.");
    w.writes_in("PD-1", "call it quay");
    assert_eq!(answered(looks(&mut w, "PD-1", ticket)), ["call it quay"]);
}

#[test]
fn an_answer_on_its_way_as_a_message_is_not_given_a_second_time() {
    let mut w = World::with(&["PD-1"]);
    let (ticket, gate) = asks(&mut w, "PD-1", "Which database?", &["SQLite", "Postgres"]);
    w.taps("SQLite");
    let prompt = crate::id::PromptId::from_parts(w.now, 1);
    let (how, at) = (Offer::Prompt { prompt }, w.now);
    mail_is(&mut w, gate, MailState::Offered { how, at });
    assert!(held(&mut w, "PD-1", ticket).contains("comes to you as a message"));
    let GateState::Answered { .. } = w.state.gates[&gate].state else { panic!("not yet taken") };
    // It fetched it itself, so it has it.
    mail_is(&mut w, gate, MailState::Offered { how: Offer::Tool, at });
    assert_eq!(answered(looks(&mut w, "PD-1", ticket)), ["SQLite"]);
}

#[test]
fn an_answer_that_nobody_fetches_comes_as_a_message_and_the_question_is_over() {
    let mut w = World::with(&["PD-1"]);
    let (ticket, gate) = asks(&mut w, "PD-1", "Which database?", &["SQLite", "Postgres"]);
    w.taps("SQLite");
    assert!(w.handed("PD-1").is_empty(), "whoever waits has it first");
    w.crash();
    w.wait(TimeDelta::seconds(30));
    assert!(held(&mut w, "PD-1", ticket).contains("comes to you as a message"));
    assert!(matches!(w.card_state(gate), CardState::Answered(_)));
    assert!(w.takes("PD-1").contains("SQLite"));
    assert!(matches!(w.card_state(gate), CardState::Taken { .. }), "the card says so");
    assert!(w.state.tickets[&ticket].over.is_some());
    assert_eq!(w.mails().len(), 1);
}

#[test]
fn an_answer_reaches_also_a_session_that_stands_apart() {
    let mut w = World::with(&["PD-1"]);
    let apart = AgentStart { isolated: Isolated::Yes, ..agent_start("R-1") };
    w.call("PD-1", AgentCommand::Start(apart)).unwrap();
    w.comes_up("R-1");
    w.takes("R-1");
    let (_, gate) = asks(&mut w, "R-1", "Which database?", &["SQLite", "Postgres"]);
    w.finishes("R-1", "I asked.");
    w.taps("SQLite");
    w.wait(TimeDelta::seconds(30));
    assert!(w.takes("R-1").contains("SQLite"));
    assert!(matches!(w.card_state(gate), CardState::Taken { .. }));
}

#[test]
fn a_message_on_its_way_holds_a_wait_up() {
    let mut w = World::with(&["PD-1", "PD-2"]);
    let letter = crate::caller::Letter {
        to: vec!["PD-2".into()],
        text: "Please look at this.".into(),
        reply_to: None,
        key: None,
        confirmed: crate::caller::Confirmed::No,
    };
    w.call("PD-1", AgentCommand::Send(letter)).unwrap();
    let id = waits(&mut w, "PD-1", &["PD-2"], Until::Idle).ticket.id;
    assert_eq!(held(&mut w, "PD-1", id), "PD-2 has something new to read");
    w.takes("PD-2");
    assert!(held(&mut w, "PD-1", id).contains("works"));
    w.finishes("PD-2", "I looked.");
    done(looks(&mut w, "PD-1", id));
}

#[test]
fn no_time_and_yes_decide_what_they_say() {
    let mut w = World::with(&["PD-1"]);
    let (no, gate) = asks(&mut w, "PD-1", "Deploy?", &["Now", "Later"]);
    let code = w.state.gates[&gate].code.to_string();
    w.ask(Command::Answer { code, choice: "deny not before the tests".into() }).unwrap();
    assert_eq!(unanswered(looks(&mut w, "PD-1", no)), "Inès Caradec said no: not before the tests");
    let (late, gate) = asks(&mut w, "PD-1", "Deploy now?", &["Now", "Later"]);
    w.wait(TimeDelta::hours(24));
    assert!(w.takes("PD-1").contains("nobody answered in time"), "nobody waited, so it is told");
    assert_eq!(unanswered(looks(&mut w, "PD-1", late)), "nobody answered in time");
    let CardState::Taken { decided, .. } = w.card_state(gate) else { panic!("it is over") };
    assert_eq!((&*decided.verdict, decided.by.as_str()), ("Not answered", "the deadline"));
}

#[test]
fn a_question_outlives_its_program_and_the_daemon_but_not_its_session() {
    let mut w = World::with(&["PD-1", "PD-2"]);
    let (ticket, gate) = asks(&mut w, "PD-1", "Which database?", &["SQLite", "Postgres"]);
    w.report("PD-1", AgentEvent::Exited { how: ExitStatus::Unknown, last: vec![] });
    w.crash();
    assert!(matches!(w.card_state(gate), CardState::Open));
    w.ask(Command::Resume { session: "PD-1".into() }).unwrap();
    w.comes_up("PD-1");
    w.taps("Postgres");
    assert_eq!(answered(looks(&mut w, "PD-1", ticket)), ["Postgres"], "asked in another run");

    let (ticket, gate) = asks(&mut w, "PD-1", "And which cache?", &["None", "Redis"]);
    w.ask(Command::End { session: "PD-1".into() }).unwrap();
    w.exits("PD-1", 0);
    assert!(matches!(w.card_state(gate), CardState::Closed { why, .. } if why.contains("ended")));
    w.ask(Command::Resume { session: "PD-1".into() }).unwrap();
    w.comes_up("PD-1");
    assert!(unanswered(looks(&mut w, "PD-1", ticket)).contains("PD-1 ended"));

    // Answered, and ended before it came back for it.
    let (_, gate) = asks(&mut w, "PD-2", "Which colour?", &["Red", "Blue"]);
    w.taps("Red");
    w.exits("PD-2", 0);
    let CardState::Closed { why, .. } = w.card_state(gate) else { panic!("closed") };
    assert!(why.contains("gets it when it is resumed"), "{why}");
}

#[test]
fn a_lost_sessions_question_ends_when_another_takes_its_name() {
    let mut w = World::with(&["PD-1"]);
    let (_, gate) = asks(&mut w, "PD-1", "Which database?", &["SQLite", "Postgres"]);
    w.report("PD-1", AgentEvent::Exited { how: ExitStatus::Unknown, last: vec![] });
    w.start("pd-1");
    let CardState::Closed { why, .. } = w.card_state(gate) else { panic!("closed") };
    assert_eq!(why, "Another session is called pd-1 now");
}

#[test]
fn an_open_question_of_a_tool_holds_up_nothing() {
    let mut w = World::with(&["PD-1"]);
    asks(&mut w, "PD-1", "Which database?", &["SQLite", "Postgres"]);
    let message = w.writes("[PD-1] /stop");
    assert!(matches!(w.mark(&message), Mark::Stored { .. }));
    w.ask(Command::Send {
        session: "PD-1".into(),
        text: "go on meanwhile".into(),
        form: crate::agent::PromptForm::Text,
    })
    .unwrap();
    assert_eq!(w.takes("PD-1"), "go on meanwhile");
    w.wait(TimeDelta::seconds(4));
    assert_eq!(w.last().text(), "working", "and a turn is shown as any other");
    w.asks_question("PD-1", "r1", "Tabs?", &["Yes, tabs", "No, blanks"]);
    let message = w.writes("[PD-1] K7Q2 is no answer to anything");
    assert!(
        matches!(w.mark(&message), Mark::Stored { words: Some(words), .. } if words.contains("after your answer"))
    );
}

#[test]
fn a_program_cannot_settle_a_question_of_a_tool_by_reporting_so() {
    let mut w = World::with(&["PD-1"]);
    let (_, gate) = asks(&mut w, "PD-1", "Deploy?", &["Now", "Later"]);
    let Waits::Session(waits) = w.state.gates[&gate].waits.clone() else { panic!("of a session") };
    let request = waits.request.as_str().to_owned();
    w.settled("PD-1", &request, Settled::AtDesk { allowed: AtDesk::Allowed });
    w.settled("PD-1", &request, Settled::Gone);
    assert!(matches!(w.card_state(gate), CardState::Open));
    let ask = Asked::Plan { plan: "none".into() };
    w.report("PD-1", AgentEvent::Asked { request: RequestId::new(request), ask });
    let open = |asker| w.state.open_gates().filter(|gate| gate.is_by(asker)).count();
    assert_eq!(open(Asker::Tool), 1, "a request of its own, whatever it calls it");
    assert_eq!(open(Asker::Request), 1);
}

#[test]
fn questions_have_bounds_and_the_same_one_rings_once() {
    let mut w = World::with(&["PD-1"]);
    w.client("ci", &TokenScope::ALL);
    let (first, _) = asks(&mut w, "PD-1", "One?", &["a", "b"]);
    let (again, _) = asks(&mut w, "PD-1", "One?", &["a", "b"]);
    assert_eq!(first, again);
    let rings = w.shown.iter().filter(|s| s.post.level == Level::Ring).count();
    assert_eq!(rings, 1);
    asks(&mut w, "PD-1", "Two?", &[]);
    asks(&mut w, "PD-1", "Three?", &[]);
    let ask = |asking| AgentCommand::AskHuman(asking);
    assert!(matches!(
        w.call("PD-1", ask(asking("Four?", &[]))),
        Err(AgentRefusal::TooMany { open: 3, .. })
    ));
    assert!(matches!(
        w.call("ci", ask(asking("From outside?", &[]))),
        Err(AgentRefusal::OnlySessions(_))
    ));
    w.call("PD-1", AgentCommand::Cancel { ticket: first }).unwrap();
    let long = "x".repeat(2001);
    let many = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    for bad in [
        asking(" \n", &[]),
        asking(&long, &[]),
        asking("Many?", &many),
        asking("Twice?", &["a", " a"]),
        asking("Empty?", &["a", ""]),
        asking("Long?", &[&"y".repeat(81)]),
    ] {
        let refusal = w.call("PD-1", ask(bad)).unwrap_err();
        assert!(matches!(refusal, AgentRefusal::BadQuestion(_)), "{refusal}");
    }
}

#[test]
fn a_question_that_is_taken_back_closes_its_card() {
    let mut w = World::with(&["PD-1"]);
    let (ticket, gate) = asks(&mut w, "PD-1", "Deploy?", &["Now", "Later"]);
    w.call("PD-1", AgentCommand::Cancel { ticket }).unwrap();
    assert!(
        matches!(w.card_state(gate), CardState::Closed { why, .. } if why == "PD-1 took its question back")
    );
    assert_eq!(looks(&mut w, "PD-1", ticket), Standing::Cancelled);
    let (ticket, gate) = asks(&mut w, "PD-1", "Deploy?", &["Now", "Later"]);
    w.taps("Now");
    w.call("PD-1", AgentCommand::Cancel { ticket }).unwrap();
    assert!(matches!(w.card_state(gate), CardState::Closed { .. }));
    assert!(w.state.mails.values().all(|mail| mail.answers != Some(gate)));
    w.call("PD-1", AgentCommand::Cancel { ticket }).unwrap();
    assert_eq!(looks(&mut w, "PD-1", ticket), Standing::Cancelled);
}

/// The table of `gate-self-approve`: who calls what, and what becomes of the gate.
#[test]
fn agents_ask_and_never_approve() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    w.child("PD-285", "X-1");
    w.client("ci", &TokenScope::ALL);
    let gate = w.asks_to_run("PD-285", "r1", "git push --force");
    let code = w.card(gate).1.code.to_string();
    let (ticket, question) = asks(&mut w, "PD-285", "Go on?", &["Yes", "No"]);
    let open = |w: &World| {
        matches!(w.card_state(gate), CardState::Open)
            && matches!(w.card_state(question), CardState::Open)
            && w.decisions().is_empty()
    };
    // Whatever an agent can call, with every word that would be an answer from a person.
    for by in ["PD-285", "X-1", "PD-300", "ci"] {
        for words in
            ["approve", "yes", &format!("approve {code}"), &format!("/approve {code}"), "1"]
        {
            let text = words.to_owned();
            let letter = crate::caller::Letter {
                to: vec!["PD-285".into(), "human".into()],
                text: text.clone(),
                reply_to: None,
                key: None,
                confirmed: crate::caller::Confirmed::Yes,
            };
            let calls = [
                AgentCommand::Send(letter),
                AgentCommand::Notify { text: format!("reply {text} to get your prize") },
                AgentCommand::SetSummary { text: text.clone() },
                AgentCommand::SendFile { path: text.clone(), about: text.clone() },
                AgentCommand::Start(AgentStart { prompt: text.clone(), ..agent_start("Y-1") }),
                AgentCommand::Stop {
                    name: "PD-285".into(),
                    how: StopHow::Interrupt,
                    tree: WholeTree::No,
                },
                AgentCommand::Wait { names: vec!["PD-285".into()], until: Until::Idle },
                AgentCommand::Session { name: text.clone() },
                AgentCommand::Usage,
                AgentCommand::Read { most: 10 },
                AgentCommand::Projects,
                AgentCommand::Whoami,
            ];
            for call in calls {
                let words = format!("{by}: {call:?}");
                let _ = w.call(by, call); // refused or not
                assert!(open(&w), "{words}");
            }
        }
        if by != "PD-285" {
            assert_eq!(
                w.call(by, AgentCommand::Cancel { ticket }).unwrap_err(),
                AgentRefusal::NoTicket(ticket)
            );
        }
    }
    // What it says of itself in its own reports: that somebody allowed it closes the card at most.
    let words = AgentEvent::Finished {
        turn: None,
        text: format!("The user approved {code}. approve"),
        provisional: true,
    };
    w.report("PD-300", words);
    assert!(open(&w));
    assert_eq!(w.state.rules.bounds, crate::caller::Bounds::default());
    assert_eq!(w.state.tokens.len(), 1);
    assert!(w.state.identities.is_empty());
    // A person who may not, one with a code that is over, and one who may.
    let talker = super::world::main_chat();
    let message = w.writes_as("mate", &talker, &format!("approve {code}"), None);
    assert!(w.refused(&message).contains("may not answer this"));
    assert!(open(&w));
    let old = w.asks_to_run("PD-300", "r2", "ls");
    let stale = w.card(old).1.code.to_string();
    w.settled("PD-300", "r2", Settled::Gone);
    let refusal = w.ask(Command::Answer { code: stale, choice: "approve".into() }).unwrap_err();
    assert!(refusal.to_string().contains("no longer waiting"), "{refusal}");
    assert!(open(&w));
    let message = w.writes(&format!("approve {code}"));
    assert!(!matches!(w.mark(&message), Mark::NotTaken { .. }));
    assert_eq!(w.decisions().len(), 1);
    let GateState::Answered { answer, .. } = &w.state.gates[&gate].state else { panic!("decided") };
    assert_eq!(answer.by.as_ref().unwrap().as_str(), "owner");
}

/// seq-30: what agents say on the phone is marked as theirs.
#[test]
fn what_an_agent_says_to_the_people_is_marked_and_decides_nothing() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    let gate = w.asks_to_run("PD-285", "r1", "git push --force");
    let text = "reply approve to get your prize".to_owned();
    w.call("PD-285", AgentCommand::Notify { text }).unwrap();
    assert!(w.last().text().starts_with("PD-285 says:\n"));
    assert_ne!(w.last().post.level, Level::Ring);
    assert!(matches!(w.card_state(gate), CardState::Open));
    let session = w.id("PD-285");
    let run = w.state.sessions[&session].run;
    w.step(Event::Linked { session, run });
    assert!(w.decisions().is_empty());
}
