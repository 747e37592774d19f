//! A replies file that cannot be used.

use std::fmt;

/// What is wrong with a replies file; every problem on its own line, with its place in the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", problem_lines(problems))]
pub struct RepliesFileError {
    pub problems: Vec<RepliesFileProblem>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepliesFileProblem {
    pub value_path: RepliesValuePath,
    pub message: String,
    /// The key of the object at `value_path` that is unknown, and those that are known.
    pub unknown_key: Option<(String, &'static [&'static str])>,
}

/// A value of the file: `replies.coder[2].text`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RepliesValuePath {
    display_path: String,
    /// The same as a JSON pointer, for a caller that knows where in the text that is.
    pub json_pointer: String,
}

impl RepliesValuePath {
    pub(super) fn key(&self, key: &str) -> Self {
        let dot = if self.display_path.is_empty() { "" } else { "." };
        let escaped = key.replace('~', "~0").replace('/', "~1");
        Self {
            display_path: format!("{}{dot}{key}", self.display_path),
            json_pointer: format!("{}/{escaped}", self.json_pointer),
        }
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self {
            display_path: format!("{}[{index}]", self.display_path),
            json_pointer: format!("{}/{index}", self.json_pointer),
        }
    }

    pub(super) fn problem_at(&self, message: impl Into<String>) -> RepliesFileProblem {
        RepliesFileProblem { value_path: self.clone(), message: message.into(), unknown_key: None }
    }

    pub(super) fn unknown_key_problem(
        &self,
        key: &str,
        known: &'static [&'static str],
    ) -> RepliesFileProblem {
        let message = format!("unknown key `{key}` (known: {})", known.join(", "));
        RepliesFileProblem { value_path: self.clone(), message, unknown_key: Some((key.to_owned(), known)) }
    }
}

impl fmt::Display for RepliesFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.value_path.display_path, self.message)
    }
}

fn problem_lines(problems: &[RepliesFileProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(RepliesFileProblem::to_string).collect();
    lines.join("\n")
}
