//! A world around `decide`: a clock, a database in memory, a phone that takes whatever is said.

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
        Action, Attached, Body, Budget, Button, Card, CardState, Files, Got, Heard, HeardKind,
        Level, Limits, Mark, Noted, Place, Post, Repeats, Room, Said, Say, SayError, TextOrigin,
        TextUnit,
    },
    caller::{
        AgentCommand, AgentFacts, AgentRefusal, AgentReply, AgentRequest, AgentStart, Bounds, Host,
        Isolated, Letter, Principal, TokenHash, TokenScope,
    },
    command::{Command, Refusal, Reply, Request, Start},
    decide::{Effect, Event, LookAt, Work, decide, next_deadline},
    gate::Gate,
    id::{
        AgentName, BridgeName, ChatId, DeliveryId, GateId, HumanId, MessageId, PairingCode,
        ProjectName, PromptId, RequestId, SessionId, ThreadId, TurnId,
    },
    ids::Ids,
    mail::Mail,
    route::StoryPattern,
    session::Session,
    state::{
        Chat, Facts, Found, HeardOutcome, HeardRow, Person, Project, Role, Row, Rules, State,
        Strangers, WorktreeRule,
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
    /// How the machine does when agents call.
    pub host: Host,
    /// Most messages that one decision wrote, so that one commit has them.
    pub mails_at_once: usize,
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
        lord: None,
    }
}

/// The phone takes everything at once; Telegram has a budget and shows repeats.
fn limits(phone: &BridgeName) -> HashMap<(BridgeName, Room), Limits> {
    let text = Limits::of_text(TextUnit::Utf16, 4096, 100, 3);
    let on_phone = Limits { repeats: Repeats::DroppedByService, ..text };
    let telegram = |room: Room| Limits {
        budget: Some(if room.is_direct() {
            Budget { calls: 5, window: Duration::from_secs(5) }
        } else {
            Budget { calls: 20, window: Duration::from_mins(1) }
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
            host: Host { load_permille: 100, free_mib: 8000 },
            mails_at_once: 0,
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
        self.mails_at_once = self.mails_at_once.max(mails.collect::<HashSet<_>>().len());
        for row in &decision.rows {
            self.write(row);
        }
        for effect in decision.effects {
            self.carry_out(effect);
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
            Row::Identity(i) => format!("identity {} {}", i.bridge, i.from),
            Row::Mail(m) => format!("mail {:020}", m.number),
            Row::Ticket(t) => format!("ticket {}", t.id),
            Row::Token(t) => format!("token {}", t.id),
            Row::Answer(a) => format!("answer {}", a.session),
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
                if !matches!(say, Say::Mark { .. }) {
                    self.calls.push((self.now, place.chat.clone()));
                }
                let outcome = match self.failures.pop_front() {
                    Some(error) => Err(error),
                    None => Ok(self.say(delivery, place, say)),
                };
                self.step(Event::Delivered { delivery, outcome });
            }
            Effect::Say { .. } | Effect::Acknowledge { .. } | Effect::Reconnect { .. } => {}
            Effect::Look { session, at, files, place } => {
                self.asked.push((session.id, at, files, place));
            }
            Effect::Order { session, order, .. } => self.orders.push((session, order)),
            Effect::Launch { session, .. } => self.launched.push(session.id),
        }
    }

    fn say(&mut self, delivery: DeliveryId, place: Place, say: Say) -> Said {
        match say {
            Say::Post { post, .. } => {
                if let Some(message) = self.sent.get(&delivery) {
                    return said(message.clone());
                }
                let message = MessageId::new(format!("v{}", self.next_message));
                self.next_message += 1;
                self.sent.insert(delivery, message.clone());
                self.shown.push(Shown { place, message: message.clone(), post, at: self.now });
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
                self.marks.insert(message, mark);
                Said::default()
            }
            Say::Thread { thread } => {
                let thread = place.thread.unwrap_or_else(|| ThreadId::new(thread.session.folded()));
                Said { thread: Some(thread), calls: 1, ..Said::default() }
            }
        }
    }

    /// The daemon dies and starts again on what is written.
    pub(super) fn crash(&mut self) {
        let telegram = BridgeName::new("telegram");
        let spent = self.calls.iter().map(|(at, chat)| (telegram.clone(), chat.clone(), *at));
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
                Row::Session(_)
                | Row::Gate(_)
                | Row::Ticket(_)
                | Row::Token(_)
                | Row::Answer(_)
                | Row::Heard(_)
                | Row::Thread(_)
                | Row::Focus(_)
                | Row::Chat(_)
                | Row::Identity(_)
                | Row::Journal(_) => {}
            }
            found.rows.push(row.clone());
        }
        self.state = State::new(self.state.rules.clone(), found);
        self.step(Event::Booted);
        let live: Vec<_> = self.state.live().map(|s| (s.id, s.run)).collect();
        for (session, run) in live {
            self.step(Event::Linked { session, run });
        }
    }

    pub(super) fn wait(&mut self, time: TimeDelta) {
        let until = self.now + time;
        while let Some(at) = next_deadline(&self.state).filter(|at| *at <= until) {
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
        let mut work = Work { state, ids, now, heard_now, out: crate::decide::Decision::default() };
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

    /// All mail that is written down, oldest first.
    pub(super) fn mails(&self) -> Vec<Mail> {
        let mail = |row: &Row| match row {
            Row::Mail(mail) => Some(mail.clone()),
            _ => None,
        };
        self.rows.values().filter_map(mail).collect()
    }

    pub(super) fn report(&mut self, name: &str, what: AgentEvent) {
        let session = self.id(name);
        let run = self.state.sessions[&session].run;
        let seq = self.seqs.entry(session).or_insert(0);
        *seq += 1;
        let report = Report { seq: *seq, at: self.now, what };
        self.step(Event::Report { session, run, report });
    }

    pub(super) fn doing(&mut self, name: &str, doing: Doing) {
        self.report(name, AgentEvent::Now { doing });
    }

    /// The agent says it has the prompt it was handed last.
    pub(super) fn takes(&mut self, name: &str) -> String {
        let session = self.id(name);
        let handed = self.orders.iter().rev().find_map(|(id, order)| match &order.what {
            OrderKind::Prompt { prompt, text, .. } if *id == session => {
                Some((*prompt, text.clone()))
            }
            _ => None,
        });
        let (prompt, text): (PromptId, String) = handed.expect("a prompt was handed over");
        self.report(name, AgentEvent::PromptTaken { prompt, turn: Some(TurnId::new("t")) });
        text
    }

    pub(super) fn finishes(&mut self, name: &str, text: &str) {
        self.report(
            name,
            AgentEvent::Finished { turn: None, text: text.into(), provisional: false },
        );
        self.doing(name, Doing::Idle);
    }

    /// How the last prompt was handed to a session.
    pub(super) fn form(&self, name: &str) -> PromptForm {
        let session = self.id(name);
        let form = self.orders.iter().rev().find_map(|(id, order)| match &order.what {
            OrderKind::Prompt { form, .. } if *id == session => Some(*form),
            _ => None,
        });
        form.expect("a prompt was handed over")
    }

    /// What was handed to a session, in order, each prompt once.
    pub(super) fn handed(&self, name: &str) -> Vec<String> {
        let session = self.id(name);
        let mut seen = Vec::new();
        let mut texts = Vec::new();
        for (id, order) in &self.orders {
            if let OrderKind::Prompt { prompt, text, .. } = &order.what
                && *id == session
                && !seen.contains(prompt)
            {
                seen.push(*prompt);
                texts.push(text.clone());
            }
        }
        texts
    }

    pub(super) fn decisions(&self) -> Vec<(RequestId, Decision)> {
        let answers = self.orders.iter().filter_map(|(_, order)| match &order.what {
            OrderKind::Answer { request, decision } => Some((request.clone(), decision.clone())),
            _ => None,
        });
        answers.collect()
    }

    pub(super) fn asks_to_run(&mut self, name: &str, request: &str, command: &str) -> GateId {
        let ask = Asked::Permission {
            tool: "Bash".into(),
            input: serde_json::json!({ "command": command }),
            cwd: "/src/quay".into(),
            can_remember: true,
        };
        self.asks(name, request, ask)
    }

    pub(super) fn asks_question(
        &mut self,
        name: &str,
        request: &str,
        text: &str,
        options: &[&str],
    ) -> GateId {
        let options = options
            .iter()
            .map(|label| Choice { label: (*label).into(), description: String::new() })
            .collect();
        let question = Question { text: text.into(), header: "h".into(), options, multiple: false };
        self.asks(name, request, Asked::Questions { questions: vec![question] })
    }

    pub(super) fn asks(&mut self, name: &str, request: &str, ask: Asked) -> GateId {
        self.report(name, AgentEvent::Asked { request: RequestId::new(request), ask });
        self.now += TimeDelta::seconds(5); // whoever answers has read it
        let session = self.id(name);
        let gate = self
            .state
            .gates
            .values()
            .rfind(|g| g.session == session && g.request.as_str() == request);
        gate.expect("a gate was opened").id
    }

    pub(super) fn settled(&mut self, name: &str, request: &str, how: Settled) {
        self.report(name, AgentEvent::Settled { request: RequestId::new(request), how });
    }

    /// Somebody writes on Telegram: a chat, perhaps a topic in it.
    pub(super) fn telegram(
        &mut self,
        from: &str,
        chat: &str,
        topic: Option<&str>,
        text: &str,
    ) -> MessageId {
        self.writes_as(from, &telegram(chat, topic), text, None)
    }

    /// The owner's own chat with the bot is connected, as `1001`.
    pub(super) fn pairs(&mut self, human: &str, from: &str, chat: &str) {
        let code = PairingCode::from_random(0x1234_5678_9abc_def0);
        self.ask(Command::Pair { human: Some(human.into()), code: code.clone() }).unwrap();
        self.telegram(from, chat, None, &format!("/pair {}", code.show()));
    }

    pub(super) fn notes(&mut self, noted: Noted) {
        self.step(Event::Noted { bridge: BridgeName::new("telegram"), noted });
    }

    /// The service does what is in flight after all.
    pub(super) fn says_now(&mut self, id: DeliveryId) -> Said {
        let delivery = self.state.deliveries.values().find(|d| d.id == id).cloned();
        let delivery = delivery.expect("it is pending");
        let place = self.state.place_of(&delivery.to).expect("its place is known");
        let crate::delivery::Outgoing::Post { post, reply_to } = delivery.what else {
            panic!("only posts are said late")
        };
        self.say(id, place, Say::Post { post, reply_to })
    }

    /// What a chat of Telegram shows, oldest first.
    pub(super) fn shows(&self, chat: &str) -> Vec<String> {
        let here = self.shown.iter().filter(|s| s.place.chat.as_str() == chat);
        here.map(Shown::text).collect()
    }

    /// The owner writes in the main chat.
    pub(super) fn writes(&mut self, text: &str) -> MessageId {
        self.writes_as("owner", &main_chat(), text, None)
    }

    pub(super) fn writes_in(&mut self, name: &str, text: &str) -> MessageId {
        let thread = Some(ThreadId::new(name.to_ascii_lowercase()));
        self.writes_as("owner", &Place { thread, ..main_chat() }, text, None)
    }

    pub(super) fn replies(&mut self, to: &MessageId, text: &str) -> MessageId {
        self.writes_as("owner", &main_chat(), text, Some(to.clone()))
    }

    pub(super) fn writes_as(
        &mut self,
        from: &str,
        place: &Place,
        text: &str,
        reply_to: Option<MessageId>,
    ) -> MessageId {
        self.writes_at(from, place, text, reply_to, self.now, TextOrigin::Typed)
    }

    pub(super) fn writes_at(
        &mut self,
        from: &str,
        place: &Place,
        text: &str,
        reply_to: Option<MessageId>,
        at: Timestamp,
        origin: TextOrigin,
    ) -> MessageId {
        let message = MessageId::new(format!("p{}", self.next_message));
        self.next_message += 1;
        let what = HeardKind::Text {
            message: message.clone(),
            text: text.into(),
            reply_to,
            origin,
            files: vec![],
        };
        self.hears(from, place.clone(), message.as_str().to_owned(), at, what);
        message
    }

    /// The owner sends a file with words in the main chat.
    pub(super) fn sends_file(&mut self, text: &str, name: &str) -> MessageId {
        let message = MessageId::new(format!("p{}", self.next_message));
        self.next_message += 1;
        let got = Got::File { path: format!("/files/{name}"), bytes: 3 };
        let what = HeardKind::Text {
            message: message.clone(),
            text: text.into(),
            reply_to: None,
            origin: TextOrigin::Typed,
            files: vec![Attached { name: name.into(), got }],
        };
        self.hears("owner", main_chat(), message.as_str().to_owned(), self.now, what);
        message
    }

    pub(super) fn edits(&mut self, message: &MessageId, text: &str) {
        self.edits_at(message, text, self.now);
    }

    pub(super) fn edits_at(&mut self, message: &MessageId, text: &str, at: Timestamp) {
        let key = format!("edit {message} {}", self.next_message);
        self.next_message += 1;
        let what = HeardKind::Edited { message: message.clone(), text: text.into() };
        self.hears("owner", main_chat(), key, at, what);
    }

    /// Taps the button with that label on the newest message that has one.
    pub(super) fn taps(&mut self, label: &str) -> String {
        let shown = self.shown.iter().rev().find(|s| s.buttons().iter().any(|b| b.label == label));
        let shown = shown.unwrap_or_else(|| panic!("no button `{label}`"));
        let action = shown.buttons().iter().find(|b| b.label == label).unwrap().action.clone();
        let message = shown.message.clone();
        let from = if shown.place.bridge.as_str() == "telegram" { "1001" } else { "owner" };
        self.taps_action(from, &message, action)
    }

    pub(super) fn taps_action(
        &mut self,
        from: &str,
        message: &MessageId,
        action: Action,
    ) -> String {
        let key = format!("tap {}", self.next_message);
        self.next_message += 1;
        let what = HeardKind::Tap { message: message.clone(), action };
        let shown = self.shown.iter().find(|s| s.message == *message);
        let place = shown.map_or_else(main_chat, |shown| shown.place.clone());
        self.hears(from, place, key, self.now, what).unwrap_or_default()
    }

    pub(super) fn hears(
        &mut self,
        from: &str,
        place: Place,
        key: String,
        at: Timestamp,
        what: HeardKind,
    ) -> Option<String> {
        let room = self.rooms.get(&place.chat).copied().unwrap_or(Room::Direct);
        let heard = Heard { key, from: from.into(), place, room, at, what };
        let facts = self.facts(&heard);
        self.step(Event::Heard { heard, facts }).1
    }

    /// What the database would look up.
    fn facts(&self, heard: &Heard) -> Facts {
        let (about, own) = match &heard.what {
            HeardKind::Text { reply_to, .. } => (reply_to.as_ref(), None),
            HeardKind::Edited { message, .. } => (None, Some(message)),
            HeardKind::Tap { message, .. } | HeardKind::Reaction { message, .. } => {
                (Some(message), None)
            }
        };
        let row = |message: &MessageId| {
            self.rows.values().find_map(|row| match row {
                Row::Heard(heard) if heard.message.as_ref() == Some(message) => Some(heard.clone()),
                _ => None,
            })
        };
        let known =
            self.rows.values().any(|row| matches!(row, Row::Heard(h) if h.key == heard.key));
        let shown = about.and_then(|message| self.shown.iter().find(|s| s.message == *message));
        let session = shown.and_then(|s| self.state.thread_session(&s.place)).or_else(|| {
            about.and_then(row).and_then(|row: HeardRow| match row.outcome {
                HeardOutcome::Routed { sessions, .. } => sessions.first().copied(),
                HeardOutcome::Stranger | HeardOutcome::Kept { .. } | HeardOutcome::Handled => None,
            })
        });
        let gate = shown.and_then(|s| match &s.post.body {
            Body::Card(card) => Some(card.gate),
            Body::Text { .. } | Body::Progress(_) | Body::Document(_) | Body::File(_) => None,
        });
        let unknown = about.is_some_and(|message| shown.is_none() && row(message).is_none());
        Facts { session, gate, known, heard: own.and_then(row), unknown }
    }

    pub(super) fn card(&self, gate: GateId) -> (MessageId, Card) {
        let found = self.shown.iter().find_map(|s| match &s.post.body {
            Body::Card(card) if card.gate == gate => Some((s.message.clone(), card.clone())),
            _ => None,
        });
        found.expect("a card of that gate")
    }

    pub(super) fn card_state(&self, gate: GateId) -> CardState {
        self.card(gate).1.state
    }

    pub(super) fn last(&self) -> &Shown {
        self.shown.last().expect("something was said")
    }

    pub(super) fn said(&self, words: &str) -> bool {
        self.shown.iter().any(|s| s.text().contains(words))
    }

    pub(super) fn mark(&self, message: &MessageId) -> &Mark {
        self.marks.get(message).unwrap_or_else(|| panic!("no mark on {message}"))
    }

    /// A reason why it was not taken.
    pub(super) fn refused(&self, message: &MessageId) -> String {
        match self.mark(message) {
            Mark::NotTaken { why } | Mark::Kept { why } => why.clone(),
            other => panic!("expected a refusal, found {other:?}"),
        }
    }
}

fn said(message: MessageId) -> Said {
    Said { message: Some(message), calls: 1, ..Said::default() }
}
