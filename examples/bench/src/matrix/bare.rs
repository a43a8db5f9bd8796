//! Two phones in an encrypted room of the same homeserver, and nothing between them.

use matrix_lab::{Homeserver, Invitation, Membership, Phone};
use std::time::Instant;

use super::DEADLINE;

/// Who writes, and who reads.
pub(super) struct Bare {
    from: Phone,
    to: Phone,
    room: String,
}

impl Bare {
    pub(super) async fn open(server: &Homeserver) -> Self {
        let (bob, carol) = (server.user("bob").await, server.user("carol").await);
        let (mut from, mut to) =
            tokio::join!(Phone::login(server, &bob), Phone::login(server, &carol));
        (from.patience, to.patience) = (DEADLINE, DEADLINE);
        let room = from.create_room(&Invitation::of(&[to.user()]).direct()).await;
        to.wait_invitation(from.user()).await;
        to.join(&room).await;
        from.wait_member(&room, to.user(), Membership::Joined).await;
        let bare = Self { from, to, room };
        bare.sample("the room's key").await;
        bare
    }

    /// Milliseconds from the word in one phone to the word on the other.
    pub(super) async fn sample(&self, word: &str) -> f64 {
        let start = Instant::now();
        let seen = async {
            self.to.wait_message(&self.room, word).await;
            start.elapsed().as_secs_f64() * 1000.
        };
        tokio::join!(self.from.say(&self.room, word), seen).1
    }
}
