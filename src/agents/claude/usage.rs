//! Money of one run of the program, as its status line has it: an estimate at its own list prices. Where
//! its records can be read they say more, and this counts for nothing.
//!
//! The total may begin above 0 (a resumed conversation, 2.1.332) or fall back to 0 (`/clear`): only its
//! increments count.

use vigie_core::agent::AgentEvent;

#[derive(Default)]
pub(super) struct Cost {
    micro_usd: u64,
    last_total: Option<u64>,
}

impl Cost {
    /// Takes the status line's total in dollars; gives the run's total when it grew.
    pub(super) fn read(&mut self, total_usd: Option<f64>) -> Option<AgentEvent> {
        let total = micro(total_usd?)?;
        // The first status line comes before the first turn: what it shows was spent before.
        let before = self.last_total.replace(total).unwrap_or(total);
        let grown = if total >= before { total - before } else { total };
        self.micro_usd += grown;
        (grown > 0).then_some(AgentEvent::Cost {
            micro_usd: self.micro_usd,
            input_tokens: 0,
            output_tokens: 0,
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a small positive number"
)]
fn micro(usd: f64) -> Option<u64> {
    (0.0..1e9).contains(&usd).then(|| (usd * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_run_added_counts() {
        let cost =
            |micro_usd| Some(AgentEvent::Cost { micro_usd, input_tokens: 0, output_tokens: 0 });
        let mut run = Cost::default();
        assert_eq!(run.read(Some(1.5)), None, "spent by an earlier run");
        assert_eq!(run.read(Some(1.75)), cost(250_000));
        assert_eq!(run.read(Some(1.75)), None, "nothing new");
        assert_eq!(run.read(Some(0.25)), cost(500_000), "it began again at 0");
        assert_eq!(run.read(Some(f64::NAN)), None);
    }
}
