//! The states of a workflow file.

use super::shape::{Field, Shape, Table, field};
use super::workflow_shapes::{DURATION, ERRORS, INPUT_VALUE, RETRIES, known_if_read};
use crate::config::workflow_file::vocabulary::known;

use Shape::{
    Any, Count, Either, Flag, Integer, List, Map, Number, Object, Schema, Table as Ref, Text, Whole, Words,
};

pub(super) fn tables() -> [&'static Table; 6] {
    [&STATE, &ACTION, &TRANSITION, &BRANCH, &OUTPUT, &DELEGATED]
}

static STATE: Table = Table {
    known: Some(known("state")),
    ..Table::new("state", "A state: what happens in it, and where to go from there.", STATE_FIELDS)
}
.requires(&["name"])
.rules(&[
    ("type", "parallel", &["branches"]),
    ("type", "foreach", &["in"]),
    ("type", "shell", &["command"]),
    ("type", "tool", &["tool"]),
    ("type", "mcp", &["server", "tool"]),
    ("type", "http", &["url"]),
    ("type", "delegate", &["delegate"]),
    ("type", "fail", &["error"]),
]);

const STATE_FIELDS: &[Field] = &[
    field(
        "name",
        Text,
        "Its name. The run begins at `start`, ends at `stop`, and enters `resume` when the person says something unasked.",
    ),
    field("description", Text, "For readers of the file."),
    field(
        "type",
        Words(&[
            ("parallel", "Branches that run at the same time."),
            ("foreach", "The same body for each item of a list."),
            ("pause", "Waits for a person."),
            ("delegate", "Hands a task to the client that drives the run."),
            ("tool", "Runs a tool, without a model."),
            ("mcp", "Calls a tool of an MCP server, without a model."),
            ("shell", "Runs a command; its exit code and output decide the next transition."),
            ("http", "Sends a request."),
            ("wait", "Waits for a time."),
            ("fail", "Fails with an error of your own."),
            ("final", "Ends the workflow, as `stop` does."),
        ]),
        "The kind of a state that is none of: agent, script, called workflow, routing.",
    ),
    field("agent", Text, "The agent that speaks here."),
    field(
        "input",
        Either(&[Text, Ref("input")]),
        "What the agent is told: an expression if it can be read as one, else a text. At an end: the output.",
    ),
    field("action", Ref("action"), "What else happens: a script, a call of the agent, another workflow."),
    field(
        "transition",
        List(&Ref("transition")),
        "Where to go, asked in order; without the list the workflow ends.",
    ),
    // recovery
    field("retry", RETRIES, "Rules for trying again, or the name of one in `use.retries`."),
    field("catch", List(&Ref("catch")), "Where to go when it failed, after the retries."),
    field("fallback", Any, "The result of the state if it failed and nothing catches it; the run goes on."),
    field(
        "on_error",
        Either(&[Text, ON_ERROR]),
        "For errors that nothing else takes: a state's name, `fail` or `continue`. In a `parallel` state: what a failed branch means.",
    ),
    field(
        "timeout",
        DURATION,
        "Seconds, or ISO 8601 (\"PT5M\"), for one visit with all its retries; a name of `use.timeouts`.",
    ),
    field("budget", Ref("budget"), "What one visit may spend, with everything it starts."),
    field("max_visits", Count, "Visits of this state, instead of the workflow's limit."),
    field("on_limit", Text, "The state to go to when a limit or budget is reached here, instead of pausing."),
    field("output", Ref("stored"), "The result is checked and kept."),
    // parallel
    field("branches", List(&Ref("branch")), "parallel: what runs at the same time."),
    field(
        "join",
        Either(&[JOIN, Count]),
        "parallel: how many branches must succeed; the others are then stopped. Default: all.",
    ),
    field(
        "merge",
        Map(&MERGE),
        "parallel: what becomes of keys of `common_data` that several branches write; without it that is an error.",
    ),
    field("max_concurrency", Count, "parallel, foreach: how many at the same time."),
    // foreach
    field("in", INPUT_VALUE, "foreach: an expression that gives a list."),
    field("each", Text, "foreach: the name of the item in the body. Default: item."),
    field("at", Text, "foreach: the name of its position, from 0. Default: index."),
    field("states", List(&Ref("state")), "foreach: the body, from its own `start` to its own `stop`."),
    field("sub_workflow", Text, "foreach: a workflow as the body."),
    field("sub_workflow_input", Map(&INPUT_VALUE), "foreach: the inputs of that workflow."),
    field("needs_state", ERRORS, "foreach: the parts of `common_data` that the body sees; `*` for all."),
    field("tolerated_failures", Whole, "foreach: so many items may fail."),
    field(
        "tolerated_percent",
        Number { min: 0.0, max: Some(100.0) },
        "foreach: so many of a hundred items may fail.",
    ),
    // pause
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
        "pause: what is asked for. Default: approval.",
    ),
    field("message", INPUT_VALUE, "pause: what the person reads."),
    field("choices", List(&Text), "pause: what can be chosen."),
    field("schema", Schema, "pause: a JSON Schema for the answer."),
    field("required_outputs", List(&Text), "pause: names of values that must be given."),
    field("ttl", DURATION, "pause, delegate: how long is waited for an answer."),
    field("default", Any, "pause: the answer when nobody gave one."),
    field("on_timeout", Text, "pause: the state to go to when nobody answered in time."),
    field("delegate", Ref("delegated"), "delegate: the task."),
    // steps
    field("tool", Text, "tool, mcp: the tool's name."),
    field("server", Text, "mcp: the server's name."),
    field(
        "arguments",
        Either(&[Object, Text, Ref("input")]),
        "tool, mcp: the arguments; texts that are expressions are evaluated.",
    ),
    field("command", INPUT_VALUE, "shell: the command."),
    field(
        "args",
        Either(&[List(&INPUT_VALUE), Text]),
        "shell: its arguments, passed one by one without a shell.",
    ),
    field("cwd", INPUT_VALUE, "shell: the directory, inside the project."),
    field("env", Map(&INPUT_VALUE), "shell: variables of its environment."),
    field(
        "expect_exit",
        Either(&[Integer, List(&Integer), ANY_RESULT]),
        "shell: exit codes that count as done. Default: 0; `any` leaves the decision to the transitions.",
    ),
    field(
        "execution",
        Words(&[("server", "Run here (default)."), ("client", "Handed to the client that drives the run.")]),
        "shell: who runs it.",
    ),
    field("method", Text, "http: GET, POST, … Default: GET."),
    field("url", INPUT_VALUE, "http: the address."),
    field("headers", Map(&INPUT_VALUE), "http: headers of the request."),
    field("body", Either(&[Any]), "http: the body; an object is sent as JSON."),
    field(
        "expect_status",
        Either(&[Integer, List(&Integer), ANY_RESULT]),
        "http: statuses that count as done. Default: 200 to 299; `any` leaves the decision to the transitions.",
    ),
    field(
        "duration",
        Either(&[Number { min: 0.0, max: None }, Text, Ref("input")]),
        "wait: seconds, ISO 8601 (\"PT30S\"), or an expression.",
    ),
    field("until", INPUT_VALUE, "wait: a point in time, ISO 8601."),
    field("error", Text, "fail: the name of the error, for `catch`."),
    field("cause", INPUT_VALUE, "fail: what happened, for people."),
];

const JOIN: Shape = Words(&[("all", "All of them (default)."), ("any", "The first one.")]);
const ANY_RESULT: Shape = Words(&[("any", "Whatever comes back.")]);
const ON_ERROR: Shape = Words(&[
    ("fail_fast", "parallel: the first failure stops the others and fails the state (default)."),
    ("collect", "parallel: all finish; failures stand in the result."),
]);
const MERGE: Shape = Words(&[
    ("first", "The first branch that wrote it wins."),
    ("last", "The last branch that wrote it wins."),
    ("append", "Lists are joined, in the order of the branches."),
    ("sum", "The changes of the numbers are added up."),
    ("object", "Objects are joined; later branches win key by key."),
]);

static ACTION: Table = Table {
    known: Some(known("action")),
    ..Table::new("action", "What a state does beside its agent's input.", ACTION_FIELDS)
};

const ACTION_FIELDS: &[Field] = &[
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
    field("sub_workflow", Text, "Another workflow, run to its end; its output is `sub_workflow_result`."),
    field("sub_workflow_input", Map(&INPUT_VALUE), "The inputs of that workflow, by name."),
];

static TRANSITION: Table = Table {
    known: Some(known("transition")),
    ..Table::new("transition", "A way out of a state.", TRANSITION_FIELDS)
}
.requires(&["target"]);

const TRANSITION_FIELDS: &[Field] = &[
    field("target", Text, "The state to go to."),
    field(
        "condition",
        Either(&[Text, Flag]),
        "JavaScript that must hold; without it the way is always open. `function.TOOL.arguments.X` reads a decision.",
    ),
    field("before", Text, "JavaScript that runs when this way is taken, before the target is entered."),
    field("description", Text, "For readers of the file."),
];

static BRANCH: Table = Table {
    known: known_if_read("branch"),
    ..Table::new(
        "branch",
        "A branch: another workflow, or states of its own from `start` to `stop`.",
        BRANCH_FIELDS,
    )
}
.requires(&["name"]);

const BRANCH_FIELDS: &[Field] = &[
    field("name", Text, "Its key in the result."),
    field("description", Text, "For readers of the file."),
    field("states", List(&Ref("state")), "Its states."),
    field("sub_workflow", Text, "A workflow in their place."),
    field("sub_workflow_input", Map(&INPUT_VALUE), "The inputs of that workflow."),
    field("input", Map(&INPUT_VALUE), "The inputs of that workflow."),
];

static OUTPUT: Table = Table {
    known: known_if_read("stored"),
    ..Table::new("stored", "What becomes of a state's result.", OUTPUT_FIELDS)
};

const OUTPUT_FIELDS: &[Field] = &[
    field("as", Text, "The key of `common_data` that receives it."),
    field(
        "schema",
        Either(&[Schema, Text]),
        "A JSON Schema that it must fit, or the name of one in `use.schemas`.",
    ),
];

static DELEGATED: Table = Table {
    known: known_if_read("delegated"),
    ..Table::new("delegated", "A task for the client that drives the run.", DELEGATED_FIELDS)
};

const DELEGATED_FIELDS: &[Field] = &[
    field(
        "type",
        Text,
        "Kind of the task: llm_task, browser_automation, text_processing, decision, approval, custom.",
    ),
    field("description", Text, "What is to be done, in a line."),
    field("prompt", INPUT_VALUE, "The whole instruction."),
    field("required_outputs", List(&Text), "Names of values that must come back."),
    field("available_tools", List(&Text), "Tools that the client may use."),
    field("context", Any, "What the client should know."),
];
