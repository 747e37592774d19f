//! Two texts as lines: what both have, what was expected (`-`), what came (`+`).

use std::fmt::Write as _;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Lines that are the same and further than this from a difference are left out.
const NEAR: usize = 3;

/// Long texts that have little in common are told apart roughly after that.
const TIME: Duration = Duration::from_secs(1);

/// The differences between two texts, each line with its mark.
pub fn lines(expected: &str, actual: &str) -> String {
    let ended = |text: &str| if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let (expected, actual) = (ended(expected), ended(actual));
    let diff = TextDiff::configure().timeout(TIME).diff_lines(&expected, &actual);
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
    out
}
