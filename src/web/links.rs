//! One-time links: made at the desk, used once, gone after ten minutes. They live in memory, since
//! a restart is a good reason to ask for a new one.

use std::{collections::VecDeque, net::IpAddr, sync::Mutex, time::Duration};
use vigie_core::{Timestamp, id::HumanId};

use super::token::{self, Hash, NoRandomness};

/// How long a link can be used.
pub(super) const LIFETIME: Duration = Duration::from_mins(10);

/// Links that are remembered, used or not; the oldest goes when one more is made.
const MOST_LINKS: usize = 32;

/// Wrong codes from one address within [`PATIENCE`] before it has to wait.
const MOST_WRONG: usize = 10;
const PATIENCE: Duration = Duration::from_mins(1);

/// Wrong codes that are remembered over all addresses.
const WRONG_KEPT: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Links(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    links: VecDeque<Link>,
    wrong: VecDeque<(IpAddr, Timestamp)>,
}

#[derive(Debug)]
struct Link {
    hash: Hash,
    human: HumanId,
    until: Timestamp,
    used: Option<Timestamp>,
}

/// Why a code lets nobody in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotIn {
    #[error("That link was used at {} UTC. Make a new one at the desk: vigie login", .0.format("%H:%M"))]
    Used(Timestamp),
    #[error("That link is not valid, or not any more. Make a new one at the desk: vigie login")]
    Unknown,
    #[error("Too many wrong codes came from there. Wait a minute.")]
    TooMany,
}

impl Links {
    /// The code, and until when it can be used.
    pub(super) fn make(
        &self,
        human: HumanId,
        now: Timestamp,
    ) -> Result<(String, Timestamp), NoRandomness> {
        let code = token::code()?;
        let until = now + LIFETIME;
        let hash = Hash::of(&token::normal(&code));
        let mut state = self.state();
        if state.links.len() == MOST_LINKS {
            state.links.pop_front();
        }
        state.links.push_back(Link { hash, human, until, used: None });
        Ok((code, until))
    }

    /// Uses `typed` up and says whose it is.
    pub(super) fn burn(&self, typed: &str, from: IpAddr, now: Timestamp) -> Result<HumanId, NotIn> {
        let mut state = self.state();
        let hash = Hash::of(&token::normal(typed));
        let link = state.links.iter_mut().find(|link| link.hash.is(&hash) && now < link.until);
        let refused = match link {
            Some(Link { used: Some(at), .. }) => NotIn::Used(*at),
            Some(link) => {
                link.used = Some(now);
                return Ok(link.human.clone());
            }
            None => NotIn::Unknown,
        };
        // A right code counts however many wrong ones came from there: many people may come from one
        // address, and nobody guesses 80 bits. What waits is only who guesses.
        let recent = state.wrong.iter().filter(|(who, at)| *who == from && *at + PATIENCE > now);
        if recent.count() >= MOST_WRONG {
            return Err(NotIn::TooMany);
        }
        if state.wrong.len() == WRONG_KEPT {
            state.wrong.pop_front();
        }
        state.wrong.push_back((from, now));
        Err(refused)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics while it holds the links")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn a_link_lets_one_in_once() {
        let links = Links::default();
        let (code, _) = links.make(HumanId::new("ines"), at(0)).unwrap();
        assert_eq!(links.burn(&code, HERE, at(5)), Ok(HumanId::new("ines")));
        assert_eq!(links.burn(&code, HERE, at(6)), Err(NotIn::Used(at(5))));
    }

    #[test]
    fn a_link_ends_by_itself() {
        let links = Links::default();
        let (code, until) = links.make(HumanId::new("ines"), at(0)).unwrap();
        assert_eq!(until, at(600));
        assert_eq!(links.burn(&code, HERE, until), Err(NotIn::Unknown));
    }

    #[test]
    fn guessing_is_slow_and_hurts_nobody_else() {
        let links = Links::default();
        let (code, _) = links.make(HumanId::new("ines"), at(0)).unwrap();
        for _ in 0..MOST_WRONG {
            assert_eq!(links.burn("guess", THERE, at(1)), Err(NotIn::Unknown));
        }
        assert_eq!(links.burn("guess", THERE, at(2)), Err(NotIn::TooMany));
        assert_eq!(links.burn("guess", HERE, at(2)), Err(NotIn::Unknown));
        assert_eq!(links.burn(&code, THERE, at(2)), Ok(HumanId::new("ines")), "it is right");
        assert_eq!(links.burn("guess", THERE, at(62)), Err(NotIn::Unknown));
    }

    #[test]
    fn the_oldest_link_goes_when_there_are_too_many() {
        let links = Links::default();
        let (first, _) = links.make(HumanId::new("ines"), at(0)).unwrap();
        for _ in 0..MOST_LINKS {
            links.make(HumanId::new("ines"), at(1)).unwrap();
        }
        assert_eq!(links.burn(&first, HERE, at(2)), Err(NotIn::Unknown));
    }
}
