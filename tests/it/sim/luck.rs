//! A small source of luck (SplitMix64): the same seed draws the same on every machine.

pub struct Luck(u64);

impl Luck {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0x9E37_79B9)
    }

    fn next_random(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// 0 up to and without `end`.
    pub fn random_below(&mut self, end: usize) -> usize {
        usize::try_from(self.next_random() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    pub fn random_between(&mut self, least: usize, most: usize) -> usize {
        least + self.random_below(most - least + 1)
    }

    pub fn random_chance(&mut self, percent: usize) -> bool {
        self.random_below(100) < percent
    }

    pub fn random_item<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.random_below(list.len()))
    }

    pub fn pick_item<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.random_below(list.len())].clone()
    }
}
