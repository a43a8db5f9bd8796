//! Puts prompts into the input box, one after the other, and knows of each whether it arrived.
//!
//! The order of things: wait for the prompt line, empty the box, paste, look, Enter, and wait for
//! the agent's own word (its `UserPromptSubmit` hook). Enter is pressed only at the prompt, never
//! in a dialog; nothing is pasted twice unless it visibly never arrived.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};
use vigie_core::{
    agent::{AgentEvent, Held, PromptForm, RefusedPrompt},
    id::{PromptId, TurnId},
};

use super::input_box::InputBox;
use crate::agents::hooks::same_prompt;

/// Between paste and Enter, where the box does not show the prompt as it is. Source: 100–200 ms were
/// enough for 400 kB.
const BEFORE_ENTER: Duration = Duration::from_millis(150);
/// A key shows on the screen within this; observed under 100 ms on a busy machine.
const SHOWS_WITHIN: Duration = Duration::from_millis(1200);
/// Between Enter and the agent's word; observed 0.1–1.3 s.
const ACK_WITHIN: Duration = Duration::from_secs(5);
/// An Enter that did nothing is pressed again after this.
const ENTER_AGAIN: Duration = Duration::from_millis(1800);
/// Enters in all: one, and two more while the text still stands in the box.
const ENTERS: u8 = 3;
/// Pastes in all: one, and one more when the box visibly stayed empty.
const PASTES: u8 = 2;
/// How often a prompt is cleared away with somebody's half sentence before it; then people are at
/// the desk, and they are told instead.
const CLEARS: u8 = 2;
/// Prompts that wait in the holder; the daemon queues the rest.
const QUEUE: usize = 64;
/// Prompts we gave up, in case the agent's word comes late after all.
const GIVEN_UP: usize = 8;

const CTRL_C: &[u8] = b"\x03";
const CTRL_S: &[u8] = b"\x13";
const ENTER: &[u8] = b"\r";

/// A prompt on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) id: PromptId,
    /// As it is typed: cleaned and marked.
    pub(super) text: String,
    pub(super) form: PromptForm,
    told: Vec<Held>,
    /// How often it was cleared away because something else stood before it.
    cleared: u8,
}

impl Prompt {
    pub(super) fn new(id: PromptId, text: String, form: PromptForm) -> Self {
        Self { id, text, form, told: vec![], cleared: 0 }
    }
}

/// What one look at the agent shows.
#[derive(Clone, Debug)]
pub(super) struct Sight<'a> {
    pub(super) gate: Gate,
    pub(super) input: InputBox,
    /// The whole screen.
    pub(super) screen: &'a [String],
}

/// Whether something may be typed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    Free,
    Closed(Held),
}

/// What to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::agents) enum Act {
    Keys(Vec<u8>),
    Report(AgentEvent),
}

#[derive(Default)]
pub(super) struct Typist {
    queue: VecDeque<Prompt>,
    step: Step,
    given_up: VecDeque<Prompt>,
    blind: bool,
}

#[derive(Default)]
enum Step {
    #[default]
    Resting,
    /// The registry says it is at its prompt and the screen does not show the box yet.
    Looking { prompt: Prompt, since: Instant },
    /// Ctrl-S put somebody's draft aside; `before` stood in the box.
    Stashing { prompt: Prompt, before: String, since: Instant, again: bool },
    /// The text is in the box, as far as we know; `under` stood there before and would not go:
    /// a placeholder.
    Pasted { prompt: Prompt, at: Instant, pastes: u8, under: Option<String> },
    /// Enter was pressed `times` times, last at `at`; so often the screen
    /// said before that it does not know this command.
    Entered { prompt: Prompt, at: Instant, times: u8, unknown_before: usize },
}

impl Typist {
    /// Nothing is on its way and nothing waits.
    pub(super) fn is_resting(&self) -> bool {
        self.queue.is_empty() && matches!(self.step, Step::Resting)
    }

    /// The next step depends on what the screen shows, and on that alone.
    pub(super) fn awaits_screen(&self) -> bool {
        matches!(self.step, Step::Pasted { .. } | Step::Stashing { .. } | Step::Looking { .. })
    }

    /// Enter was pressed and the agent has not said anything yet.
    pub(super) fn awaits_word(&self) -> bool {
        matches!(self.step, Step::Entered { .. })
    }

    pub(super) fn push(&mut self, prompt: Prompt) -> Option<AgentEvent> {
        let why = if prompt.text.trim().is_empty() {
            RefusedPrompt::Empty
        } else if self.queue.len() >= QUEUE {
            RefusedPrompt::ByAgent {
                reason: format!("{QUEUE} prompts already wait for this session"),
            }
        } else {
            self.queue.push_back(prompt);
            return None;
        };
        Some(AgentEvent::PromptRefused { prompt: prompt.id, why })
    }

    /// Takes a prompt back that was not pasted yet.
    pub(super) fn withdraw(&mut self, id: PromptId) -> Option<AgentEvent> {
        let stashing = |step: &Step| matches!(step, Step::Looking { prompt, .. } | Step::Stashing { prompt, .. } if prompt.id == id);
        if stashing(&self.step) {
            self.step = Step::Resting;
        } else {
            let at = self.queue.iter().position(|prompt| prompt.id == id)?;
            self.queue.remove(at);
        }
        Some(AgentEvent::PromptRefused { prompt: id, why: RefusedPrompt::Withdrawn })
    }

    /// The agent took a prompt. `None` when it is none of ours.
    pub(super) fn submitted(
        &mut self,
        text: &str,
        turn: Option<&TurnId>,
    ) -> Option<(Prompt, AgentEvent)> {
        let taken = match std::mem::take(&mut self.step) {
            Step::Pasted { prompt, .. } | Step::Entered { prompt, .. }
                if same_prompt(text, &prompt.text) =>
            {
                prompt
            }
            step => {
                self.step = step;
                let at = self.given_up.iter().position(|prompt| same_prompt(text, &prompt.text))?;
                self.given_up.remove(at)?
            }
        };
        let event = AgentEvent::PromptTaken { prompt: taken.id, turn: turn.cloned() };
        Some((taken, event))
    }

    /// A command showed its effect, where no prompt is submitted (`/clear`, `/compact`).
    pub(super) fn command_took(&mut self) -> Option<AgentEvent> {
        match &self.step {
            Step::Entered { prompt, .. } if prompt.form == PromptForm::Command => {
                let event = AgentEvent::PromptTaken { prompt: prompt.id, turn: None };
                self.step = Step::Resting;
                Some(event)
            }
            _ => None,
        }
    }

    /// The program is gone, with everything that was on its way.
    pub(super) fn gone(&mut self) -> Vec<AgentEvent> {
        let on_its_way = match std::mem::take(&mut self.step) {
            Step::Resting => None,
            Step::Looking { prompt, .. }
            | Step::Stashing { prompt, .. }
            | Step::Pasted { prompt, .. } => Some((prompt, RefusedPrompt::Gone)),
            Step::Entered { prompt, .. } => Some((prompt, RefusedPrompt::NoSignal)),
        };
        let waiting = std::mem::take(&mut self.queue);
        on_its_way
            .into_iter()
            .chain(waiting.into_iter().map(|prompt| (prompt, RefusedPrompt::Gone)))
            .map(|(prompt, why)| AgentEvent::PromptRefused { prompt: prompt.id, why })
            .collect()
    }

    /// Takes the next step, if there is one.
    pub(super) fn look(&mut self, now: Instant, sight: &Sight<'_>) -> Vec<Act> {
        let mut acts = self.tell_held(sight.gate);
        match std::mem::take(&mut self.step) {
            Step::Resting => {
                if let Some(prompt) = self.next(sight.gate) {
                    self.begin(now, sight, prompt, now, &mut acts);
                }
            }
            Step::Looking { prompt, since } => {
                self.queue.push_front(prompt);
                if let Some(prompt) = self.next(sight.gate) {
                    self.begin(now, sight, prompt, since, &mut acts);
                }
            }
            Step::Stashing { prompt, before, since, again } => {
                self.stashing(now, sight, prompt, (before, since, again), &mut acts);
            }
            Step::Pasted { prompt, at, pastes, under } => {
                self.pasted(now, sight, prompt, (at, pastes, under), &mut acts);
            }
            Step::Entered { prompt, at, times, unknown_before } => {
                self.entered(now, sight, prompt, (at, times, unknown_before), &mut acts);
            }
        }
        acts
    }

    /// Says of each waiting prompt why it waits, once per reason.
    fn tell_held(&mut self, gate: Gate) -> Vec<Act> {
        let Gate::Closed(why) = gate else { return vec![] };
        let mut acts = Vec::new();
        for prompt in self.queue.iter_mut().filter(|prompt| !prompt.told.contains(&why)) {
            prompt.told.push(why);
            acts.push(Act::Report(AgentEvent::PromptHeld { prompt: prompt.id, why }));
        }
        acts
    }

    fn next(&mut self, gate: Gate) -> Option<Prompt> {
        if gate == Gate::Free { self.queue.pop_front() } else { None }
    }

    fn begin(
        &mut self,
        now: Instant,
        sight: &Sight<'_>,
        prompt: Prompt,
        since: Instant,
        acts: &mut Vec<Act>,
    ) {
        match &sight.input {
            InputBox::Empty => self.paste(now, prompt, None, 1, acts),
            InputBox::Holds(text) => {
                acts.push(Act::Keys(CTRL_S.into()));
                self.step =
                    Step::Stashing { prompt, before: text.clone(), since: now, again: false };
            }
            InputBox::Hidden if now.duration_since(since) >= SHOWS_WITHIN => {
                self.say_blind(acts);
                self.paste(now, prompt, None, 1, acts);
            }
            InputBox::Hidden => self.step = Step::Looking { prompt, since },
        }
    }

    fn stashing(
        &mut self,
        now: Instant,
        sight: &Sight<'_>,
        prompt: Prompt,
        (before, since, again): (String, Instant, bool),
        acts: &mut Vec<Act>,
    ) {
        if sight.gate != Gate::Free {
            self.queue.push_front(prompt);
            return;
        }
        let waited = now.duration_since(since) >= SHOWS_WITHIN;
        match &sight.input {
            InputBox::Empty => self.paste(now, prompt, None, 1, acts),
            // Ctrl-S did nothing, so nothing was there: what we see is a placeholder.
            InputBox::Holds(text) if waited && *text == before => {
                self.paste(now, prompt, Some(before), 1, acts);
            }
            // On an empty box it brings an older draft back; a second one puts that aside again.
            InputBox::Holds(text) if waited && !again => {
                acts.push(Act::Keys(CTRL_S.into()));
                self.step =
                    Step::Stashing { prompt, before: text.clone(), since: now, again: true };
            }
            InputBox::Holds(_) if waited => self.give_up(prompt, acts),
            InputBox::Hidden => self.step = Step::Looking { prompt, since: now },
            InputBox::Holds(_) => {
                self.step = Step::Stashing { prompt, before, since, again };
            }
        }
    }

    fn paste(
        &mut self,
        now: Instant,
        prompt: Prompt,
        under: Option<String>,
        pastes: u8,
        acts: &mut Vec<Act>,
    ) {
        let mut keys = b"\x1b[200~".to_vec();
        keys.extend_from_slice(prompt.text.as_bytes());
        keys.extend_from_slice(b"\x1b[201~");
        acts.push(Act::Keys(keys));
        self.step = Step::Pasted { prompt, at: now, pastes, under };
    }

    fn pasted(
        &mut self,
        now: Instant,
        sight: &Sight<'_>,
        mut prompt: Prompt,
        (at, pastes, under): (Instant, u8, Option<String>),
        acts: &mut Vec<Act>,
    ) {
        let waited = now.duration_since(at);
        let arrived = match &sight.input {
            InputBox::Empty => false,
            InputBox::Holds(text) => under.as_ref() != Some(text),
            InputBox::Hidden => waited >= SHOWS_WITHIN,
        };
        let at_prompt = sight.gate == Gate::Free;
        // A folded prompt tells nothing of its end; a command may still be looked up.
        let whole = prompt.form != PromptForm::Command && sight.input.holds_just(&prompt.text);
        let glued = at_prompt && sight.input.holds_more_than(&prompt.text);
        if glued && prompt.cleared >= CLEARS {
            self.give_up(prompt, acts);
        } else if glued {
            // Somebody typed in the very moment between look and paste. The model must not get
            // their half sentence with ours; a draft is worth less than that.
            acts.push(Act::Keys(CTRL_C.into()));
            prompt.cleared += 1;
            let before = String::new(); // whatever still stands there later is no placeholder
            self.step = Step::Stashing { prompt, before, since: now, again: true };
        } else if at_prompt && arrived && (whole || waited >= BEFORE_ENTER) {
            if sight.input == InputBox::Hidden {
                self.say_blind(acts);
            }
            acts.push(Act::Keys(ENTER.into()));
            let unknown_before = unknown_commands(sight.screen, &prompt.text);
            self.step = Step::Entered { prompt, at: now, times: 1, unknown_before };
        } else if at_prompt && !arrived && waited >= 2 * SHOWS_WITHIN {
            // A dialog swallowed it. Enter was never pressed, so nothing can be doubled.
            if pastes < PASTES {
                self.paste(now, prompt, under, pastes + 1, acts);
            } else {
                self.give_up(prompt, acts);
            }
        } else {
            // While the gate is closed its clock stands still: the text waits in the box.
            let at = if at_prompt { at } else { now };
            self.step = Step::Pasted { prompt, at, pastes, under };
        }
    }

    fn entered(
        &mut self,
        now: Instant,
        sight: &Sight<'_>,
        prompt: Prompt,
        (at, times, unknown_before): (Instant, u8, usize),
        acts: &mut Vec<Act>,
    ) {
        let waited = now.duration_since(at);
        let free = sight.gate == Gate::Free;
        let stands =
            matches!(sight.input, InputBox::Holds(_)) && sight.input.may_hold(&prompt.text);
        if prompt.form == PromptForm::Command && waited >= BEFORE_ENTER {
            if unknown_commands(sight.screen, &prompt.text) > unknown_before {
                let reason = format!("it does not know the command {}", first_word(&prompt.text));
                let why = RefusedPrompt::ByAgent { reason };
                acts.push(Act::Report(AgentEvent::PromptRefused { prompt: prompt.id, why }));
                return;
            }
            // A command submits no prompt: its box emptied, or something opened in its place.
            // Busy means nothing: an unknown one keeps it busy for a moment too.
            let opened = sight.gate == Gate::Closed(Held::Dialog);
            if opened || (!stands && waited >= SHOWS_WITHIN) {
                acts.push(Act::Report(AgentEvent::PromptTaken { prompt: prompt.id, turn: None }));
                return;
            }
        }
        if free && stands && times < ENTERS && waited >= ENTER_AGAIN {
            acts.push(Act::Keys(ENTER.into()));
            self.step = Step::Entered { prompt, at: now, times: times + 1, unknown_before };
        } else if waited >= ACK_WITHIN {
            // What stands in the box stays there: a Ctrl-C that a hanging program reads late would
            // interrupt the very turn it was slow to begin. The next prompt puts it aside.
            self.give_up(prompt, acts);
        } else {
            self.step = Step::Entered { prompt, at, times, unknown_before };
        }
    }

    fn give_up(&mut self, prompt: Prompt, acts: &mut Vec<Act>) {
        let why = RefusedPrompt::NoSignal;
        acts.push(Act::Report(AgentEvent::PromptRefused { prompt: prompt.id, why }));
        if self.given_up.len() == GIVEN_UP {
            self.given_up.pop_front();
        }
        self.given_up.push_back(prompt);
    }

    /// Says once that the input box is not where we know it.
    fn say_blind(&mut self, acts: &mut Vec<Act>) {
        if !std::mem::replace(&mut self.blind, true) {
            let what = "the input box of this version of the agent is drawn in a way Vigie does not \
                        know: prompts are typed without looking";
            acts.push(Act::Report(AgentEvent::Degraded { what: what.into() }));
        }
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// How often the screen says that it does not know this command (seen: `Unknown command: /x`).
fn unknown_commands(screen: &[String], text: &str) -> usize {
    let words = format!("Unknown command: {}", first_word(text));
    screen.iter().filter(|line| line.contains(&words)).count()
}

#[cfg(test)]
mod tests;
