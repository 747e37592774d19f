//! Finds the places of a patch in the text of a file and puts the new lines there.
//! Refuses to guess: a place that is missing, or that is not the only one, is a conflict that names the nearest lines.

use super::patch_text::{HunkLine, PatchHunk};
use super::shorten_line;

/// Bytes of a line in a message.
const SHOWN: usize = 100;
/// Lines of a file and lines of a place: beyond their product no nearest place is looked for.
const MOST_COMPARED: usize = 20_000_000;
/// Lines of a file in which one that is only similar is looked for.
const MOST_LIKENED: usize = 5_000;
/// From 0 to 1: how much of two lines must be the same.
const LIKENESS: f32 = 0.7;

/// The text after all places were changed.
///
/// # Errors
/// All conflicts; nothing of the text is then used.
pub(super) fn apply_hunks(before: &str, hunks: &[PatchHunk]) -> Result<String, Vec<String>> {
    let mut file = FileLines::new(before);
    let (mut conflicts, mut cursor, mut shift) = (Vec::new(), 0, 0_isize);
    for hunk in hunks {
        match file.find_place(hunk, cursor, shift) {
            Ok(at) => {
                let (removed, added) = file.replace_lines(hunk, at);
                shift += added.cast_signed() - removed.cast_signed();
                cursor = at + added;
            }
            Err(why) => conflicts.push(format!("line {} of the patch: {why}", hunk.patch_line)),
        }
    }
    if conflicts.is_empty() { Ok(file.into_text()) } else { Err(conflicts) }
}

struct FileLines {
    /// Without their line ends; a carriage return stays where only some lines have one.
    lines: Vec<String>,
    line_end: &'static str,
    ends_with_newline: bool,
}

impl FileLines {
    fn new(text: &str) -> Self {
        let feeds = text.matches('\n').count();
        let is_crlf = feeds > 0 && text.matches("\r\n").count() == feeds;
        let line_end = if is_crlf { "\r\n" } else { "\n" };
        let body = text.strip_suffix(line_end).unwrap_or(text);
        let lines =
            if text.is_empty() { Vec::new() } else { body.split(line_end).map(str::to_owned).collect() };
        Self { lines, line_end, ends_with_newline: text.is_empty() || body.len() < text.len() }
    }

    fn into_text(self) -> String {
        let mut text = self.lines.join(self.line_end);
        if self.ends_with_newline && !self.lines.is_empty() {
            text.push_str(self.line_end);
        }
        text
    }

    /// Index of the place's first line. `shift`: lines that earlier places have added.
    fn find_place(&self, hunk: &PatchHunk, cursor: usize, shift: isize) -> Result<usize, String> {
        let old: Vec<&str> = hunk.old_lines().collect();
        let start = self.skip_anchors(&hunk.anchors, cursor)?;
        if old.is_empty() {
            return Ok(match hunk.line_hint {
                // "-0,0" is an empty file; else the new lines come after the line that is named
                Some(line) => line.saturating_add_signed(shift).clamp(cursor, self.lines.len()),
                None if hunk.anchors.is_empty() => self.lines.len(),
                None => start,
            });
        }
        if hunk.at_end {
            let at = self.lines.len().saturating_sub(old.len()).max(start);
            return if self.has_at(&old, at) { Ok(at) } else { Err(self.describe_missing(&old, start)) };
        }
        let places: Vec<usize> = (start..self.lines.len()).filter(|at| self.has_at(&old, *at)).collect();
        let expected = hunk.line_hint.map(|line| line.saturating_sub(1).saturating_add_signed(shift));
        match (places.as_slice(), expected) {
            ([], _) => Err(self.describe_missing(&old, start)),
            ([only], _) => Ok(*only),
            ([first, ..], None) if !hunk.anchors.is_empty() => Ok(*first),
            (several, Some(expected)) if several.contains(&expected) => Ok(expected),
            (several, _) => Err(several_places(several)),
        }
    }

    /// The line behind the anchors.
    fn skip_anchors(&self, anchors: &[String], cursor: usize) -> Result<usize, String> {
        let mut start = cursor;
        for anchor in anchors {
            let found = self.lines[start..].iter().position(|line| line.trim() == anchor.trim());
            let Some(found) = found else {
                let anchor = shorten_line(anchor, SHOWN);
                return Err(format!("no line after line {start} of the file is `{anchor}`"));
            };
            start += found + 1;
        }
        Ok(start)
    }

    fn has_at(&self, old: &[&str], at: usize) -> bool {
        self.lines
            .get(at..at + old.len())
            .is_some_and(|window| window.iter().zip(old).all(|(line, old)| is_same_line(line, old)))
    }

    /// Lines removed and added.
    fn replace_lines(&mut self, hunk: &PatchHunk, at: usize) -> (usize, usize) {
        let removed = hunk.old_lines().count();
        let reaches_end = at + removed == self.lines.len();
        let mut old = self.lines[at..at + removed].iter();
        // a line of context stays as the file has it
        let kept = hunk.lines.iter().filter_map(|line| match line {
            HunkLine::Context(_) => old.next().cloned(),
            HunkLine::Removed(_) => {
                old.next();
                None
            }
            HunkLine::Added(text) => Some(text.clone()),
        });
        let new: Vec<String> = kept.collect();
        let added = new.len();
        self.lines.splice(at..at + removed, new);
        if reaches_end && hunk.line_hint.is_some() {
            self.ends_with_newline = !hunk.no_final_newline;
        }
        (removed, added)
    }

    fn describe_missing(&self, old: &[&str], start: usize) -> String {
        let earlier = (0..start.min(self.lines.len())).rev().find(|at| self.has_at(old, *at));
        if let Some(at) = earlier {
            return format!(
                "its lines are at line {}, before the place ahead of it: keep the order of the file",
                at + 1
            );
        }
        match self.nearest_place(old) {
            None => {
                "its lines are not in the file, and no lines are like them: read the file again".to_owned()
            }
            Some(at) => {
                let differs = (0..old.len())
                    .find(|by| self.lines.get(at + by).is_none_or(|line| !is_same_line(line, old[*by])));
                let by = differs.unwrap_or(0);
                let (line, wanted) =
                    (self.lines.get(at + by).map_or("(the end of the file)", String::as_str), old[by]);
                let white_space =
                    if line.trim() == wanted.trim() { " (only white space differs)" } else { "" };
                format!(
                    "its lines are not in the file; the nearest are at line {}, where line {} is `{}` and the patch has `{}`{white_space}",
                    at + 1,
                    at + by + 1,
                    shorten_line(line, SHOWN),
                    shorten_line(wanted, SHOWN),
                )
            }
        }
    }

    /// Where most lines are the same but for white space; else where one is like the longest line of the place.
    fn nearest_place(&self, old: &[&str]) -> Option<usize> {
        if self.lines.len().saturating_mul(old.len()) > MOST_COMPARED {
            return None;
        }
        let wanted: Vec<&str> = old.iter().map(|line| line.trim()).collect();
        let same_lines = |at: usize| {
            let window = self.lines[at..].iter().zip(&wanted);
            window.filter(|(line, wanted)| !wanted.is_empty() && line.trim() == **wanted).count()
        };
        let counted = (0..self.lines.len()).map(|at| (same_lines(at), at));
        match counted.max_by_key(|(same, at)| (*same, usize::MAX - at))? {
            (0, _) => self.similar_line(old),
            (_, at) => Some(at),
        }
    }

    fn similar_line(&self, old: &[&str]) -> Option<usize> {
        if self.lines.len() > MOST_LIKENED {
            return None;
        }
        let (by, wanted) = old.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
        let short: Vec<&str> =
            self.lines.iter().map(String::as_str).filter(|line| line.len() <= 4 * SHOWN).collect();
        let nearest = *similar::get_close_matches(*wanted, &short, 1, LIKENESS).first()?;
        let at = self.lines.iter().position(|line| line == nearest)?;
        Some(at.saturating_sub(by))
    }
}

/// A patch has no carriage returns where the file has some.
fn is_same_line(line: &str, old: &str) -> bool {
    line == old || line.strip_suffix('\r').is_some_and(|line| line == old)
}

fn several_places(places: &[usize]) -> String {
    let shown: Vec<String> = places.iter().take(10).map(|at| (at + 1).to_string()).collect();
    let more = if places.len() > 10 { " …" } else { "" };
    format!(
        "its lines are in the file {} times, at lines {}{more}: add lines of context, or an `@@ LINE` that stands above the place",
        places.len(),
        shown.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::patch_text::{FileOperation, parse_patch};
    use super::*;

    fn apply(before: &str, patch: &str) -> String {
        let FileOperation::Update { hunks, .. } = parse_patch(patch).unwrap().remove(0).operation else {
            panic!("no update")
        };
        apply_hunks(before, &hunks).unwrap_or_else(|conflicts| conflicts.join("; "))
    }

    #[test]
    fn places_are_changed_or_conflicts_are_told() {
        let check = |before: &str, inside: &str, expected: &str| {
            let told =
                apply(before, &format!("*** Begin Patch\n*** Update File: f\n{inside}*** End Patch\n"));
            assert!(
                told == expected || (expected.len() > 20 && told.contains(expected)),
                "wanted {expected}\ngot {told}"
            );
        };
        check("a\nb\nc\n", " a\n-b\n+B\n", "a\nB\nc\n");
        check("a\nb\nc", "-c\n+C\n", "a\nb\nC");
        check("a\r\nb\r\n", "-b\n+B\n+C\n", "a\r\nB\r\nC\r\n");
        check("a\r\nb\nc\n", " a\n-b\n+B\n", "a\r\nB\nc\n");
        check("x\nfn f\nx\nfn g\nx\n", "@@ fn f\n-x\n+y\n@@ fn g\n-x\n+z\n", "x\nfn f\ny\nfn g\nz\n");
        check("a\na\n", "-a\n+b\n*** End of File\n", "a\nb\n");
        check("a\n", "@@\n+b\n", "a\nb\n");
        check("a\nc\n", "@@ a\n+b\n", "a\nb\nc\n");
        check("", "+a\n", "a\n");
        check("a\nb\n", "-a\n+A\n@@\n-b\n+B\n", "A\nB\n");
        check("x\nx\n", "-x\n+y\n", "its lines are in the file 2 times, at lines 1, 2: add lines of context");
        check(
            "a\n  b\nc\n",
            " a\n-b\n+B\n",
            "the nearest are at line 1, where line 2 is `  b` and the patch has `b` (only white space differs)",
        );
        check("a\nb\n", "-zz\n+y\n", "no lines are like them: read the file again");
        check("a\nb\n", "-b\n+B\n@@\n-a\n+A\n", "its lines are at line 1, before the place ahead of it");
        check("a\n", "@@ fn f\n-a\n+b\n", "no line after line 0 of the file is `fn f`");
        check("a\nb\n", " a\n b\n-c\n", "where line 3 is `(the end of the file)` and the patch has `c`");
    }

    #[test]
    fn a_unified_diff_finds_its_place_by_line_where_several_fit() {
        let check = |before: &str, hunks: &str, expected: &str| {
            assert_eq!(apply(before, &format!("--- a/f\n+++ b/f\n{hunks}")), expected);
        };
        check("x\nx\nx\n", "@@ -2 +2 @@\n-x\n+y\n", "x\ny\nx\n");
        check("x\nx\nx\n", "@@ -1 +1,2 @@\n-x\n+y\n+y\n@@ -3 +4 @@\n-x\n+z\n", "y\ny\nx\nz\n");
        check("a\nb\n", "@@ -7 +7 @@\n-b\n+c\n", "a\nc\n");
        check("a\nb\n", "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n");
        check("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "b\n");
        check("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "b");
    }
}
