//! How binding the offer of tools is, and the schema of an answer that stands for a call.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tool::ParsingTool;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    #[default]
    Auto,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Named(String),
    /// No tool is called: the text of the answer is to be the arguments of this parsing tool, by its schema.
    Structured(String),
    /// The same for one of several parsing tools: the text says which, and its arguments.
    StructuredOneOf(Vec<String>),
}

impl ToolChoice {
    /// Structured output in place of one of these parsing tools. `None`: there is none.
    pub fn structured(mut tools: Vec<String>) -> Option<Self> {
        match tools.len() {
            0 => None,
            1 => tools.pop().map(Self::Structured),
            _ => Some(Self::StructuredOneOf(tools)),
        }
    }

    /// The parsing tools that structured output stands for. `None`: tools can be called.
    pub fn structured_tools(&self) -> Option<&[String]> {
        match self {
            Self::Auto | Self::Required | Self::Named(_) => None,
            Self::Structured(name) => Some(std::slice::from_ref(name)),
            Self::StructuredOneOf(names) => Some(names),
        }
    }

    /// The schema that the text is to have; that of several tools is
    /// `{"decision": {"tool": NAME, "arguments": {…}}}`. `None`: no structured output is asked for, or a tool is unknown.
    pub fn structured_schema(&self, parsing_tools: &[ParsingTool]) -> Option<Value> {
        let tools = self.structured_tools()?;
        let schema_of = |name: &String| {
            parsing_tools.iter().find(|tool| tool.name == *name).map(|tool| tool.parameters.clone())
        };
        if let [only] = tools {
            return schema_of(only);
        }
        let calls: Option<Vec<Value>> = tools
            .iter()
            .map(|name| {
                let arguments = schema_of(name)?;
                let members = json!({"tool": {"type": "string", "enum": [name]}, "arguments": arguments});
                Some(closed_object(&members, &["tool", "arguments"]))
            })
            .collect();
        Some(closed_object(&json!({"decision": {"anyOf": calls?}}), &["decision"]))
    }
}

fn closed_object(members: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": members, "required": required, "additionalProperties": false})
}
