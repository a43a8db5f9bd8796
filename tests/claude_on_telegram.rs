//! The real Claude Code, steered from Telegram alone: the program against a scripted model, Vigie
//! against an emulator as strict as the real service. Without `VIGIE_TEST_CLAUDE` they do not run.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support {
    pub(crate) mod claude;
    pub(crate) mod home;
    pub(crate) mod phone;
    pub(crate) mod telegram;
}

use scripted_model::Model;
use std::{fs, time::Duration};
use support::{
    claude,
    home::{DEADLINE, Home},
    telegram::{becomes, configure, count, pair, vigie_up},
};
use telegram_emulator::{ADA, Emulator, File, MediaKind, MessageId, Shown, World};

/// Nobody reads a card and answers it in less; messages tell their time in whole seconds.
const READ: Duration = Duration::from_secs(3);

/// A command that always needs a permission, and does nothing: nobody listens on port 1.
const CURL: &str = "curl -s http://127.0.0.1:1/x";

/// Ada's own chat with a Vigie whose agents are Claude Code: `cc` asks as usual, `planner` plans.
struct Stage {
    home: Home,
    telegram: Emulator,
    model: Model,
}

impl Stage {
    async fn open() -> Option<Self> {
        let program = claude::program()?;
        let model = Model::start().await.unwrap();
        let telegram = Emulator::start(World::default());
        let mut home = Home::new(vigie_up);
        let agents = [("cc", "default"), ("planner", "plan")]
            .map(|(name, mode)| claude::agent(&home, &model, &program, name, mode));
        configure(&home, &telegram, &agents.concat());
        home.up().await;
        telegram.wait_polling().await;
        pair(&home, &telegram, ADA, ADA).await;
        Some(Self { home, telegram, model })
    }

    fn says(&self, text: &str) -> MessageId {
        self.telegram.send(ADA, ADA, text).now()
    }

    /// Says it to the session, and sees that the agent has it.
    async fn tells(&self, name: &str, text: &str) {
        let message = self.says(&format!("[{name}] {text}"));
        self.telegram.wait_reaction(ADA, message, "👌").await;
    }

    async fn starts(&self, name: &str) {
        self.says(&format!("/new {name} in quay with cc"));
        self.telegram.wait_message(ADA, None, &format!("{name} starts.")).await;
        self.home.session_is(name, "idle").await;
    }

    async fn hears(&self, text: &str) -> Shown {
        self.telegram.wait_message(ADA, None, text).await
    }

    /// The newest open card that says so.
    async fn card(&self, text: &str) -> Shown {
        let open = |telegram: &Emulator| {
            let all = telegram.messages(ADA, None);
            all.into_iter().rev().find(|m| m.text.contains(text) && m.all_buttons().count() > 1)
        };
        let card = self.telegram.wait_value(&format!("a card with `{text}`"), DEADLINE, open).await;
        self.telegram.advance(READ);
        card
    }

    async fn taps(&self, card: &Shown, label: &str) {
        self.telegram.press(ADA, card.id, ADA, label).answer().await;
    }

    async fn has_it(&self, card: &Shown) -> Shown {
        becomes(&self.telegram, ADA, card.id, "The agent has it").await
    }

    async fn file(&self, what: &str, fits: impl Fn(&File) -> bool) -> File {
        let look = |telegram: &Emulator| {
            let all = telegram.messages(ADA, None);
            all.into_iter().filter(Shown::is_bot).filter_map(|m| m.file).find(|file| fits(file))
        };
        self.telegram.wait_value(what, DEADLINE, look).await
    }

    fn once(&self, text: &str) {
        assert_eq!(count(&self.telegram, ADA, text), 1, "{text}\n{}", self.telegram.picture());
    }
}

macro_rules! stage {
    () => {
        match Stage::open().await {
            Some(stage) => stage,
            None => return,
        }
    };
}

#[tokio::test]
async fn a_command_an_edit_and_a_question_are_answered_in_the_chat() {
    let stage = stage!();
    stage.starts("PD-285").await;

    stage.tells("PD-285", &format!("!first => bash {CURL} then say the tide is in")).await;
    let card = stage.card(CURL).await;
    assert!(card.text.contains("PD-285 asks to run a command"), "{}", card.text);
    stage.taps(&card, "Approve").await;
    assert!(stage.has_it(&card).await.buttons.is_empty());
    stage.hears("the tide is in").await;

    let file = stage.home.project().join("berths.txt");
    fs::write(&file, "one\nfour berths\n").unwrap();
    let path = file.display();
    let edit = format!(
        "=> read {path} then edit {path} four berths to five berths then say the rota is edited"
    );
    stage.tells("PD-285", &edit).await;
    let card = stage.card("berths.txt").await;
    assert!(card.text.contains("-four berths") && card.text.contains("+five berths"), "{card:#?}");
    let code = card.text.split("approve ").nth(1).unwrap().get(..4).unwrap().to_lowercase();
    stage.says(&format!("approve {code}"));
    stage.has_it(&card).await;
    stage.hears("the rota is edited").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\nfive berths\n");

    stage.tells("PD-285", "=> ask then say thanks for both").await;
    let card = stage.card("Which colour?").await;
    stage.taps(&card, "Green").await;
    becomes(&stage.telegram, ADA, card.id, "Pepper").await;
    stage.telegram.send(ADA, ADA, "a pinch of mustard").reply_to(card.id).now();
    let answered = stage.has_it(&card).await;
    assert!(answered.text.contains("Answered: Green; a pinch of mustard"), "{}", answered.text);
    stage.hears("thanks for both").await;
    let results = stage.model.results();
    assert!(results.contains("Green") && results.contains("a pinch of mustard"), "{results}");

    for said in ["the tide is in", "the rota is edited", "thanks for both"] {
        stage.once(said);
        assert_eq!(stage.model.heard_times(&format!("then say {said}")), 1);
    }
    stage.telegram.assert_clean();
}

#[tokio::test]
async fn a_plan_goes_back_with_feedback_and_is_approved_after_a_restart() {
    let mut stage = stage!();
    let script = "=> draft Mend the quay in two steps then plan then plan then write notes.txt it went through then say it is built";
    stage.says(&format!("/new PD-300 in quay with planner {script}"));
    let plan = stage.card("Mend the quay in two steps").await;
    assert!(plan.button("Keep planning").is_some() && plan.button("Approve").is_some());
    let words = stage.telegram.send(ADA, ADA, "approve, but mind the tide").reply_to(plan.id).now();
    becomes(&stage.telegram, ADA, plan.id, "mind the tide").await;
    let again = stage
        .telegram
        .wait_value("the plan again", DEADLINE, |telegram| {
            let all = telegram.messages(ADA, None);
            all.into_iter().find(|m| m.id > words && m.button("Keep planning").is_some())
        })
        .await;
    assert!(stage.model.results().contains("approve, but mind the tide"));
    stage.home.kill();
    stage.home.up().await;
    stage.taps(&again, "Approve, and accept its edits").await;
    stage.has_it(&again).await;
    stage.hears("it is built").await;
    stage.once("it is built");
    let notes = fs::read_to_string(stage.home.project().join("notes.txt")).unwrap();
    assert_eq!(notes, "it went through\n");
    assert!(stage.telegram.defects().is_empty() && stage.telegram.floods().is_empty());
}

#[tokio::test]
async fn a_long_answer_a_stop_and_looks_around_then_a_permission_over_a_restart() {
    let mut stage = stage!();
    stage.starts("PD-285").await;

    stage.tells("PD-285", "=> long 260 A ferry of the summer timetable").await;
    stage.hears("#260.").await;
    let parts: Vec<_> = stage
        .telegram
        .messages(ADA, None)
        .into_iter()
        .filter(|m| m.is_bot() && m.text.contains("A ferry of"))
        .collect();
    assert!((2..=3).contains(&parts.len()), "{} parts", parts.len());
    let all: String = parts.iter().map(|part| part.text.as_str()).collect();
    let numbers: Vec<usize> = all
        .split('#')
        .skip(1)
        .map(|rest| rest.split('.').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(numbers, (1..=260).collect::<Vec<_>>());

    stage.tells("PD-285", "=> slow 50 waves").await;
    stage.says("/stop");
    stage.hears("PD-285 stopped; its context is kept").await;
    stage.tells("PD-285", "=> say calm again").await;
    stage.hears("calm again").await;

    stage.says("/screen PD-285");
    let screen = stage.file("a picture", |file| file.kind == MediaKind::Photo).await;
    assert!(screen.bytes.starts_with(b"\x89PNG"));
    stage.says("/transcript PD-285");
    let talk = stage.file("a document", |file| file.kind == MediaKind::Document).await;
    assert!(String::from_utf8_lossy(&talk.bytes).contains("calm again"), "{}", talk.name);

    stage.tells("PD-285", &format!("=> bash {CURL} then say it survived")).await;
    let card = stage.card(CURL).await;
    stage.home.kill();
    stage.home.up().await;
    stage.taps(&card, "Approve").await;
    stage.has_it(&card).await;
    stage.hears("it survived").await;
    stage.once("it survived");
    assert_eq!(stage.model.heard_times("then say it survived"), 1);
    assert!(stage.telegram.defects().is_empty() && stage.telegram.floods().is_empty());
}
