//! The states of a workflow file: what each type of them may hold.

use super::shape::{
    SchemaDefinition, SchemaField, SchemaObject, SchemaShape, SchemaTaggedUnion, schema_field,
};
use super::workflow_shapes::{
    CATCHES, DURATION, HEADERS, RETRIES, SCHEMA, TEXTS, TEXTS_BY_NAME, VALUE, WORDS,
};
use synthdev_language::workflow_file::known_keys::{keys_of_object, known_states};

use SchemaShape::{Any, Count, Either, Flag, Integer, List, Map, Number, Object, Ref, Text, Whole, Words};

/// A type of states: word, meaning, its own fields, keys that must be there.
type StateSchemaRow = (&'static str, &'static str, &'static [SchemaField], &'static [&'static str]);

pub(super) fn state_definitions() -> Vec<SchemaDefinition> {
    let mut all = vec![SchemaDefinition::Choice(state_union())];
    all.extend(known_states().map(|(word, keys)| SchemaDefinition::from(state_object(word, &keys))));
    let table =
        |name, about, fields| SchemaObject::new(name, about, fields).retain_keys(keys_of_object(name));
    let others = [
        table("action", "What a state does beside its agent's input.", ACTION),
        table("transition", "A transition out of a state.", TRANSITION).require_keys(&["target"]),
        table(
            "branch",
            "A branch: states of its own from `start` to `stop`, a workflow, or an agent.",
            BRANCH,
        )
        .require_keys(&["name"]),
        table("stored", "What becomes of a state's result.", STORED),
        table("request", "A task for the client that drives the run.", REQUEST),
    ];
    all.extend(others.into_iter().map(SchemaDefinition::from));
    all
}

fn state_union() -> SchemaTaggedUnion {
    let typed = known_states().filter(|(word, _)| !word.is_empty());
    SchemaTaggedUnion {
        name: "state",
        description: "A state: what happens in it, and where to go from there.",
        key: "type",
        key_description: TYPE,
        variants: typed.map(|(word, _)| (word, state_kind_row(word).1, table_name(word))).collect(),
        default_table: Some(table_name("")),
    }
}

const TYPE: &str = "The kind of a state that does not call an agent, a script or a workflow.";

fn table_name(word: &str) -> String {
    if word.is_empty() { "plain_state".to_owned() } else { format!("{word}_state") }
}

/// What is known of a type; the first row where nothing is.
fn state_kind_row(word: &str) -> &'static StateSchemaRow {
    KINDS.iter().find(|kind| kind.0 == word).unwrap_or(&KINDS[0])
}

/// Own fields first: some keys mean something else there.
fn state_object(word: &'static str, keys: &[&str]) -> SchemaObject {
    let (_, about, own, required) = *state_kind_row(word);
    let mut fields: Vec<SchemaField> = own.to_vec();
    for shared in SHARED {
        if !fields.iter().any(|field| field.key == shared.key) {
            fields.push(*shared);
        }
    }
    // the name comes first, as authors usually write it
    fields.sort_by_key(|field| field.key != "name" && field.key != "type");
    SchemaObject::new(table_name(word), about, &fields).retain_keys(keys).require_keys(required)
}

const SHARED: &[SchemaField] = &[
    schema_field(
        "name",
        Text,
        "Its name. The run begins at `start`, ends at `stop`, and enters `resume` when the user sends a \
            message without a question.",
    ),
    schema_field("type", Text, TYPE),
    schema_field("description", Text, "For readers of the file."),
    schema_field(
        "action",
        Ref("action"),
        "What else happens: a script, a call of the agent, another workflow.",
    ),
    schema_field(
        "transition",
        List(&Ref("transition")),
        "Where to go, asked in order; without the list the workflow or body ends.",
    ),
    schema_field("output", Ref("stored"), "The result is checked and kept."),
    schema_field("retry", RETRIES, "Rules for trying again, or names of `use.retries`."),
    schema_field("catch", CATCHES, "Where to go when it failed, after the retries."),
    schema_field(
        "fallback",
        Any,
        "The result of the state if it failed and nothing catches it; the run goes on.",
    ),
    schema_field(
        "on_error",
        Text,
        "For errors that nothing else handles: a state's name, `fail` or `continue`.",
    ),
    schema_field(
        "timeout",
        DURATION,
        "Seconds, ISO 8601 (\"PT5M\"), or a name of `use.timeouts`, for one visit with all its retries.",
    ),
    schema_field("budget", Ref("budget"), "What one visit may spend, with everything that it starts."),
    schema_field("max_visits", Count, "Visits of this state, instead of the workflow's limit."),
    schema_field(
        "on_limit",
        Text,
        "The state to go to when a limit or budget is reached here, instead of pausing.",
    ),
];

const KINDS: &[StateSchemaRow] = &[
    ("", "Calls an agent, a script or a workflow, or only decides where to go.", PLAIN, &["name"]),
    ("parallel", "Branches that run at the same time.", PARALLEL, &["name", "branches"]),
    ("foreach", "The same body for each item of a list.", FOREACH, &["name", "in"]),
    ("pause", "Waits for the user.", PAUSE, &["name"]),
    ("delegate", "Hands a task to the client that drives the run.", DELEGATE, &["name", "action"]),
    ("tool", "Runs a tool, without a model.", TOOL, &["name", "tool"]),
    ("mcp", "Calls a tool of an MCP server, without a model.", MCP, &["name", "server", "tool"]),
    (
        "shell",
        "Runs a command; its exit code and output decide the next transition.",
        SHELL,
        &["name", "command"],
    ),
    ("http", "Sends a request.", HTTP, &["name", "url"]),
    ("wait", "Waits for a time.", WAIT, &["name"]),
    ("fail", "Fails with an error of your own.", FAIL, &["name", "error"]),
    ("final", "Ends the workflow or body, as `stop` does.", FINAL, &["name"]),
];

const PLAIN: &[SchemaField] = &[
    schema_field("agent", Text, "The agent that speaks here."),
    schema_field(
        "input",
        VALUE,
        "What the agent is told: an expression if it can be read as one, else a text. At `stop`: the output.",
    ),
    schema_field("pre_handler", Text, "A function of the script file that runs before the agent is asked."),
    schema_field("post_handler", Text, "A function of the script file that gets the answer."),
    schema_field("transition_handler", Text, "A function of the script file that names the next state."),
];

const PARALLEL: &[SchemaField] = &[
    schema_field(
        "branches",
        List(&Ref("branch")),
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
        "What becomes of keys of `common_data` that several branches write; without it that is an error.",
    ),
    schema_field("max_concurrency", Count, "How many run at once."),
    schema_field(
        "on_error",
        Either(&[ON_ERROR, Text]),
        "What a failed branch means to the others; or, as everywhere, a state's name, `fail` or `continue`.",
    ),
];

const FOREACH: &[SchemaField] = &[
    schema_field("in", VALUE, "An expression that gives a list, or the list."),
    schema_field("each", Text, "The name of the item in the body. Default: item."),
    schema_field("at", Text, "The name of its position, from 0. Default: index."),
    schema_field("states", List(&Ref("state")), "The body, from its own `start` to its own `stop`."),
    schema_field("sub_workflow", Text, "A workflow as the body."),
    schema_field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
    schema_field("agent", Text, "An agent as the body."),
    schema_field("input", VALUE, "What that agent is told."),
    schema_field("needs_state", TEXTS, "The parts of `common_data` that the body sees; `*` for all."),
    schema_field("max_concurrency", Count, "How many run at once."),
    schema_field("tolerated_failures", Whole, "Number of items that may fail."),
    schema_field(
        "tolerated_percent",
        Number { min: 0.0, max: Some(100.0) },
        "Percentage of items that may fail.",
    ),
];

const PAUSE: &[SchemaField] = &[
    schema_field(
        "kind",
        Words(&[
            ("approval", "Yes or no: the result is true or false."),
            ("input", "A text."),
            ("text", "A text."),
            ("number", "A number."),
            ("boolean", "true or false."),
            ("choice", "One of `choices`."),
            ("outputs", "Values for `required_outputs`."),
        ]),
        "What is asked for. Default: what the other keys say, else approval.",
    ),
    schema_field("message", VALUE, "The text for the user."),
    schema_field("choices", TEXTS, "What can be chosen."),
    schema_field("schema", SCHEMA, "A JSON Schema for the answer, or the name of one in `use.schemas`."),
    schema_field("required_outputs", TEXTS, "Names of values that must be given."),
    schema_field("ttl", DURATION, "How long to wait for an answer."),
    schema_field("default", Any, "The answer when the user gave none."),
    schema_field("on_timeout", Text, "The state to go to when the user did not answer in time."),
];

const DELEGATE: &[SchemaField] = &[
    schema_field("action", Ref("request"), "The task."),
    schema_field("ttl", DURATION, "How long to wait for the result."),
    schema_field("default", Object, "The values when the user gave none."),
    schema_field("on_timeout", Text, "The state to go to when the user did not answer in time."),
];

const TOOL: &[SchemaField] = &[
    schema_field("tool", Text, "The tool's name, or that of a call in `use.tools`."),
    schema_field("arguments", Map(&VALUE), "Its arguments; texts that are expressions are evaluated."),
];

const MCP: &[SchemaField] = &[
    schema_field("server", Text, "The server's name."),
    schema_field("tool", Text, "The tool's name."),
    schema_field("arguments", Map(&VALUE), "Its arguments; texts that are expressions are evaluated."),
];

const SHELL: &[SchemaField] = &[
    schema_field(
        "command",
        WORDS,
        "The command line; with `args` a program that is started without a shell.",
    ),
    schema_field("args", List(&VALUE), "Its arguments, passed one by one."),
    schema_field("cwd", WORDS, "The directory, inside the project."),
    schema_field("env", TEXTS_BY_NAME, "Variables of its environment."),
    schema_field(
        "expect_exit",
        EXPECTED,
        "Exit codes that count as done; `any` leaves the decision to the transitions. Default: 0.",
    ),
    schema_field("execution", Words(&[("server", "Where this program runs.")]), "Who runs it."),
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
        "Statuses that count as done; `any` leaves the decision to the transitions. Default: below 400.",
    ),
];

const WAIT: &[SchemaField] = &[
    schema_field(
        "duration",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "Seconds, ISO 8601 (\"PT30S\"), a name of `use.timeouts`, or an expression.",
    ),
    schema_field(
        "until",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "A point in time: ISO 8601, or milliseconds since 1970.",
    ),
];

const FAIL: &[SchemaField] = &[
    schema_field("error", Text, "The name of the error, for `catch`."),
    schema_field("cause", VALUE, "What happened, for people."),
];

const FINAL: &[SchemaField] = &[schema_field("input", VALUE, "The output.")];

pub(super) const EXPECTED: SchemaShape =
    Either(&[Integer, List(&Integer), Words(&[("any", "Whatever comes back.")])]);
pub(super) const JOIN: SchemaShape = Words(&[("all", "All of them (default)."), ("any", "The first one.")]);
const ON_ERROR: SchemaShape = Words(&[
    ("fail_fast", "The first failure stops the others and fails the state (default)."),
    ("collect", "All finish; failures stand in the result."),
]);
pub(super) const MERGE: SchemaShape = Words(&[
    ("first", "The first branch that wrote it wins."),
    ("last", "The last branch that wrote it wins."),
    ("append", "Lists are joined, in the order of the branches."),
    ("sum", "The changes of the numbers are added up."),
    ("object", "Objects are joined; later branches win key by key."),
]);

const ACTION: &[SchemaField] = &[
    schema_field(
        "function",
        Words(&[
            ("sendUserMessage", "The input is said to the agent, and its model answers (default)."),
            ("addUserMessage", "The input is added to the conversation; no model is called."),
            ("clearConversation", "The conversation begins anew with its starting messages."),
            ("script", "Only the script runs; the agent is not called."),
        ]),
        "What is done with the agent.",
    ),
    schema_field(
        "script",
        Text,
        "JavaScript that runs first: an expression, statements, or an arrow function. `this.common_data` holds the variables.",
    ),
    schema_field(
        "set_state",
        Either(&[Object, List(&Ref("update"))]),
        "Changes of `common_data`, one after the other.",
    ),
    schema_field(
        "sub_workflow",
        Text,
        "Another workflow, run to its end; its output is `sub_workflow_result`.",
    ),
    schema_field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
];

const TRANSITION: &[SchemaField] = &[
    schema_field("target", Text, "The state to go to."),
    schema_field(
        "condition",
        Either(&[Text, Flag]),
        "JavaScript that must hold; without it the transition always applies. `function.TOOL.arguments.X` \
            reads a decision.",
    ),
    schema_field(
        "before",
        Text,
        "JavaScript that runs when this transition is taken, before the target is entered.",
    ),
    schema_field("description", Text, "For readers of the file."),
];

const BRANCH: &[SchemaField] = &[
    schema_field("name", Text, "Its key in the result."),
    schema_field("description", Text, "For readers of the file."),
    schema_field("states", List(&Ref("state")), "Its states, from its own `start` to its own `stop`."),
    schema_field("sub_workflow", Text, "A workflow in their place."),
    schema_field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
    schema_field("agent", Text, "An agent in their place."),
    schema_field("input", VALUE, "What that agent is told."),
];

const STORED: &[SchemaField] = &[
    schema_field("as", Text, "The key of `common_data` that receives it."),
    schema_field("schema", SCHEMA, "A JSON Schema that it must fit, or the name of one in `use.schemas`."),
    schema_field("description", Text, "For readers of the file."),
];

const REQUEST: &[SchemaField] = &[
    schema_field(
        "type",
        Text,
        "Kind of the task: llm_task, browser_automation, text_processing, decision, approval, custom.",
    ),
    schema_field("description", Text, "What is to be done, in a line."),
    schema_field("prompt", VALUE, "The whole instruction."),
    schema_field("required_outputs", TEXTS, "Names of values that must come back."),
    schema_field("schema", SCHEMA, "A JSON Schema for the values, or the name of one in `use.schemas`."),
    schema_field("available_tools", TEXTS, "Tools that may be used."),
    schema_field("context", Any, "What is good to know."),
    schema_field("message", Text, "What a client is told beside it, in place of how to go on."),
];
