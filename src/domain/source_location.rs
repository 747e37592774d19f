//! A position in a source file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A position that an editor can jump to. Lines and columns count from 1, columns in characters.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SourceLocation {
    /// As shown to the user: relative to the project where possible, `built-in:NAME` for shipped files.
    pub file: String,
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Which layer a definition or value came from, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigLayer {
    #[default]
    BuiltIn,
    User,
    Project,
    Environment,
    CommandLine,
}

impl fmt::Display for ConfigLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
            Self::CommandLine => "command line",
        })
    }
}
