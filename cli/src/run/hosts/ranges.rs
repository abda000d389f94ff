//! Expands names with ranges of numbers, as in Slurm's lists of hosts: `node[01-04,7]`.

use super::MOST;
use crate::run::agent::legible;

/// Maximum length of a host's name, in bytes.
const LONGEST: usize = 255;
/// Maximum number of digits of a number in brackets.
const DIGITS: usize = 18;

/// Splits a list at its commas, except within brackets.
pub(super) fn items(list: &str) -> impl Iterator<Item = &str> {
    let mut within = false;
    list.split(move |character| {
        match character {
            '[' => within = true,
            ']' => within = false,
            _ => {}
        }
        character == ',' && !within
    })
}

/// Expands the ranges of a name, in order. With several groups of brackets, the last varies
/// fastest.
pub(super) fn expand(text: &str) -> Result<Vec<String>, String> {
    let wrong = |what: String| format!("{}: {what}", legible(text));
    let unmatched = || wrong("brackets do not match, as those of node[01-04,7] do".to_owned());
    let short = |names: &[String], more: &str| {
        let longest = names.iter().map(String::len).max().unwrap_or(0) + more.len();
        if longest <= LONGEST { Ok(()) } else { Err(wrong(format!("a name has at most {LONGEST} bytes"))) }
    };
    let mut names = vec![String::new()];
    let mut rest = text;
    while let Some((before, group)) = rest.split_once('[') {
        let (group, after) = group.split_once(']').ok_or_else(unmatched)?;
        if before.contains(']') {
            return Err(unmatched());
        }
        short(&names, before)?;
        let numbers = numbers(group).map_err(wrong)?;
        if names.len() * numbers.len() > MOST {
            return Err(wrong(format!("more than {MOST} hosts")));
        }
        let each = |name: String| numbers.iter().map(move |number| format!("{name}{before}{number}"));
        names = names.into_iter().flat_map(each).collect();
        rest = after;
    }
    if rest.contains(']') {
        return Err(unmatched());
    }
    short(&names, rest)?;
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// Expands ranges such as `01-04,7`. Each number has at least as many digits as the first of its
/// range.
fn numbers(group: &str) -> Result<Vec<String>, String> {
    let mut numbers = Vec::new();
    for part in group.split(',') {
        let wrong = || format!("expected numbers and ranges such as [01-04,7], found [{}]", legible(part));
        let number = |text: &str| {
            let is_number = (1..=DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>().ok().filter(|_| is_number).ok_or_else(wrong)
        };
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (number(first)?, number(last)?);
        if from > to {
            return Err(format!("[{part}] counts down; expected [{last}-{first}]"));
        }
        if to - from >= (MOST - numbers.len()) as u64 {
            return Err(format!("more than {MOST} hosts"));
        }
        numbers.extend((from..=to).map(|number| format!("{number:0width$}", width = first.len())));
    }
    Ok(numbers)
}

/// Parses the number of tasks of each node of a Slurm allocation, such as `2(x3),1`.
pub(super) fn tasks(text: &str) -> Result<Vec<usize>, String> {
    let number = |text: &str| text.parse().ok().filter(|number| (1..=MOST).contains(number));
    let mut tasks = Vec::new();
    for part in text.split(',') {
        let (each, nodes) = match part.strip_suffix(')').and_then(|part| part.split_once("(x")) {
            Some((each, nodes)) => (number(each), number(nodes)),
            None => (number(part), Some(1)),
        };
        let (Some(each), Some(nodes)) = (each, nodes) else {
            return Err(format!("expected numbers of tasks such as 2(x3),1, found {}", legible(part)));
        };
        if nodes > MOST - tasks.len() {
            return Err(format!("more than {MOST} nodes"));
        }
        tasks.extend(std::iter::repeat_n(each, nodes));
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_expand_in_order_with_leading_zeros() {
        for (text, names) in [
            ("node", &["node"][..]),
            ("node[3]", &["node3"]),
            ("node[01-04,7]", &["node01", "node02", "node03", "node04", "node7"]),
            ("n[8-11]", &["n8", "n9", "n10", "n11"]),
            ("n[08-11]", &["n08", "n09", "n10", "n11"]),
            ("n[099-101]", &["n099", "n100", "n101"]),
            ("n[5-5,2]", &["n5", "n2"]),
            (
                "rack[1-2]-node[1-3]",
                &["rack1-node1", "rack1-node2", "rack1-node3", "rack2-node1", "rack2-node2", "rack2-node3"],
            ),
            ("a[1-2][0,5]", &["a10", "a15", "a20", "a25"]),
            ("me@n[1-2].here", &["me@n1.here", "me@n2.here"]),
            ("[1-2]", &["1", "2"]),
        ] {
            assert_eq!(
                expand(text).as_deref(),
                Ok(&names.iter().map(ToString::to_string).collect::<Vec<_>>()[..]),
                "{text}"
            );
        }
        assert_eq!(expand("n[1-256]x[1-256]").unwrap().len(), MOST);
    }

    #[test]
    fn invalid_range_is_refused_with_the_expected_form() {
        let most = format!("more than {MOST} hosts");
        let long = "x".repeat(LONGEST);
        let (long_end, long_start) = (format!("n[1]{long}"), format!("{long}[1]"));
        for (text, reason) in [
            ("n[1", "n[1: brackets do not match, as those of node[01-04,7] do"),
            ("n1]", "brackets do not match"),
            ("n]1[2]", "brackets do not match"),
            ("n[[1]]", "found [[1]"),
            ("n[]", "n[]: expected numbers and ranges such as [01-04,7], found []"),
            ("n[1,]", "found []"),
            ("n[a-b]", "found [a-b]"),
            ("n[1-2-3]", "found [1-2-3]"),
            ("n[+1]", "found [+1]"),
            ("n[-1]", "found [-1]"),
            ("n[1000000000000000000]", "found [1000000000000000000]"),
            ("n[4-1]", "[4-1] counts down; expected [1-4]"),
            ("n[0-65536]", &most),
            ("n[1-65536,1]", &most),
            ("n[0-999999999999999999]", &most),
            ("n[1-257]x[1-256]", &most),
            (&long_end, "a name has at most 255 bytes"),
            (&long_start, "a name has at most 255 bytes"),
        ] {
            let message = expand(text).unwrap_err();
            assert!(message.contains(reason), "{text}: {message}");
        }
    }

    #[test]
    fn lists_are_split_outside_of_brackets() {
        assert_eq!(items("a,b[1,3-4]c,[::1]:2,").collect::<Vec<_>>(), ["a", "b[1,3-4]c", "[::1]:2", ""]);
    }

    #[test]
    fn slurm_task_counts_have_repetitions() {
        assert_eq!(tasks("2(x3),1"), Ok(vec![2, 2, 2, 1]));
        assert_eq!(tasks("4"), Ok(vec![4]));
        for text in ["", "2,", "0", "2(x0)", "2(3)", "2(x3", "x3", "2(x3)1", "65537", "-1"] {
            assert!(tasks(text).unwrap_err().contains("such as 2(x3),1, found "), "{text}");
        }
        assert!(tasks("1(x65536),1").unwrap_err().contains("more than 65536 nodes"));
    }
}
