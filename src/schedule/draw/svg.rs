//! SVG text: numbers with one decimal, escaped names, no empty line, so that a picture can be part
//! of Markdown.

use std::fmt::{self, Write};

use super::point::Point;

/// A number with at most one decimal, the same on every machine.
pub(super) struct Number(pub(super) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        let (whole, tenth) = ((tenths / 10).abs(), (tenths % 10).abs());
        let sign = if tenths < 0 { "-" } else { "" };
        if tenth == 0 { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{tenth}") }
    }
}

/// Writes a point as in path data.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Number(self.x), Number(self.y))
    }
}

/// Untrusted text as the content of an element or an attribute. Characters that XML does not allow
/// become U+FFFD.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Estimates the width of a text in a font of a size, without the font.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| if c.is_ascii() { 0.55 } else { 1.0 }).sum::<f64>() * size
}

/// Breaks a text into lines of a maximum width, at spaces if possible. More than `most` lines end
/// in an ellipsis.
pub(super) fn lines(text: &str, size: f64, widest: f64, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut add = |piece: &str, gap: &str| {
        let last = lines.last_mut().filter(|last| last.is_empty() || width(last, size) + width(piece, size) <= widest);
        match last {
            Some(last) if last.is_empty() => last.push_str(piece),
            Some(last) => last.extend([gap, piece]),
            None => lines.push(piece.to_owned()),
        }
    };
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if width(word, size) <= widest {
            add(word, " ");
            continue;
        }
        for (i, c) in word.chars().enumerate() {
            add(c.encode_utf8(&mut [0; 4]), if i == 0 { " " } else { "" });
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push('…');
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_decimal_at_most() {
        let cases = [(0.0, "0"), (-0.04, "0"), (-0.05, "-0.1"), (12.96, "13"), (-3.25, "-3.3"), (7.5, "7.5")];
        for (number, text) in cases {
            assert_eq!(Number(number).to_string(), text);
        }
        assert_eq!(Number(f64::NAN).to_string(), "0");
    }

    #[test]
    fn characters_not_allowed_in_xml_are_replaced() {
        assert_eq!(Escaped("a<b>&\"c'\n\0").to_string(), "a&lt;b&gt;&amp;&quot;c&#39;\u{fffd}\u{fffd}");
    }

    #[test]
    fn lines_break_at_spaces_before_words() {
        assert_eq!(lines("one two  three", 10.0, 50.0, 9), ["one two", "three"]);
        assert_eq!(lines("abcdefghij", 10.0, 30.0, 9).concat(), "abcdefghij");
        assert_eq!(lines("one two three", 10.0, 20.0, 2), ["one", "two…"]);
        assert_eq!(lines("", 10.0, 20.0, 2), [""]);
    }
}
