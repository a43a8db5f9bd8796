//! Chance from a seed, so that a run can be had again.

/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", `SplitMix64`.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to, and without, `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let at = self.below(u64::try_from(from.len()).unwrap_or(u64::MAX));
        from[usize::try_from(at).unwrap_or_default()]
    }
}
