//! Messages between sessions, on their way: taken in, offered to whoever can take them now, given
//! back when that came to nothing, and buried when nobody ever will.

mod address;
mod bury;
mod carry;
mod limits;
mod offer;
mod own;
mod read;
mod send;
mod words;

use chrono::TimeDelta;

pub(super) use offer::next_offer;

/// Longest message, in bytes. Both ends read it whole, so what is longer belongs into a file.
const LONGEST: usize = 64 * 1024;

/// Messages that may wait for one recipient; more would only hide that it does not read.
const UNREAD: usize = 200;

/// Messages that go into an agent at a time, so that it can answer one before the next …
const AT_ONCE: usize = 10;

/// … and their bytes together; a longer one goes alone.
const BYTES_AT_ONCE: usize = 32 * 1024;

/// How often a message is offered and not surely read before it is given up.
const TRIES: u32 = 3;

/// After an offer that the agent refused; what was in its way may be gone by then.
const AFTER_A_REFUSAL: TimeDelta = TimeDelta::seconds(15);

/// Nobody waits for longer than that.
const KEPT: TimeDelta = TimeDelta::days(30);
