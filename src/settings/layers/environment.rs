//! The process environment and the `.env` texts as one map; the process wins.

use std::collections::BTreeMap;

use super::origin::SettingOrigin;
use crate::dotenv::{DotenvAssignment, parse_dotenv};
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::source::{FileDiagnostics, SourceFile};

/// Names with their values and origins. Empty values are left out: `NAME=` means "not set".
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EnvironmentVars {
    entries: BTreeMap<String, (String, SettingOrigin)>,
    /// What names that a project's file sets (or empties) are without it.
    overridden_by_project: BTreeMap<String, Option<(String, SettingOrigin)>>,
}

impl EnvironmentVars {
    /// `dotenv` in any order; project beats user, the process beats both.
    pub fn load(process: &BTreeMap<String, String>, dotenv: &[SourceFile]) -> (Self, Vec<Diagnostic>) {
        let mut entries: BTreeMap<String, (String, SettingOrigin)> = BTreeMap::new();
        let mut without_project = BTreeMap::new();
        let mut diagnostics = Vec::new();
        let mut files: Vec<&SourceFile> = dotenv.iter().collect();
        files.sort_by_key(|file| file.layer);
        for file in files {
            let mut findings = FileDiagnostics::new(file);
            let (assignments, broken) = parse_dotenv(&file.text);
            for span in broken {
                let hint = Some("write NAME=value, or begin the line with #".to_owned());
                findings.add_warning("C08", span, "this line is no assignment and is skipped", hint);
            }
            for DotenvAssignment { name, value, name_range: span, .. } in assignments {
                let origin =
                    SettingOrigin::from_dotenv(&name, file.layer, file.location_at(span.start), span);
                let own = entries.insert(name.clone(), (value, origin));
                if file.layer == ConfigLayer::Project {
                    without_project.entry(name).or_insert(own.filter(|(value, _)| !value.trim().is_empty()));
                }
            }
            diagnostics.append(&mut findings.list);
        }
        for (name, value) in process {
            if !value.trim().is_empty() {
                entries.insert(
                    name.clone(),
                    (value.clone(), SettingOrigin::from_name(ConfigLayer::Environment, name)),
                );
                without_project.remove(name);
            }
        }
        entries.retain(|_, (value, _)| !value.trim().is_empty());
        (Self { entries, overridden_by_project: without_project }, diagnostics)
    }

    pub fn get(&self, name: &str) -> Option<(&str, &SettingOrigin)> {
        self.entries.get(name).map(|(value, origin)| (value.as_str(), origin))
    }

    /// As if the project had no file.
    pub fn user_value(&self, name: &str) -> Option<(&str, &SettingOrigin)> {
        match self.overridden_by_project.get(name) {
            Some(own) => own.as_ref().map(|(value, origin)| (value.as_str(), origin)),
            None => self.get(name),
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotenv_texts_are_read_as_shells_write_them() {
        let text = "# c\nA=1\nexport B = two # no\nC='a # b'\nD=\"x\\n\\\"y\\\" z\"\nE=\n\
                    F=\"two\nlines\"\nnonsense\nG=a#b\nH='open\nI=last";
        let file = SourceFile::new(ConfigLayer::Project, ".env", text);
        let process =
            BTreeMap::from([("A".to_owned(), "process".to_owned()), ("J".to_owned(), String::new())]);
        let (environment, diagnostics) = EnvironmentVars::load(&process, &[file]);
        let rows = [
            ("A", Some("process")),
            ("B", Some("two")),
            ("C", Some("a # b")),
            ("D", Some("x\n\"y\" z")),
            ("E", None),
            ("F", Some("two\nlines")),
            ("G", Some("a#b")),
            ("H", Some("'open")),
            ("I", Some("last")),
            ("J", None),
        ];
        for (name, expected) in rows {
            assert_eq!(environment.get(name).map(|found| found.0), expected, "{name}");
        }
        assert_eq!(diagnostics.len(), 1);
        assert_eq!((diagnostics[0].code.as_str(), diagnostics[0].place.line), ("C08", 9));
    }

    #[test]
    fn the_project_beats_the_user_whatever_the_order() {
        let files = [
            SourceFile::new(ConfigLayer::Project, ".env", "A=project"),
            SourceFile::new(ConfigLayer::User, "~/.env", "A=user\nB=user"),
        ];
        let (environment, _) = EnvironmentVars::load(&BTreeMap::new(), &files);
        assert_eq!(environment.get("A").map(|found| found.0), Some("project"));
        assert_eq!(environment.get("B").map(|found| found.1.to_string()).as_deref(), Some("B (~/.env:2)"));
    }
}
