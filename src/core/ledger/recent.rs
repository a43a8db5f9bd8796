use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{LedgerRow, UsageKey};

/// Far more than all that wait for their commit can hold: what is older stands in the database.
const MOST: usize = 20_000;

/// Entries that were written or looked up lately: whether an answer was counted before is known from
/// here, even before it is on disk.
#[derive(Debug, Default)]
pub struct Recent {
    rows: HashMap<UsageKey, Arc<LedgerRow>>,
    /// The oldest first.
    order: VecDeque<UsageKey>,
}

impl Recent {
    pub fn get(&self, key: &UsageKey) -> Option<&Arc<LedgerRow>> {
        self.rows.get(key)
    }

    /// Remembers it as it is now.
    pub fn put(&mut self, row: LedgerRow) {
        let key = row.used.key.clone();
        if self.rows.insert(key.clone(), Arc::new(row)).is_none() {
            self.order.push_back(key);
            if self.order.len() > MOST
                && let Some(oldest) = self.order.pop_front()
            {
                self.rows.remove(&oldest);
            }
        }
    }
}
