//! What a workflow file means to define that cannot be read: its names are taken from the text, so that a definition of a
//! lower layer does not silently take their place.

use super::{WorkflowHead, read_heads};
use crate::source::SourceFile;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};

const NAME_KEY: &str = "\"workflow_name\"";

/// A file of which no workflow can be read.
#[derive(Clone, PartialEq, Debug)]
pub struct UnreadableFile {
    /// The names that stand in its text, else the name of the file.
    pub names: Vec<String>,
    /// The error that is in the way.
    pub error: Diagnostic,
}

impl UnreadableFile {
    /// `None`: a workflow of the file can be read, or it holds none without an error.
    pub fn find_in(file: &SourceFile) -> Option<Self> {
        let (heads, found) = read_heads(file);
        Self::from_heads(file, &heads, &found)
    }

    /// The same for a file whose heads were read already.
    pub fn from_heads(file: &SourceFile, heads: &[WorkflowHead], found: &[Diagnostic]) -> Option<Self> {
        if !heads.is_empty() {
            return None;
        }
        let error = found.iter().find(|finding| finding.severity == DiagnosticSeverity::Error)?.clone();
        let mut names = written_names(&file.text);
        if names.is_empty() {
            names.push(file_stem(&file.name).to_owned());
        }
        Some(Self { names, error })
    }
}

/// The names of the workflows of a file, also of one that cannot be read.
pub fn meant_names(file: &SourceFile) -> Vec<String> {
    match UnreadableFile::find_in(file) {
        Some(unreadable) => unreadable.names,
        None => read_heads(file).0.into_iter().map(|head| head.name).collect(),
    }
}

/// `user:workflows/plan.json`: `plan`.
fn file_stem(name: &str) -> &str {
    let last = name.rsplit(['/', ':']).next().unwrap_or(name);
    last.strip_suffix(".json").unwrap_or(last)
}

fn written_names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for rest in text.split(NAME_KEY).skip(1) {
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
        let quoted = value.and_then(|value| value.strip_prefix('"')).and_then(|value| value.split_once('"'));
        let Some((name, _)) = quoted.filter(|(name, _)| !name.is_empty() && !name.contains('\n')) else {
            continue;
        };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::source_location::ConfigLayer;

    #[test]
    fn an_unreadable_file_keeps_its_names() {
        let check = |text: &str, expected: Option<&[&str]>| {
            let file = SourceFile::new(ConfigLayer::Project, ".synthdev/workflows/plan.json", text);
            let found = UnreadableFile::find_in(&file).map(|found| found.names);
            assert_eq!(
                found,
                expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
                "{text}"
            );
        };
        check(r#"{"workflow_name": "other", "states": ["#, Some(&["other"]));
        check(
            r#"[{"workflow_name": "a",}, {"workflow_name" : "b"}, {"workflow_name": "a" "#,
            Some(&["a", "b"]),
        );
        check(r#"{"workflow_nam": "other"}"#, Some(&["plan"]));
        check(r#"{"workflow_name": 7}"#, Some(&["plan"]));
        check("{\"workflow_name\": \"cut\n", Some(&["plan"]));
        check("", Some(&["plan"]));
        // nothing is wrong, or a workflow of it can be read
        check("[]", None);
        check(r#"{"workflow_name": "other", "states": 5}"#, None);
    }
}
