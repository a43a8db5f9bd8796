//! A world around `decide`: a clock, a database in memory, a phone that takes whatever is said.

mod chats;
mod runs;
mod sessions;

pub(in crate::decide::tests) use runs::start_run;

use chrono::{DateTime, TimeDelta};
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::Duration,
};

use crate::{
    Timestamp,
    agent::{
        AgentEvent, Asked, Choice, Decision, Doing, ExitStatus, Order, OrderKind, PromptForm,
        Question, Report, Settled,
    },
    answer::Words,
    bridge::{
        Action, Attached, Attention, Body, Budget, Button, Card, CardState, Cards, Files, Got,
        Health, Heard, HeardKind, Level, Limits, Mark, Noted, Over, Place, Post, Refill, Repeats,
        Room, Said, Say, SayError, Signs, Taps, TextOrigin, TextUnit,
    },
    caller::{
        AgentCommand, AgentFacts, AgentRefusal, AgentReply, AgentRequest, AgentStart, Bounds, Host,
        Isolated, Letter, Principal, TokenHash, TokenScope,
    },
    command::{Command, Refusal, Reply, Request, Start},
    decide::{Effect, Event, LookAt, Work, decide, next_deadline},
    delivery::DeliveryState,
    gate::Gate,
    id::{
        AgentName, BridgeName, ChatId, DeliveryId, GateId, HumanId, MessageId, PairingCode,
        ProjectName, PromptId, RequestId, RunId, SessionId, ThreadId, TurnId,
    },
    ids::Ids,
    ledger::{LedgerRow, Price, Prices},
    mail::Mail,
    ringing::Ringing,
    route::StoryPattern,
    run::StepOrder,
    session::Session,
    state::{
        Accounts, Chat, Facts, Found, HeardOutcome, HeardRow, Person, Project, Role, Row, Rules,
        State, Strangers, WorkflowRules, WorktreeRule,
    },
};

pub(super) struct World {
    pub state: State,
    ids: Ids,
    pub now: Timestamp,
    /// What a database would hold.
    rows: BTreeMap<String, Row>,
    sent: BTreeMap<DeliveryId, MessageId>,
    /// What the phone shows, in order; edits and marks are applied to it.
    pub shown: Vec<Shown>,
    /// Every message as loud as it came, and where.
    pub came: Vec<(Timestamp, ChatId, Level)>,
    pub marks: HashMap<MessageId, Mark>,
    pub orders: Vec<(SessionId, Order)>,
    pub launched: Vec<SessionId>,
    /// Answers of the bridge to come instead of success.
    pub failures: VecDeque<SayError>,
    /// When which chat was called for something that counts there.
    pub calls: Vec<(Timestamp, ChatId)>,
    /// Says that were tried, failures included.
    pub tries: usize,
    /// What sort of chat each is; a person's own otherwise.
    pub rooms: HashMap<ChatId, Room>,
    /// Kinds of what was written into the journal.
    pub journal: Vec<String>,
    /// The same with the session it is about.
    pub journal_of: Vec<(String, Option<SessionId>)>,
    /// What was asked to be looked at.
    pub asked: Vec<(SessionId, LookAt, Files, Place)>,
    /// While `true` nothing said arrives: it stays in flight.
    pub cut: bool,
    /// Services that take nothing right now.
    pub down: HashSet<BridgeName>,
    /// How the machine does when agents call.
    pub host: Host,
    /// Most messages that one decision wrote, so that one commit has them.
    pub mails_at_once: usize,
    /// The same of lines of runs' logs.
    pub lines_at_once: usize,
    /// What the runner was told, oldest first.
    pub steps: Vec<StepOrder>,
    pub stopped: Vec<(RunId, String, u32)>,
    /// Attempts whose agent was told to go on later.
    pub put_off: Vec<(RunId, String, u32)>,
    /// Commits so far.
    pub commits: usize,
    /// After which of them the daemon dies, to be started again.
    pub dies_after: HashSet<usize>,
    /// How often the daemon was started.
    starts: usize,
    next_message: u32,
    seqs: HashMap<SessionId, u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub place: Place,
    pub message: MessageId,
    pub post: Post,
    /// When it was first there.
    pub at: Timestamp,
    pub reply_to: Option<MessageId>,
}

impl Shown {
    pub(super) fn text(&self) -> String {
        match &self.post.body {
            Body::Text { text, .. } => text.text.clone(),
            Body::Card(card) => format!("{}\n{}", card.title, card.content.text),
            Body::Progress(progress) => {
                progress.ended.clone().unwrap_or_else(|| progress.lines.join("\n"))
            }
            Body::Document(document) => document.text.clone(),
            Body::File(file) => file.about.clone(),
        }
    }

    pub(super) fn buttons(&self) -> &[Button] {
        match &self.post.body {
            Body::Text { buttons, .. } => buttons,
            Body::Card(card) => &card.buttons,
            Body::Progress(progress) => &progress.buttons,
            Body::Document(_) | Body::File(_) => &[],
        }
    }
}

fn rules() -> Rules {
    let bridge = BridgeName::new("phone");
    let person = |name: &str, role| Person { name: name.into(), role };
    let people = [
        ("owner", person("Inès Caradec", Role::Owner)),
        ("mate", person("Tomas Lindqvist", Role::Talker)),
        ("second", person("Awa Diop", Role::Approver)),
    ];
    Rules {
        identities: people
            .iter()
            .map(|(id, _)| ((bridge.clone(), (*id).to_owned()), HumanId::new(*id)))
            .collect(),
        people: people.into_iter().map(|(id, person)| (HumanId::new(id), person)).collect(),
        projects: vec![Project {
            name: ProjectName::new("quay"),
            path: "/src/quay".into(),
            agent: AgentName::new("demo"),
            worktree: WorktreeRule::None,
        }],
        agents: ["demo", "claude", "shell"].map(AgentName::new).into(),
        pattern: StoryPattern::default(),
        words: Words::for_languages(&["en", "fr"]),
        gate_deadline: TimeDelta::hours(23),
        limits: limits(&bridge),
        chats: vec![Chat { bridge, chat: ChatId::new("main"), room: Room::Forum }],
        strangers: Strangers::Answered,
        without_mail: HashSet::from([AgentName::new("shell")]),
        bounds: Bounds::default(),
        workflows: WorkflowRules::default(),
        lord: None,
        accounts: Accounts { of: HashMap::new(), zone: Some("Europe/Paris".into()) },
        policies: Vec::new(),
        ringing: Ringing {
            remind: None,
            bundle: TimeDelta::zero(),
            desk_delay: TimeDelta::zero(),
            stuck_after: None,
            ..Ringing::default()
        },
        prices: prices(),
        budgets: crate::account::Budgets::default(),
    }
}

/// The phone takes everything at once; Telegram has a budget for each chat and shows repeats, Matrix one
/// for all its chats.
fn limits(phone: &BridgeName) -> HashMap<(BridgeName, Room), Limits> {
    let text = Limits::of_text(TextUnit::Utf16, 4096, 100, 3);
    let on_phone =
        Limits { repeats: Repeats::DroppedByService, attention: Attention::WhileOpen, ..text };
    let matrix = Limits {
        repeats: Repeats::DroppedByService,
        files: Files::Taken,
        taps: Taps::Unanswered,
        cards: Cards::Last,
        budget: Some(Budget {
            calls: 10,
            window: Duration::from_secs(50),
            refill: Refill::Steadily,
            over: Over::Service,
            signs: Signs::Counted,
        }),
        progress_every: Duration::from_secs(20),
        thread_after: Duration::from_secs(20),
        ..text
    };
    let (refill, signs) = (Refill::AfterWindow, Signs::Free);
    let telegram = |room: Room| Limits {
        budget: Some(if room.is_direct() {
            Budget { calls: 5, window: Duration::from_secs(5), refill, over: Over::Chat, signs }
        } else {
            Budget { calls: 20, window: Duration::from_mins(1), refill, over: Over::Chat, signs }
        }),
        files: Files::Taken,
        progress_every: Duration::from_secs(15),
        thread_after: Duration::from_secs(20),
        ..text
    };
    let rooms = |bridge: &BridgeName, of: &dyn Fn(Room) -> Limits| {
        Room::ALL.map(|room| ((bridge.clone(), room), of(room)))
    };
    let mut all = HashMap::from(rooms(phone, &|_| on_phone));
    all.extend(rooms(&BridgeName::new("telegram"), &telegram));
    all.extend(rooms(&BridgeName::new("matrix"), &|_| matrix));
    all
}

/// What an agent says to start a session.
pub(super) fn agent_start(name: &str) -> AgentStart {
    AgentStart {
        name: name.into(),
        title: String::new(),
        project: None,
        agent: None,
        prompt: "Run the tests.".into(),
        isolated: Isolated::No,
        micro_usd: None,
        tokens: None,
        key: None,
    }
}

/// What the program of that session speaks with.
pub(super) fn token(name: &str) -> TokenHash {
    TokenHash(format!("hash of {name}"))
}

pub(super) fn main_chat() -> Place {
    Place { bridge: BridgeName::new("phone"), chat: ChatId::new("main"), thread: None }
}

pub(super) fn matrix(room: &str) -> Place {
    Place { bridge: BridgeName::new("matrix"), chat: ChatId::new(room), thread: None }
}

pub(super) fn telegram(chat: &str, topic: Option<&str>) -> Place {
    let thread = topic.map(ThreadId::new);
    Place { bridge: BridgeName::new("telegram"), chat: ChatId::new(chat), thread }
}

impl World {
    pub(super) fn new() -> Self {
        Self::of(rules())
    }

    /// A world without the phone page: chats are opened by people.
    pub(super) fn on_telegram() -> Self {
        Self::of(Rules { chats: vec![], ..rules() })
    }

    fn of(rules: Rules) -> Self {
        let now = DateTime::from_timestamp_millis(1_796_000_000_000).unwrap();
        let mut world = Self {
            state: State::new(rules, Found::default()),
            ids: Ids::new(7, now),
            now,
            rows: BTreeMap::new(),
            sent: BTreeMap::new(),
            shown: Vec::new(),
            came: Vec::new(),
            marks: HashMap::new(),
            orders: Vec::new(),
            launched: Vec::new(),
            failures: VecDeque::new(),
            calls: Vec::new(),
            tries: 0,
            journal: Vec::new(),
            journal_of: Vec::new(),
            rooms: HashMap::from([(ChatId::new("main"), Room::Forum)]),
            asked: Vec::new(),
            cut: false,
            down: HashSet::new(),
            host: Host { load_permille: 100, free_mib: 8000 },
            mails_at_once: 0,
            lines_at_once: 0,
            steps: Vec::new(),
            stopped: Vec::new(),
            put_off: Vec::new(),
            commits: 0,
            dies_after: HashSet::new(),
            starts: 0,
            next_message: 1,
            seqs: HashMap::new(),
        };
        world.step(Event::Booted);
        world
    }

    /// A world with these sessions, idle.
    pub(super) fn with(names: &[&str]) -> Self {
        let mut world = Self::new();
        for name in names {
            world.start(name);
        }
        world
    }

    pub(super) fn start(&mut self, name: &str) -> SessionId {
        let start = Start {
            name: name.into(),
            title: String::new(),
            project: None,
            agent: None,
            prompt: None,
            ..Start::default()
        };
        self.ask(Command::Start(start)).unwrap();
        self.comes_up(name);
        self.id(name)
    }

    /// The session's program runs, speaks with its token and is idle.
    pub(super) fn comes_up(&mut self, name: &str) {
        self.report(name, AgentEvent::Started { pid: 1, version: None, conversation: None });
        self.report(name, AgentEvent::Token { hash: token(name) });
        self.doing(name, Doing::Idle);
    }

    /// Whoever speaks with that name's token starts a session, which does what it was told and is
    /// idle.
    pub(super) fn child(&mut self, by: &str, name: &str) -> SessionId {
        let start = agent_start(name);
        self.call(by, AgentCommand::Start(start)).unwrap_or_else(|e| panic!("{}", e.sentence()));
        self.comes_up(name);
        self.takes(name);
        self.finishes(name, "It is done.");
        self.id(name)
    }

    /// A client is let in, with the token of that name.
    pub(super) fn client(&mut self, name: &str, scopes: &[TokenScope]) {
        let (hash, scopes) = (token(name), scopes.iter().copied().collect());
        self.ask(Command::AddToken { name: name.into(), hash, scopes }).unwrap();
    }

    /// Its program leaves as it was told to.
    pub(super) fn exits(&mut self, name: &str, code: i32) {
        self.report(name, AgentEvent::Exited { how: ExitStatus::Code { code }, last: vec![] });
    }

    /// The last answer of a session that is kept whole.
    pub(super) fn answer(&self, name: &str) -> String {
        match self.rows.get(&format!("answer {}", self.id(name))) {
            Some(Row::Answer(answer)) => answer.text.clone(),
            other => panic!("expected an answer of {name}, found {other:?}"),
        }
    }

    /// Everything that is in the chats, and how loud each is.
    pub(super) fn level_of(&self, words: &str) -> Level {
        let shown = self.shown.iter().rev().find(|shown| shown.text().contains(words));
        shown.unwrap_or_else(|| panic!("nobody said `{words}`")).post.level
    }

    /// One event, its rows written, its effects carried out, and whatever follows from those.
    pub(super) fn step(
        &mut self,
        event: Event,
    ) -> (Option<Result<Reply, Refusal>>, Option<String>) {
        // As the hub does: what is not remembered is looked up.
        for key in self.state.unknown_usage(event.usage()) {
            let found = self.rows.get(&format!("ledger {} {}", key.message, key.request));
            if let Some(Row::Ledger(row)) = found.cloned() {
                self.state.ledger.put(row);
            }
        }
        let decision = decide(&mut self.state, &mut self.ids, event, self.now);
        let (reply, notice, _) = self.follow(decision);
        (reply, notice)
    }

    #[expect(clippy::type_complexity, reason = "what a decision answers, taken apart")]
    fn follow(
        &mut self,
        decision: crate::decide::Decision,
    ) -> (Option<Result<Reply, Refusal>>, Option<String>, Option<Result<AgentReply, AgentRefusal>>)
    {
        let mails = decision.rows.iter().filter_map(|row| match row {
            Row::Mail(mail) => Some(mail.id),
            _ => None,
        });
        let lines = decision.rows.iter().filter(|row| matches!(row, Row::RunLog(_))).count();
        self.lines_at_once = self.lines_at_once.max(lines);
        self.mails_at_once = self.mails_at_once.max(mails.collect::<HashSet<_>>().len());
        for row in &decision.rows {
            self.write(row);
        }
        self.commits += usize::from(!decision.rows.is_empty());
        if !decision.rows.is_empty() && self.dies_after.remove(&self.commits) {
            self.crash(); // what was to be done is lost
        } else {
            let starts = self.starts;
            for effect in decision.effects {
                if self.starts == starts {
                    self.carry_out(effect);
                }
            }
        }
        (decision.reply, decision.notice, decision.agent_reply)
    }

    fn write(&mut self, row: &Row) {
        let key = match row {
            Row::Session(s) => format!("session {}", s.id),
            Row::Prompt(p) => format!("prompt {:020}", p.number),
            Row::Gate(g) => format!("gate {}", g.id),
            Row::Delivery(d) => format!("delivery {:020}", d.number),
            Row::Heard(h) => format!("heard {}", h.id),
            Row::Thread(t) => format!("thread {} {} {}", t.session, t.bridge, t.chat),
            Row::Focus(f) => format!("focus {:?} {}", f.place, f.human),
            Row::Chat(c) => format!("chat {} {}", c.bridge, c.chat),
            Row::LastHeard(l) => format!("last heard {} {} {}", l.human, l.bridge, l.chat),
            Row::Identity(i) => format!("identity {} {}", i.bridge, i.from),
            Row::Mail(m) => format!("mail {:020}", m.number),
            Row::Ticket(t) => format!("ticket {}", t.id),
            Row::Token(t) => format!("token {}", t.id),
            Row::Answer(a) => format!("answer {}", a.session),
            Row::Run(r) => format!("run {}", r.id),
            Row::Frozen(f) => format!("frozen {}", f.run),
            Row::RunLog(l) => format!("log {} {:020}", l.run, l.seq),
            Row::Slot(s) => format!("slot {}", s.workflow),
            Row::Outage(a) => format!("outage {}", a.account),
            Row::Happened(h) => format!("happened {:020}", h.number),
            Row::Digest(d) => format!("digest {}", d.human),
            Row::Mute(m) => format!("mute {} {:?}", m.human, m.what),
            Row::Account(a) => format!("account {:?}", a.scope),
            Row::Ledger(l) => format!("ledger {} {}", l.used.key.message, l.used.key.request),
            Row::Grant(g) => format!("grant {:020}", g.number),
            Row::Journal(entry) => {
                self.journal.push(entry.kind.clone());
                self.journal_of.push((entry.kind.clone(), entry.session));
                return;
            }
        };
        self.rows.insert(key, row.clone());
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Say { delivery, place, say } if !self.cut => {
                self.tries += 1;
                let counts = match &say {
                    Say::Mark { mark, .. } => is_counted(&place, mark),
                    Say::Post { .. } | Say::Edit { .. } | Say::Thread { .. } => true,
                };
                let call = (self.now, place.chat.clone());
                let outcome = match self.failures.pop_front() {
                    _ if self.down.contains(&place.bridge) => {
                        Err(SayError::Later { after: Duration::from_secs(20) })
                    }
                    Some(error) => Err(error),
                    None => Ok(self.say(delivery, place, say)),
                };
                // What the service would not even take is no call that it counts.
                if counts && !matches!(outcome, Err(SayError::Later { .. })) {
                    self.calls.push(call);
                }
                self.step(Event::Delivered { delivery, outcome });
            }
            Effect::Say { .. } | Effect::Acknowledge { .. } | Effect::Reconnect { .. } => {}
            Effect::Look { session, at, files, place } => {
                self.asked.push((session.id, at, files, place));
            }
            Effect::Order { session, order, .. } => self.orders.push((session, order)),
            Effect::Launch { session, .. } => self.launched.push(session.id),
            Effect::Step(order) => self.steps.push(*order),
            Effect::PutOffStep { run, step, attempt } => {
                self.put_off.push((run, step.to_string(), attempt));
            }
            Effect::StopStep { run, step, attempt } => {
                self.stopped.push((run, step.to_string(), attempt));
            }
        }
    }

    fn say(&mut self, delivery: DeliveryId, place: Place, say: Say) -> Said {
        match say {
            Say::Post { post, reply_to } => {
                if let Some(message) = self.sent.get(&delivery) {
                    return said(message.clone());
                }
                let message = MessageId::new(format!("v{}", self.next_message));
                self.next_message += 1;
                self.sent.insert(delivery, message.clone());
                let (at, shown) = (self.now, message.clone());
                self.came.push((at, place.chat.clone(), post.level));
                self.shown.push(Shown { place, message: shown, post, at, reply_to });
                said(message)
            }
            Say::Edit { message, post } => {
                let shown = self
                    .shown
                    .iter_mut()
                    .find(|s| s.message == message)
                    .expect("an edit of what is shown");
                shown.post = post;
                Said { calls: 1, ..Said::default() }
            }
            Say::Mark { message, mark } => {
                let calls = usize::from(is_counted(&place, &mark));
                self.marks.insert(message, mark);
                Said { calls, ..Said::default() }
            }
            Say::Thread { thread } => {
                let thread = place.thread.unwrap_or_else(|| ThreadId::new(thread.session.folded()));
                Said { thread: Some(thread), calls: 1, ..Said::default() }
            }
        }
    }

    /// What is written.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// The daemon dies and starts again on what is written.
    pub(super) fn crash(&mut self) {
        self.starts += 1;
        let spent = self.calls.iter().map(|(at, chat)| (service_of(chat), chat.clone(), *at));
        let (messages, spent) = (self.sent.clone(), spent.collect());
        let mut found = Found { messages, spent, ..Found::default() };
        for row in self.rows.values() {
            match row {
                Row::Prompt(p) => found.next_prompt = found.next_prompt.max(p.number + 1),
                Row::Delivery(d) => found.next_delivery = found.next_delivery.max(d.number + 1),
                Row::Mail(m) => {
                    found.next_mail = found.next_mail.max(m.number + 1);
                    if !m.state.is_open() {
                        continue;
                    }
                }
                // What is asked comes back as its row says it.
                Row::Gate(gate) => {
                    let text = serde_json::to_string(gate).unwrap();
                    found.rows.push(Row::Gate(serde_json::from_str(&text).unwrap()));
                    continue;
                }
                Row::Session(_)
                | Row::Ticket(_)
                | Row::Token(_)
                | Row::Answer(_)
                | Row::Heard(_)
                | Row::Thread(_)
                | Row::Focus(_)
                | Row::Chat(_)
                | Row::Identity(_)
                | Row::LastHeard(_)
                | Row::Slot(_)
                | Row::Outage(_)
                | Row::Happened(_)
                | Row::Digest(_)
                | Row::Mute(_)
                | Row::Account(_)
                | Row::Grant(_)
                | Row::Journal(_) => {}
                Row::Run(_) | Row::Frozen(_) | Row::RunLog(_) | Row::Ledger(_) => continue,
            }
            found.rows.push(row.clone());
        }
        self.find_runs(&mut found);
        let catalog = self.state.runs.catalog.clone();
        self.state = State::new(self.state.rules.clone(), found);
        self.step(Event::Booted);
        self.step(Event::Catalog(catalog));
        let live: Vec<_> = self.state.live().map(|s| (s.id, s.run)).collect();
        for (session, run) in live {
            self.step(Event::Linked { session, run });
        }
    }

    pub(super) fn wait(&mut self, time: TimeDelta) {
        let until = self.now + time;
        let mut still = 0;
        while let Some(at) = next_deadline(&self.state).filter(|at| *at <= until) {
            still = if at > self.now { 0 } else { still + 1 };
            assert!(
                still < 1_000,
                "something is due at {at} and nothing is done about it: {:?}",
                self.state.deliveries
            );
            self.now = at.max(self.now);
            self.step(Event::Tick);
        }
        self.now = until;
        self.step(Event::Tick);
    }

    /// The session's holder is gone, and with it the program.
    pub(super) fn dies(&mut self, name: &str) {
        let session = self.id(name);
        let run = self.state.sessions[&session].run;
        self.step(Event::HolderGone { session, run });
        // What the daemon makes up for the report that nobody wrote has a number as well.
        *self.seqs.entry(session).or_insert(0) += 1;
    }

    /// What another part of the daemon does to messages, in a decision of its own.
    fn within(&mut self, what: impl FnOnce(&mut Work<'_>)) {
        self.ids.at(self.now);
        let heard_now = self.ids.make(crate::id::HeardId::from_parts);
        let (state, ids, now) = (&mut self.state, &mut self.ids, self.now);
        let mut work = Work::new(state, ids, now, heard_now);
        what(&mut work);
        let decision = work.out;
        self.follow(decision);
        self.step(Event::Tick);
    }

    pub(super) fn vigie_says(&mut self, name: &str, text: &str) {
        let id = self.id(name);
        self.within(|work| work.mail_from_vigie(id, text));
    }

    pub(super) fn answers_by_mail(&mut self, gate: &Gate) {
        self.within(|work| work.mail_answer(gate));
    }

    pub(super) fn settles_answer(&mut self, gate: GateId) {
        self.within(|work| work.settle_answer_mail(gate));
    }

    /// It is resumed, and idle.
    pub(super) fn resumes(&mut self, name: &str) {
        self.ask(Command::Resume { session: name.into() }).unwrap();
        self.report(name, AgentEvent::Started { pid: 2, version: None, conversation: None });
        self.report(name, AgentEvent::Token { hash: token(name) });
        self.doing(name, Doing::Idle);
    }

    /// Changes a session as something else in the daemon would have.
    pub(super) fn change(&mut self, name: &str, change: impl FnOnce(&mut Session)) {
        let mut session = self.state.sessions[&self.id(name)].clone();
        change(&mut session);
        let row = Row::Session(session);
        self.state.put(&row);
        self.write(&row);
    }

    pub(super) fn id(&self, name: &str) -> SessionId {
        self.state.session_named(name).expect("a session of that name").id
    }

    pub(super) fn ask(&mut self, what: Command) -> Result<Reply, Refusal> {
        let request = Request { by: HumanId::new("owner"), via: "the command line".into(), what };
        self.step(Event::Request(request)).0.expect("requests are answered")
    }

    /// A session's agent calls, with the token of that session.
    pub(super) fn call(
        &mut self,
        name: &str,
        what: AgentCommand,
    ) -> Result<AgentReply, AgentRefusal> {
        self.call_with(token(name), what)
    }

    pub(super) fn call_with(
        &mut self,
        token: TokenHash,
        what: AgentCommand,
    ) -> Result<AgentReply, AgentRefusal> {
        let facts = match &what {
            AgentCommand::Send(letter) => self.mail_facts(&token, letter),
            _ => AgentFacts::default(),
        };
        self.call_knowing(token, what, facts)
    }

    /// A call of which only that was looked up.
    pub(super) fn call_knowing(
        &mut self,
        token: TokenHash,
        what: AgentCommand,
        facts: AgentFacts,
    ) -> Result<AgentReply, AgentRefusal> {
        let request = AgentRequest { token, host: self.host, what, facts };
        let event = Event::Agent(request);
        let decision = decide(&mut self.state, &mut self.ids, event, self.now);
        self.follow(decision).2.expect("calls are answered")
    }

    /// What the database would say of that letter.
    fn mail_facts(&self, token: &TokenHash, letter: &Letter) -> AgentFacts {
        let sender = match self.state.known(token).map(|known| known.principal) {
            Some(Principal::Session { session }) => session.to_string(),
            Some(Principal::Client { token }) => token.to_string(),
            None => return AgentFacts::default(),
        };
        let keyed =
            |m: &&Mail| letter.key.is_some() && m.key == letter.key && m.from.address() == sender;
        let all = self.mails();
        AgentFacts {
            same_key: all.iter().filter(keyed).cloned().collect(),
            answered: all.iter().find(|m| Some(m.id) == letter.reply_to).cloned(),
        }
    }

    /// The ledger, by its keys.
    pub(super) fn ledger(&self) -> Vec<LedgerRow> {
        let entry = |row: &Row| match row {
            Row::Ledger(row) => Some(row.clone()),
            _ => None,
        };
        self.rows.values().filter_map(entry).collect()
    }

    /// All mail that is written down, oldest first.
    pub(super) fn mails(&self) -> Vec<Mail> {
        let mail = |row: &Row| match row {
            Row::Mail(mail) => Some(mail.clone()),
            _ => None,
        };
        self.rows.values().filter_map(mail).collect()
    }
}

/// One model costs a dollar a million tokens in and ten out; no other has a price.
fn prices() -> Prices {
    let heron = Price {
        input: 1_000_000,
        output: 10_000_000,
        cache_read: 100_000,
        cache_write_5m: 1_250_000,
        cache_write_1h: 2_000_000,
        ..Price::default()
    };
    Prices::new([("heron-2".to_owned(), heron)].into(), 1000)
}

/// Room ids of Matrix begin with an exclamation mark.
fn service_of(chat: &ChatId) -> BridgeName {
    BridgeName::new(if chat.as_str().starts_with('!') { "matrix" } else { "telegram" })
}

/// On Matrix a sign is an event like any other.
fn is_counted(place: &Place, mark: &Mark) -> bool {
    matches!(mark, Mark::Taken { .. }) && place.bridge.as_str() == "matrix"
}

fn said(message: MessageId) -> Said {
    Said { message: Some(message), calls: 1, ..Said::default() }
}
