//! The look of the arrows of a phase, which depends on the name of the phase so that it is the same in
//! all pictures, and the sizes that pages share.

use crate::vocabulary::Outline;

/// The colour of shared channels.
pub(super) const SHARED: &str = "#f6c7ad";
pub(super) const TEXT: &str = "#222222";
pub(super) const WHITE: &str = "#ffffff";

/// The font sizes of a title and of the words below a picture, the height of a line in font sizes, and
/// the margin of a page.
pub(super) const TITLE: f64 = 15.0;
pub(super) const CAPTION: f64 = 11.0;
pub(super) const LEADING: f64 = 1.3;
pub(super) const MARGIN: f64 = 14.0;

/// A phase's colour and dashes. All dashes are different, so that phases differ in grey too. The
/// colours are dark enough for white paper.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colour: &'static str,
    dashes: &'static str,
}

const fn look(colour: &'static str, dashes: &'static str) -> Look {
    Look { colour, dashes }
}

/// The looks of phases whose names have a number, by its remainder modulo 11. The numbers 0 to 10
/// have different remainders, and so have the first ten powers of two, since 2 is a primitive root
/// of 11.
const NUMBERED: [Look; 11] = [
    look("#333333", "5 2.5"),
    look("#0072b2", ""),
    look("#c24e00", "8 2"),
    look("#7a6200", "1.8 2"),
    look("#5b3fa0", "8 2 2 2 2 2"),
    look("#007a7a", "10 4.5"),
    look("#b3123e", "9 2 4 2"),
    look("#4a6a00", "2 4.5"),
    look("#1b2f6e", "4 1.5 1.5 1.5"),
    look("#8c4a1f", "5 1.2 5 4"),
    look("#6b6b6b", "1.5 1.5 1.5 4"),
];
/// The looks of phases without a number that accompany phases with one.
const NAMED: [(&str, Look); 2] =
    [("halves of cells", look("#00785a", "3.5 1.5")), ("units", look("#a83279", "9 2 2 2"))];
/// The look of a single phase.
const PLAIN: &Look = &NUMBERED[1];

impl Look {
    /// Returns the dashes as an attribute, with a leading space.
    pub(super) fn dashes(&self) -> String {
        if self.dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", self.dashes) }
    }
}

/// The looks of a schedule's phases.
pub(super) struct Looks(Vec<&'static Look>);

impl Looks {
    pub(super) fn new(outline: &Outline) -> Self {
        let names = &outline.phases;
        let mut looks: Vec<Option<&Look>> = names.iter().map(|name| known(name)).collect();
        for (i, name) in names.iter().enumerate().filter(|_| names.len() > 1) {
            let taken = |look: &&Look| looks.contains(&Some(*look));
            // Equal names look the same, others differ as long as there are looks.
            let before = names[..i].iter().position(|earlier| earlier == name);
            let from = name.bytes().fold(0, |hash: usize, byte| (hash * 31 + usize::from(byte)) % NUMBERED.len());
            let mut wanted = NUMBERED[from..].iter().chain(&NUMBERED[..from]);
            let mut free = || wanted.find(|look| !taken(look)).unwrap_or(&NUMBERED[from]);
            looks[i] = looks[i].or_else(|| before.and_then(|before| looks[before])).or_else(|| Some(free()));
        }
        Self(looks.into_iter().map(|look| look.unwrap_or(PLAIN)).collect())
    }

    /// Returns the look of a phase, which need not have a name.
    pub(super) fn of(&self, outline: &Outline, phase: usize) -> &'static Look {
        self.0.get(phase).copied().or_else(|| known(&phase_name(outline, phase))).unwrap_or(PLAIN)
    }
}

/// Returns the look that follows from the name alone.
fn known(name: &str) -> Option<&'static Look> {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut digits = digits.bytes().take_while(u8::is_ascii_digit).peekable();
    if digits.peek().is_some() {
        let rest = digits.fold(0, |rest, digit| (rest * 10 + usize::from(digit - b'0')) % NUMBERED.len());
        return NUMBERED.get(rest);
    }
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, look)| look)
}

/// Returns the name of a phase.
pub(super) fn phase_name(outline: &Outline, number: usize) -> String {
    outline.phases.get(number).cloned().unwrap_or_else(|| format!("phase {number}"))
}

/// Returns an arrow for the legend.
pub(super) fn sample(look: &Look, hollow: bool) -> String {
    let (colour, dashes) = (look.colour, look.dashes());
    let fill = if hollow { WHITE } else { colour };
    format!(
        "<path d=\"M0 -3.5L19 -3.5\" stroke=\"{colour}\" stroke-width=\"1.6\"{dashes}/>\
         <path d=\"M24 -3.5L18 -6L18 -1z\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"0.8\"/>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_looks_have_the_same_colour_or_dashes() {
        let looks: Vec<&Look> = NUMBERED.iter().chain(NAMED.iter().map(|(_, look)| look)).collect();
        for (i, look) in looks.iter().enumerate() {
            let differs = |other: &&Look| look.colour != other.colour && look.dashes != other.dashes;
            assert!(looks[..i].iter().all(differs), "{look:?}");
        }
    }

    #[test]
    fn names_with_numbers_decide_by_the_first() {
        assert_eq!(known("cells, dimension 2 of 3"), Some(&NUMBERED[2]));
        assert_eq!(known("digits of weight 16"), Some(&NUMBERED[5]));
        assert_eq!(known(&format!("bit {}", "9".repeat(400))), Some(&NUMBERED[0]));
        assert_eq!(known("scatter"), None);
    }
}
