//! Steps of a step-list workflow: what each type of them may hold.

use super::shape::{SchemaDefinition, SchemaField, SchemaObject, SchemaShape, SchemaTaggedUnion, field};
use super::workflow_shapes::{
    CATCHES, DURATION, HEADERS, RETRIES, SCHEMA, TEXTS, TEXTS_BY_NAME, VALUE, WORDS,
};
use super::workflow_states::{EXPECTED, JOIN, MERGE};
use crate::workflow_file::known_keys::{known_keys, steps};

use SchemaShape::{Any, Count, Either, Flag, List, Map, Number, Object, Ref, Text, Whole, Words};

/// A type of steps: word, meaning, its own fields, keys that must be there.
type StepSchemaRow = (&'static str, &'static str, &'static [SchemaField], &'static [&'static str]);

pub(super) fn definitions() -> Vec<SchemaDefinition> {
    let mut all = vec![SchemaDefinition::Choice(choice())];
    all.extend(steps().map(|(word, keys)| SchemaDefinition::from(step(word, &keys))));
    let mut branch: Vec<&str> = known_keys("branch").to_vec();
    branch.push("steps");
    let update = SchemaObject::new("update", "A change of the state.", UPDATE).reads(known_keys("update"));
    all.push(update.requires(&["path"]).into());
    let branch =
        SchemaObject::new("step_branch", "A branch: steps, a workflow, or an agent.", BRANCH).reads(&branch);
    all.push(branch.requires(&["name"]).into());
    all
}

fn choice() -> SchemaTaggedUnion {
    SchemaTaggedUnion {
        name: "step",
        about: "A step: one thing that is done, before the next one.",
        key: "type",
        about_key: TYPE,
        words: steps().map(|(word, _)| (word, kind(word).1, format!("{word}_step"))).collect(),
        otherwise: None,
    }
}

/// What is known of a type; a type without a row has only what every step has.
fn kind(word: &str) -> StepSchemaRow {
    KINDS.iter().find(|kind| kind.0 == word).copied().unwrap_or(("", "A step.", &[], &["type"]))
}

/// Own fields first: some keys mean something else there.
fn step(word: &'static str, keys: &[&str]) -> SchemaObject {
    let (_, about, own, required) = kind(word);
    let mut fields: Vec<SchemaField> = own.to_vec();
    for shared in SHARED {
        if !fields.iter().any(|field| field.key == shared.key) {
            fields.push(*shared);
        }
    }
    fields.sort_by_key(|field| field.key != "id" && field.key != "type");
    SchemaObject::new(format!("{word}_step"), about, &fields).reads(keys).requires(required)
}

const TYPE: &str = "What is done.";

const SHARED: &[SchemaField] = &[
    field("id", Text, "Its name in drawings and reports. Default: step_1, step_2 and so on."),
    field("type", Text, TYPE),
    field("description", Text, "For readers of the file."),
    field("when", Text, "JavaScript that must hold, or the step is left out."),
    field("output_to", Text, "The key of the state that receives the result."),
    field("store_result", Text, "The same as `output_to`."),
    field("retry", RETRIES, "Rules for trying again, or names of `use.retries`."),
    field("catch", CATCHES, "Which step to go to when it failed, after the retries."),
    field("fallback", Any, "The result if it failed and nothing catches it; the run goes on."),
    field("on_error", Text, "For errors that nothing else takes: a step's id, `fail` or `continue`."),
    field("timeout", DURATION, "Seconds, ISO 8601 (\"PT5M\"), or a name of `use.timeouts`."),
    field("budget", Ref("budget"), "What it may spend, with everything that it starts."),
    field("on_limit", Text, "The step to go to when a limit or budget is reached here, instead of pausing."),
];

const KINDS: &[StepSchemaRow] = &[
    ("condition", "Steps that are done only if something holds.", CONDITION, &["type", "if"]),
    (
        "while",
        "Steps that are done again as long as something holds.",
        WHILE,
        &["type", "condition", "steps"],
    ),
    ("foreach", "The same steps for each item of a list.", FOREACH, &["type", "items"]),
    ("parallel", "Branches that run at the same time.", PARALLEL, &["type", "branches"]),
    ("set_state", "Changes the state.", SET_STATE, &["type", "updates"]),
    ("return", "Ends the workflow or body.", RETURN, &["type"]),
    ("shell", "Runs a command.", SHELL, &["type", "command"]),
    ("mcp_call", "Calls a tool of an MCP server.", MCP, &["type", "server", "tool"]),
    ("tool", "Runs a tool, without a model.", TOOL, &["type", "tool"]),
    ("http", "Sends a request.", HTTP, &["type", "url"]),
    ("prompt", "Asks a person, or tells something.", PROMPT, &["type", "message"]),
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
    field("if", Text, "JavaScript that must hold."),
    field("then", STEPS, "What is done if it holds."),
    field("else", STEPS, "What is done if not."),
];

const WHILE: &[SchemaField] = &[
    field("condition", Text, "JavaScript that must hold for another turn."),
    field("steps", STEPS, "What is done in each turn; `loop` tells which one it is."),
    field("max_iterations", Count, "Turns at most. Default: 100."),
    field(
        "on_max",
        Words(&[
            ("fail", "The run fails with `max_iterations` (default)."),
            ("continue", "The run goes on behind the loop."),
        ]),
        "When all turns are used up and the condition still holds.",
    ),
];

const FOREACH: &[SchemaField] = &[
    field("items", VALUE, "An expression that gives a list, or the list."),
    field("each", Text, "The name of the item in the body. Default: item."),
    field("at", Text, "The name of its position, from 0. Default: index."),
    field("steps", STEPS, "The body."),
    field("sub_workflow", Text, "A workflow as the body."),
    field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
    field("agent", Text, "An agent as the body."),
    field("input", VALUE, "What that agent is told."),
    field("needs_state", TEXTS, "The parts of the state that the body sees; `*` for all."),
    field("max_concurrency", Count, "How many run at once."),
    field("sequential", Flag, "One after the other."),
    field("tolerated_failures", Whole, "So many items may fail."),
    field("tolerated_percent", Number { min: 0.0, max: Some(100.0) }, "So many of a hundred items may fail."),
];

const PARALLEL: &[SchemaField] = &[
    field(
        "branches",
        List(&Ref("step_branch")),
        "What runs at the same time. The result is an object of their outputs by name.",
    ),
    field("join", Either(&[JOIN, Count]), "How many branches must succeed; the others are then stopped."),
    field(
        "merge",
        Map(&MERGE),
        "What becomes of keys of the state that several branches write; without it that is an error.",
    ),
    field("max_concurrency", Count, "How many run at once."),
];

const SET_STATE: &[SchemaField] =
    &[field("updates", Either(&[Object, List(&Ref("update"))]), "New values by path, or a list of changes.")];

const RETURN: &[SchemaField] = &[field("value", VALUE, "The output.")];

const SHELL: &[SchemaField] = &[
    field("command", WORDS, "The command line; with `args` a program that is started without a shell."),
    field("args", List(&VALUE), "Its arguments, passed one by one."),
    field("cwd", WORDS, "The directory, inside the project."),
    field("env", TEXTS_BY_NAME, "Variables of its environment."),
    field("expect_exit", EXPECTED, "Exit codes that count as done; `any` takes whatever comes. Default: 0."),
    field("execution", Words(&[("server", "Where this program runs.")]), "Who runs it."),
];

const MCP: &[SchemaField] = &[
    field("server", Text, "The server's name."),
    field("tool", Text, "The tool's name."),
    field("arguments", Map(&VALUE), "Its arguments; texts may hold `{{ expressions }}`."),
];

const TOOL: &[SchemaField] = &[
    field("tool", Text, "The tool's name, or that of a call in `use.tools`."),
    field("arguments", Map(&VALUE), "Its arguments; texts may hold `{{ expressions }}`."),
];

const HTTP: &[SchemaField] = &[
    field("method", Text, "GET, POST, PUT, PATCH, DELETE or HEAD. Default: GET, with a body POST."),
    field("url", WORDS, "The address."),
    field("headers", HEADERS, "Headers of the request."),
    field("query", TEXTS_BY_NAME, "Added to the address."),
    field("body", VALUE, "The body; an object is sent as JSON."),
    field(
        "expect_status",
        EXPECTED,
        "Statuses that count as done; `any` takes whatever comes. Default: below 400.",
    ),
];

const PROMPT: &[SchemaField] = &[
    field(
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
    field("message", VALUE, "What the person reads."),
    field("choices", TEXTS, "What can be chosen."),
    field("default", Any, "The answer when the user gave none."),
    field("schema", SCHEMA, "A JSON Schema for the answer, or the name of one in `use.schemas`."),
    field("ttl", DURATION, "How long is waited for an answer."),
];

const WAIT: &[SchemaField] = &[
    field(
        "duration",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "Seconds, ISO 8601 (\"PT30S\"), or an expression.",
    ),
    field(
        "duration_seconds",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "The same as `duration`.",
    ),
    field(
        "until",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "A point in time: ISO 8601, or milliseconds since 1970.",
    ),
];

const DELEGATE: &[SchemaField] = &[
    field("instructions", VALUE, "What is to be done."),
    field(
        "agent",
        Text,
        "The agent of this workflow that does it; without one it is handed to the client that drives the run.",
    ),
    field("needs_state", List(&Text), NEEDS),
    field("required_outputs", TEXTS, "Names of values that must come back. Default: result."),
    field("schema", SCHEMA, "A JSON Schema for the values, or the name of one in `use.schemas`."),
    field("available_tools", TEXTS, "Tools that may be used."),
    field("context", Any, "What is good to know."),
    field("ttl", DURATION, "How long is waited for the result."),
    field("default", Any, "The values when the user gave none."),
];

const AGENT: &[SchemaField] = &[
    field("agent", Text, "The agent."),
    field("input", VALUE, "What the agent gets to read."),
    field("needs_state", List(&Text), NEEDS),
];

const SUB_WORKFLOW: &[SchemaField] = &[
    field("sub_workflow", Text, "The workflow."),
    field("sub_workflow_input", Map(&VALUE), "Its inputs, by name."),
];

const SCRIPT: &[SchemaField] = &[field("script", Text, "JavaScript; `state` holds the variables.")];

const FAIL: &[SchemaField] = &[
    field("error", Text, "The name of the error, for `catch`."),
    field("cause", VALUE, "What happened, for people."),
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
    field("path", Text, "What is changed: keys with dots between them."),
    field("operation", OPERATIONS, "What is done with it. Default: set."),
    field("value", VALUE, "The value; for an increment or decrement 1 if it is absent."),
    field("description", Text, "For readers of the file."),
];

const BRANCH: &[SchemaField] = &[
    field("name", Text, "Its key in the result."),
    field("description", Text, "For readers of the file."),
    field("steps", STEPS, "Its steps."),
    field("states", List(&Ref("state")), "States in their place."),
    field("sub_workflow", Text, "A workflow in their place."),
    field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
    field("agent", Text, "An agent in their place."),
    field("input", VALUE, "What that agent is told."),
];
