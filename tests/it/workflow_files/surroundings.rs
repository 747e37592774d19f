//! Roles, models and tools for loading workflows in tests.

use serde_json::{Value, json};
use synthdev::domain::diagnostic::Diagnostic;
use synthdev::domain::model::ModelChoice;
use synthdev::domain::role::Role;
use synthdev::domain::tool::{ParsingTool, ToolRisk, ToolSpec};
use synthdev::domain::workflow::WorkflowProgram;
use synthdev::language::lower::{LinkContext, lower_workflow};
use synthdev::language::model_selector::ModelSelector;
use synthdev::language::source::SourceFile;

pub(super) struct World {
    files: Vec<SourceFile>,
    tools: Vec<ToolSpec>,
    texts: Vec<SourceFile>,
}

impl World {
    pub(super) fn new(files: Vec<SourceFile>) -> Self {
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            risk: ToolRisk::Read,
            repeat: None,
        };
        Self { files, tools: vec![tool("read_file"), tool("edit_file")], texts: Vec::new() }
    }

    /// With text files beside the workflow files.
    pub(super) fn with_texts(self, texts: Vec<SourceFile>) -> Self {
        Self { texts, ..self }
    }

    pub(super) fn lower_workflow(
        &self,
        root: &str,
    ) -> Result<(WorkflowProgram, Vec<Diagnostic>), Vec<Diagnostic>> {
        self.with_context(|surroundings| lower_workflow(root, surroundings))
    }

    pub(super) fn with_context<T>(&self, run: impl FnOnce(&LinkContext<'_>) -> T) -> T {
        let choice = |wish: &ModelSelector| match wish.level.as_str() {
            "none" => Err(("no model is set for the level `none`".to_owned(), None)),
            _ if wish.provider.as_deref() == Some("keyless") => {
                Err(("provider keyless: no key is set".to_owned(), Some("set KEYLESS_API_KEY".to_owned())))
            }
            level => {
                Ok(ModelChoice { level: level.to_owned(), model: "m".to_owned(), ..ModelChoice::default() })
            }
        };
        run(&LinkContext {
            files: &self.files,
            unreadable_rival: &|_| None,
            role: &role,
            choice: &choice,
            stated_model: None,
            role_names: &[],
            agent_limits: Default::default(),
            tools: &self.tools,
            mcp_servers: &["git".to_owned()],
            resolve_role_tools: &tools_for,
            text: &|file: &SourceFile, path: &str| {
                let name = synthdev::language::companion_files::companion_path(file, path)?;
                Ok(self.texts.iter().find(|text| text.name == name).cloned())
            },
        })
    }
}

fn role(name: &str) -> Result<Role, (String, Option<String>)> {
    let known = [
        "coder",
        "reviewer",
        "architect",
        "product_manager",
        "general",
        "test_writer",
        "modelless",
        "typo",
        "judge",
        "clerk",
    ];
    if !known.contains(&name) {
        return Err((format!("there is no role `{name}`"), Some(format!("known: {}", known.join(", ")))));
    }
    let parsing_tools = match name {
        "reviewer" => vec![decision(
            "review_work",
            json!({
                "improvement_needed": {"type": "boolean"},
                "continue_message": {"type": "string"},
                "work_summary": {"type": "string"}
            }),
            "improvement_needed",
        )],
        "product_manager" => vec![decision(
            "task_approval",
            json!({"approved": {"type": "boolean"}, "feedback": {"type": "string"}}),
            "approved",
        )],
        "clerk" => vec![verdict()],
        "judge" => vec![
            verdict(),
            decision("ask", json!({"question": {"type": "string"}, "urgent": {"type": "boolean"}}), "urgent"),
        ],
        _ => Vec::new(),
    };
    Ok(Role {
        name: name.to_owned(),
        level: if name == "modelless" { "none" } else { "base" }.to_owned(),
        system_message: format!("You are {name}."),
        reminder: Some(format!("Remember, {name}.")),
        excluded_tools: (name == "typo").then(|| vec!["edit_fiel".to_owned()]),
        parsing_tools,
        ..Role::default()
    })
}

/// A decision with a value of every kind.
fn verdict() -> ParsingTool {
    let step = json!({"type": "object", "required": ["title"],
        "properties": {"title": {"type": "string"}, "done": {"type": "boolean"}}});
    ParsingTool {
        name: "verdict".to_owned(),
        description: String::new(),
        parameters: json!({
            "type": "object",
            "required": ["severity", "ready", "score", "plan"],
            "properties": {
                "severity": {"type": "string", "enum": ["low", "medium", "high"]},
                "ready": {"type": "boolean"},
                "score": {"type": "integer"},
                "note": {"type": "string"},
                "mood": {"enum": ["good", "bad"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "plan": {"type": "object", "properties": {
                    "steps": {"type": "array", "items": step}, "owner": {"type": ["string", "null"]}}},
                "free": {"anyOf": [{"type": "string"}, {"type": "object"}]}
            }
        }),
        parsing_only: false,
    }
}

fn decision(name: &str, properties: Value, required: &str) -> ParsingTool {
    ParsingTool {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": properties, "required": [required]}),
        parsing_only: false,
    }
}

fn tools_for(role: &Role, tools: &[ToolSpec]) -> (Vec<ToolSpec>, Vec<String>) {
    let excluded = role.excluded_tools.clone().unwrap_or_default();
    let unmatched = excluded.iter().filter(|name| tools.iter().all(|tool| tool.name != **name)).cloned();
    (tools.iter().filter(|tool| !excluded.contains(&tool.name)).cloned().collect(), unmatched.collect())
}
