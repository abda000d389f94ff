//! Machines as text and as JSON.

use std::fmt;
use std::str::FromStr;

use super::field::Field;
use super::{Machine, Switching};
use crate::quote::{debug_as_text, quoted, shown};

/// The reason why a text does not describe a machine.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// No machine has this name.
    #[error("unknown machine {}; expected one of {names}", quoted(.0), names = Machine::names().collect::<Vec<_>>().join(", "))]
    Unknown(String),
    /// No machine and no file has this name.
    #[error("unknown machine {}; expected one of {names}, or the path of a machine file", quoted(.0), names = Machine::names().collect::<Vec<_>>().join(", "))]
    UnknownFile(String),
    /// No price has this name.
    #[error("unknown key {} of a machine; expected one of {keys}", quoted(key), keys = Machine::TABLE.map(|(key, _)| key).join(", "))]
    #[non_exhaustive]
    Key {
        /// The text found.
        key: String,
    },
    /// A part between two commas is not a key with a price.
    #[error("found {}, expected key=price", quoted(found))]
    #[non_exhaustive]
    Pair {
        /// The text found.
        found: String,
    },
    /// A key is given twice.
    #[error("duplicate key {key}")]
    #[non_exhaustive]
    Twice {
        /// The key.
        key: String,
    },
    /// A value is not valid for its key.
    #[error("{key}: found {found}, expected {expected}")]
    #[non_exhaustive]
    Value {
        /// The key.
        key: String,
        /// The text found.
        found: String,
        /// The expected form.
        expected: &'static str,
    },
    /// The file is not a machine file, or cannot be read.
    #[error("{}: {reason}", shown(path))]
    #[non_exhaustive]
    File {
        /// The path.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The text is not a JSON object.
    #[error("line {line}, column {column}: {reason}")]
    #[non_exhaustive]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The reason.
        reason: String,
    },
}

debug_as_text!(MachineError);

impl Switching {
    /// Returns the name: `cut-through` or `store-and-forward`.
    fn name(self) -> &'static str {
        match self {
            Self::CutThrough => "cut-through",
            Self::StoreAndForward => "store-and-forward",
        }
    }
}

impl Machine {
    /// Returns the names of the predefined machines.
    fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }

    /// Sets the value of a key.
    fn set(&mut self, key: &str, text: &str) -> Result<(), MachineError> {
        let field = Self::field(key).ok_or_else(|| MachineError::Key { key: key.to_owned() })?;
        field.set(self, text).map_err(|expected| MachineError::Value {
            key: key.to_owned(),
            found: quoted(text).to_string(),
            expected,
        })
    }

    /// Sets the prices of several keys, which must be different.
    fn set_all<'a>(mut self, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, MachineError> {
        let mut seen = Vec::new();
        for (key, text) in pairs {
            self.set(key, text)?;
            if seen.contains(&key) {
                return Err(MachineError::Twice { key: key.to_owned() });
            }
            seen.push(key);
        }
        Ok(self)
    }

    /// Reads a machine from JSON, in the form [above](super#file). Needs the feature `json`.
    ///
    /// # Errors
    ///
    /// [`MachineError`] with the key and the value.
    #[cfg(feature = "json")]
    pub fn from_json(text: &str) -> Result<Self, MachineError> {
        let Pairs(pairs) = serde_json::from_str(text).map_err(|error| {
            let (line, column, reason) = crate::quote::fault_in_json(&error);
            MachineError::Syntax { line, column, reason }
        })?;
        let invalid = |key: &str, value: &serde_json::Value, expected| MachineError::Value {
            key: key.to_owned(),
            found: crate::quote::shortened(&value.to_string()).into_owned(),
            expected,
        };
        let is_number = |key: &str| matches!(Self::field(key), Some(Field::Number(_)));
        let text = |key: &str, value: serde_json::Value| match value {
            serde_json::Value::String(text) => Ok(text),
            serde_json::Value::Number(number) if number.as_u64() == Some(0) || is_number(key) => Ok(number.to_string()),
            other => Err(invalid(key, &other, PRICE)),
        };
        let (mut texts, mut others) = (Vec::with_capacity(pairs.len()), Vec::new());
        for (key, value) in pairs {
            match key.as_str() {
                VERSION_KEY if value != VERSION => return Err(invalid(&key, &value, "1")),
                NOTE_KEY if !value.is_string() => return Err(invalid(&key, &value, "a string")),
                VERSION_KEY | NOTE_KEY if others.contains(&key) => return Err(MachineError::Twice { key }),
                VERSION_KEY | NOTE_KEY => others.push(key),
                _ => texts.push((text(&key, value)?, key)),
            }
        }
        Self::FREE.set_all(texts.iter().map(|(text, key)| (key.as_str(), text.as_str())))
    }

    /// Returns the text of a machine file with a note, from which [`from_json`](Self::from_json) reads
    /// an equal machine. Needs the feature `json`.
    #[cfg(feature = "json")]
    #[must_use]
    pub fn to_json(&self, note: &str) -> String {
        let free = Self::FREE;
        let texts = Self::TABLE.iter().map(|(key, field)| (*key, field.text(*self), field.text(free)));
        let differing = texts.filter(|(_, own, free)| own != free).map(|(key, own, _)| (key, own.into()));
        let members: Vec<(&str, serde_json::Value)> =
            [(VERSION_KEY, VERSION.into()), (NOTE_KEY, note.into())].into_iter().chain(differing).collect();
        let lines: Vec<String> = members.iter().map(|(key, value)| format!("  \"{key}\": {value}")).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}

/// The version of machine files, and the keys that are not prices.
#[cfg(feature = "json")]
const VERSION: u64 = 1;
#[cfg(feature = "json")]
const VERSION_KEY: &str = "version";
#[cfg(feature = "json")]
const NOTE_KEY: &str = "note";

/// The members of an object in their order, including repeated ones.
#[cfg(feature = "json")]
struct Pairs(Vec<(String, serde_json::Value)>);

#[cfg(feature = "json")]
impl<'de> serde::Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> serde::de::Visitor<'de> for Members {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of prices")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl FromStr for Machine {
    type Err = MachineError;

    fn from_str(text: &str) -> Result<Self, MachineError> {
        let (name, prices) = text.split_once(':').unwrap_or((text, ""));
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        let &(_, machine) = found.ok_or_else(|| MachineError::Unknown(name.to_owned()))?;
        let pairs = prices
            .split(',')
            .filter(|_| text.contains(':'))
            .map(|pair| pair.split_once('=').ok_or_else(|| MachineError::Pair { found: pair.to_owned() }));
        machine.set_all(pairs.collect::<Result<Vec<_>, _>>()?)
    }
}

/// Writes a text that [parses](Machine::from_str) to an equal machine: the predefined machine that
/// has the most equal values, and the values that differ.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let differing = |machine: &Self| -> Vec<String> {
            let texts = Self::TABLE.iter().map(|(key, field)| (key, field.text(*self), field.text(*machine)));
            texts.filter(|(_, own, other)| own != other).map(|(key, own, _)| format!("{key}={own}")).collect()
        };
        let nearest = Self::NAMES.iter().map(|(name, machine)| (name, differing(machine)));
        // Among equally near machines, the last one is `free`.
        match nearest.rev().min_by_key(|(_, differing)| differing.len()) {
            Some((name, differing)) if !differing.is_empty() => write!(f, "{name}:{}", differing.join(",")),
            Some((name, _)) => f.write_str(name),
            None => Ok(()),
        }
    }
}

impl Field {
    /// Returns the value as text.
    fn text(self, mut machine: Machine) -> String {
        let machine = &mut machine;
        match self {
            Self::Price(at) => Microseconds((*at(machine)).into()).to_string(),
            Self::SignedPrice(at) => Microseconds((*at(machine)).into()).to_string(),
            Self::Switching(at) => at(machine).name().to_owned(),
            Self::Flag(at) => at(machine).to_string(),
            Self::Number(at) => at(machine).to_string(),
        }
    }

    /// Sets the value to that of a text. The error is the expected form.
    fn set(self, machine: &mut Machine, text: &str) -> Result<(), &'static str> {
        match self {
            Self::Price(at) => {
                *at(machine) =
                    duration(text)?.try_into().map_err(|_| "a price that is not negative, of at most 200 days")?;
            }
            Self::SignedPrice(at) => {
                *at(machine) = duration(text)?.try_into().map_err(|_| "a price of at most 100 days")?;
            }
            Self::Switching(at) => {
                let known = [Switching::CutThrough, Switching::StoreAndForward];
                let found = known.into_iter().find(|switching| switching.name() == text);
                *at(machine) = found.ok_or("cut-through or store-and-forward")?;
            }
            Self::Flag(at) => *at(machine) = text.parse().map_err(|_| "true or false")?,
            Self::Number(at) => *at(machine) = text.parse().map_err(|_| "a number of cores")?,
        }
        Ok(())
    }
}

/// Picoseconds, written exactly as microseconds, or 0.
struct Microseconds(i128);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, price) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(f, "{sign}{}", price / 1_000_000)?;
        match (price, price % 1_000_000) {
            (0, _) => Ok(()),
            (_, 0) => f.write_str("us"),
            (_, rest) => write!(f, ".{}us", format!("{rest:06}").trim_end_matches('0')),
        }
    }
}

const PRICE: &str = "a price such as \"75 us\", \"0.011us\" or 0: a decimal number and ps, ns, us, ms or s";

/// Parses a number with a unit. Returns picoseconds, without rounding.
fn duration(text: &str) -> Result<i128, &'static str> {
    if text == "0" {
        return Ok(0);
    }
    let (units, digits) = [("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("s", 12)]
        .into_iter()
        .find_map(|(unit, digits)| Some((text.strip_suffix(unit)?.trim_end(), digits)))
        .ok_or(PRICE)?;
    let (sign, number) = units.strip_prefix('-').map_or((1, units), |rest| (-1, rest));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let all_digits = |part: &str| (1..=18).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return Err(PRICE);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > digits {
        return Err("a price in whole picoseconds");
    }
    let number = format!("{whole}{fraction}{}", "0".repeat(digits - fraction.len()));
    number.parse::<i128>().map(|price| sign * price).map_err(|_| PRICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_machine_parses_to_it() {
        for &(name, machine) in Machine::NAMES {
            assert_eq!((name.parse(), machine.to_string().as_str()), (Ok(machine), name));
        }
        let machine = Machine::FREE.with_startup(1).with_message(2_500_000).with_byte(u64::MAX).with_channel(7);
        let machine = machine
            .with_hop(1_000_000_000_000)
            .with_host(5)
            .with_rearrangement(9)
            .with_combination(8)
            .with_synchronisation(i64::MIN, u64::MAX);
        let machine = machine.with_switching(Switching::StoreAndForward).with_one_sided(true).with_cores(64);
        assert_eq!(machine.to_string().parse(), Ok(machine));
        assert_eq!(Machine::of_words(machine.words()), machine);
        assert_eq!(
            "free:startup=1.5 ms,message=0.25s,hop=3ns".parse::<Machine>().unwrap().to_string(),
            "free:startup=1500us,message=250000us,hop=0.003us"
        );
        assert_eq!(Machine::THREADS.with_cores(2).to_string(), "threads:cores=2");
        assert_eq!(Machine::TCP.with_byte(0).with_cores(8).to_string(), "tcp:byte=0,cores=8");
    }

    #[test]
    fn invalid_text_is_refused_with_key_and_value() {
        let cases = [
            ("cray", "unknown machine \"cray\"; expected one of threads, tcp, mpi, paragon"),
            ("", "unknown machine \"\""),
            ("unit:", "found \"\", expected key=price"),
            ("unit:hop=1us,", "found \"\", expected key=price"),
            ("unit:startup", "found \"startup\", expected key=price"),
            ("unit:start=1us", "unknown key \"start\" of a machine; expected one of startup, message"),
            ("unit:hop=1us,hop=1us", "duplicate key hop"),
            ("unit:hop=1", "hop: found \"1\", expected a price such as"),
            ("unit:hop=us", "found \"us\""),
            ("unit:hop=-1us", "not negative"),
            ("unit:hop=1.5ps", "whole picoseconds"),
            ("unit:hop=1e3ps", "a decimal number"),
            ("unit:hop=99999999s", "at most 200 days"),
            ("unit:synchronisation=-99999999s", "at most 100 days"),
            ("unit:switching=packet", "cut-through or store-and-forward"),
            ("unit:cores=2us", "cores: found \"2us\", expected a number of cores"),
            ("unit:one-sided=1", "one-sided: found \"1\", expected true or false"),
        ];
        for (text, reason) in cases {
            let message = text.parse::<Machine>().unwrap_err().to_string();
            assert!(message.contains(reason), "{text}: {message}");
        }
    }

    #[test]
    #[cfg(feature = "json")]
    fn json_has_the_keys_of_texts() {
        let text = r#"{"message": "37.5 us", "startup": 0, "byte": "0.011 us", "channel": "11ns", "hop": "20 ns",
            "rearrangement": "0.014us", "synchronisation": "-113 us", "doubling": "63us", "switching": "cut-through"}"#;
        assert_eq!(Machine::from_json(text), Ok(Machine::PARAGON));
        assert_eq!(Machine::from_json("{}"), Ok(Machine::FREE));
        for cores in ["4", "\"4\""] {
            let text = format!("{{\"cores\": {cores}, \"one-sided\": \"true\"}}");
            assert_eq!(Machine::from_json(&text), Ok(Machine::FREE.with_cores(4).with_one_sided(true)));
        }
        let machine = Machine::TCP.with_one_sided(true).with_cores(3).with_synchronisation(-5, 0);
        let text = machine.to_json("a \"note\"\nof two lines");
        assert_eq!(Machine::from_json(&text), Ok(machine), "{text}");
        let cases = [
            ("", "line 1, column 1: EOF while parsing a value"),
            ("[]", "line 1, column 1: invalid type: sequence, expected an object of prices"),
            ("{\"hop\": \"1us\"", "line 1, column 13: EOF while parsing an object"),
            ("{\n\"hop\" 1}", "line 2, column 7: expected `:`"),
            ("{\"hop\": \"1us\", \"hop\": \"1us\"}", "duplicate key hop"),
            ("{\"hop\": 5}", "hop: found 5, expected a price"),
            ("{\"hops\": \"5us\"}", "unknown key \"hops\""),
            ("{\"hop\": [1]}", "hop: found [1]"),
            ("{\"version\": 2}", "version: found 2, expected 1"),
            ("{\"version\": \"1\"}", "version: found \"1\", expected 1"),
            ("{\"version\": 1, \"hop\": \"1us\", \"version\": 1}", "duplicate key version"),
            ("{\"note\": \"one\", \"note\": \"two\"}", "duplicate key note"),
            ("{\"note\": [1, 2]}", "note: found [1,2], expected a string"),
        ];
        for (text, reason) in cases {
            let message = Machine::from_json(text).unwrap_err().to_string();
            assert!(message.contains(reason), "{text}: {message}");
            assert!(message.matches("column").count() < 2 && !message.contains("column 0"), "{text}: {message}");
        }
    }
}
