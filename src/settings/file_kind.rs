//! Whether a JSON file is one of ours, by its content and its path, or belongs to another program.
//!
//! `check DIRECTORY` meets every file of a project. Files of other programs are not judged. A file in one of our own
//! directories is always ours, however broken it is.

use super::role_file;
use crate::layers::rules::RULES;
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_language::did_you_mean::closest_word;
use synthdev_language::json::JsonNode;
use synthdev_language::source::{FileDiagnostics, SourceFile};
use synthdev_language::test_file;
use synthdev_language::test_file::ENDING;
use synthdev_language::workflow_file::workflow_nodes;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    Workflow,
    Roles,
    Settings,
    Models,
    /// A tool that the user or the project defines.
    OwnTool,
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
    /// `None`: neither path nor content identifies one of ours.
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

    /// The one finding of a file that was given as a workflow and is clearly none. `None`: it is to be judged as one, also
    /// where it lacks what a workflow needs, and so is a text that is no JSON.
    pub fn reject_as_workflow(file: &SourceFile) -> Option<Diagnostic> {
        let place = Self::by_place(&file.name);
        if place == Some(Self::Workflow) {
            return None;
        }
        let root = JsonNode::parse(file, &mut FileDiagnostics::new(file))?;
        if workflow_nodes(&root).any(resembles_workflow) {
            return None;
        }
        let what = match place.or_else(|| Self::by_content(&file.name, &root)) {
            Some(Self::Settings) => "it holds settings",
            Some(Self::Models) => "it holds providers and their models",
            Some(Self::Roles) => "it holds roles",
            Some(Self::OwnTool) => "it defines a tool",
            Some(Self::Test) => "it holds tests of a workflow",
            Some(Self::Workflow) | None => "it has neither `workflow_name` nor `states` nor `steps`",
        };
        let mut findings = FileDiagnostics::new(file);
        let hint = "name a file that holds one workflow object, or an array of them; `synthdev workflows` lists the \
            workflows, and `synthdev new` writes one to begin with";
        findings.add_error(
            "E10",
            0..0,
            format!("this file is not a workflow: {what}"),
            Some(hint.to_owned()),
        );
        findings.list.pop()
    }

    /// Whether a file of this name is ours, whatever is in it.
    pub fn is_ours(name: &str) -> bool {
        Self::by_place(name).is_some()
    }

    fn by_place(name: &str) -> Option<Self> {
        if name.replace('\\', "/").contains(".synthdev/tools/") {
            return Some(Self::OwnTool);
        }
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

/// Whether it has a key of a workflow, or one that is meant to be one.
fn resembles_workflow(node: &JsonNode) -> bool {
    let meant = |key: &str, value: &JsonNode| {
        let known = ["workflow_name"].into_iter().chain(OF_WORKFLOW);
        closest_word(key, known).is_some_and(|known| match known {
            "workflow_name" | "script_file" => value.as_str().is_some(),
            _ => value.items().is_some() || value.members().is_some(),
        })
    };
    node.members().into_iter().flatten().any(|member| meant(&member.key, &member.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::source_location::ConfigLayer;

    #[test]
    fn kinds_are_told_by_content_and_place() {
        use FileKind::{Models, OwnTool, Roles, Settings, Test, Workflow};
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
            ("x/.synthdev/tools/a.json", "{", Some(OwnTool)),
            ("tools/a.json", r#"{"description": "x"}"#, None),
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

    #[test]
    fn what_is_clearly_no_workflow_is_said_to_be_none() {
        let rows = [
            (
                "package.json",
                r#"{"name": "x", "version": "1", "scripts": {"test": "x"}}"#,
                Some("has neither"),
            ),
            (
                "tsconfig.json",
                r#"{"compilerOptions": {"strict": true}, "files": ["a.ts"]}"#,
                Some("has neither"),
            ),
            ("answer.json", r#"{"status": "ok", "state": 1}"#, Some("has neither")),
            ("list.json", "[1, 2]", Some("has neither")),
            ("empty.json", "{}", Some("has neither")),
            ("none.json", "[]", Some("has neither")),
            ("word.json", "\"x\"", Some("has neither")),
            ("team.json", r#"{"cook": {"systemMessage": "x"}}"#, Some("it holds roles")),
            ("a.json", r#"{"providers": {"x": {"models": {}}}}"#, Some("it holds providers")),
            (".synthdev/settings.json", r#"{"verbosity": 1}"#, Some("it holds settings")),
            ("a.test.json", r#"{"tests": []}"#, Some("it holds tests")),
            // a workflow that lacks something, or has it misspelt, is judged as one
            ("a.json", r#"{"workflow_name": "w"}"#, None),
            ("a.json", r#"{"states": []}"#, None),
            ("a.json", r#"{"workflow_nam": "w"}"#, None),
            ("a.json", r#"[1, {"state": [{"name": "start"}]}]"#, None),
            (".synthdev/workflows/a.json", "{}", None),
            ("broken.json", "{", None),
        ];
        for (name, text, expected) in rows {
            let file = SourceFile::new(ConfigLayer::CommandLine, name, text);
            let found = FileKind::reject_as_workflow(&file);
            let message = found.as_ref().map(|found| found.message.as_str());
            match expected {
                Some(part) => assert!(message.is_some_and(|text| text.contains(part)), "{name}: {message:?}"),
                None => assert_eq!(message, None, "{name}: {text}"),
            }
        }
    }
}
