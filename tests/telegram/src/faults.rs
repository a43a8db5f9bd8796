//! What goes wrong on purpose.

use std::{fmt, time::Duration};

use crate::{params::Raw, state::State};

/// The pseudo-method of file downloads.
pub const DOWNLOAD: &str = "/file";

/// A fault that strikes calls of one method.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The method's canonical name; `*` is all but `getUpdates`; [`DOWNLOAD`] is files.
    pub method: String,
    /// Parameters that must read so, in their plain form.
    pub matching: Vec<(String, String)>,
    /// How many fitting calls it lets pass first.
    pub skip: u32,
    /// How many it strikes then.
    pub times: u32,
    /// What happens to them.
    pub kind: FaultKind,
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The connection breaks before anything is done.
    DropBefore,
    /// It is carried out, then the connection breaks without an answer.
    DropAfter,
    /// Not carried out. 502 and others above 500 answer with the HTML page of a proxy, the rest with
    /// the server's own words.
    Status(u16),
    /// Not carried out; refused with this code and description.
    Refuse(u16, String),
    /// Not carried out; 429 with so many seconds to wait.
    TooMany(u64),
    /// Carried out only after a while.
    SlowBefore(Duration),
    /// Carried out at once and answered after a while.
    SlowAfter(Duration),
    /// Carried out; half of the answer arrives, then the connection breaks.
    Truncate,
    /// Not carried out and never answered.
    Hang,
}

impl FaultKind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::DropBefore => "drop before",
            Self::DropAfter => "drop after",
            Self::Status(_) => "status",
            Self::Refuse(..) => "refuse",
            Self::TooMany(_) => "too many",
            Self::SlowBefore(_) => "slow before",
            Self::SlowAfter(_) => "slow after",
            Self::Truncate => "truncate",
            Self::Hang => "hang",
        }
    }
}

impl Fault {
    /// Strikes the next call of `method`, once.
    pub fn new(method: &str, kind: FaultKind) -> Self {
        Self { method: method.into(), matching: Vec::new(), skip: 0, times: 1, kind }
    }

    /// Only calls with this parameter.
    #[must_use]
    pub fn matching(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.matching.push((name.into(), format!("{value}")));
        self
    }

    /// Lets so many pass first.
    #[must_use]
    pub fn skip(mut self, calls: u32) -> Self {
        self.skip = calls;
        self
    }

    /// Strikes so many.
    #[must_use]
    pub fn times(mut self, calls: u32) -> Self {
        self.times = calls;
        self
    }

    fn fits(&self, method: &str, raw: &Raw) -> bool {
        let named = self.method == method
            || (self.method == "*" && method != "getUpdates" && method != DOWNLOAD);
        named && self.matching.iter().all(|(name, value)| raw.plain(name).as_deref() == Some(value))
    }
}

/// A fault that has not struck often enough yet, or has.
pub(crate) struct ActiveFault {
    pub(crate) fault: Fault,
    pub(crate) struck: u32,
}

impl State {
    /// The fault that strikes this call.
    pub(crate) fn strike(&mut self, method: &str, raw: &Raw) -> Option<FaultKind> {
        for active in &mut self.faults {
            if active.struck >= active.fault.times || !active.fault.fits(method, raw) {
                continue;
            }
            if active.fault.skip > 0 {
                active.fault.skip -= 1;
                continue;
            }
            active.struck += 1;
            return Some(active.fault.kind.clone());
        }
        None
    }
}
