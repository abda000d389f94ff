//! The fields of a machine, in one table: their keys, and how each is read and written.

use super::{Machine, Switching};

/// The number of fields.
const FIELDS: usize = 13;

/// Returns a field of a machine.
type At<T> = fn(&mut Machine) -> &mut T;

/// A field, by the kind of its values.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// A price that is not negative.
    Price(At<u64>),
    SignedPrice(At<i64>),
    Switching(At<Switching>),
    Flag(At<bool>),
    /// A number, which is not a price.
    Number(At<u64>),
}

impl Machine {
    /// The fields by their keys in texts and files, in the order of texts.
    pub(super) const TABLE: [(&str, Field); FIELDS] = [
        ("startup", Field::Price(|machine| &mut machine.startup)),
        ("message", Field::Price(|machine| &mut machine.message)),
        ("byte", Field::Price(|machine| &mut machine.byte)),
        ("channel", Field::Price(|machine| &mut machine.channel)),
        ("hop", Field::Price(|machine| &mut machine.hop)),
        ("host", Field::Price(|machine| &mut machine.host)),
        ("rearrangement", Field::Price(|machine| &mut machine.rearrangement)),
        ("combination", Field::Price(|machine| &mut machine.combination)),
        ("synchronisation", Field::SignedPrice(|machine| &mut machine.synchronisation)),
        ("doubling", Field::Price(|machine| &mut machine.doubling)),
        ("switching", Field::Switching(|machine| &mut machine.switching)),
        ("one-sided", Field::Flag(|machine| &mut machine.one_sided)),
        ("cores", Field::Number(|machine| &mut machine.cores)),
    ];

    /// Returns the field of a key.
    pub(super) fn field(key: &str) -> Option<Field> {
        Self::TABLE.iter().find(|(known, _)| *known == key).map(|(_, field)| *field)
    }

    /// Returns the values of all fields as words, to send them to another rank.
    pub(crate) fn words(&self) -> [u64; FIELDS] {
        Self::TABLE.map(|(_, field)| field.word(*self))
    }

    /// Returns the machine of such [`words`](Self::words).
    pub(crate) fn of_words(words: [u64; FIELDS]) -> Self {
        let mut machine = Self::FREE;
        for ((_, field), word) in Self::TABLE.iter().zip(words) {
            field.set_word(&mut machine, word);
        }
        machine
    }
}

impl Field {
    /// Returns the value as a word.
    fn word(self, mut machine: Machine) -> u64 {
        let machine = &mut machine;
        match self {
            Self::Price(at) | Self::Number(at) => *at(machine),
            Self::SignedPrice(at) => *at(machine) as u64,
            Self::Switching(at) => (*at(machine) == Switching::StoreAndForward).into(),
            Self::Flag(at) => (*at(machine)).into(),
        }
    }

    /// Sets the value to that of a [`word`](Self::word).
    fn set_word(self, machine: &mut Machine, word: u64) {
        match self {
            Self::Price(at) | Self::Number(at) => *at(machine) = word,
            Self::SignedPrice(at) => *at(machine) = word as i64,
            Self::Switching(at) if word == 1 => *at(machine) = Switching::StoreAndForward,
            Self::Switching(at) => *at(machine) = Switching::CutThrough,
            Self::Flag(at) => *at(machine) = word == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_every_field() {
        // `Debug` prints a field in each line between the first and the last.
        assert_eq!(format!("{:#?}", Machine::FREE).lines().count() - 2, FIELDS);
    }
}
