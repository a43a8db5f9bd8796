//! Fresh ids out of a seed, so that a decision is the same whenever it is taken again.

use crate::{Timestamp, id::GateCode};

/// Draws ids: `SplitMix64` (Steele, Lea, Flood 2014), which is plenty for ids nobody must guess;
/// secrets are drawn elsewhere.
#[derive(Clone, Debug)]
pub struct Ids {
    seed: u64,
    now: Timestamp,
}

impl Ids {
    pub fn new(seed: u64, now: Timestamp) -> Self {
        Self { seed, now }
    }

    pub fn at(&mut self, now: Timestamp) {
        self.now = now;
    }

    fn next(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Makes an id by its `from_parts`.
    pub fn make<T>(&mut self, from_parts: impl Fn(Timestamp, u128) -> T) -> T {
        let random = (u128::from(self.next()) << 64) | u128::from(self.next());
        from_parts(self.now, random)
    }

    /// A code that none of `taken` uses.
    pub fn code(&mut self, taken: impl Fn(&GateCode) -> bool) -> GateCode {
        loop {
            let random = u32::try_from(self.next() >> 32).expect("half of 64 bits");
            let code = GateCode::from_random(random);
            if !taken(&code) {
                return code;
            }
        }
    }

    /// A random UUID (RFC 9562, version 4): what Claude Code names conversations by.
    pub fn uuid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            (b >> 48) & 0x3fff | 0x8000,
            b & 0xffff_ffff_ffff
        )
    }
}
