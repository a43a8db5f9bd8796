//! Room for connections over TCP. Who has shown that they may be here (a login, a token, a webhook's
//! secret) is counted apart from who has not, so that strangers never take a place from them: of those
//! there are a few, fewer for each address, and the one that came first goes when another comes.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex},
};
use tokio_util::sync::CancellationToken;

/// Connections of people, webhooks and programs at once; a browser keeps a handful open.
const MOST_KNOWN: usize = 256;

/// Connections at once of whoever has not shown yet who they are …
const MOST_STRANGERS: usize = 256;

/// … and of these from one address, which behind a proxy is everybody's.
const MOST_OF_ADDRESS: usize = 128;

/// The handle: cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Room(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    known: usize,
    /// By when they came.
    strangers: BTreeMap<u64, Stranger>,
}

#[derive(Debug)]
struct Stranger {
    from: IpAddr,
    leave: CancellationToken,
}

/// The place of one connection, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Room,
    number: u64,
    /// Cancelled when somebody else needs the place.
    leave: CancellationToken,
}

/// What requests of a connection carry, to say who it was.
#[derive(Clone, Debug)]
pub(super) struct Guest(Arc<Place>);

impl Room {
    /// There is always a place: the stranger of the fullest address who came first makes it.
    pub(super) fn enter(&self, from: IpAddr) -> Guest {
        let mut state = self.state();
        state.next += 1;
        let (number, leave) = (state.next, CancellationToken::new());
        state.strangers.insert(number, Stranger { from, leave: leave.clone() });
        if let Some(number) = state.one_too_many(from)
            && let Some(gone) = state.strangers.remove(&number)
        {
            gone.leave.cancel();
        }
        drop(state);
        Guest(Arc::new(Place { room: self.clone(), number, leave }))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics while it holds the room")
    }
}

impl State {
    /// Who makes room now that one more came `from` there.
    fn one_too_many(&self, from: IpAddr) -> Option<u64> {
        let mut of_address: HashMap<IpAddr, usize> = HashMap::new();
        for stranger in self.strangers.values() {
            *of_address.entry(stranger.from).or_default() += 1;
        }
        let fullest = if of_address.get(&from).is_some_and(|count| *count > MOST_OF_ADDRESS) {
            from
        } else if self.strangers.len() > MOST_STRANGERS {
            of_address.into_iter().max_by_key(|(_, count)| *count)?.0
        } else {
            return None;
        };
        let first = self.strangers.iter().find(|(_, stranger)| stranger.from == fullest);
        first.map(|(number, _)| *number)
    }
}

impl Guest {
    /// They have shown that they may be here: from now on no stranger takes their place. With too many
    /// of them it stays a stranger's place.
    pub(super) fn is_known(&self) {
        let mut state = self.0.room.state();
        if state.known < MOST_KNOWN && state.strangers.remove(&self.0.number).is_some() {
            state.known += 1;
        }
    }

    /// Whether the place is needed already.
    pub(super) fn has_to_leave(&self) -> bool {
        self.0.leave.is_cancelled()
    }

    /// Resolves when the place is needed.
    pub(super) async fn must_leave(&self) {
        self.0.leave.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.room.state();
        let was_stranger = state.strangers.remove(&self.number).is_some();
        if !was_stranger && !self.leave.is_cancelled() {
            state.known -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn the_first_stranger_of_a_full_address_makes_room_for_the_next() {
        let room = Room::default();
        let mine = room.enter(address(1));
        let theirs: Vec<_> = (0..=MOST_OF_ADDRESS).map(|_| room.enter(address(2))).collect();
        assert!(theirs[0].has_to_leave() && !theirs[1].has_to_leave());
        assert!(!mine.has_to_leave());
    }

    #[test]
    fn who_is_known_keeps_the_place_whoever_comes() {
        let room = Room::default();
        let known = room.enter(address(1));
        known.is_known();
        let lonely = room.enter(address(3));
        let addresses = [8, 9, 10, 11].into_iter().cycle().take(2 * MOST_STRANGERS);
        let guests: Vec<_> = addresses.map(|last| room.enter(address(last))).collect();
        assert!(!known.has_to_leave());
        assert!(!lonely.has_to_leave(), "the fullest address makes room");
        assert_eq!(guests.iter().filter(|guest| !guest.has_to_leave()).count(), MOST_STRANGERS - 1);
    }

    #[test]
    fn what_was_left_can_be_taken_again() {
        let room = Room::default();
        for _ in 0..2 * MOST_KNOWN {
            let guest = room.enter(address(1));
            guest.is_known();
            guest.is_known();
        }
        drop((0..2 * MOST_STRANGERS).map(|_| room.enter(address(1))).collect::<Vec<_>>());
        let state = room.state();
        assert_eq!((state.known, state.strangers.len()), (0, 0));
    }

    #[test]
    fn too_many_known_ones_are_strangers_again() {
        let room = Room::default();
        let come = || {
            let guest = room.enter(address(1));
            guest.is_known();
            guest
        };
        let all: Vec<_> = (0..=MOST_KNOWN).map(|_| come()).collect();
        let state = room.state();
        assert_eq!((state.known, state.strangers.len()), (MOST_KNOWN, 1));
        drop(state);
        drop(all);
    }
}
