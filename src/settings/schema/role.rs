//! A role file: roles by name.

use serde_json::{Value, json};

use super::shape::{SchemaDefinition, SchemaField, SchemaObject, SchemaShape, schema_field};
use crate::role_file;

use SchemaShape::{Any, Either, Flag, List, Object, Ref, Text, Words};

/// An object of roles; notes are welcome, and any other name is a role's.
pub(super) fn role_file_root() -> Value {
    json!({
        "type": "object",
        "properties": {"$schema": {"type": "string"}},
        "patternProperties": {"^x_": true, "^(?!x_|\\$schema$)[^.\\s]+$": {"$ref": "#/$defs/role"}},
        "additionalProperties": false
    })
}

pub(super) fn role_definitions() -> Vec<SchemaDefinition> {
    vec![
        role_object().into(),
        role_sandbox().into(),
        parsing_tool().into(),
        parsing_tool_object().into(),
        example_object().into(),
    ]
}

const LIST: SchemaShape = Either(&[Text, List(&Text)]);
const LEVELS: SchemaShape = Words(&[
    ("base", "The ordinary model."),
    ("smart", "The strongest one."),
    ("fast", "The quickest and cheapest one."),
]);
const NETWORK: SchemaShape = Words(&[
    ("off", "A separate loopback and nothing else."),
    ("ask", "Off; on screen the user is asked when a command failed because of it."),
    ("on", "They reach what the user reaches. Counts in the user's own files only."),
]);
const PROMPT: &str = "What the model is told first: who it is and how it works.";
const DESCRIPTION: &str = "What the role is for; shown in lists.";
const INCLUDED: &str = "Tools it may use: names, `*` wildcards, `/regex/`. Default: none.";
const EXCLUDED: &str = "Every tool but these; instead of the list of included ones.";
const DECISIONS: &str =
    "Tools by which it decides: the arguments are kept for the workflow, nothing is executed.";
const AGENTS: &str = "Roles that it may call as agents.";
const TASKS: &str = "Roles that it may hand tasks to.";
const ENVIRONMENT: &str = "Whether its prompt names the system, the directory and the date. Default: true.";
const GUIDANCE: &str = "Whether it is given the AGENTS.md of the user and of the project. Default: true.";
const FORCED: &str = "It must call this tool and may not answer in words.";

fn role_object() -> SchemaObject {
    SchemaObject::new(
        "role",
        "A role. One of the same name in a stronger layer changes only the fields that it sets.",
        &[
            schema_field("level", LEVELS, "Which of the configured models speaks for it. Default: base."),
            schema_field(
                "provider",
                Text,
                "Who serves its model, by the name in the catalogue, instead of the level's.",
            ),
            schema_field("description", Text, DESCRIPTION),
            schema_field("agent_description", Text, DESCRIPTION),
            schema_field("agentDescription", Text, DESCRIPTION),
            schema_field("systemMessage", Text, PROMPT),
            schema_field("system_message", Text, PROMPT),
            schema_field(
                "reminder",
                Text,
                "Repeated after every round of tools, where a model notices it most.",
            ),
            schema_field("environment", Flag, ENVIRONMENT),
            schema_field("guidance", Flag, GUIDANCE),
            schema_field("sandbox", Ref("role_sandbox"), "What its commands can reach."),
            schema_field("includedTools", LIST, INCLUDED),
            schema_field("included_tools", LIST, INCLUDED),
            schema_field("excludedTools", LIST, EXCLUDED),
            schema_field("excluded_tools", LIST, EXCLUDED),
            schema_field("parsingTools", List(&Ref("parsing_tool")), DECISIONS),
            schema_field("parsing_tools", List(&Ref("parsing_tool")), DECISIONS),
            schema_field(
                "examples",
                List(&Ref("example")),
                "Example messages after the prompt that show how to answer.",
            ),
            schema_field("enabled_agents", LIST, AGENTS),
            schema_field("enabledAgents", LIST, AGENTS),
            schema_field("can_create_tasks_for", LIST, TASKS),
            schema_field("canCreateTasksFor", LIST, TASKS),
        ],
    )
    .retain_keys(role_file::KEYS)
}

fn role_sandbox() -> SchemaObject {
    SchemaObject::new(
        "role_sandbox",
        "What the commands of the role can reach.",
        &[schema_field(
            "network",
            NETWORK,
            "Whether they reach the network. Default: as `sandbox.network` of the settings.",
        )],
    )
    .retain_keys(role_file::SANDBOX_KEYS)
}

fn parsing_tool() -> SchemaObject {
    SchemaObject::new(
        "parsing_tool",
        "A decision with a form, as OpenAI writes functions; or its fields directly.",
        TOOL,
    )
}

const TOOL: &[SchemaField] = &[
    schema_field("type", Words(&[("function", "The only kind.")]), "Always `function`."),
    schema_field("function", Ref("function"), "The tool."),
    schema_field("name", Text, "Its name: scripts read `function.NAME.arguments`."),
    schema_field("description", Text, "When and how it is to be called."),
    schema_field("parameters", Object, "The JSON Schema of its arguments."),
    schema_field("parsingOnly", Flag, FORCED),
    schema_field("parsing_only", Flag, FORCED),
    schema_field("strict", Flag, "The provider itself keeps to the schema, where it can."),
];

fn parsing_tool_object() -> SchemaObject {
    SchemaObject::new(
        "function",
        "The tool.",
        &[
            schema_field("name", Text, "Its name: scripts read `function.NAME.arguments`."),
            schema_field("description", Text, "When and how it is to be called."),
            schema_field("parameters", Object, "The JSON Schema of its arguments."),
            schema_field("parsingOnly", Flag, FORCED),
            schema_field("parsing_only", Flag, FORCED),
            schema_field("strict", Flag, "The provider itself keeps to the schema, where it can."),
        ],
    )
    .require_keys(&["name"])
}

fn example_object() -> SchemaObject {
    SchemaObject::new(
        "example",
        "A message of an example conversation.",
        &[
            schema_field(
                "role",
                Words(&[
                    ("user", "Said to the role."),
                    ("assistant", "What the role answers."),
                    ("tool", "The result of a call, directly behind it."),
                    ("function", "The same in an older form."),
                ]),
                "Who says it.",
            ),
            schema_field("content", Text, "The text."),
            schema_field("name", Text, "The function of an older form's result."),
            schema_field(
                "arguments",
                Any,
                "What the function was given, beside an older form's result: JSON, or its text.",
            ),
            schema_field("tool_calls", List(&Any), "Calls that an assistant makes."),
            schema_field("tool_call_id", Text, "The call that a tool's result answers."),
            schema_field("function_call", Object, "A call in the older form."),
        ],
    )
    .require_keys(&["role"])
}
