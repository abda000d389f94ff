//! Parameters of algorithms: `name:key=value,key=value`.
//!
//! An algorithm lists its [`Parameter`]s; this file parses and writes the texts for all of them.
//! Values are numbers, or words from a list. A value that is wrong for every problem is rejected
//! here; [`Algorithm::lacks`](super::Algorithm::lacks) rejects a value that is wrong for a given
//! problem.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::{once, successors};

use crate::vocabulary::BuildError;

/// A parameter of an algorithm: one `key=value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The key, before the `=`.
    pub key: &'static str,
    /// The meaning, in one line.
    pub summary: &'static str,
    /// The accepted values, after the `=`.
    pub values: Values,
    /// The default value: a number, or the index of a word.
    pub default: usize,
}

/// The values that a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Values {
    /// A decimal number without sign or leading zeros.
    Number {
        /// The smallest accepted number.
        least: usize,
        /// The largest accepted number.
        most: usize,
    },
    /// One of these words. A word's value is its index.
    Words(&'static [&'static str]),
}

impl Parameter {
    /// Returns a parameter with these accepted values and this default.
    #[must_use]
    pub const fn new(key: &'static str, summary: &'static str, values: Values, default: usize) -> Self {
        Self { key, summary, values, default }
    }

    /// Parses a value.
    fn value(&self, text: &str) -> Option<usize> {
        match self.values {
            Values::Number { least, most } => {
                let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
                text.parse().ok().filter(|value| plain && (least..=most).contains(value))
            }
            Values::Words(words) => words.iter().position(|word| *word == text),
        }
    }

    /// Returns `key=value`, as typed.
    #[must_use]
    pub fn text(&self, value: usize) -> String {
        match self.values {
            Values::Words(words) => format!("{}={}", self.key, words.get(value).copied().unwrap_or_default()),
            Values::Number { .. } => format!("{}={value}", self.key),
        }
    }
}

/// Implements the methods of [`Algorithm`](super::Algorithm) about parameters, for an algorithm with
/// one parameter, its only field.
macro_rules! one_parameter {
    ($field:ident, $parameter:ident) => {
        fn parameters(&self) -> &'static [Parameter] {
            &[$parameter]
        }

        fn settings(&self) -> Settings {
            Settings::default().with(&$parameter, self.$field)
        }

        fn with(&self, settings: &Settings) -> Option<Arc<dyn Algorithm>> {
            Some(Arc::new(Self { $field: settings.of(&$parameter) }))
        }
    };
}

pub(super) use one_parameter;

/// Returns numbers from `first` to `last` to choose among: all up to `all`, then about every
/// `all`-th, and the last.
pub(super) fn spaced(first: usize, last: usize, all: usize) -> Vec<usize> {
    let next = move |at: &usize| Some(at + (at / all).max(1));
    successors(Some(first), next).take_while(|at| *at < last).chain(once(last)).collect()
}

/// Shows the accepted texts: `radix=2..64`, `ports=one|all`.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.values {
            Values::Number { least, most } => write!(f, "{}={least}..{most}", self.key),
            Values::Words(words) => write!(f, "{}={}", self.key, words.join("|")),
        }
    }
}

/// The values of an algorithm's parameters. Parameters that are not set have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The values that differ from the defaults, by key.
    set: BTreeMap<&'static str, usize>,
}

impl Settings {
    /// Returns a parameter's value: a number, or the index of a word.
    #[must_use]
    pub fn of(&self, parameter: &Parameter) -> usize {
        self.set.get(parameter.key).copied().unwrap_or(parameter.default)
    }

    /// Sets the value of a parameter.
    #[must_use]
    pub fn with(mut self, parameter: &Parameter, value: usize) -> Self {
        match value == parameter.default {
            true => self.set.remove(parameter.key),
            false => self.set.insert(parameter.key, value),
        };
        self
    }

    /// Parses the text after the colon of an algorithm's name; `None` if there is no colon.
    pub(super) fn read(algorithm: &str, parameters: &[Parameter], text: Option<&str>) -> Result<Self, BuildError> {
        let fault = |found: &str, expected: String| BuildError::Parameters {
            algorithm: algorithm.to_owned(),
            found: found.to_owned(),
            expected,
        };
        let mut settings = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for given in text.map(|text| text.split(',')).into_iter().flatten() {
            let (key, value) = given.split_once('=').unwrap_or((given, ""));
            let Some(parameter) = parameters.iter().find(|parameter| parameter.key == key) else {
                return Err(fault(given, usage(parameters)));
            };
            if seen.contains(&key) {
                return Err(fault(given, format!("{key} only once")));
            }
            seen.push(key);
            let value = parameter.value(value).ok_or_else(|| fault(given, parameter.to_string()))?;
            settings = settings.with(parameter, value);
        }
        Ok(settings)
    }

    /// Returns the algorithm's name with the settings that differ from their defaults.
    pub(super) fn name(&self, algorithm: &str, parameters: &[Parameter]) -> String {
        let set = parameters.iter().filter_map(|p| self.set.get(p.key).map(|&value| p.text(value)));
        let set: Vec<String> = set.collect();
        if set.is_empty() { algorithm.to_owned() } else { format!("{algorithm}:{}", set.join(",")) }
    }
}

/// Returns the accepted texts of all parameters, for errors.
fn usage(parameters: &[Parameter]) -> String {
    let all: Vec<String> = parameters.iter().map(ToString::to_string).collect();
    if all.is_empty() { "no parameters".to_owned() } else { all.join(" or ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    const PARAMETERS: [Parameter; 2] = [
        Parameter { key: "radix", summary: "", values: Values::Number { least: 2, most: 64 }, default: 2 },
        Parameter { key: "ports", summary: "", values: Values::Words(&["one", "all"]), default: 0 },
    ];

    fn read(text: &str) -> Result<Settings, (String, String)> {
        Settings::read("plan-b", &PARAMETERS, Some(text)).map_err(|error| match error {
            BuildError::Parameters { algorithm, found, expected } if algorithm == "plan-b" => (found, expected),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn names_omit_defaults() {
        let canonical = |text| read(text).unwrap().name("plan-b", &PARAMETERS);
        assert_eq!(canonical("radix=3"), "plan-b:radix=3");
        assert_eq!(canonical("ports=all,radix=64"), "plan-b:radix=64,ports=all");
        assert_eq!(canonical("radix=2,ports=one"), "plan-b");
        assert_eq!(Settings::read("plan-b", &PARAMETERS, None).unwrap(), Settings::default());
    }

    #[test]
    fn errors_show_the_fault_and_the_accepted_texts() {
        let (radix, ports) = ("radix=2..64", "ports=one|all");
        let either = "radix=2..64 or ports=one|all";
        let cases = [
            ("", "", either),
            ("base=3", "base=3", either),
            ("radix=3,", "", either),
            (" radix=3", " radix=3", either),
            ("Radix=3", "Radix=3", either),
            ("radix", "radix", radix),
            ("radix=", "radix=", radix),
            ("radix=1", "radix=1", radix),
            ("radix=65", "radix=65", radix),
            ("radix=+3", "radix=+3", radix),
            ("radix=-3", "radix=-3", radix),
            ("radix=03", "radix=03", radix),
            ("radix=3 ", "radix=3 ", radix),
            ("radix=٣", "radix=٣", radix),
            ("radix=99999999999999999999999", "radix=99999999999999999999999", radix),
            ("radix=3=3", "radix=3=3", radix),
            ("ports=1", "ports=1", ports),
            ("ports=", "ports=", ports),
            ("radix=3,radix=3", "radix=3", "radix only once"),
            ("ports=one,radix=3,ports=all", "ports=all", "ports only once"),
        ];
        for (text, found, expected) in cases {
            assert_eq!(read(text), Err((found.to_owned(), expected.to_owned())), "{text:?}");
        }
        let none = Settings::read("plain", &[], Some("radix=3")).unwrap_err().to_string();
        assert_eq!(none, "plain: found \"radix=3\", expected no parameters");
    }

    quickcheck! {
        fn names_read_back(radix: usize, all: bool) -> bool {
            let settings = Settings::default().with(&PARAMETERS[0], 2 + radix % 63).with(&PARAMETERS[1], all.into());
            let name = settings.name("plan-b", &PARAMETERS);
            let text = name.split_once(':').map(|(_, text)| text);
            Settings::read("plan-b", &PARAMETERS, text).is_ok_and(|again| again == settings)
        }

        fn any_text_is_accepted_or_refused(text: String) -> bool {
            read(&text).is_ok() || read(&text).is_err_and(|(found, _)| text.contains(&found))
        }
    }
}
