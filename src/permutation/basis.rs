//! Bases of words of bits, over addition modulo 2.

/// Linearly independent words.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    /// For each highest bit, a sum of words, and the names of its terms.
    sums: Vec<Option<(u64, u64)>>,
}

impl Basis {
    /// Returns an empty basis for words of `bits` bits, at most 64.
    pub(super) fn new(bits: usize) -> Self {
        Self { sums: vec![None; bits] }
    }

    /// Reduces a word and its name by the basis until no sum of the basis has the word's highest
    /// bit.
    fn reduced(&self, mut word: u64, mut name: u64) -> (u64, u64) {
        while let Some((sum, of)) = word.checked_ilog2().and_then(|highest| self.sums.get(highest as usize)?.as_ref()) {
            (word, name) = (word ^ sum, name ^ of);
        }
        (word, name)
    }

    /// Returns whether a word is in the span.
    pub(super) fn spans(&self, word: u64) -> bool {
        self.reduced(word, 0).0 == 0
    }

    /// Adds a word whose name is a bit of its own. Fails if the word is in the span, with the names
    /// of the words, itself included, whose sum is 0.
    pub(super) fn insert(&mut self, word: u64, name: u64) -> Result<(), u64> {
        let (word, name) = self.reduced(word, name);
        let free = word.checked_ilog2().and_then(|highest| self.sums.get_mut(highest as usize));
        *free.ok_or(name)? = Some((word, name));
        Ok(())
    }

    /// Returns the rank: the number of independent words.
    pub(super) fn rank(&self) -> usize {
        self.sums.iter().flatten().count()
    }

    /// Returns the highest bits of the sums. No two words of the span agree in all of them.
    pub(super) fn highest(&self) -> Vec<usize> {
        self.sums.iter().enumerate().filter(|(_, sum)| sum.is_some()).map(|(bit, _)| bit).collect()
    }

    /// Returns the basis of words with names, and independent sets of names whose words add up to
    /// 0.
    pub(super) fn and_relations(bits: usize, words: impl Iterator<Item = (u64, u64)>) -> (Self, Vec<u64>) {
        let mut basis = Self::new(bits);
        let relations = words.filter_map(|(word, name)| basis.insert(word, name).err()).collect();
        (basis, relations)
    }

    /// Returns, for each bit, the names of the words whose sum is that bit alone. Requires a full
    /// basis.
    pub(super) fn units(&self) -> Vec<u64> {
        let mut units: Vec<u64> = Vec::with_capacity(self.sums.len());
        for &(sum, of) in self.sums.iter().flatten() {
            let lower = units.iter().enumerate().filter(|(bit, _)| sum >> bit & 1 == 1);
            let unit = lower.fold(of, |of, (_, unit)| of ^ unit);
            units.push(unit);
        }
        units
    }
}

/// Collects the basis of words without names.
impl FromIterator<u64> for Basis {
    fn from_iter<I: IntoIterator<Item = u64>>(words: I) -> Self {
        let mut basis = Self::new(u64::BITS as usize);
        for word in words {
            // Words in the span add nothing.
            let _ = basis.insert(word, 0);
        }
        basis
    }
}
