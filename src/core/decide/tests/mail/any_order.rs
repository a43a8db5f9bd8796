//! Whatever happens in whatever order: nothing is lost, nothing comes twice unmarked, nothing
//! overtakes.

use chrono::TimeDelta;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

use super::*;
use crate::{agent::RefusedPrompt, id::OrderId, session::Life};

const NAMES: [&str; 3] = ["PD-1", "PD-2", "PD-3"];

#[derive(Clone, Debug)]
enum Step {
    Send {
        from: usize,
        to: usize,
    },
    Person {
        to: usize,
    },
    /// A turn begins at the desk.
    Desk {
        of: usize,
    },
    /// The holder carries out the next order, and reports it.
    CarryOut {
        of: usize,
    },
    /// It carries it out, and dies before it can report.
    CarryOutAndDie {
        of: usize,
    },
    Refuse {
        of: usize,
        why: RefusedPrompt,
    },
    Fetch {
        of: usize,
    },
    Acknowledge {
        of: usize,
    },
    Finish {
        of: usize,
    },
    Die {
        of: usize,
    },
    Crash,
    Wait {
        seconds: i64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let of = || 0..NAMES.len();
    prop_oneof![
        6 => (of(), of()).prop_map(|(from, to)| Step::Send { from, to }),
        2 => of().prop_map(|to| Step::Person { to }),
        2 => of().prop_map(|of| Step::Desk { of }),
        6 => of().prop_map(|of| Step::CarryOut { of }),
        1 => of().prop_map(|of| Step::CarryOutAndDie { of }),
        1 => (of(), prop_oneof![
            Just(RefusedPrompt::Withdrawn),
            Just(RefusedPrompt::Gone),
            Just(RefusedPrompt::NoSignal),
            Just(RefusedPrompt::ByAgent { reason: "no".into() }),
        ]).prop_map(|(of, why)| Step::Refuse { of, why }),
        2 => of().prop_map(|of| Step::Fetch { of }),
        1 => of().prop_map(|of| Step::Acknowledge { of }),
        4 => of().prop_map(|of| Step::Finish { of }),
        1 => of().prop_map(|of| Step::Die { of }),
        1 => Just(Step::Crash),
        2 => (1_i64..90).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

/// What an agent read: which message, and whether it was marked as a repeat.
type Seen = (MailId, bool);

/// The world with what holders and agents remember themselves.
struct Stage {
    world: World,
    /// Orders that were carried out; a holder does each once.
    done: HashSet<OrderId>,
    seen: HashMap<usize, Vec<Seen>>,
    sent: Vec<MailId>,
}

impl Stage {
    fn new() -> Self {
        let world = World::with(&NAMES);
        Self { world, done: HashSet::new(), seen: HashMap::new(), sent: Vec::new() }
    }

    fn life(&self, of: usize) -> Life {
        self.world.state.sessions[&self.world.id(NAMES[of])].life.clone()
    }

    /// The next order to that session's present run that is not carried out.
    fn next_order(&mut self, of: usize) -> Option<crate::agent::Order> {
        let id = self.world.id(NAMES[of]);
        let orders = self.world.orders.iter().filter(|(session, _)| *session == id);
        orders.map(|(_, order)| order.clone()).find(|order| !self.done.contains(&order.id))
    }

    fn shows(&mut self, of: usize, text: &str) {
        for tag in text.split("<vigie-mail ").skip(1) {
            let tag = tag.split_once('>').unwrap().0;
            let id = tag.split('"').nth(1).unwrap().parse().unwrap();
            self.seen.entry(of).or_default().push((id, tag.contains("repeat=\"yes\"")));
        }
    }

    /// Carries out one order; `None` when there is none.
    fn carries_out(&mut self, of: usize) -> Option<AgentEvent> {
        let order = self.next_order(of)?;
        self.done.insert(order.id);
        let working = matches!(self.life(of), Life::Working { .. });
        match order.what {
            OrderKind::Prompt { prompt, text, .. } => {
                self.shows(of, &text);
                Some(AgentEvent::PromptTaken { prompt, turn: None })
            }
            OrderKind::Mail { mail, text } if working => {
                self.shows(of, &text);
                Some(AgentEvent::MailTaken { mail })
            }
            OrderKind::Mail { mail, .. } => Some(AgentEvent::MailReturned { mail }),
            // The prompt may be typed by then.
            _ => self.carries_out(of),
        }
    }

    fn dies(&mut self, of: usize) {
        let id = self.world.id(NAMES[of]);
        self.world.dies(NAMES[of]);
        // Whatever it was told and did not do dies with it.
        let told = self.world.orders.iter().filter(|(session, _)| *session == id);
        self.done.extend(told.map(|(_, order)| order.id));
        self.world.resumes(NAMES[of]);
    }

    fn finishes(&mut self, of: usize) {
        if matches!(self.life(of), Life::Working { .. }) {
            let id = self.world.id(NAMES[of]);
            let told = self.world.orders.iter().filter(|(session, _)| *session == id);
            let told: Vec<_> = told.map(|(_, order)| order.clone()).collect();
            for order in told {
                if let OrderKind::Mail { mail, .. } = order.what
                    && self.done.insert(order.id)
                {
                    self.world.gives_back(NAMES[of], mail);
                }
            }
            self.world.finishes(NAMES[of], "done");
        }
    }

    fn takes(&mut self, step: Step) {
        match step {
            Step::Send { from, to } if from != to => {
                let text = format!("hello {}", self.sent.len());
                if let Ok(reply) = self.world.posts(NAMES[from], letter(&[NAMES[to]], &text)) {
                    self.sent.push(sent(Ok(reply))[0].id);
                }
            }
            Step::Send { .. } => {}
            Step::Person { to } => drop(self.world.writes(&format!("[{}] go on", NAMES[to]))),
            Step::Desk { of } => {
                let turn = AgentEvent::ForeignTurn { turn: None, text: "at the desk".into() };
                self.world.report(NAMES[of], turn);
            }
            Step::CarryOut { of } => {
                if let Some(report) = self.carries_out(of) {
                    self.world.report(NAMES[of], report);
                }
            }
            Step::CarryOutAndDie { of } => {
                self.carries_out(of);
                self.dies(of);
            }
            Step::Refuse { of, why } => {
                if let Some(order) = self.next_order(of)
                    && let OrderKind::Prompt { prompt, text, .. } = order.what
                {
                    self.done.insert(order.id);
                    if why == RefusedPrompt::NoSignal {
                        self.shows(of, &text); // typed, and nobody knows
                    }
                    self.world.report(NAMES[of], AgentEvent::PromptRefused { prompt, why });
                }
            }
            Step::Fetch { of } => {
                for mail in self.world.reads(NAMES[of]) {
                    self.seen.entry(of).or_default().push((mail.id, mail.is_repeat()));
                }
            }
            Step::Acknowledge { of } => {
                let seen = self.seen.get(&of).into_iter().flatten();
                let mails = seen.map(|(id, _)| *id).collect();
                self.world.call(NAMES[of], AgentCommand::Acknowledge { mails }).unwrap();
            }
            Step::Finish { of } => self.finishes(of),
            Step::Die { of } => self.dies(of),
            Step::Crash => self.world.crash(),
            Step::Wait { seconds } => self.world.wait(TimeDelta::seconds(seconds)),
        }
    }

    /// From now on all goes well.
    fn comes_to_rest(&mut self) {
        for _ in 0..200 {
            for (of, _) in NAMES.iter().enumerate() {
                while let Some(report) = self.carries_out(of) {
                    self.world.report(NAMES[of], report);
                }
                self.finishes(of);
            }
            self.world.wait(TimeDelta::minutes(1));
            if self.world.state.mails.is_empty() {
                return;
            }
        }
        panic!("something waits for ever: {:?}", self.world.state.mails);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice_unmarked(
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut stage = Stage::new();
        for step in steps {
            stage.takes(step);
        }
        stage.comes_to_rest();
        let numbers: HashMap<_, _> =
            stage.world.mails().into_iter().map(|mail| (mail.id, mail.number)).collect();
        for id in &stage.sent {
            let seen: Vec<_> = stage.seen.values().flatten().filter(|(mail, _)| mail == id).collect();
            match stage.world.mail(*id).state {
                MailState::Read { .. } => prop_assert!(!seen.is_empty(), "{id} is lost"),
                MailState::Dead { .. } => prop_assert_eq!(stage.world.mail(*id).tries, 3),
                other => prop_assert!(false, "{other:?}"),
            }
            prop_assert!(
                seen.iter().skip(1).all(|(_, repeat)| *repeat),
                "{id} came twice: {seen:?}"
            );
        }
        for seen in stage.seen.values() {
            let mut first = HashSet::new();
            let first: Vec<_> =
                seen.iter().filter(|(id, _)| first.insert(*id)).map(|(id, _)| numbers[id]).collect();
            prop_assert!(first.is_sorted(), "one overtook another: {first:?}");
        }
    }
}
