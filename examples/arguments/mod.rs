//! What the examples have in common: `--name value` or `--name=value`, an error that says what would be right, and a status of
//! 2 for bad arguments, 1 for a check that failed.

use std::error::Error;
use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;

/// The values that were given, by name.
pub(crate) struct Values(Vec<(String, String)>);

impl Values {
    fn read(names: &[&str], mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut values = Vec::new();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            if !names.contains(&name.as_str()) {
                return Err(format!("unknown argument {name:?}"));
            }
            let value = value.or_else(|| words.next()).ok_or_else(|| format!("{name} needs a value"))?;
            values.push((name, value));
        }
        Ok(Self(values))
    }

    /// The last value given under that name, if any.
    pub(crate) fn get<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, String> {
        let given = self.0.iter().rev().find(|(given, _)| given == name);
        given.map(|(_, value)| value.parse().map_err(|why| format!("{name} {value:?}: {why}"))).transpose()
    }
}

/// Reads the arguments and runs the example with them.
pub(crate) fn start<A>(
    usage: &str,
    names: &[&str],
    arguments: impl FnOnce(&Values) -> Result<A, String>,
    run: impl FnOnce(A) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    if std::env::args().skip(1).any(|word| word == "--help" || word == "-h") {
        println!("{usage}");
        return ExitCode::SUCCESS;
    }
    let arguments = match Values::read(names, std::env::args().skip(1)).and_then(|values| arguments(&values)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n{usage}");
            return ExitCode::from(2);
        }
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
