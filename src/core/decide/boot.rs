//! After a start: what the rows say is left to do.

use super::{Effect, Work};
use crate::{
    delivery::{DeliveryState, Tries},
    state::{ChatRow, Row},
};

impl Work<'_> {
    pub(super) fn boot(&mut self) {
        self.keep_quiet();
        self.hope_for_threads();
        self.settle_in_flight();
        for session in self.state.live().cloned().collect::<Vec<_>>() {
            self.show_thread(session.id);
            self.effect(match session.launching.clone() {
                Some(how) => Effect::Launch { session: Box::new(session), how },
                None => Effect::Reconnect {
                    session: session.id,
                    run: session.run,
                    after: session.last_seq,
                },
            });
        }
        self.boot_lord();
        self.boot_runs();
    }

    /// Nobody tells when threads of a person's own chat are switched on, so a start tries anew.
    fn hope_for_threads(&mut self) {
        let without = |row: &&ChatRow| row.room.is_direct() && row.threadless.is_some();
        for row in self.state.chats.values().filter(without).cloned().collect::<Vec<_>>() {
            self.put(Row::Chat(ChatRow { threadless: None, ..row }));
        }
    }

    /// Where a service asked to be left alone, it is, also by a daemon that just started.
    fn keep_quiet(&mut self) {
        let waits = self.state.deliveries.values().filter_map(|d| match d.state {
            DeliveryState::Due { not_before: Some(until), tries: Tries { made: 1.., .. } } => {
                Some((self.state.purse(&d.to.bridge, &d.to.chat), until))
            }
            DeliveryState::Due { .. }
            | DeliveryState::InFlight { .. }
            | DeliveryState::Sent { .. }
            | DeliveryState::Missed { .. }
            | DeliveryState::Failed { .. }
            | DeliveryState::Replaced => None,
        });
        for (purse, until) in waits.collect::<Vec<_>>() {
            let quiet = self.state.quiet.entry(purse).or_insert(until);
            *quiet = until.max(*quiet);
        }
    }

    /// Found in flight means: the daemon died between handing it over and hearing what came of it.
    fn settle_in_flight(&mut self) {
        let flying = self
            .state
            .deliveries
            .values()
            .filter(|d| matches!(d.state, DeliveryState::InFlight { .. }));
        for mut delivery in flying.cloned().collect::<Vec<_>>() {
            let DeliveryState::InFlight { tries } = delivery.state else { continue };
            // It may have been a call, and looking for it takes some.
            self.state.spend(&delivery.to.bridge, &delivery.to.chat, 1, self.now);
            self.doubt(&mut delivery, tries);
            self.put(Row::Delivery(delivery));
        }
    }
}
