//! Everything the daemon knows while it runs, and the rows it is made of. The rows of a restart
//! and the state in memory are the same: whatever `decide` changes, it also writes.

mod rows;
mod rules;
mod spent;

pub use rows::*;
pub use rules::*;
pub use spent::{Spent, each};

use chrono::TimeDelta;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::{
    Timestamp,
    account::{Account, Scope},
    bridge::{Heard, HeardKind, Limits, Over, Place, Reader, Room, TextUnit},
    caller::{Known, Principal, Ticket, TokenHash, TokenRow, TokenScope},
    delivery::{Delivery, DeliveryState, Outgoing, Spot, Target, Undelivered},
    gate::{Gate, GateState},
    grant::Grant,
    id::{
        AccountName, BridgeName, ChatId, DeliveryId, GateId, HeardId, HumanId, MessageId,
        SessionId, ThreadId, TicketId, TokenId,
    },
    ledger::{Recent, UsageKey, Used},
    mail::{Lately, Mail, Recipient},
    outage::{OutageRow, Trouble},
    prompt::Prompt,
    ringing::{DigestRow, Happened, MuteRow, Muted},
    run::KnownRun,
    runs::Runs,
    session::Session,
};

/// How many keys of what was heard lately are remembered, to notice a double that arrives before
/// the first is committed. Far more than one group commit can hold.
const RECENT_KEYS: usize = 4096;

/// Gates that are known by code and say who decided; older ones stand in the database.
const REMEMBERED: usize = 4000;

/// Tickets that can still be asked about; ids sort by age.
const TICKETS: usize = 4000;

/// Messages of ours remembered beside the database; far more than a group commit holds.
const JUST_SENT: usize = 256;

/// Decided questions that a late answer may be meant for.
const DECIDED: usize = 256;

/// Sent messages that can still be edited.
const EDITABLE: usize = 20_000;

/// Things that happened which digests can still tell of.
pub const HAPPENED: usize = 1000;

/// Deliveries that somebody misses; a page of them is all that anybody goes through.
pub const MISSED: usize = 50;

/// What did not arrive is of no use any more after this long, and stands in the journal alone.
const MISSED_FOR: TimeDelta = TimeDelta::days(7);

/// When it last rang in a chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rang {
    pub anything: Option<Timestamp>,
    /// For something that asks somebody.
    pub asking: Option<Timestamp>,
}

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
    /// Those that something is wrong with.
    pub troubles: BTreeMap<AccountName, Trouble>,
    /// What is allowed for longer, and the newest of what was: numbers go on from the last.
    pub grants: BTreeMap<u64, Grant>,
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
    /// When it last rang in which chat.
    pub rang_at: BTreeMap<(BridgeName, ChatId), Rang>,
    /// The last things that happened, the newest last: for digests.
    pub happened: VecDeque<Happened>,
    /// The last digest that each had who gets any.
    pub digests: BTreeMap<HumanId, DigestRow>,
    /// What makes no sound for whom.
    pub mutes: BTreeMap<(HumanId, Muted), MuteRow>,
    /// What calls took of each budget.
    pub spent: HashMap<Purse, Spent>,
    /// Where people were heard, and when last: what rings rings where they were last.
    pub last_heard: BTreeMap<(HumanId, BridgeName, ChatId), Timestamp>,
    /// What whoever tapped was told lately, and about which message, so that it is said once.
    pub told: VecDeque<(Place, MessageId, String)>,
    /// Vigie's own questions that were decided lately, the newest last.
    pub decided: VecDeque<Decided>,
    /// What was sent a moment ago, the newest last: a reply can be quicker than our own commit.
    pub just_sent: VecDeque<JustSent>,
    /// When a message of ours was last changed.
    pub changed: BTreeMap<DeliveryId, Timestamp>,
    /// Prompts that were typed and not seen to be taken: the agent's own word may still come.
    pub unsure: VecDeque<Prompt>,
    /// What somebody misses since it did not arrive, the newest last.
    pub missed: VecDeque<Delivery>,
    pub problems: Vec<String>,
    /// What was spent, and may be.
    pub accounts: BTreeMap<Scope, Account>,
    /// Answers of models that were counted lately.
    pub ledger: Recent,
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
            troubles: BTreeMap::new(),
            grants: BTreeMap::new(),
            runs: Runs::default(),
            lord_watch: LordWatch::On { tries: Vec::new() },
            mail_lately: Lately::default(),
            pairings: Vec::new(),
            strangers: BTreeMap::new(),
            present: BTreeMap::new(),
            health: BTreeMap::new(),
            quiet: HashMap::new(),
            rang_at: BTreeMap::new(),
            happened: VecDeque::new(),
            digests: BTreeMap::new(),
            mutes: BTreeMap::new(),
            spent: HashMap::new(),
            last_heard: BTreeMap::new(),
            told: VecDeque::new(),
            decided: VecDeque::new(),
            just_sent: VecDeque::new(),
            changed: BTreeMap::new(),
            unsure: VecDeque::new(),
            missed: VecDeque::new(),
            problems: found.problems,
            accounts: BTreeMap::new(),
            ledger: Recent::default(),
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
            state.spend(&bridge, &chat, 1, at);
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
            Row::Delivery(delivery) => self.put_delivery(delivery),
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
            Row::Outage(OutageRow { account, trouble: Some(trouble) }) => {
                self.troubles.insert(account.clone(), trouble.clone());
            }
            Row::Outage(OutageRow { account, trouble: None }) => {
                self.troubles.remove(account);
            }
            Row::Happened(happened) => {
                self.happened.push_back(happened.clone());
                if self.happened.len() > HAPPENED {
                    self.happened.pop_front();
                }
            }
            Row::Digest(row) => {
                self.digests.insert(row.human.clone(), row.clone());
            }
            Row::Mute(row) => {
                let key = (row.human.clone(), row.what);
                match row.until {
                    Some(_) => self.mutes.insert(key, row.clone()),
                    None => self.mutes.remove(&key),
                };
            }
            Row::Account(account) => {
                self.accounts.insert(account.scope.clone(), account.clone());
            }
            Row::Ledger(entry) => self.ledger.put(entry.clone()),
            Row::Grant(grant) => self.put_grant(grant),
        }
    }

    /// Those that are over are forgotten but for the newest, whose number is the last.
    fn put_grant(&mut self, grant: &Grant) {
        self.grants.insert(grant.number, grant.clone());
        let newest = self.grants.last_key_value().map(|(number, _)| *number);
        self.grants.retain(|number, grant| grant.over.is_none() || Some(*number) == newest);
    }

    /// Ids sort by age, so the first are the oldest.
    fn put_delivery(&mut self, delivery: &Delivery) {
        self.deliveries.remove(&delivery.number);
        self.missed.retain(|missed| missed.id != delivery.id);
        if delivery.state.is_pending() {
            self.deliveries.insert(delivery.number, delivery.clone());
        } else if matches!(delivery.state, DeliveryState::Missed { .. }) {
            self.missed.push_back(delivery.clone());
            if self.missed.len() > MISSED {
                self.missed.pop_front();
            }
        }
    }

    /// What did not arrive lately, in words; the oldest first.
    pub fn undelivered(&self, now: Timestamp) -> Vec<Undelivered> {
        let missed = self.missed.iter().filter_map(|delivery| match &delivery.state {
            DeliveryState::Missed { why, at } if now - *at < MISSED_FOR => {
                let session = delivery.session.and_then(|id| self.sessions.get(&id));
                let about = session.map_or("Vigie", |session| session.name.as_str());
                let to = &delivery.to.bridge;
                let words = format!("A message about {about} did not reach {to}: {why}");
                Some(Undelivered { delivery: delivery.clone(), words, at: *at })
            }
            DeliveryState::Missed { .. }
            | DeliveryState::Due { .. }
            | DeliveryState::InFlight { .. }
            | DeliveryState::Sent { .. }
            | DeliveryState::Failed { .. }
            | DeliveryState::Replaced => None,
        });
        missed.collect()
    }

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
        if let Ok(id) = name.parse::<SessionId>() {
            return self.sessions.get(&id);
        }
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
            HeardKind::Text { reply_to: None, .. }
            | HeardKind::Edited { .. }
            | HeardKind::Withdrawn { .. } => return facts,
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

    /// Those of these answers of which it is not known here whether they were counted before.
    pub fn unknown_usage(&self, used: &[Used]) -> Vec<UsageKey> {
        let unknown = used.iter().filter(|used| self.ledger.get(&used.key).is_none());
        unknown.map(|used| used.key.clone()).collect()
    }

    pub fn remember_decided(&mut self, decided: Decided) {
        self.decided.push_back(decided);
        if self.decided.len() > DECIDED {
            self.decided.pop_front();
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
            | DeliveryState::Missed { .. }
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
