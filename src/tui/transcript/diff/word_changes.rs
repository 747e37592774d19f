//! What changed within the lines of a diff: words that one version of a line has and the other has not.
//!
//! Lines that were removed are compared with those that were added in their place, one by one. Refuses lines that have
//! nearly nothing in common, and long ones: there the whole line is the change.

use std::ops::Range;

/// A line with more words is not compared.
const MOST_WORDS: usize = 120;
/// Lines with less than a share of one in so many words in common are different lines.
const LEAST_SHARE: usize = 3;

/// In bytes of a line, in their order.
pub type ChangedParts = Vec<Range<usize>>;

/// For each line of a diff the parts that changed, in bytes of the line.
pub fn changed_words(lines: &[&str]) -> Vec<ChangedParts> {
    let mut found = vec![Vec::new(); lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let removed = count_with(&lines[at..], '-');
        let added = count_with(&lines[at + removed..], '+');
        // as many lines as there were: each is a version of its neighbour
        if removed == added {
            for pair in 0..removed {
                let (old, new) = (at + pair, at + removed + pair);
                if let Some((before, after)) = compare_lines(lines[old], lines[new]) {
                    (found[old], found[new]) = (before, after);
                }
            }
        }
        at += (removed + added).max(1);
    }
    found
}

/// Lines with this sign at the beginning; the names of files above a hunk are none.
fn count_with(lines: &[&str], sign: char) -> usize {
    let names = ["--- ", "+++ "];
    lines
        .iter()
        .take_while(|line| line.starts_with(sign) && !names.iter().any(|name| line.starts_with(name)))
        .count()
}

/// What each of two lines has alone; `None`: they are not versions of one line.
fn compare_lines(old: &str, new: &str) -> Option<(ChangedParts, ChangedParts)> {
    let (old_words, new_words) = (split_words(old), split_words(new));
    if old_words.len() > MOST_WORDS || new_words.len() > MOST_WORDS {
        return None;
    }
    let kept = common_words(old, &old_words, new, &new_words);
    let size = |line: &str, words: &[Range<usize>], at: usize| line[words[at].clone()].trim().len();
    let common: usize = kept.iter().map(|(at, _)| size(old, &old_words, *at)).sum();
    let longer = (old.len().max(new.len())).saturating_sub(1);
    if common * LEAST_SHARE < longer {
        return None;
    }
    let alone = |words: &[Range<usize>], kept: &dyn Fn(usize) -> bool| {
        let mut parts = ChangedParts::new();
        for (_, word) in words.iter().enumerate().filter(|(at, _)| !kept(*at)) {
            match parts.last_mut() {
                Some(last) if last.end == word.start => last.end = word.end,
                _ => parts.push(word.clone()),
            }
        }
        parts
    };
    let before = alone(&old_words, &|at| kept.iter().any(|(old, _)| *old == at));
    let after = alone(&new_words, &|at| kept.iter().any(|(_, new)| *new == at));
    Some((before, after))
}

/// Words, spaces and single signs behind the sign of the line.
fn split_words(line: &str) -> Vec<Range<usize>> {
    let kind = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' => 0,
        _ if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (at, c) in line.char_indices().skip(1) {
        let now = kind(c);
        match words.last_mut() {
            Some(word) if last == Some(now) && now != 2 => word.end = at + c.len_utf8(),
            _ => words.push(at..at + c.len_utf8()),
        }
        last = Some(now);
    }
    words
}

/// The longest row of words that both have, as positions in each.
fn common_words(
    old: &str,
    old_words: &[Range<usize>],
    new: &str,
    new_words: &[Range<usize>],
) -> Vec<(usize, usize)> {
    let same = |one: usize, other: usize| old[old_words[one].clone()] == new[new_words[other].clone()];
    let columns = new_words.len() + 1;
    let mut lengths = vec![0_u16; (old_words.len() + 1) * columns];
    for one in (0..old_words.len()).rev() {
        for other in (0..new_words.len()).rev() {
            let (here, below) = (one * columns + other, (one + 1) * columns + other);
            lengths[here] = match same(one, other) {
                true => lengths[below + 1] + 1,
                false => lengths[below].max(lengths[here + 1]),
            };
        }
    }
    let (mut one, mut other, mut kept) = (0, 0, Vec::new());
    while one < old_words.len() && other < new_words.len() {
        if same(one, other) {
            kept.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if lengths[(one + 1) * columns + other] >= lengths[one * columns + other + 1] {
            one += 1;
        } else {
            other += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The changed parts of each line between brackets.
    fn check(lines: &[&str], expected: &[&str]) {
        let shown: Vec<String> = lines
            .iter()
            .zip(changed_words(lines))
            .map(|(line, parts)| {
                let mut out = (*line).to_owned();
                for part in parts.into_iter().rev() {
                    out.replace_range(part.clone(), &format!("[{}]", &line[part]));
                }
                out
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn words_that_one_version_has_alone_are_found() {
        check(
            &["@@ -1 +1 @@", " a", "-let x = old(1);", "+let x = new(1, 2);", " b"],
            &["@@ -1 +1 @@", " a", "-let x = [old](1);", "+let x = [new](1[, 2]);", " b"],
        );
        // lines are compared one by one, where there are as many
        check(
            &["-a = 1;", "-b = 2;", "+a = 3;", "+b = 2;"],
            &["-a = [1];", "-b = 2;", "+a = [3];", "+b = 2;"],
        );
        check(&["-a = 1;", "+a = 3;", "+b = 2;"], &["-a = 1;", "+a = 3;", "+b = 2;"]);
        // other lines, and names of files
        check(&["-alpha beta", "+x = y(z)"], &["-alpha beta", "+x = y(z)"]);
        check(&["--- a/src/main.rs", "+++ b/src/main.rs"], &["--- a/src/main.rs", "+++ b/src/main.rs"]);
        check(&["-größe = 1 €", "+größe = 2 €"], &["-größe = [1] €", "+größe = [2] €"]);
        check(&["-", "+"], &["-", "+"]);
        let long = format!("-{}", "a b ".repeat(200));
        let other = long.replacen('-', "+", 1);
        check(&[&long, &other], &[&long, &other]);
    }
}
