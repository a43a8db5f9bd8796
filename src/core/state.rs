//! Everything the daemon knows while it runs, and the rows it is made of. The rows of a restart
//! and the state in memory are the same: whatever `decide` changes, it also writes.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use crate::{
    Timestamp,
    answer::Words,
    bridge::{Attached, Health, Heard, HeardKind, Limits, Over, Place, Reader, Room, TextUnit},
    caller::{Bounds, Known, Principal, Ticket, TokenHash, TokenRow, TokenScope},
    command::Kept,
    delivery::{Delivery, DeliveryState, Outgoing, Spot, Target},
    gate::{Gate, GateState},
    id::{
        AgentName, BridgeName, ChatId, DeliveryId, GateId, HeardId, HumanId, MessageId,
        PairingCode, ProjectName, PromptId, SessionId, SessionName, ThreadId, TicketId, TokenId,
    },
    mail::{Lately, Mail, Recipient},
    prompt::Prompt,
    route::StoryPattern,
    run::{FrozenRow, KnownRun, RunLogRow, RunRow, SlotRow},
    runs::Runs,
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
    /// Agents that run whatever is typed there, so that no message of others ever is.
    pub without_mail: HashSet<AgentName>,
    pub pattern: StoryPattern,
    pub words: Words,
    /// An open gate is denied by itself after this.
    pub gate_deadline: chrono::TimeDelta,
    /// Chats that hear of every session whatever else is paired.
    pub chats: Vec<Chat>,
    /// What each sort of chat of a bridge takes; a bridge that is not here is not switched on.
    pub limits: HashMap<(BridgeName, Room), Limits>,
    pub bounds: Bounds,
    pub workflows: WorkflowRules,
    pub lord: Option<Lord>,
    /// Whether people nobody knows hear that this is private.
    pub strangers: Strangers,
}

/// How much of this machine runs of workflows may take up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowRules {
    /// Steps at the same time that have a process, altogether …
    pub host_steps: usize,
    /// … and in one project.
    pub project_steps: usize,
    /// Runs that are open.
    pub runs: usize,
    /// Agents at the same time that steps have for themselves.
    pub agents: usize,
}

impl Default for WorkflowRules {
    fn default() -> Self {
        Self { host_steps: 16, project_steps: 8, runs: 1000, agents: 4 }
    }
}

/// What a stranger is told, at most once a day each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strangers {
    Answered,
    Ignored,
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

/// The session that is the person's one counterpart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lord {
    pub name: SessionName,
    pub project: ProjectName,
    pub agent: AgentName,
}

/// How the Lord is kept alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LordWatch {
    /// It is started again when it is gone; `tries`: when that was done lately.
    On { tries: Vec<Timestamp> },
    /// Another session has its name, which the people know.
    NameTaken,
    /// It failed too often, which the people know.
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorktreeRule {
    None,
    PerStory,
}

/// A chat that hears of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub room: Room,
}

/// What shares one budget: a chat, or with `None` all chats of the service.
pub type Purse = (BridgeName, Option<ChatId>);

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
    Chat(ChatRow),
    Identity(IdentityRow),
    LastHeard(LastHeardRow),
    Mail(Mail),
    Ticket(Ticket),
    Token(TokenRow),
    Answer(AnswerRow),
    Run(RunRow),
    Frozen(FrozenRow),
    RunLog(RunLogRow),
    Slot(SlotRow),
    Journal(JournalEntry),
}

/// What a session said last at the end of a turn, whole up to a bound: for who waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRow {
    pub session: SessionId,
    pub at: Timestamp,
    pub text: String,
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
    /// What came with it, which an edit of its words does not take back. None of a stranger's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attached>,
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
    /// `None`: it had one, and that is gone.
    pub thread: Option<ThreadId>,
}

/// A chat that a person opened to us: by writing in their own, or by a code in a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatRow {
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub room: Room,
    /// Who opened it.
    pub by: HumanId,
    pub state: ChatState,
    /// Why it has no threads though its service says it could.
    #[serde(default)]
    pub threadless: Option<String>,
    /// Since when it is ours; unknown for those of an older Vigie.
    #[serde(default)]
    pub opened: Option<Timestamp>,
    /// Who reads along there and is nobody we know, as people were told.
    #[serde(default)]
    pub readers: BTreeSet<String>,
}

impl ChatRow {
    /// Whether nothing is said there because of who reads along.
    pub fn is_held(&self) -> bool {
        self.room.is_direct() && !self.readers.is_empty()
    }
}

/// When a person was heard last in a chat of a service that can wake them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastHeardRow {
    pub human: HumanId,
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ChatState {
    Open,
    /// The service lets nothing in; what must arrive waits.
    Shut {
        reason: String,
        since: Timestamp,
    },
    /// It is no chat of ours any more: moved, or its person's access was taken back.
    Left,
}

/// Who a service's own id of a person is, by a code typed there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityRow {
    pub bridge: BridgeName,
    pub from: String,
    /// `None`: access was taken back.
    pub human: Option<HumanId>,
    pub at: Timestamp,
}

/// A code that was printed at the desk and not typed yet. Kept in memory only: it ends with us.
#[derive(Clone, Debug)]
pub struct Pairing {
    pub code: PairingCode,
    pub human: HumanId,
    pub until: Timestamp,
    pub tries_left: u32,
}

/// What somebody nobody knows did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// They wrote, tapped or reacted.
    Spoke,
    /// They asked to have us in a chat, where we did not go.
    Knocked,
}

/// Somebody nobody knows, who tried something lately.
#[derive(Clone, Debug)]
pub struct Stranger {
    /// What they did first.
    pub tried: Tried,
    pub tries: u32,
    pub since: Timestamp,
    /// The owners know.
    pub told: bool,
    /// They heard that this is private.
    pub answered: bool,
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

/// A message of ours and what it is about.
#[derive(Clone, Debug)]
pub struct JustSent {
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub message: MessageId,
    pub session: Option<SessionId>,
    pub gate: Option<GateId>,
}

/// How a bridge hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hearing {
    pub health: Health,
    /// When it first said how it hears: from then on its silence counts.
    pub since: Timestamp,
    /// Since when nothing was heard, once that was noticed.
    pub deaf: Option<Timestamp>,
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
    /// It is about a message that is not known here, or not yet.
    pub unknown: bool,
}

/// How something new is on its way into a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sending {
    /// A bridge has it right now.
    Now,
    /// It may have arrived, and is said again: before a restart, or when a service did not answer.
    InDoubt,
}

/// How many keys of what was heard lately are remembered, to notice a double that arrives before
/// the first is committed. Far more than one group commit can hold.
const RECENT_KEYS: usize = 4096;

/// Gates that are known by code and say who decided; older ones stand in the database.
const REMEMBERED: usize = 4000;

/// Tickets that can still be asked about; ids sort by age.
const TICKETS: usize = 4000;

/// Messages of ours remembered beside the database; far more than a group commit holds.
const JUST_SENT: usize = 256;

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
    pub chats: BTreeMap<(BridgeName, ChatId), ChatRow>,
    /// By codes; those of the configuration are in the rules.
    pub identities: HashMap<(BridgeName, String), IdentityRow>,
    /// Those that are not read, by their number.
    pub mails: BTreeMap<u64, Mail>,
    pub tickets: BTreeMap<TicketId, Ticket>,
    pub tokens: BTreeMap<TokenId, TokenRow>,
    pub runs: Runs,
    /// Whether the Lord is kept alive. It ends with us: a start begins anew.
    pub lord_watch: LordWatch,
    pub mail_lately: Lately,
    pub pairings: Vec<Pairing>,
    pub strangers: BTreeMap<(BridgeName, String), Stranger>,
    /// Who is in each chat besides us, as services last said; of chats that nobody opened as well, since
    /// a code may open them.
    pub present: BTreeMap<(BridgeName, ChatId), Vec<Reader>>,
    /// How each bridge hears, as it last said.
    pub health: BTreeMap<BridgeName, Hearing>,
    /// Where nothing may be said until then.
    pub quiet: HashMap<Purse, Timestamp>,
    /// When each was last called, for its budget.
    pub spent: HashMap<Purse, VecDeque<Timestamp>>,
    /// Where people were heard, and when last: what rings rings where they were last.
    pub last_heard: BTreeMap<(HumanId, BridgeName, ChatId), Timestamp>,
    /// What whoever tapped was told lately, and about which message, so that it is said once.
    pub told: VecDeque<(Place, MessageId, String)>,
    /// What was sent a moment ago, the newest last: a reply can be quicker than our own commit.
    pub just_sent: VecDeque<JustSent>,
    /// When a message of ours was last changed.
    pub changed: BTreeMap<DeliveryId, Timestamp>,
    /// Prompts that were typed and not seen to be taken: the agent's own word may still come.
    pub unsure: VecDeque<Prompt>,
    pub failed: VecDeque<String>,
    pub problems: Vec<String>,
    pub next_prompt: u64,
    pub next_delivery: u64,
    pub next_mail: u64,
    recent: VecDeque<(BridgeName, String)>,
    recent_set: HashSet<(BridgeName, String)>,
}

/// Everything a restart finds.
#[derive(Debug, Default)]
pub struct Found {
    pub rows: Vec<Row>,
    pub messages: BTreeMap<DeliveryId, MessageId>,
    /// What was sent lately, oldest first: it still counts against budgets.
    pub spent: Vec<(BridgeName, ChatId, Timestamp)>,
    pub next_prompt: u64,
    pub next_delivery: u64,
    pub next_mail: u64,
    /// Runs that are open, and the last that are over.
    pub runs: Vec<KnownRun>,
    /// The last number of each short name of a workflow.
    pub run_numbers: Vec<(String, u64)>,
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
            chats: BTreeMap::new(),
            identities: HashMap::new(),
            mails: BTreeMap::new(),
            tickets: BTreeMap::new(),
            tokens: BTreeMap::new(),
            runs: Runs::default(),
            lord_watch: LordWatch::On { tries: Vec::new() },
            mail_lately: Lately::default(),
            pairings: Vec::new(),
            strangers: BTreeMap::new(),
            present: BTreeMap::new(),
            health: BTreeMap::new(),
            quiet: HashMap::new(),
            spent: HashMap::new(),
            last_heard: BTreeMap::new(),
            told: VecDeque::new(),
            just_sent: VecDeque::new(),
            changed: BTreeMap::new(),
            unsure: VecDeque::new(),
            failed: VecDeque::new(),
            problems: found.problems,
            next_prompt: found.next_prompt.max(1),
            next_delivery: found.next_delivery.max(1),
            next_mail: found.next_mail.max(1),
            recent: VecDeque::new(),
            recent_set: HashSet::new(),
        };
        for run in found.runs {
            state.runs.absorb(run);
        }
        for (short, number) in found.run_numbers {
            state.runs.note_number(&short, number);
        }
        for row in found.rows {
            state.put(&row);
        }
        for (bridge, chat, at) in found.spent {
            let purse = state.purse(&bridge, &chat);
            state.spent.entry(purse).or_default().push_back(at);
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
                self.runs.put_gate(gate);
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
                let key = (row.session, row.bridge.clone(), row.chat.clone());
                match row.thread.clone() {
                    Some(thread) => self.threads.insert(key, thread),
                    None => self.threads.remove(&key),
                };
            }
            Row::Chat(row) => {
                self.chats.insert((row.bridge.clone(), row.chat.clone()), row.clone());
            }
            Row::Identity(row) => {
                self.identities.insert((row.bridge.clone(), row.from.clone()), row.clone());
            }
            Row::LastHeard(row) => {
                let key = (row.human.clone(), row.bridge.clone(), row.chat.clone());
                self.last_heard.insert(key, row.at);
            }
            Row::Focus(row) => {
                let key = (row.place.clone(), row.human.clone());
                match row.session {
                    Some(session) => self.focus.insert(key, session),
                    None => self.focus.remove(&key),
                };
            }
            Row::Mail(mail) if mail.state.is_open() => {
                self.mails.insert(mail.number, mail.clone());
            }
            Row::Mail(mail) => {
                self.mails.remove(&mail.number);
            }
            Row::Ticket(ticket) => {
                self.tickets.insert(ticket.id, ticket.clone());
                self.forget_old_tickets();
            }
            Row::Token(token) => {
                self.tokens.insert(token.id, token.clone());
            }
            // Whoever wants them reads them from the database.
            Row::Answer(_) | Row::Journal(_) => {}
            Row::Frozen(frozen) => self.runs.put_frozen(frozen),
            Row::Run(run) => self.runs.put_row(run),
            Row::RunLog(line) => self.runs.put_line(line),
            Row::Slot(slot) => self.runs.put_slot(slot),
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

    /// The oldest that is over goes first, so that nobody's wait is lost over another's many.
    fn forget_old_tickets(&mut self) {
        if self.tickets.len() > TICKETS {
            let over = self.tickets.values().find(|ticket| ticket.over.is_some());
            let oldest = over.map(|ticket| ticket.id);
            match oldest {
                Some(id) => drop(self.tickets.remove(&id)),
                None => drop(self.tickets.pop_first()),
            }
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

    /// Who speaks with that token; nobody once their session, or the token, is over.
    pub fn known(&self, token: &TokenHash) -> Option<Known> {
        let session = self.live().find(|s| s.ending.is_none() && s.token.as_ref() == Some(token));
        if let Some(session) = session {
            return Some(Known {
                principal: Principal::Session { session: session.id },
                name: session.name.to_string(),
                scopes: TokenScope::ALL.into(),
                run: Some((session.id, session.run)),
            });
        }
        let client =
            self.tokens.values().find(|row| row.revoked.is_none() && row.hash == *token)?;
        Some(Known {
            principal: Principal::Client { token: client.id },
            name: client.name.clone(),
            scopes: client.scopes.clone(),
            run: None,
        })
    }

    /// What waits for that session, in the order it came.
    pub fn mail_of(&self, id: SessionId) -> impl Iterator<Item = &Mail> {
        self.mails.values().filter(
            move |mail| matches!(&mail.to, Recipient::Session { session, .. } if *session == id),
        )
    }

    /// The same for whoever speaks with a token.
    pub fn mail_for(&self, who: &Principal) -> impl Iterator<Item = &Mail> {
        self.mails.values().filter(move |mail| match (&mail.to, who) {
            (Recipient::Session { session: to, .. }, Principal::Session { session }) => {
                to == session
            }
            (Recipient::Client { token: to, .. }, Principal::Client { token }) => to == token,
            (
                Recipient::Session { .. } | Recipient::Client { .. } | Recipient::Humans,
                Principal::Session { .. } | Principal::Client { .. },
            ) => false,
        })
    }

    pub fn live(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values().filter(|s| s.life.is_live())
    }

    pub fn open_gates_of(&self, session: SessionId) -> impl Iterator<Item = &Gate> {
        self.gates.values().filter(move |g| g.session() == Some(session) && g.is_open())
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

    /// Who that is on the service; `None`: a stranger. What a code said beats the configuration,
    /// so that taking access back holds.
    pub fn human_of(&self, bridge: &BridgeName, from: &str) -> Option<HumanId> {
        let key = (bridge.clone(), from.to_owned());
        let human = match self.identities.get(&key) {
            Some(row) => row.human.as_ref(),
            None => self.rules.identities.get(&key),
        };
        human.filter(|human| self.rules.people.contains_key(human)).cloned()
    }

    /// Chats that hear of every session. On a service where a group was opened, that group; else
    /// each person's own chat.
    pub fn hearing(&self) -> Vec<Chat> {
        let mut all = self.rules.chats.clone();
        let open = |row: &&ChatRow| !matches!(row.state, ChatState::Left);
        let on = |row: &&ChatRow| self.rules.limits.contains_key(&(row.bridge.clone(), row.room));
        let rows: Vec<_> = self.chats.values().filter(open).filter(on).collect();
        let has_group = |bridge: &BridgeName| {
            rows.iter().any(|row| row.bridge == *bridge && !row.room.is_direct())
        };
        let hears = |row: &&&ChatRow| !row.room.is_direct() || !has_group(&row.bridge);
        all.extend(rows.iter().filter(hears).map(|row| Chat {
            bridge: row.bridge.clone(),
            chat: row.chat.clone(),
            room: row.room,
        }));
        all
    }

    /// What was looked up, with what the database does not have yet.
    #[must_use]
    pub fn completed(&self, facts: Facts, heard: &Heard) -> Facts {
        let about = match &heard.what {
            HeardKind::Text { reply_to: Some(message), .. }
            | HeardKind::Tap { message, .. }
            | HeardKind::Reaction { message, .. }
            | HeardKind::TakenBack { message, .. } => message,
            HeardKind::Text { reply_to: None, .. } | HeardKind::Edited { .. } => return facts,
        };
        let same = |sent: &&JustSent| {
            sent.bridge == heard.place.bridge
                && sent.chat == heard.place.chat
                && sent.message == *about
        };
        match self.just_sent.iter().rev().find(same).filter(|_| facts.unknown) {
            Some(sent) => Facts { session: sent.session, gate: sent.gate, unknown: false, ..facts },
            None => facts,
        }
    }

    /// Remembers a message of ours until the database surely has it.
    pub fn remember_sent(&mut self, sent: JustSent) {
        self.just_sent.push_back(sent);
        if self.just_sent.len() > JUST_SENT {
            self.just_sent.pop_front();
        }
    }

    /// Something new that is on its way into that chat: what it became is known soon.
    pub fn sending_in(&self, place: &Place) -> Option<Sending> {
        let here = |d: &&Delivery| {
            d.to.bridge == place.bridge
                && d.to.chat == place.chat
                && matches!(d.what, Outgoing::Post { .. })
        };
        let sending = |d: &Delivery| match &d.state {
            DeliveryState::InFlight { .. } => Some(Sending::Now),
            DeliveryState::Due { tries, .. } if tries.doubtful > 0 => Some(Sending::InDoubt),
            DeliveryState::Due { .. }
            | DeliveryState::Sent { .. }
            | DeliveryState::Failed { .. }
            | DeliveryState::Replaced => None,
        };
        self.deliveries.values().filter(here).filter_map(sending).min()
    }

    /// The chat a delivery goes to, as far as it is one that hears of sessions.
    pub fn chat_of(&self, bridge: &BridgeName, chat: &ChatId) -> Option<Chat> {
        let same = |known: &Chat| known.bridge == *bridge && known.chat == *chat;
        let row = self.chats.get(&(bridge.clone(), chat.clone()));
        self.rules.chats.iter().find(|known| same(known)).cloned().or_else(|| {
            row.map(|row| Chat { bridge: bridge.clone(), chat: chat.clone(), room: row.room })
        })
    }

    /// What that chat takes: for a chat nobody opened, as much as a group; on a bridge that is
    /// switched off, where nothing is sent anyway, next to nothing.
    pub fn limits_of(&self, bridge: &BridgeName, chat: &ChatId) -> Limits {
        const OFF: Limits = Limits::of_text(TextUnit::Utf16, 1000, 0, 1);
        let room = self.chat_of(bridge, chat).map_or(Room::Group, |chat| chat.room);
        self.rules.limits.get(&(bridge.clone(), room)).copied().unwrap_or(OFF)
    }

    /// What that chat's calls are counted with.
    pub fn purse(&self, bridge: &BridgeName, chat: &ChatId) -> Purse {
        let over = self.limits_of(bridge, chat).budget.map_or(Over::Chat, |budget| budget.over);
        let own = match over {
            Over::Chat => Some(chat.clone()),
            Over::Service => None,
        };
        (bridge.clone(), own)
    }

    /// As lists and messages call whoever a token speaks for.
    pub fn principal_name(&self, principal: &Principal) -> String {
        match principal {
            Principal::Session { session } => {
                let known = self.sessions.get(session);
                known.map_or_else(|| session.to_string(), |session| session.name.to_string())
            }
            Principal::Client { token } => {
                let known = self.tokens.get(token);
                known.map_or_else(|| token.to_string(), |token| token.name.clone())
            }
        }
    }

    pub fn name_of(&self, human: &HumanId) -> String {
        self.rules.people.get(human).map_or_else(|| human.to_string(), |person| person.name.clone())
    }
}
