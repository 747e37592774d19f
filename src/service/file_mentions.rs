//! Files that a text names with `@`, typed by hand: the text names them as the completion inserts them.
//!
//! Owns what counts as a name. Refuses to read a file, and to decide whether one exists: the caller knows the project.

use synthdev_domain::image_reference::is_image_name;

/// What stands before a name in a word, and behind it.
const OPENING: [char; 7] = ['(', '[', '{', '"', '\'', '`', '<'];
const CLOSING: [char; 13] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '`', '>'];
/// The longest ending of a name that is taken for a file's.
const LONGEST_ENDING: usize = 4;

/// A text whose mentions are resolved.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileMentionText {
    pub text: String,
    /// Names that look like files of the project, and are none.
    pub missing: Vec<String>,
}

/// Whether a word of the text may name a file.
pub fn may_mention_files(text: &str) -> bool {
    text.split_whitespace().any(|word| mentioned_path(word).is_some())
}

/// Each `@PATH` that exists becomes the path, which is what tools take; an image keeps its sign, which brings it into
/// the message. Everything else stays as it is.
pub fn resolve_file_mentions(text: &str, exists: impl Fn(&str) -> bool) -> FileMentionText {
    let mut found = FileMentionText::default();
    for word in text.split_inclusive(char::is_whitespace) {
        match mentioned_path(word.trim_end()) {
            Some(path) if exists(path) => {
                let kept = if is_image_name(path) { word.to_owned() } else { word.replacen('@', "", 1) };
                found.text.push_str(&kept.replacen("file:", "", usize::from(word.contains("@file:"))));
            }
            Some(path) => {
                if looks_like_file(path) && !found.missing.iter().any(|known| known == path) {
                    found.missing.push(path.to_owned());
                }
                found.text.push_str(word);
            }
            None => found.text.push_str(word),
        }
    }
    found
}

/// The path of `@PATH`, `@file:PATH` or `@PATH:LINE`, without what stands around it.
fn mentioned_path(word: &str) -> Option<&str> {
    let word = word.trim_start_matches(OPENING).strip_prefix('@')?;
    let word = word.strip_prefix("file:").unwrap_or(word).trim_end_matches(CLOSING);
    let (path, rest) = word.split_once(':').unwrap_or((word, ""));
    let is_line = rest.chars().all(|c| c.is_ascii_digit() || c == ':');
    let is_plain = !path.is_empty() && !path.starts_with('/') && path.split('/').all(|part| part != "..");
    (is_line && is_plain).then_some(path)
}

/// `src/a.rs`, `a.md`: with another word a person means something else, such as a decorator or a package.
fn looks_like_file(path: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or("", |(_, ending)| ending);
    path.chars().all(plain) && (1..=LONGEST_ENDING).contains(&ending.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_is_named_as_tools_take_it() {
        let files = ["src/main.rs", "Makefile", "shot.png", "docs"];
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
        check("use @property and @types/node", "use @property and @types/node", &[]);
    }

    #[test]
    fn other_words_name_no_file() {
        for text in
            ["me@main.rs", "plain", "@", "@/etc/passwd", "@../up.rs", "@docs:note://one", "@role:coder"]
        {
            assert!(!may_mention_files(text), "{text}");
        }
    }
}
