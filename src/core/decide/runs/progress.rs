//! What chats show of a run: one message each, changed as it goes on, and a word at its end.

use chrono::TimeDelta;
use vigie_workflow::run::{Finish, RunState};

use super::view::outcome_words;
use crate::{
    Timestamp,
    bridge::{Action, Body, Button, Level, Post, Progress, Weight},
    decide::{Work, outbox::Draft, outbox::target_of, show},
    delivery::{Outgoing, Rank, Shown, Target},
    gate::Gate,
    id::RunId,
    money,
    ringing::Kind,
    run::{KnownRun, RunLife, RunRow, Starter},
    state::{Chat, Row},
    text::{Rich, Style},
};

/// A run that is over sooner is shown by its end alone.
const QUIET: TimeDelta = TimeDelta::seconds(2);

/// Nobody reads quicker than this, and each version costs a message.
const APART: TimeDelta = TimeDelta::seconds(1);

/// Steps of a run that did not end well, in the message about its end.
const NAMED: usize = 5;

impl Work<'_> {
    /// Its progress is shown in a while, and that of the run above it.
    pub(super) fn run_changed(&mut self, id: RunId) {
        let Some(row) = self.state.root_run(id) else { return };
        if row.life.is_open() {
            let wait = if row.shown.is_empty() { QUIET } else { APART };
            let (id, at) = (row.id, self.now + wait);
            self.state.runs.shows.entry(id).or_insert(at);
        }
    }

    pub(in crate::decide) fn show_runs(&mut self) {
        let due = self.state.runs.shows.iter().filter(|(_, at)| **at <= self.now);
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.state.runs.shows.remove(&id);
            self.show_run_progress(id, None);
        }
    }

    fn show_run_progress(&mut self, id: RunId, ended: Option<String>) {
        let Some(known) = self.state.runs.get(id) else { return };
        if ended.is_some() && known.row.shown.is_empty() {
            return;
        }
        let cancel = cancel_button(&known.row);
        let mut lines = vec![self.head(known)];
        lines.extend(progress_lines(known, self.now));
        let buttons = if ended.is_some() { vec![] } else { vec![cancel] };
        let mut row = known.row.clone();
        let body = Body::Progress(Progress { lines, since: row.since(), ended, buttons });
        let post = Post { from: None, level: Level::Log, body };
        if row.shown.is_empty() {
            row.shown = self.post_to_places(&row, Kind::Notice, &post, Rank::Progress);
            self.put(Row::Run(row));
        } else {
            self.change_progress(&row.shown, &post);
        }
    }

    /// Where it was started from, or in every chat that hears of sessions; and how loud it is there.
    /// What rings where nobody is heard any more goes everywhere.
    fn places_of(&self, row: &RunRow, kind: Kind, level: Level) -> Vec<(Target, Level)> {
        let cause = self.state.cause_of_run(kind, row.id);
        let everywhere = || {
            let all = self.state.hearing();
            let all =
                all.iter().map(|chat| (show::main_of(chat), self.level_in(chat, level, &cause)));
            all.collect::<Vec<_>>()
        };
        let Some(place) = &row.place else { return everywhere() };
        let heard = self.state.is_fine(&(place.bridge.clone(), place.chat.clone()));
        let loud =
            if self.awake(&cause).people.is_empty() { level.min(Level::Note) } else { level };
        let mut all = vec![(target_of(place), loud)];
        if level == Level::Ring && !heard {
            all.extend(everywhere().into_iter().filter(|(to, _)| *to != target_of(place)));
        }
        all
    }

    /// The chat it was started in.
    pub(in crate::decide) fn chat_of_run(&self, id: RunId) -> Option<Chat> {
        let place = self.state.root_run(id)?.place.as_ref()?;
        self.state.chat_of(&place.bridge, &place.chat)
    }

    fn post_to_places(&mut self, row: &RunRow, kind: Kind, post: &Post, rank: Rank) -> Vec<Shown> {
        let posts = self.places_of(row, kind, post.level).into_iter().map(|(to, level)| {
            let post = Post { level, ..post.clone() };
            let draft = Draft {
                to: to.clone(),
                what: Outgoing::Post { post, reply_to: None },
                rank,
                session: None,
                newest: None,
                not_before: None,
            };
            Shown { delivery: self.deliver(draft), to }
        });
        posts.collect()
    }

    /// News of a run where it is shown, as loud as news of that kind is set to be and no louder than the
    /// post itself.
    pub(in crate::decide) fn post_news_of_run(
        &mut self,
        kind: Kind,
        id: RunId,
        post: &Post,
        rank: Rank,
    ) {
        // What asks is always there.
        let asks = (rank == Rank::Gate).then_some(Level::Note);
        let Some(most) = self.loudness(kind).level().or(asks) else { return };
        let Some(row) = self.state.root_run(id).cloned() else { return };
        let post = Post { level: post.level.min(most), ..post.clone() };
        self.rings_for(&self.state.cause_of_run(kind, id), post.level);
        self.post_to_places(&row, kind, &post, rank);
    }

    /// What nobody in particular asked for, to all who hear of sessions.
    pub(super) fn tell_everybody(&mut self, post: &Post) {
        for chat in self.state.hearing() {
            self.post_about(&chat, None, post.clone(), Rank::Final);
        }
    }

    pub(super) fn show_run_over(&mut self, id: RunId) {
        self.state.runs.shows.remove(&id);
        let Some(known) = self.state.runs.get(id) else { return };
        let RunLife::Over { status, why, .. } = known.row.life.clone() else { return };
        if known.row.parent.is_some() {
            return;
        }
        let row = known.row.clone();
        let spent = known.run.spent().micro_usd;
        let cost = if spent > 0 { format!(", {}", money::spent(spent)) } else { String::new() };
        let span = show::span(row.since(), self.now);
        let by = why.strip_prefix("by ").filter(|_| status == Finish::Cancelled);
        let by = by.map(|by| format!(" by {}", shown_words(by))).unwrap_or_default();
        let line = format!("{} {}{by} after {span}{cost}", row.name(), finish_words(status));
        let mut text = Rich::plain(line.clone());
        if !why.is_empty() && status != Finish::Cancelled {
            text.append(&show::ticked(&format!(": {}", shown_words(&why))));
        }
        text.push(".", None);
        let failures = failures(known);
        // One alone is what was just said.
        for failed in failures.iter().filter(|_| failures.len() > 1) {
            text.push(&format!("\n{failed}"), Some(Style::Quote));
        }
        let (level, buttons) = match status {
            // Nobody sits and waits for what its schedule began.
            Finish::Succeeded if matches!(row.starter, Starter::Cron { .. }) => {
                (Level::Log, vec![])
            }
            Finish::Succeeded => (Level::Note, vec![]),
            Finish::Cancelled | Finish::Denied => (Level::Note, vec![retry_button(&row)]),
            Finish::Failed | Finish::TimedOut => (Level::Ring, vec![retry_button(&row)]),
        };
        let kind = match status {
            Finish::Failed | Finish::TimedOut => Kind::Failure,
            Finish::Succeeded | Finish::Cancelled | Finish::Denied => Kind::Done,
        };
        let cause = self.state.cause_of_run(kind, row.id);
        self.happened(&cause, finish_words(status));
        self.show_run_progress(id, Some(line));
        // Whoever started it where they are has its end there in any case.
        let asked = row.place.is_some().then_some(Level::Note);
        let Some(set) = self.loudness(kind).level().or(asked) else { return };
        let level = if (level, set) == (Level::Note, Level::Ring) { set } else { level.min(set) };
        let post = show::note(level, text, buttons);
        self.rings_for(&cause, level);
        self.post_to_places(&row, kind, &post, Rank::Final);
    }

    /// `release-12 runs since 4 min`.
    pub(super) fn head(&self, known: &KnownRun) -> String {
        let row = &known.row;
        let (name, age) = (row.name(), show::span(row.since(), self.now));
        match &row.life {
            RunLife::Queued => self.queued_words(known),
            RunLife::Running => match known.run.state() {
                RunState::Stopping(_) => format!("{name} is being stopped"),
                RunState::Running | RunState::Over(_) => {
                    let codes = self.codes_of(row.id);
                    if codes.is_empty() {
                        format!("{name} runs since {age}")
                    } else {
                        format!("{name} waits for you: {}", codes.join(", "))
                    }
                }
            },
            RunLife::Over { status, at, .. } => {
                format!("{name} {} after {}", finish_words(*status), show::span(row.since(), *at))
            }
            RunLife::NotRun { why, .. } => format!("{name} did not run: {why}"),
        }
    }

    /// Codes of what that run, or one that it called, asks people.
    fn codes_of(&self, run: RunId) -> Vec<String> {
        let of_it =
            |gate: &&Gate| gate.step().is_some_and(|waits| self.is_part_of(waits.of_run, run));
        let mut open: Vec<_> = self.state.open_gates().filter(of_it).collect();
        open.sort_by_key(|gate| gate.opened);
        open.into_iter().map(|gate| gate.code.to_string()).collect()
    }

    pub(in crate::decide) fn is_part_of(&self, part: RunId, run: RunId) -> bool {
        part == run || self.state.root_run(part).is_some_and(|root| root.id == run)
    }

    /// `release-2 waits until release-1 is over`.
    pub(super) fn queued_words(&self, known: &KnownRun) -> String {
        let row = &known.row;
        let ahead = |other: &&KnownRun| {
            other.row.workflow == row.workflow
                && other.row.parent.is_none()
                && (other.row.life == RunLife::Running || other.row.number < row.number)
                && other.row.id != row.id
        };
        let mut ahead: Vec<_> = self.state.runs.open().filter(ahead).collect();
        ahead.sort_by_key(|known| known.row.number);
        let names: Vec<_> = ahead.iter().take(NAMED).map(|known| known.row.name()).collect();
        let more = match ahead.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let one_at_a_time = known.run.frozen().source.workflow.limits.concurrency <= 1;
        let until = match (names.as_slice(), one_at_a_time) {
            ([], _) => return format!("{} waits for its turn", row.name()),
            ([one], _) => format!("{one} is over"),
            (several, true) => format!("{}{more} are over", several.join(", ")),
            (several, false) => format!("one of {}{more} is over", several.join(", ")),
        };
        format!("{} waits until {until}", row.name())
    }
}

pub(super) fn cancel_button(row: &RunRow) -> Button {
    Button {
        label: format!("Cancel {}", row.name()),
        detail: None,
        weight: Weight::Plain,
        action: Action::CancelRun { run: row.id },
    }
}

fn retry_button(row: &RunRow) -> Button {
    Button {
        label: format!("Retry {}", row.name()),
        detail: None,
        weight: Weight::Plain,
        action: Action::RetryRun { run: row.id },
    }
}

fn shown_words(text: &str) -> String {
    let masked = crate::text::mask(text).text;
    crate::text::reveal(&masked).text.text
}

/// Steps that did not end well, a line each.
fn failures(known: &KnownRun) -> Vec<String> {
    use vigie_workflow::run::{Outcome, StepState};
    let failed = known.run.steps().filter_map(|(step, state)| {
        let StepState::Ended { outcome, .. } = state else { return None };
        let bad = match &outcome {
            Outcome::Failed { .. } | Outcome::TimedOut => true,
            Outcome::Done | Outcome::Denied { .. } | Outcome::Cancelled => false,
        };
        let (word, why) = outcome_words(&outcome);
        bad.then(|| shown_words(&format!("{step} {}: {why}", word.replace('_', " "))))
    });
    failed.take(NAMED).collect()
}

pub(super) fn finish_words(status: Finish) -> &'static str {
    match status {
        Finish::Succeeded => "succeeded",
        Finish::Failed => "failed",
        Finish::Denied => "was denied",
        Finish::Cancelled => "was cancelled",
        Finish::TimedOut => "timed out",
    }
}

/// The graph as text, a line each.
pub(super) fn progress_lines(known: &KnownRun, now: Timestamp) -> Vec<String> {
    known.run.progress(now).iter().map(|line| shown_words(&line.to_string())).collect()
}
