//! Two texts as lines: what both have, what was expected (`-`), what came (`+`).

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

/// Lines that are the same and further than this from a difference are left out.
const NEAR: usize = 3;

/// What is compared of each text: two that have nothing in common take the product of their lengths.
const MOST: usize = 5_000;

/// The differences between two texts, each line with its mark.
pub fn diff_lines(expected: &str, actual: &str) -> String {
    let ended = |text: &str| if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let (expected, actual) = (ended(expected), ended(actual));
    let (expected, more) = first_lines(&expected);
    let (actual, more_actual) = first_lines(&actual);
    let diff = TextDiff::from_lines(expected, actual);
    let mut out = String::new();
    for (at, group) in diff.grouped_ops(NEAR).iter().enumerate() {
        if at > 0 {
            out.push_str("  …\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let _ = write!(out, "{mark} {change}");
        }
    }
    if more || more_actual {
        let _ = writeln!(out, "  … only the first {MOST} lines were compared");
    }
    out
}

/// The beginning that is compared, and whether there is more.
fn first_lines(text: &str) -> (&str, bool) {
    match text.match_indices('\n').nth(MOST - 1) {
        Some((at, _)) if at + 1 < text.len() => (&text[..=at], true),
        _ => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_long_texts_is_compared() {
        let text =
            |word: &str, lines: usize| (0..lines).map(|at| format!("{word} {at}\n")).collect::<String>();
        let note = "only the first 5000 lines were compared";
        for (lines_of, cut) in [(MOST, false), (MOST + 1, true)] {
            let told = diff_lines(&text("a", lines_of), &(text("a", lines_of) + "b"));
            assert_eq!((told.contains(note), told.contains("+ b")), (true, false), "{lines_of}");
            assert_eq!(diff_lines(&text("a", lines_of), &text("a", lines_of)).contains(note), cut);
        }
        assert_eq!(diff_lines("a\nb", "a\nc"), "  a\n- b\n+ c\n");
    }
}
