//! Which orders came already, on disk, because a daemon that is in doubt asks again.

use std::{
    collections::{HashSet, VecDeque},
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};
use vigie_core::id::OrderId;

const FILE: &str = "orders.log";
/// Orders remembered. The daemon asks again about the last few, never about one so long ago.
const REMEMBERED: usize = 100_000;

pub(crate) struct Taken {
    file: File,
    seen: HashSet<OrderId>,
    oldest_first: VecDeque<OrderId>,
}

impl Taken {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            file.write_all(b"\n")?; // the torn line names no order that was carried out
        }
        let mut taken = Self { file, seen: HashSet::new(), oldest_first: VecDeque::new() };
        String::from_utf8_lossy(&bytes).lines().filter_map(|line| line.parse().ok()).for_each(
            |id| {
                taken.remember(id);
            },
        );
        Ok(taken)
    }

    /// `true` for the caller who may carry it out: written down first, so that a crash in between
    /// leaves it undone rather than done twice.
    pub(crate) fn first_time(&mut self, id: OrderId) -> bool {
        if !self.remember(id) {
            return false;
        }
        let written = writeln!(self.file, "{id}").and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // A full disk must not stop a kill; this process still knows the order.
            tracing::error!(%error, order = %id, "an order could not be written down");
        }
        true
    }

    fn remember(&mut self, id: OrderId) -> bool {
        if !self.seen.insert(id) {
            return false;
        }
        self.oldest_first.push_back(id);
        if self.oldest_first.len() > REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_counts_once_over_restarts_and_torn_lines() {
        let folder = tempfile::tempdir().unwrap();
        let id = |n| OrderId::from_parts(chrono::DateTime::default(), n);
        let mut taken = Taken::open(folder.path()).unwrap();
        assert!(taken.first_time(id(1)));
        assert!(!taken.first_time(id(1)));
        taken.file.write_all(b"ord_01TORN").unwrap();
        drop(taken);

        let mut taken = Taken::open(folder.path()).unwrap();
        assert!(!taken.first_time(id(1)));
        assert!(taken.first_time(id(2)));
        drop(taken);
        assert!(!Taken::open(folder.path()).unwrap().first_time(id(2)));
    }
}
