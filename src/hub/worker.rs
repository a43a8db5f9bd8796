use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};
use vigie_core::{
    bridge::{Accepted, NotAccepted},
    caller::{AgentCommand, AgentFacts, AgentRefusal, AgentReply, AgentRequest},
    command::{Refusal, Reply},
    decide::{Decision, Event, LookUp, decide, next_deadline},
    id::BridgeName,
    ids::Ids,
    run::Catalog,
    state::{Facts, JournalEntry, Row, Rules, State},
};

use super::{
    AgentCall, Hub, Mail,
    effects::{self, Answer, Effects, Hands},
    held::Held,
};
use crate::{
    clock::Clock,
    store::{Store, StoreError},
    tasks::Tasks,
    telemetry::Span,
};

/// Callers wait for an answer anyway, so a longer queue would only hide a slow disk.
const MAILBOX: usize = 256;

/// Decisions whose commit is awaited; enough to keep a group commit busy.
const IN_COMMIT: usize = 256;

/// Between two tries to go on after a commit failed: a full disk does not empty in less.
const AFTER_A_FAILED_COMMIT: Duration = Duration::from_secs(2);

/// How long a look-up may take before what was heard is handed back.
const LOOK_UP: Duration = Duration::from_secs(10);

/// Whether the daemon can write. `None`: it can; else the reason it cannot, for people.
pub type Health = watch::Receiver<Option<String>>;

/// Starts the hub and its effects.
///
/// # Errors
/// When the database cannot be read.
pub async fn start(
    tasks: &Tasks,
    store: Store,
    rules: Rules,
    clock: Clock,
    seed: u64,
    hands: impl FnOnce(Hub) -> Box<dyn Hands>,
) -> Result<(Hub, Health), StoreError> {
    let state = State::new(rules.clone(), store.load().await?);
    for problem in &state.problems {
        error!(problem, "a row does not read; the rest goes on");
    }
    let (mailbox, mail) = mpsc::channel(MAILBOX);
    let (batches, to_do) = mpsc::channel(IN_COMMIT);
    let (health, healthy) = watch::channel(None);
    let broken = Arc::new(Notify::new());
    let hub = Hub::new(mailbox);
    let hands = hands(hub.clone());
    let flag = broken.clone();
    tasks.start("effects", move |_| effects::run(to_do, hands, flag));
    let ids = Ids::new(seed, clock.now());
    let (catalog, held) = (None, Held::default());
    let worker = Worker { state, ids, store, clock, rules, batches, broken, health, catalog, held };
    tasks.start("hub", move |stop| worker.run(mail, stop));
    Ok((hub, healthy))
}

/// What kind of event it is, for traces.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::Booted => "booted",
        Event::Tick => "tick",
        Event::Heard { .. } => "heard",
        Event::Request(_) => "request",
        Event::Agent(_) => "agent",
        Event::Linked { .. } => "linked",
        Event::Report { .. } => "report",
        Event::HolderGone { .. } => "holder_gone",
        Event::LaunchFailed { .. } => "launch_failed",
        Event::Prepared { .. } => "prepared",
        Event::Delivered { .. } => "delivered",
        Event::Looked { .. } => "looked",
        Event::Noted { .. } => "noted",
        Event::Pulse { .. } => "pulse",
        Event::Catalog(_) => "catalog",
        Event::Prices(_) => "prices",
        Event::Hook(_) => "hook",
        Event::Step(_) => "step",
        Event::Used { .. } => "used",
        Event::StepUsed { .. } => "step_used",
        Event::StepPutOff { .. } => "step_put_off",
    }
}

struct Worker {
    state: State,
    ids: Ids,
    store: Store,
    clock: Clock,
    rules: Rules,
    batches: mpsc::Sender<Effects>,
    /// Rung by the effects when a commit failed.
    broken: Arc<Notify>,
    health: watch::Sender<Option<String>>,
    /// No row holds it, so it is handed over to a state that is read anew.
    catalog: Option<Catalog>,
    held: Held,
}

impl Worker {
    async fn run(mut self, mut mail: mpsc::Receiver<Mail>, stop: CancellationToken) {
        self.take(Event::Booted, Waiting::Nobody).await;
        loop {
            let deadline = self.deadline();
            tokio::select! {
                biased; // nothing is decided on a state that is ahead of the disk
                () = stop.cancelled() => break,
                () = self.broken.notified() => self.start_over(&mut mail, &stop).await,
                Some(mail) = mail.recv() => self.mail(mail).await,
                () = sleep_until(deadline) => self.take(Event::Tick, Waiting::Nobody).await,
            }
        }
        mail.close(); // refuse new mail, then finish what was accepted
        while let Some(mail) = mail.recv().await {
            self.mail(mail).await;
        }
    }

    /// When to look at the deadlines again; far away when there is none.
    fn deadline(&self) -> Instant {
        const FAR: Duration = Duration::from_hours(1);
        // Should a deadline ever stand in the past and nothing come of it, we do not spin on it.
        const SOON: Duration = Duration::from_millis(10);
        let left = next_deadline(&self.state)
            .map(|at| (at - self.clock.now()).to_std().unwrap_or_default());
        // Wall clock and timers drift apart over a sleep of the machine, so look now and then.
        Instant::now() + left.unwrap_or(FAR).clamp(SOON, FAR)
    }

    async fn mail(&mut self, mail: Mail) {
        match mail {
            Mail::Event(event) => {
                self.keep_catalog(&event);
                self.look_up_usage(&event).await;
                self.take(event, Waiting::Nobody).await;
            }
            Mail::Noted { bridge, noted, answer } => {
                self.take(Event::Noted { bridge, noted }, Waiting::Heard(answer)).await;
            }
            Mail::Admits { bridge, from, answer } => self.admits(&bridge, &from, answer),
            // Whoever asked may have gone.
            Mail::IsStill { bridge, chat, answer } => {
                let _ = answer.send(self.state.is_still(&bridge, &chat));
            }
            Mail::IsHushed { bridge, from, session, answer } => {
                let now = self.clock.now();
                let _ = answer.send(self.state.is_hushed_on(&bridge, &from, session.as_ref(), now));
            }
            Mail::Request { request, answer } => {
                let wanted = self.state.looks_up(&request.what);
                match self.look_up(wanted).await {
                    Ok(()) => self.take(Event::Request(request), Waiting::Request(answer)).await,
                    // Whoever asked may have gone.
                    Err(refusal) => drop(answer.send(Err(refusal))),
                }
            }
            Mail::Hook { hook, answer } => {
                let wanted = self.state.looks_up_for_hook(&hook);
                match self.look_up(wanted).await {
                    Ok(()) => self.take(Event::Hook(hook), Waiting::Request(answer)).await,
                    // Whoever asked may have gone.
                    Err(refusal) => drop(answer.send(Err(refusal))),
                }
            }
            Mail::Agent { call, answer } => self.agent(call, answer).await,
            // Whoever asked may have gone.
            Mail::Known { token, answer } => drop(answer.send(self.state.known(&token))),
            Mail::Heard { heard, answer } => {
                let looked_up = timeout(LOOK_UP, self.store.facts(&heard)).await;
                let facts = match looked_up {
                    Ok(Ok(facts)) => facts,
                    // Without the facts it is routed by its text alone; a row that does not read
                    // must not hold up what people say.
                    Ok(Err(error @ StoreError::Row { .. })) => {
                        error!(reason = %error, "a row does not read");
                        Facts::default()
                    }
                    Ok(Err(error)) => return refuse(answer, error.to_string()),
                    Err(_) => return refuse(answer, "the database is slow".into()),
                };
                let facts = self.state.completed(facts, &heard);
                let sending = self.state.sending_in(&heard.place);
                if self.held.waits(sending, &heard, &facts, self.clock.now()) {
                    return refuse(answer, "what it is about is still on its way".into());
                }
                self.take(Event::Heard { heard, facts }, Waiting::Heard(answer)).await;
            }
        }
    }

    /// A run that is over and no longer in memory is read again before it is decided about.
    async fn look_up(&mut self, wanted: Option<LookUp>) -> Result<(), Refusal> {
        let found = match wanted {
            None => return Ok(()),
            Some(LookUp::Named(name)) => timeout(LOOK_UP, self.store.run(name)).await,
            Some(LookUp::Started(start)) => timeout(LOOK_UP, self.store.run_started(start)).await,
        };
        let reason = match found {
            Ok(Ok(run)) => {
                if let Some(run) = run {
                    self.state.runs.absorb(run);
                }
                return Ok(());
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the database is slow".into(),
        };
        Err(Refusal::NotRead { reason })
    }

    /// Answers of models that are not remembered may be in the ledger. Where the database does not tell,
    /// nothing can be written either, and all of it is told again.
    async fn look_up_usage(&mut self, event: &Event) {
        let unknown = self.state.unknown_usage(event.usage());
        if unknown.is_empty() {
            return;
        }
        match timeout(LOOK_UP, self.store.known_usage(unknown)).await {
            Ok(Ok(found)) => found.into_iter().for_each(|row| self.state.ledger.put(row)),
            Ok(Err(error)) => error!(reason = %error, "the ledger could not be read"),
            Err(_) => error!("the ledger could not be read: the database is slow"),
        }
    }

    async fn agent(
        &mut self,
        call: AgentCall,
        answer: oneshot::Sender<Result<AgentReply, AgentRefusal>>,
    ) {
        let AgentCall { token, host, what } = call;
        let wanted = self.state.looks_up_for_agent(&what);
        if let Err(refusal) = self.look_up(wanted).await {
            // Whoever asked may have gone.
            return drop(answer.send(Err(refusal.into())));
        }
        let facts = match (&what, self.state.known(&token)) {
            (AgentCommand::Send(letter), Some(known)) => {
                let looked_up = self.store.mail_facts(&known.principal, letter);
                match timeout(LOOK_UP, looked_up).await {
                    Ok(Ok(facts)) => facts,
                    failed => {
                        let reason = match failed {
                            Ok(Err(error)) => error.to_string(),
                            Ok(Ok(_)) | Err(_) => "the database is slow".into(),
                        };
                        // Whoever asked may have gone.
                        return drop(answer.send(Err(Refusal::NotWritten { reason }.into())));
                    }
                }
            }
            _ => AgentFacts::default(),
        };
        let request = AgentRequest { token, host, what, facts };
        self.take(Event::Agent(request), Waiting::Agent(answer)).await;
    }

    /// Decides, hands the rows to the writer and the rest to the effects, in this order.
    async fn take(&mut self, event: Event, waiting: Waiting) {
        let span = Span::begin("decide").with("event", kind(&event));
        let Decision { rows, effects, reply, agent_reply, notice } =
            decide(&mut self.state, &mut self.ids, event, self.clock.now());
        drop(span);
        let answer = match (waiting, reply, agent_reply) {
            (Waiting::Request(to), Some(reply), _) => Answer::Request(to, reply),
            (Waiting::Agent(to), _, Some(reply)) => Answer::Agent(to, reply),
            (Waiting::Heard(to), ..) => Answer::Heard(to, Accepted { notice }),
            (Waiting::Nobody | Waiting::Request(_) | Waiting::Agent(_), ..) => Answer::Nobody,
        };
        let written = if rows.is_empty() { at_once() } else { self.store.write(rows).await };
        // The effects task ends only after the hub.
        let _ = self.batches.send(Effects { written, to_do: effects, answer }).await;
    }

    /// What is in memory is ahead of what is on disk: throw it away and read again. Until something
    /// can be written, everything can be looked at and nothing is taken in.
    async fn start_over(&mut self, mail: &mut mpsc::Receiver<Mail>, stop: &CancellationToken) {
        self.health.send_replace(Some("Vigie cannot write to its disk".into()));
        let mut again = Instant::now();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(mail) = mail.recv() => self.while_ill(mail),
                () = sleep_until(again) => {
                    if self.is_well().await {
                        break;
                    }
                    again = Instant::now() + AFTER_A_FAILED_COMMIT;
                }
            }
        }
        self.health.send_replace(None);
        info!("the state was read again after a failed commit");
        self.take(Event::Booted, Waiting::Nobody).await;
        if let Some(catalog) = self.catalog.clone() {
            self.take(Event::Catalog(catalog), Waiting::Nobody).await;
        }
    }

    fn keep_catalog(&mut self, event: &Event) {
        if let Event::Catalog(catalog) = event {
            self.catalog = Some(catalog.clone());
        }
        if let Event::Prices(prices) = event {
            self.rules.prices = prices.clone();
        }
    }

    fn admits(&self, bridge: &BridgeName, from: &str, answer: oneshot::Sender<bool>) {
        // Whoever asked may have gone.
        let _ = answer.send(self.state.human_of(bridge, from).is_some());
    }

    /// Whoever can hand it in again hears that it was not taken. What holders and bridges tell is
    /// asked of them anew once all is well.
    fn while_ill(&mut self, mail: Mail) {
        let reason = || "its disk takes nothing".to_owned();
        match mail {
            Mail::Event(event) => self.keep_catalog(&event),
            Mail::Heard { answer, .. } | Mail::Noted { answer, .. } => refuse(answer, reason()),
            // Whoever asked may have gone.
            Mail::Hook { answer, .. } => {
                drop(answer.send(Err(Refusal::NotWritten { reason: reason() })));
            }
            Mail::Admits { bridge, from, answer } => self.admits(&bridge, &from, answer),
            // What is in memory is thrown away. Whoever asked may have gone.
            Mail::IsStill { answer, .. } | Mail::IsHushed { answer, .. } => {
                let _ = answer.send(false);
            }
            // Whoever asked may have gone.
            Mail::Known { token, answer } => drop(answer.send(self.state.known(&token))),
            Mail::Agent { answer, .. } => {
                drop(answer.send(Err(Refusal::NotWritten { reason: reason() }.into())));
            }
            Mail::Request { request, answer } => {
                let reply = self.state.read(&request.what, self.clock.now());
                // Whoever asked may have gone.
                let _ = answer.send(reply.ok_or_else(|| Refusal::NotWritten { reason: reason() }));
            }
        }
    }

    /// Reads everything again, and writes one line to see whether that can be done.
    async fn is_well(&mut self) -> bool {
        match self.store.load().await {
            Ok(found) => {
                // Services say only once who is where.
                let present = std::mem::take(&mut self.state.present);
                self.state = State::new(self.rules.clone(), found);
                self.state.present = present;
            }
            Err(error) => {
                error!(reason = %error, "the database could not be read again");
                return false;
            }
        }
        let line = JournalEntry {
            at: self.clock.now(),
            kind: "writing_again".into(),
            session: None,
            gate: None,
            human: None,
            detail: serde_json::json!({}),
        };
        self.store.write(vec![Row::Journal(line)]).await.await.is_ok_and(|written| written.is_ok())
    }
}

/// Nothing is to be written, so a disk that takes nothing is no reason to show nothing. It is still
/// answered after whatever was handed in before.
fn at_once() -> oneshot::Receiver<Result<(), StoreError>> {
    let (done, written) = oneshot::channel();
    done.send(Ok(())).expect("its other end stands here");
    written
}

fn refuse(answer: oneshot::Sender<Result<Accepted, NotAccepted>>, reason: String) {
    // Whoever handed it in may have gone, and hands it in again.
    let _ = answer.send(Err(NotAccepted { reason }));
}

/// Whoever waits for what is decided.
enum Waiting {
    Nobody,
    Request(oneshot::Sender<Result<Reply, Refusal>>),
    Agent(oneshot::Sender<Result<AgentReply, AgentRefusal>>),
    Heard(oneshot::Sender<Result<Accepted, NotAccepted>>),
}
