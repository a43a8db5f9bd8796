//! `decide(state, event, now)`: where a reader of the whole product starts. An event changes the
//! state, the same change is returned as rows to write, and effects follow once the rows are on
//! disk. Nothing here waits, and nothing here fails: a refusal is an answer.

mod accounts;
mod afford;
mod allowed;
mod answers;
mod asking;
mod boot;
mod bounds;
mod budget;
mod called;
mod callers;
mod card;
mod commands;
mod desk;
mod digest;
mod folded;
mod gates;
mod given;
mod grants;
mod handover;
mod heard;
mod hush;
mod kept;
mod ledger;
mod looks;
mod lord;
mod mail;
mod morning;
mod mutes;
mod noted;
mod orders;
mod outages;
mod outbox;
mod outcome;
mod peers;
mod people;
mod reactions;
mod readers;
mod reports;
mod requests;
mod reserve;
mod ring;
mod route;
mod ruled;
mod runs;
mod show;
mod slash;
mod spawn;
mod start;
mod stopping;
mod strangers;
mod stuck;
mod taps;
mod tickets;
mod tokens;
mod whose;
mod withdrawn;

#[cfg(test)]
mod tests;

pub use runs::LookUp;

use serde_json::json;
use vigie_workflow::value::StepPath;

use crate::{
    Timestamp,
    agent::{AgentEvent, DeniedCall, Order, OrderKind, Report},
    bridge::{FilePost, Files, Health, Heard, Noted, Place, Said, Say, SayError},
    caller::{AgentRefusal, AgentReply, AgentRequest},
    command::{Refusal, Reply, Request},
    id::{BridgeName, DeliveryId, GateId, HeardId, HumanId, OrderId, RunId, SessionId},
    ids::Ids,
    ledger::{Prices, Used},
    run::{Catalog, Hook, PutOff, StepOrder, StepTold},
    session::{Launch, Session},
    state::{Facts, JournalEntry, Row, State},
};

/// Something that happened outside.
#[expect(clippy::large_enum_variant, reason = "one at a time goes by, and is not kept")]
#[derive(Clone, Debug)]
pub enum Event {
    /// The daemon has just read its database.
    Booted,
    /// A deadline may have passed.
    Tick,
    Heard {
        heard: Heard,
        facts: Facts,
    },
    Request(Request),
    /// A call of an agent.
    Agent(AgentRequest),
    /// A session's holder answers; what it was told before may be lost.
    Linked {
        session: SessionId,
        run: u32,
    },
    Report {
        session: SessionId,
        run: u32,
        report: Report,
    },
    /// A session's holder is gone and every report it left was handed in.
    HolderGone {
        session: SessionId,
        run: u32,
    },
    /// A session's program could not be started.
    LaunchFailed {
        session: SessionId,
        run: u32,
        why: String,
    },
    /// The folder a launch prepared (a worktree was made).
    Prepared {
        session: SessionId,
        run: u32,
        cwd: String,
        branch: String,
    },
    Delivered {
        delivery: DeliveryId,
        outcome: Result<Said, SayError>,
    },
    /// What a place asked to see of a session.
    Looked {
        session: SessionId,
        place: Place,
        found: Looked,
    },
    /// A service says something about itself.
    Noted {
        bridge: BridgeName,
        noted: Noted,
    },
    /// How a bridge hears right now.
    Pulse {
        bridge: BridgeName,
        health: Health,
    },
    /// What workflows there are, as their files say now.
    Catalog(Catalog),
    /// What models cost from now on.
    Prices(Prices),
    /// Something outside asks for a run; answered like a request.
    Hook(Hook),
    /// What became of a step of a run.
    Step(StepTold),
    /// What an agent's records have of a session whose holder is gone.
    Used {
        session: SessionId,
        entries: Vec<Used>,
    },
    /// An attempt's own agent stopped, and goes on later.
    StepPutOff {
        run: RunId,
        step: StepPath,
        attempt: u32,
        put_off: PutOff,
        /// What policies denied its agent until then.
        denied: Vec<DeniedCall>,
    },
    /// What the records of an attempt's own agent have.
    StepUsed {
        run: RunId,
        step: StepPath,
        attempt: u32,
        entries: Vec<Used>,
    },
}

impl Event {
    /// Answers of models that are to be counted: whether the ledger has them must be known before.
    pub fn usage(&self) -> &[Used] {
        match self {
            Self::Report { report: Report { what: AgentEvent::Usage { entries }, .. }, .. }
            | Self::Used { entries, .. }
            | Self::StepUsed { entries, .. } => entries,
            Self::Report { .. }
            | Self::Booted
            | Self::Tick
            | Self::Heard { .. }
            | Self::Request(_)
            | Self::Agent(_)
            | Self::Linked { .. }
            | Self::HolderGone { .. }
            | Self::LaunchFailed { .. }
            | Self::Prepared { .. }
            | Self::Delivered { .. }
            | Self::Looked { .. }
            | Self::Noted { .. }
            | Self::Pulse { .. }
            | Self::Catalog(_)
            | Self::Prices(_)
            | Self::Hook(_)
            | Self::Step(_)
            | Self::StepPutOff { .. } => &[],
        }
    }
}

/// What a person asks to see of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookAt {
    Screen,
    /// What changed in its folder.
    Diff,
    /// Its conversation.
    Transcript,
    /// A file of its folder, by a path relative to it.
    File {
        path: String,
    },
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// The screen's lines, and the picture where one was made.
    Screen {
        lines: Vec<String>,
        picture: Option<FilePost>,
    },
    /// A text of any length; `name` is what its file would be called.
    Text {
        about: String,
        text: String,
        name: String,
        form: LookedForm,
    },
    File(FilePost),
    /// There is nothing to see, and why.
    Nothing {
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookedForm {
    Diff,
    Plain,
    /// Markdown, as a file whatever its length.
    Document,
}

/// Something to do once the rows are written. Each may be done again after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a handful lives at a time")]
pub enum Effect {
    /// Make the session's worktree where it has one, and start its holder; if it was started
    /// already, only connect to it.
    Launch {
        session: Box<Session>,
        how: Launch,
    },
    /// Look for the session's holder again, and for what it reported after `after`.
    Reconnect {
        session: SessionId,
        run: u32,
        after: u64,
    },
    Order {
        session: SessionId,
        run: u32,
        order: Order,
    },
    /// Reports up to this number are written down.
    Acknowledge {
        session: SessionId,
        run: u32,
        seq: u64,
    },
    Say {
        delivery: DeliveryId,
        place: Place,
        say: Say,
    },
    /// Carry out one attempt of a step, or find out what became of it.
    Step(Box<StepOrder>),
    /// End that attempt's own agent; it goes on later in the same conversation.
    PutOffStep {
        run: RunId,
        step: StepPath,
        attempt: u32,
    },
    /// End that attempt, with all its processes.
    StopStep {
        run: RunId,
        step: StepPath,
        attempt: u32,
    },
    /// Fetch what a place asked to see of a session.
    Look {
        session: Box<Session>,
        at: LookAt,
        files: Files,
        place: Place,
    },
}

/// What comes out of one decision.
#[derive(Debug, Default)]
pub struct Decision {
    pub rows: Vec<Row>,
    pub effects: Vec<Effect>,
    /// For a request.
    pub reply: Option<Result<Reply, Refusal>>,
    /// For a call of an agent.
    pub agent_reply: Option<Result<AgentReply, AgentRefusal>>,
    /// For something heard: what to tell the person at once.
    pub notice: Option<String>,
}

/// Takes one event in. The state is changed as the rows say; if they cannot be written, it must
/// be built anew from what is on disk.
pub fn decide(state: &mut State, ids: &mut Ids, event: Event, now: Timestamp) -> Decision {
    ids.at(now);
    let heard_now = ids.make(HeardId::from_parts);
    let mut work = Work::new(state, ids, now, heard_now);
    match event {
        Event::Booted => work.boot(),
        Event::Tick => {}
        Event::Heard { heard, facts } => work.heard(heard, facts),
        Event::Request(request) => {
            let reply = work.request(request);
            work.out.reply = Some(reply);
        }
        Event::Agent(request) => {
            let reply = work.agent_call(request);
            work.out.agent_reply = Some(reply);
        }
        Event::Linked { session, run } => work.linked(session, run),
        Event::Report { session, run, report } => work.report(session, run, report),
        Event::HolderGone { session, run } => work.holder_gone(session, run),
        Event::LaunchFailed { session, run, why } => work.launch_failed(session, run, &why),
        Event::Prepared { session, run, cwd, branch } => work.prepared(session, run, cwd, branch),
        Event::Delivered { delivery, outcome } => work.delivered(delivery, outcome),
        Event::Looked { session, place, found } => work.looked(session, &place, found),
        Event::Noted { bridge, noted } => work.noted(&bridge, noted),
        Event::Pulse { bridge, health } => work.pulse(&bridge, health),
        Event::Catalog(catalog) => work.catalog(catalog),
        Event::Prices(prices) => work.state.rules.prices = prices,
        Event::Hook(hook) => {
            let reply = work.hook(hook);
            work.out.reply = Some(reply);
        }
        Event::Step(told) => work.step_told(told),
        Event::StepPutOff { run, step, attempt, put_off, denied } => {
            work.step_put_off(run, &step, attempt, put_off, &denied);
        }
        Event::Used { session, entries } => work.session_used(session, entries),
        Event::StepUsed { run, step, attempt, entries } => {
            work.step_used(run, &step, attempt, entries);
        }
    }
    work.tell_of_strangers();
    work.lapse_gates();
    work.fire_schedules();
    work.wake_runs();
    work.carry_runs();
    work.show_runs();
    work.show_late_progress();
    work.keep_lord();
    work.retry_accounts();
    work.offer_mail();
    work.hand_prompts();
    work.give_room();
    work.tell_of_accounts();
    work.settle_read_answers();
    work.notice_stuck();
    work.end_mutes();
    work.say_digests();
    work.ring_what_was_missed();
    work.ring_what_was_held();
    work.remind();
    work.keep_shut_chats_short();
    work.send_due();
    work.out
}

/// When `decide` should be called with a [`Event::Tick`] at the latest.
pub fn next_deadline(state: &State) -> Option<Timestamp> {
    let gates = state.open_gates().map(|gate| gate.until);
    gates
        .chain(budget::next_due(state))
        .chain(reports::next_late_progress(state))
        .chain(strangers::next_note(state))
        .chain(mail::next_offer(state))
        .chain(outages::next_due(state))
        .chain(afford::next_due(state))
        .chain(called::next_call(state))
        .chain(morning::next_digest(state))
        .chain(mutes::next_end(state))
        .chain(stuck::next_look(state))
        .chain(state.runs.next_deadline())
        .min()
}

/// One decision being taken.
struct Work<'a> {
    state: &'a mut State,
    ids: &'a mut Ids,
    now: Timestamp,
    /// The id of what is being heard, if this is about something heard.
    heard_now: HeardId,
    /// Entries of runs that this decision may still write.
    entries_left: usize,
    out: Decision,
}

impl<'a> Work<'a> {
    fn new(state: &'a mut State, ids: &'a mut Ids, now: Timestamp, heard_now: HeardId) -> Self {
        let entries_left = runs::ENTRIES_AT_ONCE;
        Self { state, ids, now, heard_now, entries_left, out: Decision::default() }
    }
}

impl Work<'_> {
    /// Changes the state and remembers to write it.
    fn put(&mut self, row: Row) {
        self.state.put(&row);
        self.out.rows.push(row);
    }

    fn effect(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }

    fn order(&mut self, session: SessionId, what: OrderKind) -> OrderId {
        let id = self.ids.make(OrderId::from_parts);
        if let Some(run) = self.state.sessions.get(&session).map(|s| s.run) {
            self.effect(Effect::Order { session, run, order: Order { id, what } });
        }
        id
    }

    fn journal(&mut self, kind: &str, about: About, detail: serde_json::Value) {
        let About { session, gate, human } = about;
        self.put(Row::Journal(JournalEntry {
            at: self.now,
            kind: kind.into(),
            session,
            gate,
            human,
            detail,
        }));
    }

    fn journal_session(&mut self, kind: &str, session: SessionId) {
        self.journal(kind, About { session: Some(session), ..About::default() }, json!({}));
    }
}

/// Whom a journal entry is about.
#[derive(Clone, Debug, Default)]
struct About {
    session: Option<SessionId>,
    gate: Option<GateId>,
    human: Option<HumanId>,
}
