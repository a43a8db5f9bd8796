use super::*;
use crate::term::{Colour, Run, Screen};
use std::time::Duration;
use vigie_core::{
    agent::PromptForm,
    caller::Isolated,
    id::{AgentName, HumanId, ProjectName, PromptId, SessionId},
    prompt::PromptState,
    session::{Ended, Life, Role, Spent, Stirred},
};

fn now() -> Timestamp {
    Timestamp::default()
}

fn view(life: Life) -> SessionView {
    let session = Session {
        id: SessionId::from_parts(now(), 1),
        name: "PD-285".parse().unwrap(),
        title: "<b>Retry</b>\u{202e}".into(),
        project: ProjectName::new("quay"),
        agent: AgentName::new("claude"),
        cwd: "/home/ines/quay".into(),
        worktree: None,
        created: now(),
        life,
        ending: None,
        interrupting: None,
        launching: None,
        run: 2,
        conversation: Some("c".into()),
        last_seq: 0,
        heard: None,
        silent: None,
        stuck: None,
        denied: Vec::new(),
        turn: None,
        last_words: None,
        spent: Spent { micro_usd: 1_860_000, input_tokens: 61_400, ..Spent::default() },
        role: Role::Worker,
        spawn: None,
        isolated: Isolated::No,
        summary: None,
        token: None,
        stirred: Stirred::default(),
        of_run: None,
        counted: None,
        cut: None,
        handing_over: None,
    };
    SessionView {
        session,
        open_gates: vec![],
        queued: 0,
        unread_mail: 0,
        started_by: None,
        limited: None,
    }
}

fn working() -> SessionView {
    view(Life::Working { since: now() })
}

fn drawn(view: &SessionView, deeds: Deeds, named: Named, pane: Pane) -> String {
    let rights = Rights { answer: May::Look, deeds };
    let me = HumanId::new("ines");
    let all =
        SessionPage { view, asked: &[], queue: &[], rights, me: &me, named, pane, now: now() };
    super::page(&all).main.0
}

fn live(view: &SessionView, deeds: Deeds) -> String {
    drawn(view, deeds, Named::This, Pane::Terminal(Terminal::Live))
}

#[test]
fn each_role_sees_what_it_may_do_and_nothing_more() {
    let view = working();
    let (looks, writes, types) =
        (live(&view, Deeds::Look), live(&view, Deeds::Write), live(&view, Deeds::Type));
    for deed in ["/stop", "/end", "/kill", "/send", "/keys"] {
        assert!(!looks.contains(&format!("{}{deed}\"", view.session.id)), "{deed}");
        assert_eq!(
            writes.contains(&format!("{}{deed}\"", view.session.id)),
            deed != "/keys",
            "{deed}"
        );
        assert!(types.contains(&format!("{}{deed}\"", view.session.id)), "{deed}");
    }
    assert!(looks.contains("Only an owner may type"));
}

#[test]
fn what_is_offered_follows_its_life() {
    let idle = live(&view(Life::Idle { since: now() }), Deeds::Type);
    assert!(!idle.contains("/stop\"") && idle.contains("/end\""));
    let over = view(Life::Ended { at: now(), how: Ended::Itself });
    let pane = || Pane::Terminal(Terminal::Over(Err("it printed nothing")));
    let ended = drawn(&over, Deeds::Type, Named::This, pane());
    assert!(ended.contains("/resume\"") && !ended.contains("/end\""));
    assert!(!ended.contains("/keys\"") && ended.contains("It printed nothing."));
    // Its name means a younger one: a button would reach that.
    let older = drawn(&over, Deeds::Type, Named::Another, pane());
    assert!(!older.contains("data-post") && older.contains("A younger session"));
}

#[test]
fn keys_are_locked_until_somebody_means_it() {
    let shown = live(&working(), Deeds::Type);
    assert!(shown.contains("id=\"unlock\"") && !shown.contains("checked"));
    let buttons = shown.matches("data-press=").count();
    assert_eq!(shown.matches(" disabled").count(), buttons + 2, "{shown}");
}

#[test]
fn every_page_of_it_has_an_address_and_says_which_it_is() {
    let shown = drawn(&working(), Deeds::Look, Named::This, Pane::Cost);
    for part in ["conversation", "diff", "files", "mail", "cost", "recording"] {
        assert!(shown.contains(&format!("?view={part}\"")), "{part}");
    }
    assert_eq!(shown.matches("aria-current=\"page\"").count(), 1);
    assert!(shown.contains("$1.86") && shown.contains("61 k"));
}

#[test]
fn a_conversation_is_turns_with_its_tools_folded_and_all_of_it_is_text() {
    let said = |what| Said { at: Some(now()), what };
    let talk = Talk {
        said: vec![
            said(What::Person("<script>x</script>".into())),
            said(What::Agent("**done** <img src=x> [l](javascript:x)".into())),
            said(What::Tool { line: "Bash: <b>ls</b>".into(), came: Some("a<script>".into()) }),
            said(What::Tool { line: "Read: a.rs".into(), came: None }),
            said(What::Note("Interrupted.".into())),
            said(What::Person("again".into())),
        ],
        before: 40,
        ..Talk::default()
    };
    let shown = drawn(&working(), Deeds::Look, Named::This, Pane::Conversation(Ok(&talk)));
    assert_eq!(shown.matches("class=\"turn\"").count(), 3, "{shown}");
    assert_eq!(shown.matches("<details class=\"tool\">").count(), 2);
    assert!(
        shown.contains("2 tools") && shown.contains("&before=40\"") || shown.contains("before=40")
    );
    for evil in
        ["<script>x", "a<script>", "<img", "<b>ls", "javascript:x\"", "<b>Retry", "\u{202e}"]
    {
        assert!(!shown.contains(evil), "{evil}: {shown}");
    }
}

#[test]
fn a_screen_that_is_over_is_drawn_as_it_was_last() {
    let run = Run {
        text: "bye <i>".into(),
        fg: Colour::Rgb(255, 0, 0),
        bg: Colour::Default,
        looks: vec![],
    };
    let screen = Screen { columns: 40, rows: vec![vec![run]], cursor: None };
    let over = view(Life::Lost { at: now(), why: "gone".into() });
    let pane = Pane::Terminal(Terminal::Over(Ok(&screen)));
    let shown = drawn(&over, Deeds::Look, Named::This, pane);
    assert!(shown.contains("<span class=\"f196\">bye &lt;i&gt;</span>"), "{shown}");
    assert!(shown.contains("data-columns=\"40\"") && !shown.contains("data-term="));
}

#[test]
fn what_waits_for_it_stands_beside_it_as_text() {
    let prompt = |text: &str, by: Option<&str>| Prompt {
        id: PromptId::from_parts(now(), 1),
        session: SessionId::from_parts(now(), 1),
        number: 1,
        text: text.into(),
        form: PromptForm::Text,
        by: by.map(HumanId::new),
        message: None,
        mails: vec![],
        of_step: None,
        goes_on: None,
        state: PromptState::Queued,
    };
    let queue = [prompt("<b>first</b>", Some("ines")), prompt("then", None)];
    let view = working();
    let page = |deeds, me: &str| {
        let (rights, me) = (Rights { answer: May::Look, deeds }, HumanId::new(me));
        let (named, pane) = (Named::This, Pane::Terminal(Terminal::Live));
        let all = SessionPage {
            view: &view,
            asked: &[],
            queue: &queue,
            rights,
            me: &me,
            named,
            pane,
            now: now(),
        };
        super::page(&all).main.0
    };
    let changes = |shown: String| shown.matches("Change or take back").count();
    assert_eq!(changes(page(Deeds::Look, "ines")), 0, "who only looks changes nothing");
    assert_eq!(changes(page(Deeds::Write, "tomas")), 0, "these are somebody else's words");
    assert_eq!(changes(page(Deeds::Write, "ines")), 1);
    assert_eq!(changes(page(Deeds::Type, "tomas")), 1, "an owner may, but no session's words");
    let shown = page(Deeds::Look, "tomas");
    assert!(shown.contains("Next for it") && shown.contains("&lt;b&gt;first"), "{shown}");
    assert!(shown.contains("from ines") && shown.contains("from other sessions"), "{shown}");
    let alone = live(&view, Deeds::Look);
    assert!(!alone.contains("Next for it"));
}

#[test]
fn no_page_of_it_carries_a_style_or_a_script_of_its_own() {
    let (view, changes) = (working(), Changes::default());
    let recorded = Recorded { length: Duration::from_secs(249), columns: 88 };
    let panes = [
        Pane::Terminal(Terminal::Live),
        Pane::Conversation(Err("it is gone")),
        Pane::Diff(Ok(&changes)),
        Pane::Files(Ok(&changes), &[]),
        Pane::Mail(&[]),
        Pane::Cost,
        Pane::Recording(Ok(&recorded)),
    ];
    for pane in panes {
        let shown = drawn(&view, Deeds::Type, Named::This, pane);
        assert!(!shown.contains("style=") && !shown.contains("<style"), "{shown}");
        assert!(!shown.contains("<script>") && !shown.contains(" onclick"), "{shown}");
    }
}
