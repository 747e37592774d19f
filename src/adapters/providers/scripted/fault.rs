//! A replies file that cannot be used.

/// What is wrong with a replies file; every problem on its own line, with its place in the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", problems.join("\n"))]
pub struct BadScript {
    pub problems: Vec<String>,
}
