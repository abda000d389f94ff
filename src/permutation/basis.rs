//! Independent words of bits, under addition modulo 2.

/// Words of which none is a sum of others.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    /// By its highest bit, a sum of the words, and of which.
    sums: Vec<Option<(u64, u64)>>,
}

impl Basis {
    /// Without words yet, for words of so many bits, 64 at most.
    pub(super) fn new(bits: usize) -> Self {
        Self { sums: vec![None; bits] }
    }

    /// What is left of a word, and its name, when known words and their names are added until no
    /// sum of these has its highest bit.
    fn reduced(&self, mut word: u64, mut name: u64) -> (u64, u64) {
        while let Some((sum, of)) = word.checked_ilog2().and_then(|highest| self.sums.get(highest as usize)?.as_ref()) {
            (word, name) = (word ^ sum, name ^ of);
        }
        (word, name)
    }

    /// Whether a word is a sum of known ones.
    pub(super) fn spans(&self, word: u64) -> bool {
        self.reduced(word, 0).0 == 0
    }

    /// Adds a word whose name is a bit of its own, or says of which words, it among them, the sum
    /// is 0.
    pub(super) fn insert(&mut self, word: u64, name: u64) -> Result<(), u64> {
        let (word, name) = self.reduced(word, name);
        let free = word.checked_ilog2().and_then(|highest| self.sums.get_mut(highest as usize));
        *free.ok_or(name)? = Some((word, name));
        Ok(())
    }

    /// Of so many words how many are independent.
    pub(super) fn rank(&self) -> usize {
        self.sums.iter().flatten().count()
    }

    /// The highest bits of the sums that it is kept as: no two words that it spans agree in all of
    /// these.
    pub(super) fn highest(&self) -> Vec<usize> {
        self.sums.iter().enumerate().filter(|(_, sum)| sum.is_some()).map(|(bit, _)| bit).collect()
    }

    /// The basis of words with names, and which of them add up to 0, as far as these are no sums of
    /// each other.
    pub(super) fn and_relations(bits: usize, words: impl Iterator<Item = (u64, u64)>) -> (Self, Vec<u64>) {
        let mut basis = Self::new(bits);
        let relations = words.filter_map(|(word, name)| basis.insert(word, name).err()).collect();
        (basis, relations)
    }

    /// Of which words each bit alone is the sum, where there are as many words as bits.
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

/// The basis of some words.
impl FromIterator<u64> for Basis {
    fn from_iter<I: IntoIterator<Item = u64>>(words: I) -> Self {
        let mut basis = Self::new(u64::BITS as usize);
        for word in words {
            // What is a sum of others adds nothing.
            let _ = basis.insert(word, 0);
        }
        basis
    }
}
