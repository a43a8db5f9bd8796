//! How a turn ends without a hook: by our Esc, by somebody's at the desk, by a "no".

use std::time::{Duration, Instant};
use vigie_core::agent::AgentEvent;

use super::{Act, InputBox, Machine, Status};

/// Back at its prompt for this long without a `Stop`: the turn was interrupted.
const IDLE_MEANS_OVER: Duration = Duration::from_millis(400);
/// The same when it was never seen at work: a hook of the person's may have blocked the prompt.
const NEVER_BUSY: Duration = Duration::from_secs(4);
/// An Esc that did nothing is pressed again after this; twice on an empty box would open a menu.
const ESC_AGAIN: Duration = Duration::from_secs(3);
const ESCAPES: u8 = 3;
/// After an Esc, how long a prompt may take to come back into the box.
const COMES_BACK_WITHIN: Duration = Duration::from_millis(700);
const ESC: &[u8] = b"\x1b";
const CTRL_C: &[u8] = b"\x03";

/// An interrupt that was asked for.
#[derive(Clone, Copy)]
pub(super) enum Stop {
    No,
    Wanted {
        since: Instant,
        presses: u8,
        last: Instant,
    },
    /// It is at its prompt again; our old prompt may come back into the box.
    Settling {
        since: Instant,
    },
    Clearing {
        since: Instant,
    },
}

impl Machine {
    pub(super) fn interrupt(&mut self, now: Instant) {
        // An open request is refused with `interrupt`: no key goes into a dialog.
        let settled = self.requests.interrupt();
        let presses = u8::from(!settled.is_empty());
        self.report(settled);
        self.return_mail();
        self.stop = Stop::Wanted { since: now, presses, last: now };
    }

    pub(super) fn stopping(&mut self, now: Instant, input: &InputBox) {
        let idle = self.status == Some(Status::Idle);
        let idle_for = now.duration_since(self.status_since);
        match self.stop {
            Stop::No => {}
            Stop::Wanted { since, presses, last } => {
                let may_press = match &self.status {
                    Some(Status::Busy) => true,
                    // Esc closes an overlay and says no to a dialog: both is "stop".
                    Some(Status::Waiting(_)) => self.requests.is_empty(),
                    Some(Status::Idle | Status::Unknown(_)) | None => false,
                };
                let due = presses == 0 || now.duration_since(last) >= ESC_AGAIN;
                if may_press && due && presses < ESCAPES {
                    self.acts.push(Act::Keys(ESC.into()));
                    self.stop = Stop::Wanted { since, presses: presses + 1, last: now };
                } else if may_press && due {
                    self.alarm(
                        "the agent does not react to Esc: it may need the desk, or to be killed",
                    );
                    self.stop = Stop::No;
                } else if idle && idle_for >= IDLE_MEANS_OVER && self.turns.is_empty() {
                    let nothing_ran = presses == 0 && now.duration_since(since) >= IDLE_MEANS_OVER;
                    if nothing_ran && !self.typist.awaits_word() {
                        self.report([AgentEvent::Interrupted { turn: None }]);
                        self.stop = Stop::No;
                    } else if presses > 0 {
                        self.report([AgentEvent::Interrupted { turn: None }]);
                        self.stop = Stop::Settling { since: now };
                    }
                }
            }
            Stop::Settling { since } => {
                let ours = self.last_taken.as_ref().is_some_and(|last| input.may_hold(last));
                if idle && ours {
                    // Once: a second Ctrl-C on an empty box would end the program.
                    self.acts.push(Act::Keys(CTRL_C.into()));
                    self.stop = Stop::Clearing { since: now };
                } else if !idle || now.duration_since(since) >= COMES_BACK_WITHIN {
                    self.stop = Stop::No;
                }
            }
            Stop::Clearing { since } => {
                let cleared = *input == InputBox::Empty;
                if !idle || cleared || now.duration_since(since) >= COMES_BACK_WITHIN {
                    self.stop = Stop::No;
                }
            }
        }
    }

    /// After a usage limit the program would go on by itself; whether it does is for the daemon to say, which
    /// keeps the order, budgets and what was stopped meanwhile. One Esc takes that back.
    pub(super) fn stay_stopped(&mut self, now: Instant) {
        let waits = self.goes_on_alone && self.turns.is_empty();
        let idle_for = now.duration_since(self.status_since);
        if waits && self.status == Some(Status::Idle) && idle_for >= IDLE_MEANS_OVER {
            self.acts.push(Act::Keys(ESC.into()));
            self.goes_on_alone = false;
        }
    }

    /// Esc, "no" at the desk and a blocked prompt end a turn without any hook: only the registry
    /// shows it.
    pub(super) fn notice_end_of_turn(&mut self, now: Instant) {
        match &self.status {
            Some(Status::Busy | Status::Waiting(_)) => {
                self.turns.iter_mut().for_each(|turn| turn.seen_busy = true);
                return;
            }
            Some(Status::Idle) => {}
            Some(Status::Unknown(_)) | None => return,
        }
        let idle_for = now.duration_since(self.status_since);
        if self.turns.is_empty() && idle_for >= IDLE_MEANS_OVER {
            self.return_mail(); // It was busy with something that is no turn.
        }
        let over = self.turns.iter().all(|turn| {
            if turn.seen_busy {
                idle_for >= IDLE_MEANS_OVER
            } else {
                now.duration_since(turn.opened) >= NEVER_BUSY
            }
        });
        if !over || self.turns.is_empty() {
            return;
        }
        self.calls.clear();
        for turn in std::mem::take(&mut self.turns) {
            self.report([AgentEvent::Interrupted { turn: turn.id }]);
        }
        let over = self.requests.turn_ended();
        self.report(over);
        self.return_mail();
        if let Stop::Wanted { presses: 1.., .. } = self.stop {
            self.stop = Stop::Settling { since: now };
        }
    }
}
