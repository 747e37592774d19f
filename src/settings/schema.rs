//! JSON Schemas of the files that users write, so that an editor completes and checks them while they type.
//!
//! A schema is made of declarations of keys: those of workflow files stand beside their readers, those of other files here,
//! and a test fails where these differ from what is read. Owns no rule of its own: what a schema cannot say (names that
//! must exist, scripts) is for `check`.

mod models;
mod own_tool;
mod replies;
mod role;
mod settings;
mod shape;
mod test_file;
mod workflow;

use serde_json::{Map, Value, json};

use shape::SchemaDefinition;

/// The kinds of files that have a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileSchema {
    Workflow,
    Role,
    Settings,
    Models,
    Replies,
    Test,
    Tool,
}

impl FileSchema {
    pub const ALL: [Self; 7] =
        [Self::Workflow, Self::Role, Self::Settings, Self::Models, Self::Replies, Self::Test, Self::Tool];

    /// As it is called on the command line; its file is `NAME.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Role => "role",
            Self::Settings => "settings",
            Self::Models => "models",
            Self::Replies => "replies",
            Self::Test => "test",
            Self::Tool => "tool",
        }
    }

    /// What such a file is, in a line.
    pub fn description(self) -> &'static str {
        match self {
            Self::Workflow => {
                "A workflow of synthdev, or a list of workflows: agents, and the states they go through."
            }
            Self::Role => "Roles of synthdev, by name: prompt, level, tools.",
            Self::Settings => "Settings of synthdev: settings.json of a user or a project.",
            Self::Models => "Providers, models and prices: models.json of a user or a project.",
            Self::Replies => "What a scripted model answers: synthdev run --replies, simulate.",
            Self::Test => "Tests of a workflow: NAME.test.json beside it.",
            Self::Tool => "A tool for agents: tools/NAME.json of a user or a project.",
        }
    }

    /// The schema, JSON Schema draft 2020-12.
    pub fn value(self) -> Value {
        let root = match self {
            Self::Workflow => one_or_list("workflow"),
            Self::Role => role::role_file_root(),
            Self::Settings => settings::settings_root(),
            Self::Models => models::models_file_root(),
            Self::Replies => json!({"$ref": "#/$defs/replies"}),
            Self::Test => test_file::test_file_root(),
            Self::Tool => own_tool::own_tool_root(),
        };
        let mut schema = Map::new();
        schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        schema.insert("title".to_owned(), format!("synthdev {}", self.name()).into());
        schema.insert("description".to_owned(), self.description().into());
        schema.extend(root.as_object().cloned().unwrap_or_default());
        let defs = shape::needed_definitions(&root, &self.definitions());
        if !defs.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(defs));
        }
        Value::Object(schema)
    }

    /// Everything that it may refer to.
    fn definitions(self) -> Vec<SchemaDefinition> {
        match self {
            Self::Workflow => workflow::workflow_definitions(),
            Self::Role => role::role_definitions(),
            Self::Settings | Self::Models | Self::Tool => Vec::new(),
            Self::Replies => replies::replies_definitions(),
            Self::Test => test_file::test_file_definitions(),
        }
    }

    /// The schema as it is stored: indented, with a newline at its end.
    pub fn text(self) -> String {
        // a value without other keys than text: writing it cannot fail
        serde_json::to_string_pretty(&self.value()).unwrap_or_default() + "\n"
    }
}

/// One object, or a list of them. `if` instead of `anyOf`, so that editors report errors inside the object.
fn one_or_list(name: &str) -> Value {
    let one = json!({"$ref": format!("#/$defs/{name}")});
    json!({"if": {"type": "array"}, "then": {"items": one}, "else": one})
}

#[cfg(test)]
mod tests;
