//! One thing that must reach one chat: a row in the outbox.

use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    bridge::{Mark, Post, ThreadState},
    id::{BridgeName, ChatId, DeliveryId, HeardId, MessageId, SessionId, ThreadId},
};

/// A chat, or a session's thread in it; which thread that is may only be known later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Target {
    pub bridge: BridgeName,
    pub chat: ChatId,
    pub spot: Spot,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "spot", rename_all = "snake_case")]
pub enum Spot {
    /// The chat itself.
    Main,
    /// A thread the service already named.
    Thread { thread: ThreadId },
    /// The session's thread, once it is made.
    Session { session: SessionId },
}

/// A message of ours that later changes: what was sent, and where to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub delivery: DeliveryId,
    pub to: Target,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub id: DeliveryId,
    /// Order of making; nothing of one rank overtakes.
    pub number: u64,
    pub to: Target,
    pub what: Outgoing,
    pub rank: Rank,
    /// The session it is about, so that a reply to it finds its way.
    pub session: Option<SessionId>,
    /// A newer one with the same key takes this one's place while it waits.
    pub newest: Option<NewestOf>,
    pub state: DeliveryState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Outgoing {
    Post {
        post: Post,
        reply_to: Option<MessageId>,
    },
    /// Replaces what that delivery shows; waits until it is sent.
    Edit {
        of: DeliveryId,
        post: Post,
    },
    Mark {
        message: MessageId,
        mark: Mark,
    },
    Thread {
        thread: ThreadState,
    },
}

/// What goes first when a chat cannot take everything at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    Gate,
    /// What somebody who tapped or reacted is told.
    Reply,
    Final,
    Note,
    Progress,
}

/// Things of which only the newest matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "newest", rename_all = "snake_case")]
pub enum NewestOf {
    Receipt {
        heard: HeardId,
    },
    /// Words on a receipt that may not be needed any more by their time.
    Words {
        heard: HeardId,
    },
    Thread {
        session: SessionId,
    },
    EditOf {
        delivery: DeliveryId,
    },
    /// What rings in place of a service that is not heard.
    Rings,
    /// How a service is heard.
    Hearing {
        bridge: BridgeName,
    },
    /// Why nothing is said in a chat while strangers read along. It is said there all the same, and
    /// they may read it.
    ReadAlong,
    /// A session's earlier answers as a list, where it could not be heard for long.
    Folded {
        session: SessionId,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "delivery", rename_all = "snake_case")]
pub enum DeliveryState {
    Due {
        not_before: Option<Timestamp>,
        tries: Tries,
    },
    /// Handed to the bridge; after a crash it is not known whether the service took it.
    InFlight {
        tries: Tries,
    },
    Sent {
        message: Option<MessageId>,
        at: Timestamp,
    },
    /// The service will never take it, and somebody misses it: said at the desk and in `status`, until
    /// it is said again.
    Missed {
        why: String,
        at: Timestamp,
    },
    /// It was given up, and nobody misses it: what it would have changed is gone, say.
    Failed {
        why: String,
        at: Timestamp,
    },
    /// A newer one took its place.
    Replaced,
}

/// How often a delivery was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    pub made: u32,
    /// Those whose end nobody saw.
    pub doubtful: u32,
}

impl Tries {
    /// One more that surely did not arrive.
    #[must_use]
    pub fn refused(self) -> Self {
        Self { made: self.made.saturating_add(1), ..self }
    }

    /// One more that may have arrived.
    #[must_use]
    pub fn in_doubt(self) -> Self {
        Self { doubtful: self.doubtful.saturating_add(1), ..self.refused() }
    }
}

/// A delivery that somebody misses: it is not tried again by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undelivered {
    pub delivery: Delivery,
    /// What did not arrive where, and why, as a sentence.
    pub words: String,
    pub at: Timestamp,
}

impl DeliveryState {
    pub fn is_pending(&self) -> bool {
        match self {
            Self::Due { .. } | Self::InFlight { .. } => true,
            Self::Sent { .. } | Self::Missed { .. } | Self::Failed { .. } | Self::Replaced => false,
        }
    }
}
