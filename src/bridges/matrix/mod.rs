//! Matrix, as the configuration wants it: its bridge, and the account for `vigie init matrix` and
//! `vigie doctor`.

pub use vigie_matrix::account::{
    AskError, Folder, FolderError, Held, Identity, LoggedIn, Login, LoginFailed, NoHomeserver,
    OldDevice, Plain, Published, Rate, SecureFailed, Session, SetUp, Storage, Versions, Way,
    Whoami, find, is_new_enough, log_in, user,
};

use std::{future::Future, path::Path, pin::Pin, sync::Arc};
use vigie_core::{
    bridge::{Counts, Room},
    id::BridgeName,
};
use vigie_matrix::{MatrixBridge, Options, Pace, Policy, Rule};

use super::{Bridges, MATRIX, unready::Unready};
use crate::{
    clock::Clock,
    config::{self, Config, LongAnswers, OnOff, Reactions, Unsafe},
};

/// The account's folder, in the data folder.
const FOLDER: &str = "matrix";

/// What people send is put in there, in the data folder.
const FILES: &str = "files";

/// Where the account is kept.
pub fn folder(data: &Path) -> Folder {
    Folder::new(data.join(FOLDER))
}

/// Adds the bridge where it is wanted, or what stands in for it until it can begin.
pub(super) fn add(mut bridges: Bridges, config: &Config, data: &Path, clock: &Clock) -> Bridges {
    if config.matrix.enabled == OnOff::Off {
        return bridges;
    }
    match MatrixBridge::open(options(config, data, clock)) {
        Ok(bridge) => {
            let account = bridge.account().to_owned();
            let found = move || {
                let account = Some(account.clone());
                Box::pin(async move { account }) as Pin<Box<dyn Future<Output = _> + Send>>
            };
            bridges.invites.push((BridgeName::new(MATRIX), Arc::new(found)));
            bridges.all.push(bridge.clone());
            bridges.matrix = Some(bridge);
        }
        Err(wrong) => {
            let name = BridgeName::new(MATRIX);
            let trouble = format!("{wrong}. Then: vigie down, vigie up");
            let (pace, parts) = (pace(&config.matrix), parts(config.matrix.long_answers));
            let counts = counts(config.matrix.reactions);
            let limits =
                Box::new(move |room: Room| vigie_matrix::limits(room, pace, parts, counts));
            bridges.all.push(Arc::new(Unready { name, trouble, limits }));
        }
    }
    bridges
}

fn options(config: &Config, data: &Path, clock: &Clock) -> Options {
    let matrix = &config.matrix;
    let clock = clock.clone();
    Options {
        folder: folder(data),
        files: data.join(FILES),
        clock: Arc::new(move || clock.now()),
        people: config.humans.iter().filter_map(|human| human.matrix.clone()).collect(),
        layout: match matrix.layout {
            config::Layout::Threads => vigie_matrix::Layout::Threads,
            config::Layout::Direct => vigie_matrix::Layout::Direct,
            config::Layout::Space => vigie_matrix::Layout::Space,
        },
        policy: Policy {
            unsigned_devices: rule(matrix.unsigned_devices),
            unencrypted: rule(matrix.unencrypted),
            plain_rooms: rule(matrix.plain_rooms),
            new_identities: rule(matrix.new_identities),
        },
        pace: pace(matrix),
        polls: matrix.polls == OnOff::On,
        quick_reactions: matrix.quick_reactions == OnOff::On,
        reactions: counts(matrix.reactions),
        parts: parts(matrix.long_answers),
    }
}

fn rule(word: Unsafe) -> Rule {
    match word {
        Unsafe::Refuse => Rule::Refuse,
        Unsafe::Accept => Rule::Accept,
    }
}

fn counts(reactions: Reactions) -> Counts {
    match reactions {
        Reactions::Answer => Counts::Answers,
        Reactions::Deny => Counts::Denials,
        Reactions::Ignore => Counts::Nothing,
    }
}

fn pace(matrix: &config::Matrix) -> Pace {
    Pace { events_a_minute: matrix.events_a_minute }
}

fn parts(long_answers: LongAnswers) -> Option<usize> {
    match long_answers {
        LongAnswers::Parts => None,
        LongAnswers::Document => Some(0),
    }
}
