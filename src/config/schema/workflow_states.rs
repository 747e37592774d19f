//! The states of a workflow file: what each type of them may hold.

use super::shape::{SchemaDefinition, SchemaField, SchemaObject, SchemaShape, SchemaTaggedUnion, field};
use super::workflow_shapes::{
    CATCHES, DURATION, HEADERS, RETRIES, SCHEMA, TEXTS, TEXTS_BY_NAME, VALUE, WORDS,
};
use crate::workflow_file::known_keys::{known_keys, states};

use SchemaShape::{Any, Count, Either, Flag, Integer, List, Map, Number, Object, Ref, Text, Whole, Words};

/// A type of states: word, meaning, its own fields, keys that must be there.
type StateSchemaRow = (&'static str, &'static str, &'static [SchemaField], &'static [&'static str]);

pub(super) fn definitions() -> Vec<SchemaDefinition> {
    let mut all = vec![SchemaDefinition::Choice(choice())];
    all.extend(states().map(|(word, keys)| SchemaDefinition::from(state(word, &keys))));
    let table = |name, about, fields| SchemaObject::new(name, about, fields).reads(known_keys(name));
    let others = [
        table("action", "What a state does beside its agent's input.", ACTION),
        table("transition", "A way out of a state.", TRANSITION).requires(&["target"]),
        table(
            "branch",
            "A branch: states of its own from `start` to `stop`, a workflow, or an agent.",
            BRANCH,
        )
        .requires(&["name"]),
        table("stored", "What becomes of a state's result.", STORED),
        table("request", "A task for the client that drives the run.", REQUEST),
    ];
    all.extend(others.into_iter().map(SchemaDefinition::from));
    all
}

fn choice() -> SchemaTaggedUnion {
    let typed = states().filter(|(word, _)| !word.is_empty());
    SchemaTaggedUnion {
        name: "state",
        about: "A state: what happens in it, and where to go from there.",
        key: "type",
        about_key: TYPE,
        words: typed.map(|(word, _)| (word, kind(word).1, table_name(word))).collect(),
        otherwise: Some(table_name("")),
    }
}

const TYPE: &str =
    "The kind of a state that does something else than calling an agent, a script or a workflow.";

fn table_name(word: &str) -> String {
    if word.is_empty() { "plain_state".to_owned() } else { format!("{word}_state") }
}

/// What is known of a type; the first row where nothing is.
fn kind(word: &str) -> &'static StateSchemaRow {
    KINDS.iter().find(|kind| kind.0 == word).unwrap_or(&KINDS[0])
}

/// Own fields first: some keys mean something else there.
fn state(word: &'static str, keys: &[&str]) -> SchemaObject {
    let (_, about, own, required) = *kind(word);
    let mut fields: Vec<SchemaField> = own.to_vec();
    for shared in SHARED {
        if !fields.iter().any(|field| field.key == shared.key) {
            fields.push(*shared);
        }
    }
    // the name stands first, as everybody writes it
    fields.sort_by_key(|field| field.key != "name" && field.key != "type");
    SchemaObject::new(table_name(word), about, &fields).reads(keys).requires(required)
}

const SHARED: &[SchemaField] = &[
    field(
        "name",
        Text,
        "Its name. The run begins at `start`, ends at `stop`, and enters `resume` when the person says something unasked.",
    ),
    field("type", Text, TYPE),
    field("description", Text, "For readers of the file."),
    field("action", Ref("action"), "What else happens: a script, a call of the agent, another workflow."),
    field(
        "transition",
        List(&Ref("transition")),
        "Where to go, asked in order; without the list the workflow or body ends.",
    ),
    field("output", Ref("stored"), "The result is checked and kept."),
    field("retry", RETRIES, "Rules for trying again, or names of `use.retries`."),
    field("catch", CATCHES, "Where to go when it failed, after the retries."),
    field("fallback", Any, "The result of the state if it failed and nothing catches it; the run goes on."),
    field("on_error", Text, "For errors that nothing else takes: a state's name, `fail` or `continue`."),
    field(
        "timeout",
        DURATION,
        "Seconds, ISO 8601 (\"PT5M\"), or a name of `use.timeouts`, for one visit with all its retries.",
    ),
    field("budget", Ref("budget"), "What one visit may spend, with everything that it starts."),
    field("max_visits", Count, "Visits of this state, instead of the workflow's limit."),
    field("on_limit", Text, "The state to go to when a limit or budget is reached here, instead of pausing."),
];

const KINDS: &[StateSchemaRow] = &[
    ("", "Calls an agent, a script or a workflow, or only decides where to go.", PLAIN, &["name"]),
    ("parallel", "Branches that run at the same time.", PARALLEL, &["name", "branches"]),
    ("foreach", "The same body for each item of a list.", FOREACH, &["name", "in"]),
    ("pause", "Waits for a person.", PAUSE, &["name"]),
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
    field("agent", Text, "The agent that speaks here."),
    field(
        "input",
        VALUE,
        "What the agent is told: an expression if it can be read as one, else a text. At `stop`: the output.",
    ),
    field("pre_handler", Text, "A function of the script file that runs before the agent is asked."),
    field("post_handler", Text, "A function of the script file that gets the answer."),
    field("transition_handler", Text, "A function of the script file that names the next state."),
];

const PARALLEL: &[SchemaField] = &[
    field(
        "branches",
        List(&Ref("branch")),
        "What runs at the same time. The result is an object of their outputs by name.",
    ),
    field("join", Either(&[JOIN, Count]), "How many branches must succeed; the others are then stopped."),
    field(
        "merge",
        Map(&MERGE),
        "What becomes of keys of `common_data` that several branches write; without it that is an error.",
    ),
    field("max_concurrency", Count, "How many run at once."),
    field(
        "on_error",
        Either(&[ON_ERROR, Text]),
        "What a failed branch means to the others; or, as everywhere, a state's name, `fail` or `continue`.",
    ),
];

const FOREACH: &[SchemaField] = &[
    field("in", VALUE, "An expression that gives a list, or the list."),
    field("each", Text, "The name of the item in the body. Default: item."),
    field("at", Text, "The name of its position, from 0. Default: index."),
    field("states", List(&Ref("state")), "The body, from its own `start` to its own `stop`."),
    field("sub_workflow", Text, "A workflow as the body."),
    field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
    field("agent", Text, "An agent as the body."),
    field("input", VALUE, "What that agent is told."),
    field("needs_state", TEXTS, "The parts of `common_data` that the body sees; `*` for all."),
    field("max_concurrency", Count, "How many run at once."),
    field("tolerated_failures", Whole, "So many items may fail."),
    field("tolerated_percent", Number { min: 0.0, max: Some(100.0) }, "So many of a hundred items may fail."),
];

const PAUSE: &[SchemaField] = &[
    field(
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
    field("message", VALUE, "What the person reads."),
    field("choices", TEXTS, "What can be chosen."),
    field("schema", SCHEMA, "A JSON Schema for the answer, or the name of one in `use.schemas`."),
    field("required_outputs", TEXTS, "Names of values that must be given."),
    field("ttl", DURATION, "How long is waited for an answer."),
    field("default", Any, "The answer when the user gave none."),
    field("on_timeout", Text, "The state to go to when the user did not answer in time."),
];

const DELEGATE: &[SchemaField] = &[
    field("action", Ref("request"), "The task."),
    field("ttl", DURATION, "How long is waited for the result."),
    field("default", Object, "The values when the user gave none."),
    field("on_timeout", Text, "The state to go to when the user did not answer in time."),
];

const TOOL: &[SchemaField] = &[
    field("tool", Text, "The tool's name, or that of a call in `use.tools`."),
    field("arguments", Map(&VALUE), "Its arguments; texts that are expressions are evaluated."),
];

const MCP: &[SchemaField] = &[
    field("server", Text, "The server's name."),
    field("tool", Text, "The tool's name."),
    field("arguments", Map(&VALUE), "Its arguments; texts that are expressions are evaluated."),
];

const SHELL: &[SchemaField] = &[
    field("command", WORDS, "The command line; with `args` a program that is started without a shell."),
    field("args", List(&VALUE), "Its arguments, passed one by one."),
    field("cwd", WORDS, "The directory, inside the project."),
    field("env", TEXTS_BY_NAME, "Variables of its environment."),
    field(
        "expect_exit",
        EXPECTED,
        "Exit codes that count as done; `any` leaves the decision to the transitions. Default: 0.",
    ),
    field("execution", Words(&[("server", "Where this program runs.")]), "Who runs it."),
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
        "Statuses that count as done; `any` leaves the decision to the transitions. Default: below 400.",
    ),
];

const WAIT: &[SchemaField] = &[
    field(
        "duration",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "Seconds, ISO 8601 (\"PT30S\"), a name of `use.timeouts`, or an expression.",
    ),
    field(
        "until",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "A point in time: ISO 8601, or milliseconds since 1970.",
    ),
];

const FAIL: &[SchemaField] = &[
    field("error", Text, "The name of the error, for `catch`."),
    field("cause", VALUE, "What happened, for people."),
];

const FINAL: &[SchemaField] = &[field("input", VALUE, "The output.")];

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
    field(
        "function",
        Words(&[
            ("sendUserMessage", "The input is said to the agent, and its model answers (default)."),
            ("addUserMessage", "The input is added to the conversation; no model is called."),
            ("clearConversation", "The conversation begins anew with its starting messages."),
            ("script", "Only the script runs; the agent is not called."),
        ]),
        "What is done with the agent.",
    ),
    field(
        "script",
        Text,
        "JavaScript that runs first: an expression, statements, or an arrow function. `this.common_data` holds the variables.",
    ),
    field(
        "set_state",
        Either(&[Object, List(&Ref("update"))]),
        "Changes of `common_data`, one after the other.",
    ),
    field("sub_workflow", Text, "Another workflow, run to its end; its output is `sub_workflow_result`."),
    field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
];

const TRANSITION: &[SchemaField] = &[
    field("target", Text, "The state to go to."),
    field(
        "condition",
        Either(&[Text, Flag]),
        "JavaScript that must hold; without it the way is always open. `function.TOOL.arguments.X` reads a decision.",
    ),
    field("before", Text, "JavaScript that runs when this way is taken, before the target is entered."),
    field("description", Text, "For readers of the file."),
];

const BRANCH: &[SchemaField] = &[
    field("name", Text, "Its key in the result."),
    field("description", Text, "For readers of the file."),
    field("states", List(&Ref("state")), "Its states, from its own `start` to its own `stop`."),
    field("sub_workflow", Text, "A workflow in their place."),
    field("sub_workflow_input", Map(&VALUE), "The inputs of that workflow, by name."),
    field("agent", Text, "An agent in their place."),
    field("input", VALUE, "What that agent is told."),
];

const STORED: &[SchemaField] = &[
    field("as", Text, "The key of `common_data` that receives it."),
    field("schema", SCHEMA, "A JSON Schema that it must fit, or the name of one in `use.schemas`."),
    field("description", Text, "For readers of the file."),
];

const REQUEST: &[SchemaField] = &[
    field(
        "type",
        Text,
        "Kind of the task: llm_task, browser_automation, text_processing, decision, approval, custom.",
    ),
    field("description", Text, "What is to be done, in a line."),
    field("prompt", VALUE, "The whole instruction."),
    field("required_outputs", TEXTS, "Names of values that must come back."),
    field("schema", SCHEMA, "A JSON Schema for the values, or the name of one in `use.schemas`."),
    field("available_tools", TEXTS, "Tools that may be used."),
    field("context", Any, "What is good to know."),
    field("message", Text, "What a client is told beside it, in place of how to go on."),
];
