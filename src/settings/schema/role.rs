//! A role file: roles by name.

use serde_json::{Value, json};

use super::shape::{SchemaDefinition, SchemaObject};
use crate::role_file;
use synthdev_language::key_declaration::{KeyDeclaration, ValueShape, declared_key, declared_word};

use ValueShape::{Any, Either, Flag, List, Object, Ref, Text, Words};

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

const LIST: ValueShape = Either(&[Text, List(&Text)]);
const LEVELS: ValueShape = Words(&[
    declared_word("base", "The ordinary model."),
    declared_word("smart", "The strongest one."),
    declared_word("fast", "The quickest and cheapest one."),
]);
const NETWORK: ValueShape = Words(&[
    declared_word("off", "A separate loopback and nothing else."),
    declared_word("ask", "Off; on screen the user is asked when a command failed because of it."),
    declared_word("on", "They reach what the user reaches. Counts in the user's own files only."),
]);
const PROMPT: &str = "What the model is told first: who it is and how it works.";
const DESCRIPTION: &str = "What the role is for; shown in lists.";
const INCLUDED: &str = "Tools it may use: names, `*` wildcards, `/regex/`. Default: none.";
const EXCLUDED: &str = "Every tool but these; instead of the list of included ones.";
const DECISIONS: &str =
    "Tools by which it decides: the arguments are kept for the workflow, nothing is executed.";
const AGENTS: &str =
    "Roles of agents that its agents may start with `spawn_agent`; `\"*\"`: every role. Default: none.";
const TASKS: &str = "Roles that it may hand tasks of the shared list to, with `task_add`; `\"*\"`: every role. Default: every role.";
const ENVIRONMENT: &str = "Whether its prompt names the system, the directory and the date. Default: true.";
const GUIDANCE: &str = "Whether it is given the AGENTS.md of the user and of the project. Default: true.";
const FORCED: &str = "It must call this tool and may not answer in words.";

fn role_object() -> SchemaObject {
    SchemaObject::new(
        "role",
        "A role. One of the same name in a stronger layer changes only the fields that it sets.",
        &[
            declared_key("level")
                .with_value(LEVELS, "Which of the configured models speaks for it. Default: base."),
            declared_key("provider").with_value(
                Text,
                "Who serves its model, by the name in the catalogue, instead of the level's.",
            ),
            declared_key("description").with_value(Text, DESCRIPTION),
            declared_key("agent_description").with_value(Text, DESCRIPTION),
            declared_key("agentDescription").with_value(Text, DESCRIPTION),
            declared_key("systemMessage").with_value(Text, PROMPT),
            declared_key("system_message").with_value(Text, PROMPT),
            declared_key("reminder")
                .with_value(Text, "Repeated after every round of tools, where a model notices it most."),
            declared_key("environment").with_value(Flag, ENVIRONMENT),
            declared_key("guidance").with_value(Flag, GUIDANCE),
            declared_key("sandbox").with_value(Ref("role_sandbox"), "What its commands can reach."),
            declared_key("includedTools").with_value(LIST, INCLUDED),
            declared_key("included_tools").with_value(LIST, INCLUDED),
            declared_key("excludedTools").with_value(LIST, EXCLUDED),
            declared_key("excluded_tools").with_value(LIST, EXCLUDED),
            declared_key("parsingTools").with_value(List(&Ref("parsing_tool")), DECISIONS),
            declared_key("parsing_tools").with_value(List(&Ref("parsing_tool")), DECISIONS),
            declared_key("examples").with_value(
                List(&Ref("example")),
                "Example messages after the prompt that show how to answer.",
            ),
            declared_key("enabled_agents").with_value(LIST, AGENTS),
            declared_key("enabledAgents").with_value(LIST, AGENTS),
            declared_key("can_create_tasks_for").with_value(LIST, TASKS),
            declared_key("canCreateTasksFor").with_value(LIST, TASKS),
        ],
    )
    .retain_keys(role_file::KEYS)
}

fn role_sandbox() -> SchemaObject {
    SchemaObject::new(
        "role_sandbox",
        "What the commands of the role can reach.",
        &[declared_key("network").with_value(
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

const TOOL: &[KeyDeclaration] = &[
    declared_key("type")
        .with_value(Words(&[declared_word("function", "The only kind.")]), "Always `function`."),
    declared_key("function").with_value(Ref("function"), "The tool."),
    declared_key("name").with_value(Text, "Its name: scripts read `function.NAME.arguments`."),
    declared_key("description").with_value(Text, "When and how it is to be called."),
    declared_key("parameters").with_value(Object, "The JSON Schema of its arguments."),
    declared_key("parsingOnly").with_value(Flag, FORCED),
    declared_key("parsing_only").with_value(Flag, FORCED),
    declared_key("strict").with_value(Flag, "The provider itself keeps to the schema, where it can."),
];

fn parsing_tool_object() -> SchemaObject {
    SchemaObject::new(
        "function",
        "The tool.",
        &[
            declared_key("name")
                .with_value(Text, "Its name: scripts read `function.NAME.arguments`.")
                .required(),
            declared_key("description").with_value(Text, "When and how it is to be called."),
            declared_key("parameters").with_value(Object, "The JSON Schema of its arguments."),
            declared_key("parsingOnly").with_value(Flag, FORCED),
            declared_key("parsing_only").with_value(Flag, FORCED),
            declared_key("strict").with_value(Flag, "The provider itself keeps to the schema, where it can."),
        ],
    )
}

const EXAMPLE_KEYS: &[KeyDeclaration] = &[
    declared_key("role")
        .with_value(
            Words(&[
                declared_word("user", "Said to the role."),
                declared_word("assistant", "What the role answers."),
                declared_word("tool", "The result of a call, directly behind it."),
                declared_word("function", "The same in an older form."),
            ]),
            "Who says it.",
        )
        .required(),
    declared_key("content").with_value(Text, "The text."),
    declared_key("name").with_value(Text, "The function of an older form's result."),
    declared_key("arguments")
        .with_value(Any, "What the function was given, beside an older form's result: JSON, or its text."),
    declared_key("tool_calls").with_value(List(&Any), "Calls that an assistant makes."),
    declared_key("tool_call_id").with_value(Text, "The call that a tool's result answers."),
    declared_key("function_call").with_value(Object, "A call in the older form."),
];

fn example_object() -> SchemaObject {
    SchemaObject::new("example", "A message of an example conversation.", EXAMPLE_KEYS)
}
