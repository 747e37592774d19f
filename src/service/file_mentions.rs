//! Files that a text names with `@`, typed by hand: the text names them as the completion inserts them.
//!
//! Owns what counts as a name. Refuses to read a file, and to decide whether one exists: the caller knows the project.

use synthdev_domain::image_reference::is_image_name;

/// What stands before a name in a word, and behind it.
const OPENING: [char; 7] = ['(', '[', '{', '"', '\'', '`', '<'];
const CLOSING: [char; 13] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '`', '>'];
/// The longest ending of a name without a directory that is taken for a file's: longer ones are decorators
/// (`@app.route`).
const LONGEST_ENDING: usize = 4;

/// A text whose mentions are resolved.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileMentionText {
    pub text: String,
    /// Names that look like paths, and of which the project has no file.
    pub missing: Vec<String>,
}

/// A path as a word names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MentionedPath<'t> {
    path: &'t str,
    /// It leads out of the project, whatever is there.
    is_outside: bool,
}

/// Whether a word of the text may name a file.
pub fn may_mention_files(text: &str) -> bool {
    split_words(text).any(|word| mentioned_path(word.trim_end()).is_some())
}

/// Each `@PATH` that exists becomes the path, which is what tools take; an image keeps its sign, which brings it into
/// the message. Everything else stays as it is.
pub fn resolve_file_mentions(text: &str, exists: impl Fn(&str) -> bool) -> FileMentionText {
    let mut found = FileMentionText::default();
    for word in split_words(text) {
        match mentioned_path(word.trim_end()) {
            Some(MentionedPath { path, is_outside: false }) if exists(path) => {
                let kept = if is_image_name(path) { word.to_owned() } else { word.replacen('@', "", 1) };
                found.text.push_str(&kept.replacen("file:", "", usize::from(word.contains("@file:"))));
            }
            Some(MentionedPath { path, .. }) => {
                if looks_like_path(path) && !found.missing.iter().any(|known| known == path) {
                    found.missing.push(path.to_owned());
                }
                found.text.push_str(word);
            }
            None => found.text.push_str(word),
        }
    }
    found
}

/// The words of a text with what separates them; `@"two words.md"` is one.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let from = quoted_length(rest).unwrap_or(0);
        let gap = rest[from..].char_indices().find(|(_, c)| c.is_whitespace());
        let (word, behind) = rest.split_at(gap.map_or(rest.len(), |(at, c)| from + at + c.len_utf8()));
        rest = behind;
        (!word.is_empty()).then_some(word)
    })
}

/// Bytes up to the end of the name in quotes that the text begins with.
fn quoted_length(text: &str) -> Option<usize> {
    let quoted = text.trim_start_matches(OPENING).strip_prefix("@\"")?;
    let line = quoted.lines().next().unwrap_or_default();
    line.find('"').map(|end| text.len() - quoted.len() + end + 1)
}

/// The path of `@PATH`, `@"PATH"`, `@file:PATH` or `@PATH:LINE`, without what stands around it.
fn mentioned_path(word: &str) -> Option<MentionedPath<'_>> {
    let word = word.trim_start_matches(OPENING).strip_prefix('@')?;
    let word = word.strip_prefix("file:").unwrap_or(word).trim_start_matches('"').trim_end_matches(CLOSING);
    let (path, rest) = word.split_once(':').unwrap_or((word, ""));
    let is_line = rest.chars().all(|c| c.is_ascii_digit() || c == ':');
    let is_outside = path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
    (is_line && !path.is_empty()).then_some(MentionedPath { path, is_outside })
}

/// `src/a`, `a.md`, `.env`: with another word a person means something else, such as a name or a decorator.
fn looks_like_path(path: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~' | ' ');
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let has_ending = (1..=LONGEST_ENDING).contains(&ending.chars().count());
    path.chars().all(plain) && path.contains(char::is_alphanumeric) && (path.contains('/') || has_ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_is_named_as_tools_take_it() {
        let files = ["src/main.rs", "Makefile", "shot.png", "docs", "docs/my file.md", "two words.png"];
        let check = |text: &str, expected: &str, missing: &[&str]| {
            assert!(may_mention_files(text), "{text}");
            let found = resolve_file_mentions(text, |path| files.contains(&path.trim_end_matches('/')));
            assert_eq!(
                (found.text.as_str(), found.missing),
                (expected, missing.iter().map(|one| (*one).to_owned()).collect()),
                "{text}"
            );
        };
        check("read @src/main.rs, please", "read src/main.rs, please", &[]);
        check("(@src/main.rs:12)\n@Makefile", "(src/main.rs:12)\nMakefile", &[]);
        check("all of @docs/", "all of docs/", &[]);
        check("@file:src/main.rs", "src/main.rs", &[]);
        check("see @shot.png", "see @shot.png", &[]);
        check("@src/nope.rs and @src/nope.rs!", "@src/nope.rs and @src/nope.rs!", &["src/nope.rs"]);
        check("(@\"docs/my file.md\"), @src/main.rs", "(\"docs/my file.md\"), src/main.rs", &[]);
        check("see @\"two words.png\"", "see @\"two words.png\"", &[]);
        check("@\"docs/no file.md\" and", "@\"docs/no file.md\" and", &["docs/no file.md"]);
        check("use @property, @app.route and @alice", "use @property, @app.route and @alice", &[]);
        // what looks like a path is told, also where it leads out of the project
        check("@src/nope, @.env", "@src/nope, @.env", &["src/nope", ".env"]);
        for outside in ["/etc/passwd", "../src/main.rs", "~/main.rs"] {
            check(&format!("@{outside}"), &format!("@{outside}"), &[outside]);
        }
    }

    #[test]
    fn other_words_name_no_file() {
        for text in ["me@main.rs", "plain", "@", "@docs:note://one", "@role:coder"] {
            assert!(!may_mention_files(text), "{text}");
        }
    }
}
