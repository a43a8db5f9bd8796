//! Notices that a resource changed. Whoever follows one hears of it exactly when reading it would give
//! something else; the journal's sequence number says when to look again.

use rmcp::model::{
    ResourceListChangedNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerNotification,
};
use std::{
    collections::{BTreeMap, BTreeSet, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
    time::Duration,
};
use tracing::debug;
use vigie_core::{caller::AgentRefusal, command::Refusal};

use super::{
    Caller,
    resources::{self, Which},
    shared::Shared,
};

/// Addresses that one client follows; there are no more sessions than that.
pub(super) const MOST: usize = 64;
/// Events come in crowds, and a follower hears of each crowd once.
pub(super) const CROWD: Duration = Duration::from_millis(200);
/// A client that does not take a notice for this long is gone.
pub(super) const TAKEN_WITHIN: Duration = Duration::from_secs(30);

/// What one client knows of what it follows.
pub(super) struct Follower {
    shared: Shared,
    caller: Caller,
    seen: BTreeMap<String, u64>,
    names: Option<BTreeSet<String>>,
    looks: u64,
}

/// The token that follows is over.
#[derive(Debug)]
pub(super) struct Over;

/// What is followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    pub(super) uris: BTreeSet<String>,
    pub(super) list: List,
}

/// Whether it is told that resources came or went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    #[default]
    No,
    Yes,
}

impl Follower {
    pub(super) fn new(shared: Shared, caller: Caller) -> Self {
        Self { shared, caller, seen: BTreeMap::new(), names: None, looks: 0 }
    }

    /// What changed since the last look. What is looked at for the first time did not.
    pub(super) async fn look(
        &mut self,
        followed: &Followed,
    ) -> Result<Vec<ServerNotification>, Over> {
        let mut changed = Vec::new();
        self.looks += 1;
        self.seen.retain(|uri, _| followed.uris.contains(uri));
        for uri in &followed.uris {
            let now = self.hash(uri).await?;
            if self.seen.insert(uri.clone(), now).is_some_and(|before| before != now) {
                changed.push(updated(uri));
            }
        }
        if followed.list == List::Yes {
            let names = self.list().await?;
            if self.names.replace(names.clone()).is_some_and(|before| before != names) {
                changed.push(list_changed());
            }
        }
        if self.looks == 1 {
            debug!(uris = followed.uris.len(), "a client follows resources");
        }
        Ok(changed)
    }

    async fn hash(&self, uri: &str) -> Result<u64, Over> {
        let mut hasher = DefaultHasher::new();
        let Some(which) = Which::of(uri) else { return Ok(0) };
        match resources::content(&self.shared, &self.caller, &which).await {
            Ok(value) => value.to_string().hash(&mut hasher),
            Err(AgentRefusal::TokenOver { .. } | AgentRefusal::Same(Refusal::Stopping)) => {
                return Err(Over);
            }
            // It is gone, or not there yet.
            Err(_) => {}
        }
        Ok(hasher.finish())
    }

    async fn list(&self) -> Result<BTreeSet<String>, Over> {
        let all = resources::list(&self.shared, &self.caller).await.map_err(|_| Over)?;
        Ok(all.into_iter().map(|resource| resource.uri).collect())
    }
}

fn updated(uri: &str) -> ServerNotification {
    let param = ResourceUpdatedNotificationParam::new(uri);
    ServerNotification::ResourceUpdatedNotification(ResourceUpdatedNotification::new(param))
}

fn list_changed() -> ServerNotification {
    ServerNotification::ResourceListChangedNotification(ResourceListChangedNotification::default())
}
