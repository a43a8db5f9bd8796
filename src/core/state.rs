//! Everything the daemon knows while it runs, and the rows it is made of. The rows of a restart
//! and the state in memory are the same: whatever `decide` changes, it also writes.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::{
    Timestamp,
    answer::Words,
    bridge::{Limits, Place},
    command::Kept,
    delivery::{Delivery, Spot, Target},
    gate::{Gate, GateState},
    id::{
        AgentName, BridgeName, ChatId, DeliveryId, GateId, HeardId, HumanId, MessageId,
        ProjectName, PromptId, SessionId, ThreadId,
    },
    prompt::Prompt,
    route::StoryPattern,
    session::Session,
};

/// What the configuration says, checked.
#[derive(Clone, Debug)]
pub struct Rules {
    pub people: HashMap<HumanId, Person>,
    /// Who a service's own id of a person is; anybody else is a stranger.
    pub identities: HashMap<(BridgeName, String), HumanId>,
    pub projects: Vec<Project>,
    pub agents: Vec<AgentName>,
    pub pattern: StoryPattern,
    pub words: Words,
    /// An open gate is denied by itself after this.
    pub gate_deadline: chrono::TimeDelta,
    /// Chats that hear of every session.
    pub chats: Vec<Chat>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// As cards show it.
    pub name: String,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Viewer,
    Talker,
    Approver,
    Owner,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub name: ProjectName,
    pub path: String,
    pub agent: AgentName,
    pub worktree: WorktreeRule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorktreeRule {
    None,
    PerStory,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub threads: Threads,
    pub limits: Limits,
}

/// Whether the chat has a thread for each session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    PerSession,
    None,
}

/// One thing kept in the database, whole. Its table and key follow from its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    Session(Session),
    Prompt(Prompt),
    Gate(Gate),
    Delivery(Delivery),
    Heard(HeardRow),
    Thread(ThreadRow),
    Focus(FocusRow),
    Journal(JournalEntry),
}

/// Something heard, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeardRow {
    pub id: HeardId,
    pub bridge: BridgeName,
    /// The service's own key; unique with the bridge.
    pub key: String,
    pub place: Place,
    pub message: Option<MessageId>,
    /// When the service says it was sent.
    pub sent: Timestamp,
    pub received: Timestamp,
    pub outcome: HeardOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum HeardOutcome {
    /// Nothing of a stranger's words is kept.
    Stranger,
    /// It went to these sessions.
    Routed { prompts: Vec<PromptId>, sessions: Vec<SessionId> },
    /// A person is asked where it should go.
    Kept { kept: Kept },
    /// An answer, a command, a tap: done when it was heard.
    Handled,
}

/// Which thread of a chat is a session's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRow {
    pub session: SessionId,
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub thread: ThreadId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FocusRow {
    pub place: Place,
    pub human: HumanId,
    /// `None`: no focus any more.
    pub session: Option<SessionId>,
}

/// One line of what happened, for the live view, `watch` and the audit. The writer numbers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    pub at: Timestamp,
    /// A constant word: `prompt_taken`, `gate_answered`.
    pub kind: String,
    pub session: Option<SessionId>,
    pub gate: Option<GateId>,
    pub human: Option<HumanId>,
    pub detail: serde_json::Value,
}

/// What was looked up for one message before it is decided about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The message it answers (or taps, or reacts to) is about this session …
    pub session: Option<SessionId>,
    /// … and is this card.
    pub gate: Option<GateId>,
    /// It is already in the database under its key.
    pub known: bool,
    /// The row of the message that is edited or tapped about, when it is ours to find.
    pub heard: Option<HeardRow>,
}

/// How many keys of what was heard lately are remembered, to notice a double that arrives before
/// the first is committed. Far more than one group commit can hold.
const RECENT_KEYS: usize = 4096;

/// Gates that are known by code and say who decided; older ones stand in the database.
const REMEMBERED: usize = 4000;

/// Sent messages that can still be edited.
const EDITABLE: usize = 20_000;

#[derive(Debug)]
pub struct State {
    pub rules: Rules,
    pub sessions: BTreeMap<SessionId, Session>,
    /// Those not at their end.
    pub prompts: BTreeMap<u64, Prompt>,
    pub gates: BTreeMap<GateId, Gate>,
    /// Those pending.
    pub deliveries: BTreeMap<u64, Delivery>,
    /// Which message a delivery became: for edits.
    pub messages: BTreeMap<DeliveryId, MessageId>,
    pub threads: HashMap<(SessionId, BridgeName, ChatId), ThreadId>,
    pub focus: HashMap<(Place, HumanId), SessionId>,
    pub kept: HashMap<HeardId, HeardRow>,
    /// Where a chat must be left alone until then.
    pub quiet: HashMap<(BridgeName, ChatId), Timestamp>,
    /// Prompts that were typed and not seen to be taken: the agent's own word may still come.
    pub unsure: VecDeque<Prompt>,
    pub failed: VecDeque<String>,
    pub problems: Vec<String>,
    pub next_prompt: u64,
    pub next_delivery: u64,
    recent: VecDeque<(BridgeName, String)>,
    recent_set: HashSet<(BridgeName, String)>,
}

/// Everything a restart finds.
#[derive(Debug, Default)]
pub struct Found {
    pub rows: Vec<Row>,
    pub messages: BTreeMap<DeliveryId, MessageId>,
    pub next_prompt: u64,
    pub next_delivery: u64,
    /// Rows that do not parse, each a sentence with table, column and id.
    pub problems: Vec<String>,
}

impl State {
    pub fn new(rules: Rules, found: Found) -> Self {
        let mut state = Self {
            rules,
            sessions: BTreeMap::new(),
            prompts: BTreeMap::new(),
            gates: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            messages: found.messages,
            threads: HashMap::new(),
            focus: HashMap::new(),
            kept: HashMap::new(),
            quiet: HashMap::new(),
            unsure: VecDeque::new(),
            failed: VecDeque::new(),
            problems: found.problems,
            next_prompt: found.next_prompt.max(1),
            next_delivery: found.next_delivery.max(1),
            recent: VecDeque::new(),
            recent_set: HashSet::new(),
        };
        for row in found.rows {
            state.put(&row);
        }
        state
    }

    /// Takes a row over: the only way anything in here changes.
    pub fn put(&mut self, row: &Row) {
        match row {
            Row::Session(session) => {
                self.sessions.insert(session.id, session.clone());
            }
            Row::Prompt(prompt) if prompt.state.is_open() => {
                self.prompts.insert(prompt.number, prompt.clone());
            }
            Row::Prompt(prompt) => {
                self.prompts.remove(&prompt.number);
            }
            Row::Gate(gate) => {
                self.gates.insert(gate.id, gate.clone());
                self.forget_old_gates();
            }
            Row::Delivery(delivery) if delivery.state.is_pending() => {
                self.deliveries.insert(delivery.number, delivery.clone());
            }
            Row::Delivery(delivery) => {
                self.deliveries.remove(&delivery.number);
            }
            Row::Heard(heard) => match heard.outcome {
                HeardOutcome::Kept { .. } => {
                    self.kept.insert(heard.id, heard.clone());
                }
                HeardOutcome::Stranger | HeardOutcome::Routed { .. } | HeardOutcome::Handled => {
                    self.kept.remove(&heard.id);
                }
            },
            Row::Thread(row) => {
                self.threads.insert(
                    (row.session, row.bridge.clone(), row.chat.clone()),
                    row.thread.clone(),
                );
            }
            Row::Focus(row) => {
                let key = (row.place.clone(), row.human.clone());
                match row.session {
                    Some(session) => self.focus.insert(key, session),
                    None => self.focus.remove(&key),
                };
            }
            Row::Journal(_) => {}
        }
    }

    /// Ids sort by age, so the first are the oldest.
    fn forget_old_gates(&mut self) {
        if self.gates.len() > REMEMBERED {
            let settled = |gate: &&Gate| {
                matches!(gate.state, GateState::Taken { .. } | GateState::Closed { .. })
            };
            let oldest = self.gates.values().find(settled).map(|gate| gate.id);
            oldest.and_then(|id| self.gates.remove(&id));
        }
    }

    /// Which message a delivery became; the oldest can no longer be edited.
    pub fn remember_message(&mut self, delivery: DeliveryId, message: MessageId) {
        self.messages.insert(delivery, message);
        if self.messages.len() > EDITABLE {
            self.messages.pop_first();
        }
    }

    /// `true` the first time.
    pub fn remember_key(&mut self, bridge: &BridgeName, key: &str) -> bool {
        let pair = (bridge.clone(), key.to_owned());
        if !self.recent_set.insert(pair.clone()) {
            return false;
        }
        self.recent.push_back(pair);
        if self.recent.len() > RECENT_KEYS
            && let Some(old) = self.recent.pop_front()
        {
            self.recent_set.remove(&old);
        }
        true
    }

    /// The session that goes by this name: the live one, else the last that did.
    pub fn session_named(&self, name: &str) -> Option<&Session> {
        let matching =
            || self.sessions.values().filter(|s| s.name.as_str().eq_ignore_ascii_case(name));
        matching().find(|s| s.life.is_live()).or_else(|| matching().next_back())
    }

    pub fn live(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values().filter(|s| s.life.is_live())
    }

    pub fn open_gates_of(&self, session: SessionId) -> impl Iterator<Item = &Gate> {
        self.gates.values().filter(move |g| g.session == session && g.is_open())
    }

    pub fn open_gates(&self) -> impl Iterator<Item = &Gate> {
        self.gates.values().filter(|g| g.is_open())
    }

    /// A session's prompts that have not reached it, in the order they came.
    pub fn line_of(&self, session: SessionId) -> impl Iterator<Item = &Prompt> {
        self.prompts.values().filter(move |p| p.session == session)
    }

    pub fn thread_session(&self, place: &Place) -> Option<SessionId> {
        let thread = place.thread.as_ref()?;
        self.threads
            .iter()
            .find(|((_, bridge, chat), id)| {
                *bridge == place.bridge && *chat == place.chat && *id == thread
            })
            .map(|((session, ..), _)| *session)
    }

    /// Where a delivery goes right now; `None` while its thread is not made yet.
    pub fn place_of(&self, target: &Target) -> Option<Place> {
        let place =
            |thread| Place { bridge: target.bridge.clone(), chat: target.chat.clone(), thread };
        match &target.spot {
            Spot::Main => Some(place(None)),
            Spot::Thread { thread } => Some(place(Some(thread.clone()))),
            Spot::Session { session } => self
                .threads
                .get(&(*session, target.bridge.clone(), target.chat.clone()))
                .map(|thread| place(Some(thread.clone()))),
        }
    }

    pub fn name_of(&self, human: &HumanId) -> String {
        self.rules.people.get(human).map_or_else(|| human.to_string(), |person| person.name.clone())
    }
}
