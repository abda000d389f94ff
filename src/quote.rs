//! Quotes foreign text in messages of bounded length, and prints errors by their text.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

/// Implements [`Debug`](fmt::Debug) of an error by its text, so that `main` and `unwrap` print it.
macro_rules! debug_as_text {
    ($error:ident) => {
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}
pub(crate) use debug_as_text;

/// The characters of a text that are shown.
const SHOWN: usize = 80;
/// The characters of a foreign message that are shown.
#[cfg(feature = "json")]
const MESSAGE: usize = 400;

/// Shows a text as `{:?}` does. A long text is cut, and its length is added.
#[derive(Clone, Copy)]
pub(crate) struct Quoted<'a>(&'a str);

/// Quotes a text of any length for a message.
pub(crate) fn quoted(text: &str) -> Quoted<'_> {
    Quoted(text)
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(SHOWN) {
            None => write!(f, "{:?}", self.0),
            Some((end, _)) => write!(f, "{:?}.. ({} bytes)", &self.0[..end], self.0.len()),
        }
    }
}

/// Shows a text as it is. A long text is cut, and its length is added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a>(&'a str);

/// Shows a text of any length in an error of bounded length.
///
/// ```
/// use necklace::error::shown;
/// assert_eq!(shown("torus:4x4").to_string(), "torus:4x4");
/// assert!(shown(&"x".repeat(1000)).to_string().ends_with("xx.. (1000 bytes)"));
/// ```
#[must_use]
pub fn shown(text: &str) -> impl fmt::Display + fmt::Debug + Copy {
    Shown(text)
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(SHOWN) {
            None => f.write_str(self.0),
            Some((end, _)) => write!(f, "{}.. ({} bytes)", &self.0[..end], self.0.len()),
        }
    }
}

/// Cuts the middle out of a long message.
#[cfg(feature = "json")]
pub(crate) fn shortened(message: &str) -> Cow<'_, str> {
    cut(message, MESSAGE)
}

/// Cuts the middle out of a message of more than this number of characters.
pub(crate) fn cut(message: &str, most: usize) -> Cow<'_, str> {
    if message.char_indices().nth(most).is_none() {
        return Cow::Borrowed(message);
    }
    let start = message.char_indices().nth(most / 2).map_or(0, |(at, _)| at);
    let end = message.char_indices().rev().nth(most / 2 - 1).map_or(message.len(), |(at, _)| at);
    Cow::Owned(format!("{} .. {}", &message[..start], &message[end..]))
}

/// Returns the message of a panic.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a value that is not a text")
}

/// Returns line and column of a JSON error, from 1 (both 0 if it has no place), and its message
/// without the place. A long message is shortened.
#[cfg(feature = "json")]
pub(crate) fn fault_in_json(error: &serde_json::Error) -> (usize, usize, String) {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let place = format!(" at line {line} column {column}");
    // Before the first character of a line, as in an empty text, serde_json's column is 0.
    let reason = shortened(text.strip_suffix(&place).unwrap_or(&text)).into_owned();
    (line, column.max(line.min(1)), reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_quoted_by_its_start_and_length() {
        assert_eq!(quoted("a\nb").to_string(), "\"a\\nb\"");
        let (most, more) = ("ä".repeat(SHOWN), "ä".repeat(SHOWN + 1));
        assert_eq!(quoted(&most).to_string(), format!("{most:?}"));
        assert_eq!(quoted(&more).to_string(), format!("{most:?}.. (162 bytes)"));
        assert_eq!(quoted("").to_string(), "\"\"");
        assert_eq!(shown(&most).to_string(), most);
        assert_eq!(shown(&more).to_string(), format!("{most}.. (162 bytes)"));
    }

    #[cfg(feature = "json")]
    #[test]
    fn long_message_keeps_its_start_and_end() {
        assert_eq!(shortened("short"), "short");
        let long = format!("found {}, expected ö", "ü".repeat(10_000));
        let short = shortened(&long);
        assert!(short.starts_with("found üü") && short.ends_with("üü, expected ö"), "{short}");
        assert_eq!(short.chars().count(), MESSAGE + 4);
    }
}
