//! A file of replies: a test file with one test, played on a workflow that is named beside it.
//!
//! Owns which files can be played so, for `simulate` of the command line and of the screen. Refuses recordings and files
//! with several tests: those are played as tests.

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_language::render::compact_line;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file::{TestScenario, parse_test_file};

/// Why a file of replies is not played.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ReplyScriptError {
    #[error("{}", .0.iter().map(compact_line).collect::<Vec<_>>().join("\n"))]
    Unusable(Vec<Diagnostic>),
    #[error("{} holds no test", escape_name(.0))]
    WithoutTest(String),
    #[error("{} holds {count} tests", escape_name(.file))]
    SeveralTests { file: String, count: usize },
    #[error("{} names a cassette: it is played as a test", escape_name(.0))]
    Recorded(String),
}

impl ReplyScriptError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unusable(_) | Self::WithoutTest(_) => None,
            Self::SeveralTests { file, .. } | Self::Recorded(file) => {
                Some(format!("synthdev test {}", escape_name(file)))
            }
        }
    }
}

/// Its only test.
///
/// # Errors
/// It has errors, no test or several, or it names a recording.
pub fn only_scenario(file: &SourceFile) -> Result<TestScenario, ReplyScriptError> {
    let (mut tests, found) = parse_test_file(file);
    if found.iter().any(|finding| finding.severity == DiagnosticSeverity::Error) {
        return Err(ReplyScriptError::Unusable(found));
    }
    let name = || file.name.clone();
    match (tests.pop(), tests.len()) {
        (Some(test), 0) if test.cassette.is_some() => Err(ReplyScriptError::Recorded(name())),
        (Some(test), 0) => Ok(test),
        (None, _) => Err(ReplyScriptError::WithoutTest(name())),
        (Some(_), more) => Err(ReplyScriptError::SeveralTests { file: name(), count: more + 1 }),
    }
}
