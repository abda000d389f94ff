//! Parses option values that several subcommands share.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use necklace::error::shown;

use crate::output::Failure;

/// Joins names that were split at the commas of their parameters: `a:x=1` and `y=2` form
/// `a:x=1,y=2`.
pub(crate) fn whole_names(parts: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in parts {
        match names.last_mut() {
            Some(last) if last.contains(':') && part.contains('=') && !part.contains(':') => {
                *last += &format!(",{part}")
            }
            _ => names.push(part.clone()),
        }
    }
    names
}

/// Fails if a list contains a duplicate value, which would only repeat the same figures.
pub(crate) fn once<T: PartialEq + Display>(option: &str, values: &[T]) -> Result<(), Failure> {
    let again = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value));
    let twice = |value: &T| Failure::Usage(format!("{option}: duplicate value {}", shown(&value.to_string())));
    again.map_or(Ok(()), |(_, value)| Err(twice(value)))
}

/// Parses a number of bytes with an optional unit, such as `4K`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1_u64),
    };
    let number: u64 = number.parse().map_err(|_| "expected a number of bytes such as 8, 4K, 1M or 1G".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "too many bytes".to_owned())
}

/// Reads a text file of at most `limit` bytes.
pub(crate) fn bounded(path: &Path, limit: u64) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(limit + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > limit { Err(format!("more than {limit} bytes")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(["0", "8", "4K", "1M", "2g"].map(size), [Ok(0), Ok(8), Ok(4096), Ok(1 << 20), Ok(2 << 30)]);
        let wrong = ["", "K", "-1", "1.5K", "99999999999999999999", "18446744073709551615M", "4Ks"];
        assert!(wrong.iter().all(|text| size(text).is_err()));
    }

    #[test]
    fn split_names_are_joined_with_their_parameters() {
        let parts = ["ring", "bruck:radix=4", "slow=1", "direct", "x=1"].map(str::to_owned);
        assert_eq!(whole_names(&parts), ["ring", "bruck:radix=4,slow=1", "direct", "x=1"]);
    }
}
