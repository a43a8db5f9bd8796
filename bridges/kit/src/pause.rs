//! How long to wait before something is tried again.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Twice as long after every failure in a row, of which there were `failures` before this one.
pub fn after(failures: u32) -> Duration {
    FIRST.saturating_mul(1 << failures.min(5)).min(LONGEST)
}

/// Between three quarters and five quarters of `wait`, so that two who fail together do not stay
/// together. The same `seed` always gives the same.
pub fn spread(wait: Duration, seed: u64) -> Duration {
    // SplitMix64, by Steele, Lea and Flood: enough to scatter, and a plain function.
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let thousandth = u32::try_from((z ^ (z >> 31)) % 501).unwrap_or(0);
    wait * (750 + thousandth) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_half_a_minute() {
        let waits: Vec<_> = (0..8).map(|failures| after(failures).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
        assert_eq!(after(u32::MAX), LONGEST);
    }

    #[test]
    fn a_spread_wait_stays_near_and_differs() {
        let wait = Duration::from_secs(20);
        let all: Vec<_> = (0..50).map(|seed| spread(wait, seed)).collect();
        assert!(all.iter().all(|w| (15_000..=25_000).contains(&w.as_millis())), "{all:?}");
        assert!(all.windows(2).any(|two| two[0] != two[1]));
        assert_eq!(spread(wait, 7), spread(wait, 7));
    }
}
