//! What a JSON file is: one of ours, told by its content and its place, or of another program.
//!
//! `check DIRECTORY` meets every file of a project. What is not ours is not judged. A file in one of our own directories
//! is always ours, however broken it is.

use super::json::JsonNode;
use super::role_file;
use super::settings::rules::RULES;
use super::source::{FileDiagnostics, SourceFile};
use super::test_file::{self, ENDING};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    Workflow,
    Roles,
    Settings,
    Models,
    Test,
}

/// Directories whose files are ours.
const OURS: [&str; 3] = [".synthdev", "workflows", "roles"];
/// Keys of which a workflow has at least two, if it lacks its name.
const OF_WORKFLOW: [&str; 8] =
    ["states", "steps", "contexts", "agents", "variables", "limits", "start_condition", "script_file"];
/// Words without which a text is none of ours, for files that cannot be read as JSON.
const MARKS: [&str; 4] =
    ["\"workflow_name\"", "\"systemMessage\"", "\"system_message\"", "\"includedTools\""];

impl FileKind {
    /// `None`: nothing speaks for one of ours.
    pub fn from_file(file: &SourceFile) -> Option<Self> {
        if let Some(kind) = Self::by_place(&file.name) {
            return Some(kind);
        }
        let mut findings = FileDiagnostics::new(file);
        match JsonNode::parse(file, &mut findings) {
            Some(root) => Self::by_content(&file.name, &root),
            None => MARKS.iter().any(|mark| file.text.contains(mark)).then_some(Self::Workflow),
        }
    }

    /// Whether a file of this name is ours, whatever is in it.
    pub fn is_ours(name: &str) -> bool {
        Self::by_place(name).is_some()
    }

    fn by_place(name: &str) -> Option<Self> {
        let mut parts = name.rsplit(['/', '\\']);
        let own = parts.next().unwrap_or_default();
        let nearest = parts.find(|part| OURS.contains(part))?;
        match (nearest, own) {
            (".synthdev", "settings.json" | "keys.json") => Some(Self::Settings),
            (".synthdev", "models.json") => Some(Self::Models),
            ("workflows", _) if own.ends_with(ENDING) => Some(Self::Test),
            ("workflows", _) if name.contains(".synthdev") => Some(Self::Workflow),
            ("roles", _) if name.contains(".synthdev") => Some(Self::Roles),
            _ => None,
        }
    }

    fn by_content(name: &str, root: &JsonNode) -> Option<Self> {
        if let Some(items) = root.items() {
            return items.iter().any(is_workflow).then_some(Self::Workflow);
        }
        let members = root.members()?;
        let has = |key: &str| root.get(key).is_some();
        if name.ends_with(ENDING) {
            let of_tests = |key: &&str| has(key);
            let known = test_file::VOCABULARY.iter().filter(|(kind, _)| ["file", "test"].contains(kind));
            return known.flat_map(|(_, keys)| keys.iter()).any(of_tests).then_some(Self::Test);
        }
        if is_workflow(root) {
            return Some(Self::Workflow);
        }
        if root.get("providers").and_then(JsonNode::members).is_some_and(|all| {
            all.iter()
                .any(|one| ["models", "base_url", "key_env"].iter().any(|key| one.value.get(key).is_some()))
        }) {
            return Some(Self::Models);
        }
        let is_role = |node: &JsonNode| role_file::DISTINCTIVE.iter().any(|key| node.get(key).is_some());
        if members.iter().any(|one| is_role(&one.value)) {
            return Some(Self::Roles);
        }
        let keys = members.iter().map(|one| one.key.as_str()).filter(|key| *key != "$schema");
        let known = |key: &str| RULES.iter().any(|rule| rule.path.split('.').next() == Some(key));
        let mut keys = keys.peekable();
        (keys.peek().is_some() && keys.all(known)).then_some(Self::Settings)
    }
}

fn is_workflow(node: &JsonNode) -> bool {
    let known = OF_WORKFLOW.iter().filter(|key| node.get(key).is_some()).count();
    node.get("workflow_name").is_some() || known >= 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::source_location::ConfigLayer;

    #[test]
    fn kinds_are_told_by_content_and_place() {
        use FileKind::{Models, Roles, Settings, Test, Workflow};
        let rows = [
            ("a.json", r#"{"workflow_name": "w"}"#, Some(Workflow)),
            ("a.json", r#"[{"x": 1}, {"workflow_name": "w"}]"#, Some(Workflow)),
            ("a.json", r#"{"workflow_nam": "w", "states": [], "agents": []}"#, Some(Workflow)),
            ("a.json", r#"{"workflow_name": "w",,}"#, Some(Workflow)),
            ("team.json", r#"{"cook": {"systemMessage": "x"}}"#, Some(Roles)),
            ("a.json", r#"{"levels": {"base": {"provider": "x"}}}"#, Some(Settings)),
            ("a.json", r#"{"providers": {"x": {"models": {}}}}"#, Some(Models)),
            ("a.test.json", r#"{"tests": []}"#, Some(Test)),
            (".synthdev/settings.json", "{", Some(Settings)),
            (".synthdev/roles/deep/a.json", "[]", Some(Roles)),
            ("x/.synthdev/workflows/a.json", "", Some(Workflow)),
            ("package.json", r#"{"name": "x", "scripts": {"test": "x"}, "dependencies": {}}"#, None),
            ("tsconfig.json", "{ // why\n \"compilerOptions\": {\"strict\": true,}, }", None),
            (".vscode/settings.json", r#"{"editor.tabSize": 2}"#, None),
            ("state.json", r#"{"states": ["a"]}"#, None),
            ("a.test.json", r#"{"snapshot": 1}"#, None),
            ("list.json", "[1, 2]", None),
            ("empty.json", "{}", None),
            ("broken.json", "{", None),
        ];
        for (name, text, expected) in rows {
            let file = SourceFile::new(ConfigLayer::CommandLine, name, text);
            assert_eq!(FileKind::from_file(&file), expected, "{name}: {text}");
        }
    }
}
