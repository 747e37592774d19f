//! Reads the text of a patch, in one of two formats: `*** Begin Patch`, or a unified diff as `git diff` writes it.
//! Refuses what it does not understand, with the line of the patch; touches no file.

/// What a patch does to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilePatch {
    pub(super) path: String,
    pub(super) operation: FileOperation,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileOperation {
    Add { content: String },
    Delete,
    Update { move_to: Option<String>, hunks: Vec<PatchHunk> },
}

/// One place of a file that changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PatchHunk {
    /// Lines of the file that come before the place, outermost first (`@@ fn main() {`).
    pub(super) anchors: Vec<String>,
    /// The line, from 1, at which a unified diff puts the place.
    pub(super) line_hint: Option<usize>,
    pub(super) lines: Vec<HunkLine>,
    /// The place ends with the file.
    pub(super) at_end: bool,
    /// The last line of the new text has no line end.
    pub(super) no_final_newline: bool,
    /// Line of the patch, from 1, for messages.
    pub(super) patch_line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HunkLine {
    Context(String),
    Removed(String),
    Added(String),
}

/// The files of a patch, in its order.
///
/// # Errors
/// The text is no patch in one of the formats; the message names the line.
pub(super) fn parse_patch(text: &str) -> Result<Vec<FilePatch>, String> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| !line.trim().is_empty()).ok_or("`patch` is empty")?;
    let mut reader = PatchReader { lines: &lines, next: first };
    let files = if lines[first].trim() == "*** Begin Patch" {
        reader.next += 1;
        reader.read_marked_patch()?
    } else {
        reader.read_unified_diff()?
    };
    if files.is_empty() {
        return Err("`patch` changes no file".to_owned());
    }
    Ok(files)
}

struct PatchReader<'a> {
    lines: &'a [&'a str],
    next: usize,
}

impl<'a> PatchReader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.next).copied()
    }

    fn blame<T>(&self, why: &str) -> Result<T, String> {
        let shown =
            self.peek().map(|line| format!(" (`{}`)", super::shorten_line(line, 80))).unwrap_or_default();
        Err(format!("line {} of the patch{shown}: {why}", self.next + 1))
    }

    fn read_marked_patch(&mut self) -> Result<Vec<FilePatch>, String> {
        let mut files = Vec::new();
        while let Some(line) = self.peek() {
            let line = line.trim_end();
            if line == "*** End Patch" {
                return Ok(files);
            }
            let header = ["*** Add File: ", "*** Delete File: ", "*** Update File: "]
                .into_iter()
                .find_map(|mark| line.strip_prefix(mark).map(|path| (mark, path.trim().to_owned())));
            let Some((mark, path)) = header else {
                if line.is_empty() {
                    self.next += 1;
                    continue;
                }
                return self.blame(
                    "expected `*** Add File: `, `*** Update File: `, `*** Delete File: ` or `*** End Patch`",
                );
            };
            self.next += 1;
            let operation = match mark {
                "*** Add File: " => FileOperation::Add { content: self.read_added_content()? },
                "*** Delete File: " => FileOperation::Delete,
                _ => self.read_marked_update()?,
            };
            files.push(FilePatch { path, operation });
        }
        self.blame("the patch ends without `*** End Patch`")
    }

    fn read_added_content(&mut self) -> Result<String, String> {
        let mut content = String::new();
        while let Some(line) = self.peek().filter(|line| !line.starts_with("*** ")) {
            let Some(text) = line.strip_prefix('+') else {
                return self.blame("each line of a new file begins with `+`");
            };
            content.push_str(text);
            content.push('\n');
            self.next += 1;
        }
        Ok(content)
    }

    fn read_marked_update(&mut self) -> Result<FileOperation, String> {
        let move_to =
            self.peek().and_then(|line| line.strip_prefix("*** Move to: ")).map(|to| to.trim().to_owned());
        self.next += usize::from(move_to.is_some());
        let mut hunks = Vec::new();
        while self.peek().is_some_and(|line| !line.starts_with("*** ")) {
            let mut hunk = PatchHunk { patch_line: self.next + 1, ..PatchHunk::default() };
            while let Some(anchor) = self.peek().and_then(|line| line.strip_prefix("@@")) {
                let anchor = anchor.trim();
                if !anchor.is_empty() {
                    hunk.anchors.push(anchor.to_owned());
                }
                self.next += 1;
            }
            while let Some(line) =
                self.peek().filter(|line| !line.starts_with("@@") && !line.starts_with("*** "))
            {
                hunk.lines.push(self.hunk_line(line)?);
                self.next += 1;
            }
            if self.peek().is_some_and(|line| line.trim_end() == "*** End of File") {
                hunk.at_end = true;
                self.next += 1;
            }
            self.check_hunk(&hunk)?;
            hunks.push(hunk);
        }
        if hunks.is_empty() && move_to.is_none() {
            return self.blame("an update needs lines that begin with `-` or `+`");
        }
        Ok(FileOperation::Update { move_to, hunks })
    }

    fn check_hunk(&self, hunk: &PatchHunk) -> Result<(), String> {
        if hunk.lines.iter().all(|line| matches!(line, HunkLine::Context(_))) {
            return Err(format!(
                "line {} of the patch: this place changes nothing: no line begins with `-` or `+`",
                hunk.patch_line
            ));
        }
        Ok(())
    }

    fn hunk_line(&self, line: &str) -> Result<HunkLine, String> {
        match line.split_at_checked(1) {
            Some((" ", text)) => Ok(HunkLine::Context(text.to_owned())),
            Some(("-", text)) => Ok(HunkLine::Removed(text.to_owned())),
            Some(("+", text)) => Ok(HunkLine::Added(text.to_owned())),
            // models leave out the space of an empty line
            None if line.is_empty() => Ok(HunkLine::Context(String::new())),
            _ => self.blame("each line of a place begins with a space, `-` or `+`"),
        }
    }

    fn read_unified_diff(&mut self) -> Result<Vec<FilePatch>, String> {
        let mut files = Vec::new();
        while let Some(line) = self.peek() {
            if line.starts_with("diff --git ") {
                files.extend(self.read_git_section()?);
            } else if self.at_file_header() {
                files.push(self.read_headed_file(&GitHeader::default())?);
            } else if line.trim().is_empty() {
                self.next += 1;
            } else {
                return self
                    .blame("expected `*** Begin Patch`, `diff --git` or `--- a/FILE` and `+++ b/FILE`");
            }
        }
        Ok(files)
    }

    fn at_file_header(&self) -> bool {
        let follows =
            |by: usize, mark: &str| self.lines.get(self.next + by).is_some_and(|line| line.starts_with(mark));
        follows(0, "--- ") && follows(1, "+++ ")
    }

    fn read_git_section(&mut self) -> Result<Option<FilePatch>, String> {
        self.next += 1;
        let mut header = GitHeader::default();
        while let Some(line) = self.peek().filter(|line| !line.starts_with("diff --git ")) {
            if self.at_file_header() {
                return self.read_headed_file(&header).map(Some);
            }
            if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
                return self.blame("a patch of a binary file is not understood; use write_file with base64");
            }
            if let Some(from) = line.strip_prefix("rename from ") {
                header.rename_from = Some(from.to_owned());
            } else if let Some(to) = line.strip_prefix("rename to ") {
                header.rename_to = Some(to.to_owned());
            } else if line.starts_with("copy from ") {
                return self.blame("a copy is not understood; use `*** Add File: `");
            }
            self.next += 1;
        }
        match (header.rename_from, header.rename_to) {
            (Some(path), Some(to)) => Ok(Some(FilePatch {
                path,
                operation: FileOperation::Update { move_to: Some(to), hunks: Vec::new() },
            })),
            // a change of mode only
            _ => Ok(None),
        }
    }

    /// From `--- ` on.
    fn read_headed_file(&mut self, header: &GitHeader) -> Result<FilePatch, String> {
        let (before, after) =
            (header_path(self.lines[self.next], "a/"), header_path(self.lines[self.next + 1], "b/"));
        self.next += 2;
        let mut hunks = Vec::new();
        while self.peek().is_some_and(|line| line.starts_with("@@")) {
            hunks.push(self.read_unified_hunk()?);
        }
        if hunks.is_empty() {
            return self.blame("expected `@@ -LINE,COUNT +LINE,COUNT @@`");
        }
        match (before, after) {
            (None, Some(path)) => {
                Ok(FilePatch { path, operation: FileOperation::Add { content: added_content(&hunks) } })
            }
            (Some(path), None) => Ok(FilePatch { path, operation: FileOperation::Delete }),
            (Some(path), Some(after)) => {
                let moved = header.rename_to.clone().or_else(|| (after != path).then_some(after));
                Ok(FilePatch { path, operation: FileOperation::Update { move_to: moved, hunks } })
            }
            (None, None) => self.blame("`/dev/null` stands on both sides"),
        }
    }

    fn read_unified_hunk(&mut self) -> Result<PatchHunk, String> {
        let header = self.peek().unwrap_or_default();
        let line_hint = header_range(header, '-').map(|(start, _)| start);
        let old_lines = header_range(header, '-').map_or(0, |(_, count)| count);
        let mut hunk = PatchHunk { line_hint, patch_line: self.next + 1, ..PatchHunk::default() };
        self.next += 1;
        while let Some(line) = self.peek() {
            // `--- x` may also be a removed `-- x`: the header says how many lines are to come
            let is_next_file = || self.at_file_header() && hunk.old_lines().count() >= old_lines;
            let ends = line.starts_with("@@") || line.starts_with("diff --git ") || is_next_file();
            // an empty line behind the last place belongs to no file
            let rest_is_empty = || self.lines[self.next..].iter().all(|line| line.trim().is_empty());
            if ends || (line.is_empty() && rest_is_empty()) {
                break;
            }
            if line.starts_with("\\ No newline") {
                hunk.no_final_newline =
                    matches!(hunk.lines.last(), Some(HunkLine::Added(_) | HunkLine::Context(_)));
            } else {
                hunk.lines.push(self.hunk_line(line)?);
            }
            self.next += 1;
        }
        self.check_hunk(&hunk)?;
        Ok(hunk)
    }
}

impl PatchHunk {
    /// The lines that the file has at the place now.
    pub(super) fn old_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match line {
            HunkLine::Context(text) | HunkLine::Removed(text) => Some(text.as_str()),
            HunkLine::Added(_) => None,
        })
    }
}

/// First line and number of lines in `@@ -3,2 +4,6 @@`, of the side with this sign.
fn header_range(header: &str, sign: char) -> Option<(usize, usize)> {
    let range = header.split_whitespace().find_map(|word| word.strip_prefix(sign))?;
    let (start, count) = range.split_once(',').unwrap_or((range, "1"));
    Some((start.parse().ok()?, count.parse().ok()?))
}

/// What git says of a file above its `--- ` line.
#[derive(Default)]
struct GitHeader {
    rename_from: Option<String>,
    rename_to: Option<String>,
}

/// `None`: `/dev/null`. A date behind a tab is no part of the name.
fn header_path(line: &str, prefix: &str) -> Option<String> {
    let name = line[4..].split('\t').next().unwrap_or_default().trim();
    let name = name.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(name);
    (name != "/dev/null").then(|| name.strip_prefix(prefix).unwrap_or(name).to_owned())
}

fn added_content(hunks: &[PatchHunk]) -> String {
    let mut content = String::new();
    for hunk in hunks {
        for line in &hunk.lines {
            if let HunkLine::Added(text) = line {
                content.push_str(text);
                content.push('\n');
            }
        }
        if hunk.no_final_newline {
            content.pop();
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read_and_what_is_neither_is_refused() {
        let check = |patch: &str, expected: &str| {
            let told = match parse_patch(patch) {
                Err(problem) => problem,
                Ok(files) => files.iter().map(describe_file).collect::<Vec<_>>().join("; "),
            };
            assert!(told.starts_with(expected), "wanted {expected}\ngot {told}");
        };
        let marked = |inside: &str| format!("*** Begin Patch\n{inside}*** End Patch\n");
        check(&marked("*** Add File: a\n+x\n+\n"), "add a \"x\\n\\n\"");
        check(&marked("*** Delete File: a b\n"), "delete a b");
        check(
            &marked("*** Update File: a\n@@ class A\n@@ def f\n x\n-y\n+z\n\n"),
            "update a [A: class A>def f  x-y+z ]",
        );
        check(
            &marked("*** Update File: a\n-y\n*** End of File\n*** Delete File: b\n"),
            "update a [$-y]; delete b",
        );
        check(&marked("*** Update File: a\n*** Move to: b\n"), "update a -> b []");
        check("--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn\n a\n-b\n+c\n", "update x [3: a-b+c]");
        check("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+c\n\\ No newline at end of file\n", "add x \"c\"");
        check("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n", "delete x");
        check("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", "update x -> y []");
        check("--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- x\n+++ y\n", "update x [1:--- x+++ y]");
        check("", "`patch` is empty");
        check("hello", "line 1 of the patch (`hello`): expected `*** Begin Patch`");
        check("*** Begin Patch\n*** End Patch", "`patch` changes no file");
        check("*** Begin Patch\n*** Delete File: a\n", "line 3 of the patch: the patch ends without");
        check(&marked("*** Add File: a\nx\n"), "line 3 of the patch (`x`): each line of a new file");
        check(&marked("*** Update File: a\n x\n"), "line 3 of the patch: this place changes nothing");
        check(&marked("*** Update File: a\n*x\n"), "line 3 of the patch (`*x`): each line of a place");
        check(&marked("*** Rename File: a\n"), "line 2 of the patch (`*** Rename File: a`): expected");
        check("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "line 2 of the patch (`Binary files");
    }

    fn describe_file(file: &FilePatch) -> String {
        let path = &file.path;
        match &file.operation {
            FileOperation::Add { content } => format!("add {path} {content:?}"),
            FileOperation::Delete => format!("delete {path}"),
            FileOperation::Update { move_to, hunks } => {
                let to = move_to.as_ref().map(|to| format!(" -> {to}")).unwrap_or_default();
                let hunks: String = hunks.iter().map(describe_hunk).collect();
                format!("update {path}{to} [{hunks}]")
            }
        }
    }

    fn describe_hunk(hunk: &PatchHunk) -> String {
        let mut told = String::new();
        if !hunk.anchors.is_empty() {
            told.push_str(&format!("A: {} ", hunk.anchors.join(">")));
        }
        told.push_str(&hunk.line_hint.map(|line| format!("{line}:")).unwrap_or_default());
        told.push_str(if hunk.at_end { "$" } else { "" });
        for line in &hunk.lines {
            told.push_str(&match line {
                HunkLine::Context(text) => format!(" {text}"),
                HunkLine::Removed(text) => format!("-{text}"),
                HunkLine::Added(text) => format!("+{text}"),
            });
        }
        told
    }
}
