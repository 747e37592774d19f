//! A replies file that cannot be used.

use std::fmt;

/// What is wrong with a replies file; every problem on its own line, with its place in the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", lines(problems))]
pub struct RepliesFileError {
    pub problems: Vec<RepliesFileProblem>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepliesFileProblem {
    pub spot: RepliesValuePath,
    pub message: String,
    /// The key of the object at `spot` that is unknown, and those that are known.
    pub unknown: Option<(String, &'static [&'static str])>,
}

/// A value of the file: `replies.coder[2].text`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RepliesValuePath {
    shown: String,
    /// The same as a JSON pointer, for whoever knows where in the text that is.
    pub pointer: String,
}

impl RepliesValuePath {
    pub(super) fn key(&self, key: &str) -> Self {
        let dot = if self.shown.is_empty() { "" } else { "." };
        let escaped = key.replace('~', "~0").replace('/', "~1");
        Self { shown: format!("{}{dot}{key}", self.shown), pointer: format!("{}/{escaped}", self.pointer) }
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self { shown: format!("{}[{index}]", self.shown), pointer: format!("{}/{index}", self.pointer) }
    }

    pub(super) fn problem(&self, message: impl Into<String>) -> RepliesFileProblem {
        RepliesFileProblem { spot: self.clone(), message: message.into(), unknown: None }
    }

    pub(super) fn unknown(&self, key: &str, known: &'static [&'static str]) -> RepliesFileProblem {
        let message = format!("unknown key `{key}` (known: {})", known.join(", "));
        RepliesFileProblem { spot: self.clone(), message, unknown: Some((key.to_owned(), known)) }
    }
}

impl fmt::Display for RepliesFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.spot.shown, self.message)
    }
}

fn lines(problems: &[RepliesFileProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(RepliesFileProblem::to_string).collect();
    lines.join("\n")
}
