//! An invented morning at a ferry company, told through the port.

use chrono::TimeDelta;
use std::{error::Error, sync::Arc};
use vigie_core::{
    Timestamp,
    bridge::{
        Action, Body, Bridge, Button, Card, CardKind, CardState, Decided, Document, Fact, Heard,
        HeardKind, Level, Mark, Place, Post, Progress, Risk, Say, SessionLook, ThreadState, Weight,
    },
    id::{
        BridgeName, ChatId, DeliveryId, GateCode, GateId, HumanId, MessageId, SessionId,
        SessionName, ThreadId,
    },
    text::{Rich, Style},
};
use vigie_phone::{CHAT, NAME, PhoneBridge};

pub(crate) struct Story {
    phone: Arc<PhoneBridge>,
    now: Timestamp,
    deliveries: u128,
    threads: Vec<(String, Place)>,
    cards: Vec<(Place, MessageId, Post)>,
    progress: Option<(Place, MessageId, Post)>,
}

type Told<T = ()> = Result<T, Box<dyn Error>>;

impl Story {
    pub(crate) fn new(phone: Arc<PhoneBridge>, now: Timestamp) -> Self {
        Self { phone, now, deliveries: 0, threads: Vec::new(), cards: Vec::new(), progress: None }
    }

    pub(crate) async fn begin(&mut self) -> Told {
        use SessionLook::{Ended, Limited, Lost, Waiting, Working};
        let refunds = self
            .thread("PD-285", "Retry refunds when the bank times out", (Waiting, Some("edit"), 1))
            .await?;
        let guide =
            self.thread("docs", "Harbour guide, winter edition", (Working, None, 4)).await?;
        let import = self
            .thread("PD-287", "Stream the timetable import", (Waiting, Some("permission"), 4))
            .await?;
        let tickets =
            self.thread("PD-286", "Offline tickets", (Waiting, Some("question"), 8)).await?;
        let battery = self
            .thread("PD-290", "Spare battery for the gate scanner", (Waiting, Some("plan"), 12))
            .await?;
        let seats = self
            .thread("PD-279", "Seat map for car decks", (Limited, Some("until 14:10"), 65))
            .await?;
        let fares =
            self.thread("PD-281", "Fares in two currencies", (Ended, Some("done"), 2000)).await?;
        self.thread(
            "hotfix-2",
            "Timezone of the night ferry",
            (Lost, Some("exit status 137"), 3000),
        )
        .await?;
        self.say_text(&fares, "PD-281", plain("Merged. 14 files, 2 h 05, $3.12")).await?;
        self.say_text(&seats, "PD-279", plain("Your message is kept and goes first.")).await?;
        self.say_text(&refunds, "PD-285", self::answer()).await?;
        self.card(&battery, "PD-290", plan()).await?;
        self.card(&tickets, "PD-286", question()).await?;
        self.card(&import, "PD-287", deletes()).await?;
        self.say_text(&guide, "docs", plain("Page 2, Boarding with a car, is translated.")).await?;
        self.file(&refunds).await?;
        self.card(&tickets, "PD-286", several()).await?;
        self.card(&refunds, "PD-285", edit()).await?;
        self.progress(&guide).await
    }

    /// What the core would do with it.
    pub(crate) async fn go_on(&mut self, heard: &Heard, now: Timestamp) -> Told {
        self.now = now;
        match &heard.what {
            HeardKind::Text { message, text, reply_to, .. } => {
                let (session, thread) = self.target(&heard.place, text);
                let stored = Mark::Stored { targets: vec![session.parse()?], words: None };
                self.say(&heard.place, &Say::Mark { message: message.clone(), mark: stored })
                    .await?;
                let allowed = text.to_lowercase().starts_with("approve");
                if let (Some(card), true) = (reply_to, allowed || text.starts_with("deny")) {
                    return self.decide(card, if allowed { "Approved" } else { "Denied" }).await;
                }
                let taken = Mark::Taken { targets: vec![session.parse()?], at: now };
                self.say(&heard.place, &Say::Mark { message: message.clone(), mark: taken })
                    .await?;
                self.say_text(&thread, &session, plain("Understood, I do that next.")).await
            }
            HeardKind::Tap { message, action } => match action {
                Action::Deny { .. } => self.decide(message, "Denied").await,
                Action::Choose { gate: of, option, .. } if *of == gate(5) => {
                    self.tick(message, *option).await
                }
                Action::Choose { option, .. } => {
                    self.decide(message, &format!("Answered: option {}", option + 1)).await
                }
                Action::Submit { .. } => self.decide(message, "Answered").await,
                Action::Interrupt { .. } => self.end_progress().await,
                _ => self.decide(message, "Approved").await,
            },
            HeardKind::Edited { .. }
            | HeardKind::Withdrawn { .. }
            | HeardKind::Reaction { .. }
            | HeardKind::TakenBack { .. } => Ok(()),
        }
    }

    /// By its prefix or its thread; without either it is for the first.
    fn target(&self, place: &Place, text: &str) -> (String, Place) {
        let prefix = text.strip_prefix('[').and_then(|text| text.split_once(']'));
        let named = prefix.map(|(name, _)| name);
        let found = self.threads.iter().find(|(name, at)| named == Some(name) || at == place);
        found.or(self.threads.first()).cloned().expect("the story begins with threads")
    }

    /// Of the question that takes several.
    async fn tick(&mut self, message: &MessageId, option: usize) -> Told {
        let Some(at) = self.cards.iter().position(|(_, id, _)| id == message) else {
            return Ok(());
        };
        if let Body::Card(card) = &mut self.cards[at].2.body {
            let label = &mut card.buttons[option].label;
            *label = match label.strip_prefix(TICKED) {
                Some(rest) => format!("{UNTICKED}{rest}"),
                None => format!("{TICKED}{}", label.trim_start_matches(UNTICKED)),
            };
        }
        let (place, message, post) = self.cards[at].clone();
        self.say(&place, &Say::Edit { message, post }).await.map(drop)
    }

    async fn decide(&mut self, message: &MessageId, verdict: &str) -> Told {
        let Some(gate) = self
            .cards
            .iter()
            .find_map(|(_, id, post)| (id == message).then(|| gate_of(post)).flatten())
        else {
            return Ok(());
        };
        let by = Decided {
            verdict: verdict.into(),
            by: HumanId::new("ines"),
            at: self.now,
            via: "the phone page".into(),
        };
        for state in [
            CardState::Answered(by.clone()),
            CardState::Taken { decided: by.clone(), taken: self.now },
        ] {
            for (place, id, mut post) in self.cards.clone() {
                if gate_of(&post) != Some(gate) {
                    continue;
                }
                if let Body::Card(card) = &mut post.body {
                    card.buttons.clear();
                    card.state = state.clone();
                }
                self.say(&place, &Say::Edit { message: id, post }).await?;
            }
        }
        Ok(())
    }

    async fn progress(&mut self, at: &Place) -> Told {
        let lines = [
            "Page 1, Getting to the harbour",
            "Page 2, Boarding with a car",
            "Page 3, Winter timetable",
        ];
        let stop = Button {
            label: "Stop".into(),
            detail: None,
            weight: Weight::Plain,
            action: Action::Interrupt { session: SessionId::from_parts(self.now, 1) },
        };
        let progress = Progress {
            lines: lines.map(String::from).to_vec(),
            since: self.now - TimeDelta::minutes(4),
            ended: None,
            buttons: vec![stop],
        };
        let post = post("docs", Level::Note, Body::Progress(progress));
        let message = self.post(at, post.clone()).await?;
        self.progress = Some((at.clone(), message, post));
        Ok(())
    }

    async fn end_progress(&mut self) -> Told {
        let Some((place, message, mut post)) = self.progress.take() else { return Ok(()) };
        if let Body::Progress(progress) = &mut post.body {
            progress.ended = Some("Stopped after 4 min, page 3 is half done.".into());
            progress.buttons.clear();
        }
        self.say(&place, &Say::Edit { message, post }).await.map(drop)
    }

    async fn file(&mut self, at: &Place) -> Told {
        let document = Document {
            name: "refund-report.md".into(),
            text: "# Refunds\n\nAll 212 tests pass.\n".repeat(400),
            about: "The report you asked for".into(),
        };
        self.post(at, post("PD-285", Level::Note, Body::Document(document))).await.map(drop)
    }

    async fn card(&mut self, at: &Place, from: &str, (ago, mut card): (TimeDelta, Card)) -> Told {
        card.opened = self.now - ago;
        card.until = card.opened + TimeDelta::minutes(30);
        let post = post(from, Level::Ring, Body::Card(card));
        let message = self.post(at, post.clone()).await?;
        self.cards.push((at.clone(), message, post));
        Ok(())
    }

    async fn say_text(&mut self, at: &Place, from: &str, text: Rich) -> Told {
        let body = Body::Text { text, part: None, buttons: Vec::new() };
        self.post(at, post(from, Level::Note, body)).await.map(drop)
    }

    async fn thread(
        &mut self,
        session: &str,
        title: &str,
        (state, detail, minutes): (SessionLook, Option<&str>, i64),
    ) -> Told<Place> {
        let thread = ThreadState {
            session: session.parse()?,
            title: title.into(),
            state,
            detail: detail.map(Into::into),
            since: self.now - TimeDelta::minutes(minutes),
        };
        let made = place(self.say(&place(None), &Say::Thread { thread }).await?.thread);
        self.threads.push((session.into(), made.clone()));
        Ok(made)
    }

    async fn post(&mut self, at: &Place, post: Post) -> Told<MessageId> {
        let said = self.say(at, &Say::Post { post, reply_to: None }).await?;
        Ok(said.message.ok_or("a post makes a message")?)
    }

    async fn say(&mut self, at: &Place, say: &Say) -> Told<vigie_core::bridge::Said> {
        self.deliveries += 1;
        let key = DeliveryId::from_parts(self.now, self.deliveries);
        Ok(self.phone.say(at, say, key).await?)
    }
}

fn place(thread: Option<ThreadId>) -> Place {
    Place { bridge: BridgeName::new(NAME), chat: ChatId::new(CHAT), thread }
}

fn post(from: &str, level: Level, body: Body) -> Post {
    Post { from: from.parse::<SessionName>().ok(), level, body }
}

fn gate_of(post: &Post) -> Option<GateId> {
    match &post.body {
        Body::Card(card) => Some(card.gate),
        Body::Text { .. } | Body::Progress(_) | Body::Document(_) | Body::File(_) => None,
    }
}

fn plain(text: &str) -> Rich {
    Rich::plain(text)
}

fn answer() -> Rich {
    let mut rich = Rich::default();
    rich.push("All 212 tests pass", Some(Style::Bold));
    rich.push(" with the new policy. Two of them needed a fake clock; I put it in ", None);
    rich.push("tests/clock.rs", Some(Style::Code));
    rich.push(". The rule is now:\n\n", None);
    rich.push("let answer = retry(policy(5), || bank.refund(&refund, &key))\n    .when(|error| error.is_timeout())\n    .await?;\n", Some(Style::Pre { language: Some("rust".into()) }));
    rich.push("The bank says about it:\n", None);
    rich.push("The same key gives the same result for 24 hours.", Some(Style::Quote));
    rich.push("\nMore in ", None);
    rich.push("their manual", Some(Style::Link { url: "https://bank.example.org/refunds".into() }));
    rich.push(".", None);
    rich
}

fn gate(number: u128) -> GateId {
    GateId::from_parts(Timestamp::default(), number)
}

fn button(label: &str, detail: Option<&str>, weight: Weight, action: Action) -> Button {
    Button { label: label.into(), detail: detail.map(Into::into), weight, action }
}

fn blank(number: u128, code: &str, kind: CardKind, title: &str) -> Card {
    Card {
        gate: gate(number),
        code: GateCode::parse(code).expect("a code of the alphabet"),
        kind,
        title: title.into(),
        opened: Timestamp::default(),
        until: Timestamp::default(),
        lapse: vigie_core::bridge::Lapse::Denied,
        content: Rich::default(),
        diff: None,
        warnings: Vec::new(),
        facts: Vec::new(),
        risk: Risk::Plain,
        reactions: vigie_core::bridge::ByReaction::Answers,
        answer: String::new(),
        buttons: Vec::new(),
        state: CardState::Open,
    }
}

fn fact(label: &str, value: &str) -> Fact {
    Fact { label: label.into(), value: value.into() }
}

fn plan() -> (TimeDelta, Card) {
    let mut card = blank(1, "T9HW", CardKind::Plan, "proposes a plan");
    card.content.push("Spare battery for the gate scanner", Some(Style::Heading));
    card.content.push("\n1. Read the battery level every minute, over the scanner’s own service.\n2. Below 15 %, hold new scans and tell the harbour office once.\n3. Swap to the spare without closing the boarding list.\n\n", None);
    card.content.push("Files it will touch", Some(Style::Heading));
    card.content.push("\nscanner/battery.rs, scanner/hold.rs and their tests.", None);
    card.buttons = vec![
        button(
            "Approve, and accept its edits",
            None,
            Weight::Go,
            Action::AllowWithEdits { gate: gate(1) },
        ),
        button("Approve", None, Weight::Plain, Action::Allow { gate: gate(1) }),
        button("Keep planning", None, Weight::Plain, Action::Deny { gate: gate(1) }),
    ];
    (TimeDelta::minutes(12), card)
}

fn question() -> (TimeDelta, Card) {
    let mut card = blank(2, "M4XD", CardKind::Question, "asks you");
    card.content = plain("Which store should the phone use for tickets?");
    let options = [
        ("SQLite, encrypted", "One file, 40 kB more in the app. It would choose this."),
        ("One file per ticket", "Simple, slow above 200 tickets."),
        ("Only the next trip", "Smallest, loses return tickets offline."),
    ];
    card.buttons = options
        .iter()
        .enumerate()
        .map(|(option, (label, detail))| {
            let action = Action::Choose { gate: gate(2), question: 0, option };
            button(label, Some(detail), Weight::Plain, action)
        })
        .collect();
    card.answer = "Or reply to this card in your own words.".into();
    (TimeDelta::minutes(8), card)
}

const TICKED: &str = "☑ ";
const UNTICKED: &str = "☐ ";

fn several() -> (TimeDelta, Card) {
    let mut card = blank(5, "H3RK", CardKind::Question, "asks you");
    card.content = plain("Which harbours take offline tickets from the first day?");
    card.buttons = ["☑ Port Isaac", "☐ Saint-Malo", "☐ Lindholm"]
        .iter()
        .enumerate()
        .map(|(option, label)| {
            let action = Action::Choose { gate: gate(5), question: 0, option };
            button(label, None, Weight::Plain, action)
        })
        .collect();
    card.buttons.push(button(
        "Done",
        None,
        Weight::Go,
        Action::Submit { gate: gate(5), question: 0 },
    ));
    (TimeDelta::minutes(2), card)
}

fn deletes() -> (TimeDelta, Card) {
    let mut card =
        blank(3, "K7Q2", CardKind::Permission, "asks to run a command that deletes files");
    card.risk = Risk::Code;
    card.content.push("rm -rf ./target/import-cache ", None);
    card.content.push("U+202E", Some(Style::Hidden));
    card.content.push("а", Some(Style::LookAlike));
    card.content.push("rchive/", None);
    card.warnings = vec!["1 hidden character and 1 look-alike letter (а is Cyrillic). It runs exactly as shown here.".into()];
    card.facts = vec![
        fact("Folder", "~/code/quay-PD-287"),
        fact("Risk", "deletes 2 folders, one is not in git"),
    ];
    card.buttons = vec![button("Deny", None, Weight::Plain, Action::Deny { gate: gate(3) })];
    (TimeDelta::minutes(4), card)
}

fn edit() -> (TimeDelta, Card) {
    let mut card = blank(4, "W6CP", CardKind::Permission, "asks to edit a file");
    card.diff = Some(DIFF.into());
    card.facts = vec![fact("Folder", "~/code/quay-PD-285")];
    card.buttons = vec![
        button("Approve", None, Weight::Go, Action::Allow { gate: gate(4) }),
        button(
            "Approve for this session",
            None,
            Weight::Plain,
            Action::AllowForSession { gate: gate(4) },
        ),
        button("Deny", None, Weight::Plain, Action::Deny { gate: gate(4) }),
    ];
    (TimeDelta::minutes(1), card)
}

const DIFF: &str = "\
--- a/src/refund/retry.rs
+++ b/src/refund/retry.rs
@@ -41,3 +41,6 @@ async fn refund
 let key = refund.idempotency_key();
-let answer = bank.refund(&refund).await?;
+let answer = retry(policy(5), || {
+    bank.refund(&refund, &key)
+})
+.await?;
 self.store.mark_paid(refund.id).await?;
";
