//! The one list of chat services, built from the configuration.

#[cfg(feature = "matrix")]
pub mod matrix;
#[cfg(feature = "telegram")]
pub mod telegram;
#[cfg(any(feature = "matrix", feature = "telegram"))]
mod unready;

use std::{future::Future, path::Path, pin::Pin, sync::Arc};
use vigie_core::{bridge::Bridge, id::BridgeName};
use vigie_phone::{Link, OpenError, PhoneBridge};

use crate::{
    clock::Clock,
    config::{Config, OnOff},
    tasks::Tasks,
};

/// Telegram's name in places, in the configuration and in the database, whether it is built in or
/// not.
pub const TELEGRAM: &str = "telegram";

/// Matrix's, likewise.
pub const MATRIX: &str = "matrix";

/// Asks a service where people find us there, by a link or by a name; `None`: it does not say.
pub type Invite =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Option<String>> + Send>> + Send + Sync>;

/// The chat services that are switched on.
pub struct Bridges {
    pub all: Vec<Arc<dyn Bridge>>,
    /// The page has more doors than the port of a chat service.
    pub phone: Option<Arc<PhoneBridge>>,
    /// So has Matrix: its account, and verification.
    #[cfg(feature = "matrix")]
    pub matrix: Option<Arc<vigie_matrix::MatrixBridge>>,
    pub invites: Vec<(BridgeName, Invite)>,
}

/// Opens what is switched on. A service that cannot begin is in the list all the same and says why,
/// so that the others serve people meanwhile.
///
/// # Errors
/// The phone page's own log cannot be opened, without which nobody gets in.
pub fn open(
    config: &Config,
    data: &Path,
    clock: &Clock,
    tasks: &Tasks,
) -> Result<Bridges, OpenError> {
    let phone = open_phone(data, clock, tasks)?;
    let phone = Some(phone).filter(|_| config.phone.enabled == OnOff::On);
    let all = phone.iter().map(|phone| phone.clone() as Arc<dyn Bridge>).collect();
    let bridges = Bridges {
        all,
        phone,
        #[cfg(feature = "matrix")]
        matrix: None,
        invites: Vec::new(),
    };
    #[cfg(feature = "telegram")]
    let bridges = telegram::add(bridges, config, data, clock);
    #[cfg(feature = "matrix")]
    let bridges = matrix::add(bridges, config, data, clock);
    Ok(bridges)
}

fn open_phone(data: &Path, clock: &Clock, tasks: &Tasks) -> Result<Arc<PhoneBridge>, OpenError> {
    let clock = clock.clone();
    let options = vigie_phone::Options {
        clock: Arc::new(move || clock.now()),
        retry: vigie_phone::Retry::default(),
        stop: tasks.stopping(),
        links: vec![
            Link { name: "Board", path: "/board", icon: "i-board" },
            Link { name: "Runs", path: "/runs", icon: "i-runs" },
            Link { name: "Ledger", path: "/ledger", icon: "i-ledger" },
            Link { name: "Audit", path: "/audit", icon: "i-plan" },
            Link { name: "System", path: "/system", icon: "i-system" },
        ],
    };
    PhoneBridge::open(&data.join("phone.db"), options)
}
