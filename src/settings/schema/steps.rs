//! Steps of a step-list workflow: what each type of them may hold.

use super::shape::{
    SchemaDefinition, SchemaField, SchemaObject, SchemaShape, SchemaTaggedUnion, schema_field,
};
use super::workflow_shapes::{
    CATCHES, DURATION, HEADERS, RETRIES, SCHEMA, TEXTS, TEXTS_BY_NAME, VALUE, WORDS,
};
use super::workflow_states::{EXPECTED, JOIN, MERGE};
use synthdev_language::workflow_file::known_keys::{keys_of_object, known_steps};

use SchemaShape::{Any, Count, Either, Flag, List, Map, Number, Object, Ref, Text, Whole, Words};

/// A type of steps: word, meaning, its own fields, keys that must be there.
type StepSchemaRow = (&'static str, &'static str, &'static [SchemaField], &'static [&'static str]);

pub(super) fn step_definitions() -> Vec<SchemaDefinition> {
    let mut all = vec![SchemaDefinition::Choice(step_union())];
    all.extend(known_steps().map(|(word, keys)| SchemaDefinition::from(step_object(word, &keys))));
    let mut branch: Vec<&str> = keys_of_object("branch").to_vec();
    branch.push("steps");
    let update =
        SchemaObject::new("update", "A change of the state.", UPDATE).retain_keys(keys_of_object("update"));
    all.push(update.require_keys(&["path"]).into());
    let branch = SchemaObject::new("step_branch", "A branch: steps, a workflow, or an agent.", BRANCH)
        .retain_keys(&branch);
    all.push(branch.require_keys(&["name"]).into());
    all
}

fn step_union() -> SchemaTaggedUnion {
    SchemaTaggedUnion {
        name: "step",
        description: "A step: one thing that is done, before the next one.",
        key: "type",
        key_description: TYPE,
        variants: known_steps()
            .map(|(word, _)| (word, step_kind_row(word).1, format!("{word}_step")))
            .collect(),
        default_table: None,
    }
}

/// What is known of a type; a type without a row has only what every step has.
fn step_kind_row(word: &str) -> StepSchemaRow {
    KINDS.iter().find(|kind| kind.0 == word).copied().unwrap_or(("", "A step.", &[], &["type"]))
}

/// Own fields first: some keys mean something else there.
fn step_object(word: &'static str, keys: &[&str]) -> SchemaObject {
    let (_, about, own, required) = step_kind_row(word);
    let mut fields: Vec<SchemaField> = own.to_vec();
    for shared in SHARED {
        if !fields.iter().any(|field| field.key == shared.key) {
            fields.push(*shared);
        }
    }
    fields.sort_by_key(|field| field.key != "id" && field.key != "type");
    SchemaObject::new(format!("{word}_step"), about, &fields).retain_keys(keys).require_keys(required)
}

const TYPE: &str = "What is done.";

const SHARED: &[SchemaField] = &[
    schema_field("id", Text, "Its name in drawings and reports. Default: step_1, step_2 and so on."),
    schema_field("type", Text, TYPE),
    schema_field("description", Text, "For readers of the file."),
    schema_field("when", Text, "JavaScript that must hold, or the step is left out."),
    schema_field("output_to", Text, "The key of the state that receives the result."),
    schema_field("store_result", Text, "The same as `output_to`."),
    schema_field("retry", RETRIES, "Rules for trying again, or names of `use.retries`."),
    schema_field("catch", CATCHES, "Which step to go to when it failed, after the retries."),
    schema_field("fallback", Any, "The result if it failed and nothing catches it; the run goes on."),
    schema_field(
        "on_error",
        Text,
        "For errors that nothing else handles: a step's id, `fail` or \
        `continue`.",
    ),
    schema_field("timeout", DURATION, "Seconds, ISO 8601 (\"PT5M\"), or a name of `use.timeouts`."),
    schema_field("budget", Ref("budget"), "What it may spend, with everything that it starts."),
    schema_field(
        "on_limit",
        Text,
        "The step to go to when a limit or budget is reached here, instead of pausing.",
    ),
];

const KINDS: &[StepSchemaRow] = &[
    ("condition", "Steps that run only if a condition holds.", CONDITION, &["type", "if"]),
    ("while", "Steps that repeat as long as a condition holds.", WHILE, &["type", "condition", "steps"]),
    ("foreach", "The same steps for each item of a list.", FOREACH, &["type", "items"]),
    ("parallel", "Branches that run at the same time.", PARALLEL, &["type", "branches"]),
    ("set_state", "Changes the state.", SET_STATE, &["type", "updates"]),
    ("return", "Ends the workflow or body.", RETURN, &["type"]),
    ("shell", "Runs a command.", SHELL, &["type", "command"]),
    ("mcp_call", "Calls a tool of an MCP server.", MCP, &["type", "server", "tool"]),
    ("tool", "Runs a tool, without a model.", TOOL, &["type", "tool"]),
    ("http", "Sends a request.", HTTP, &["type", "url"]),
    ("prompt", "Asks the user, or shows a message.", PROMPT, &["type", "message"]),
    ("wait", "Waits for a time.", WAIT, &["type"]),
    (
        "delegate",
        "Hands a task to an agent, or to the client that drives the run.",
        DELEGATE,
        &["type", "instructions"],
    ),
    ("agent", "Asks an agent.", AGENT, &["type", "agent"]),
    ("sub_workflow", "Runs another workflow.", SUB_WORKFLOW, &["type", "sub_workflow"]),
    ("script", "Runs a script.", SCRIPT, &["type", "script"]),
    ("fail", "Fails with an error of your own.", FAIL, &["type", "error"]),
    ("break", "Leaves the loop around it.", &[], &["type"]),
    ("continue", "Begins the next turn of the loop around it.", &[], &["type"]),
];

const STEPS: SchemaShape = List(&Ref("step"));
const NEEDS: &str = "The parts of the state that are shown below the instructions; `*` for all.";

const CONDITION: &[SchemaField] = &[
    schema_field("if", Text, "JavaScript that must hold."),
    schema_field("then", STEPS, "What is done if it holds."),
    schema_field("else", STEPS, "What is done if not."),
];

const WHILE: &[SchemaField] = &[
    schema_field("condition", Text, "JavaScript that must hold for another turn."),
    schema_field("steps", STEPS, "What is done in each turn; `loop` tells which one it is."),
    schema_field("max_iterations", Count, "Turns at most. Default: 100."),
    schema_field(
        "on_max",
        Words(&[
            ("fail", "The run fails with `max_iterations` (default)."),
            ("continue", "The run goes on behind the loop."),
        ]),
        "When all turns are used up and the condition still holds.",
    ),
];

const FOREACH: &[SchemaField] = &[
    schema_field("items", VALUE, "An expression that gives a list, or the list."),
    schema_field("each", Text, "The name of the item in the body. Default: item."),
    schema_field("at", Text, "The name of its position, from 0. Default: index."),
    schema_field("steps", STEPS, "The body."),
    schema_field("sub_workflow", Text, "A workflow as the body."),
    schema_field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
    schema_field("agent", Text, "An agent as the body."),
    schema_field("input", VALUE, "What that agent is told."),
    schema_field("needs_state", TEXTS, "The parts of the state that the body sees; `*` for all."),
    schema_field("max_concurrency", Count, "How many run at once."),
    schema_field("sequential", Flag, "One after the other."),
    schema_field("tolerated_failures", Whole, "Number of items that may fail."),
    schema_field(
        "tolerated_percent",
        Number { min: 0.0, max: Some(100.0) },
        "Percentage of items that may fail.",
    ),
];

const PARALLEL: &[SchemaField] = &[
    schema_field(
        "branches",
        List(&Ref("step_branch")),
        "What runs at the same time. The result is an object of their outputs by name.",
    ),
    schema_field(
        "join",
        Either(&[JOIN, Count]),
        "How many branches must succeed; the others are then stopped.",
    ),
    schema_field(
        "merge",
        Map(&MERGE),
        "What becomes of keys of the state that several branches write; without it that is an error.",
    ),
    schema_field("max_concurrency", Count, "How many run at once."),
];

const SET_STATE: &[SchemaField] = &[schema_field(
    "updates",
    Either(&[Object, List(&Ref("update"))]),
    "New values by path, or a list of changes.",
)];

const RETURN: &[SchemaField] = &[schema_field("value", VALUE, "The output.")];

const SHELL: &[SchemaField] = &[
    schema_field(
        "command",
        WORDS,
        "The command line; with `args` a program that is started without a shell.",
    ),
    schema_field("args", List(&VALUE), "Its arguments, passed one by one."),
    schema_field("cwd", WORDS, "The directory, inside the project."),
    schema_field("env", TEXTS_BY_NAME, "Variables of its environment."),
    schema_field("expect_exit", EXPECTED, "Exit codes that count as done; `any` accepts all. Default: 0."),
    schema_field("execution", Words(&[("server", "Where this program runs.")]), "Who runs it."),
];

const MCP: &[SchemaField] = &[
    schema_field("server", Text, "The server's name."),
    schema_field("tool", Text, "The tool's name."),
    schema_field("arguments", Map(&VALUE), "Its arguments; texts may hold `{{ expressions }}`."),
];

const TOOL: &[SchemaField] = &[
    schema_field("tool", Text, "The tool's name, or that of a call in `use.tools`."),
    schema_field("arguments", Map(&VALUE), "Its arguments; texts may hold `{{ expressions }}`."),
];

const HTTP: &[SchemaField] = &[
    schema_field("method", Text, "GET, POST, PUT, PATCH, DELETE or HEAD. Default: GET, with a body POST."),
    schema_field("url", WORDS, "The address."),
    schema_field("headers", HEADERS, "Headers of the request."),
    schema_field("query", TEXTS_BY_NAME, "Added to the address."),
    schema_field("body", VALUE, "The body; an object is sent as JSON."),
    schema_field(
        "expect_status",
        EXPECTED,
        "Statuses that count as done; `any` accepts all. Default: below 400.",
    ),
];

const PROMPT: &[SchemaField] = &[
    schema_field(
        "kind",
        Words(&[
            ("info", "Only shown: no answer is needed."),
            ("confirm", "Yes or no: the result is true or false."),
            ("text", "A text."),
            ("number", "A number."),
            ("boolean", "true or false."),
            ("choice", "One of `choices`."),
        ]),
        "What is asked for. Default: choice if there are `choices`, else text.",
    ),
    schema_field("message", VALUE, "The text for the user."),
    schema_field("choices", TEXTS, "What can be chosen."),
    schema_field("default", Any, "The answer when the user gave none."),
    schema_field("schema", SCHEMA, "A JSON Schema for the answer, or the name of one in `use.schemas`."),
    schema_field("ttl", DURATION, "How long to wait for an answer."),
];

const WAIT: &[SchemaField] = &[
    schema_field(
        "duration",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "Seconds, ISO 8601 (\"PT30S\"), or an expression.",
    ),
    schema_field(
        "duration_seconds",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "The same as `duration`.",
    ),
    schema_field(
        "until",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "A point in time: ISO 8601, or milliseconds since 1970.",
    ),
];

const DELEGATE: &[SchemaField] = &[
    schema_field("instructions", VALUE, "What is to be done."),
    schema_field(
        "agent",
        Text,
        "The agent of this workflow that does it; without one it is handed to the client that drives the run.",
    ),
    schema_field("needs_state", List(&Text), NEEDS),
    schema_field("required_outputs", TEXTS, "Names of values that must come back. Default: result."),
    schema_field("schema", SCHEMA, "A JSON Schema for the values, or the name of one in `use.schemas`."),
    schema_field("available_tools", TEXTS, "Tools that may be used."),
    schema_field("context", Any, "What is good to know."),
    schema_field("ttl", DURATION, "How long to wait for the result."),
    schema_field("default", Any, "The values when the user gave none."),
];

const AGENT: &[SchemaField] = &[
    schema_field("agent", Text, "The agent."),
    schema_field("input", VALUE, "What the agent gets to read."),
    schema_field("needs_state", List(&Text), NEEDS),
];

const SUB_WORKFLOW: &[SchemaField] = &[
    schema_field("sub_workflow", Text, "The workflow."),
    schema_field("sub_workflow_input", Map(&VALUE), "Its inputs, by name."),
];

const SCRIPT: &[SchemaField] = &[schema_field("script", Text, "JavaScript; `state` holds the variables.")];

const FAIL: &[SchemaField] = &[
    schema_field("error", Text, "The name of the error, for `catch`."),
    schema_field("cause", VALUE, "What happened, for people."),
];

const OPERATIONS: SchemaShape = Words(&[
    ("set", "It becomes the value."),
    ("append", "The value becomes the last item of the list."),
    ("increment", "The value is added."),
    ("decrement", "The value is subtracted."),
    ("multiply", "It is multiplied by the value."),
    ("merge", "The keys of the value are put into the object."),
]);

const UPDATE: &[SchemaField] = &[
    schema_field("path", Text, "What is changed: keys with dots between them."),
    schema_field("operation", OPERATIONS, "What is done with it. Default: set."),
    schema_field("value", VALUE, "The value; for an increment or decrement 1 if it is absent."),
    schema_field("description", Text, "For readers of the file."),
];

const BRANCH: &[SchemaField] = &[
    schema_field("name", Text, "Its key in the result."),
    schema_field("description", Text, "For readers of the file."),
    schema_field("steps", STEPS, "Its steps."),
    schema_field("states", List(&Ref("state")), "States in their place."),
    schema_field("sub_workflow", Text, "A workflow in their place."),
    schema_field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
    schema_field("agent", Text, "An agent in their place."),
    schema_field("input", VALUE, "What that agent is told."),
];
