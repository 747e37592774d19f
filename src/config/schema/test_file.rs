//! A test file: scripted runs of a workflow, and what must come of them.

use serde_json::{Value, json};

use super::replies;
use super::shape::{SchemaDefinition, SchemaField, SchemaObject, SchemaShape, field};

use SchemaShape::{Any, Either, Flag, List, Map, Number, Object, Ref, Text, Whole, Words};

/// Several tests, or one that is the whole file.
pub(super) fn root() -> Value {
    json!({"if": {"required": ["tests"]}, "then": {"$ref": "#/$defs/file"}, "else": {"$ref": "#/$defs/test"}})
}

pub(super) fn definitions() -> Vec<SchemaDefinition> {
    let own: [SchemaDefinition; 9] = [
        file().into(),
        test().into(),
        result().into(),
        answer().into(),
        prices().into(),
        expect().into(),
        message().into(),
        failure().into(),
        cost().into(),
    ];
    own.into_iter().chain(replies::definitions()).collect()
}

const AMOUNT: SchemaShape = Number { min: 0.0, max: None };
const WORKFLOW: &str = "The workflow that is tested. Default: the name of the file, NAME.test.json.";

fn file() -> SchemaObject {
    SchemaObject::new(
        "file",
        "Tests of one workflow.",
        &[
            field("workflow", Text, WORKFLOW),
            field("description", Text, "For readers of the file."),
            field("tests", List(&Ref("test")), "The tests; each is a run of its own."),
        ],
    )
    .requires(&["tests"])
}

fn test() -> SchemaObject {
    SchemaObject::new("test", "A run with scripted answers, and what must come of it.", TEST_FIELDS)
}

const TEST_FIELDS: &[SchemaField] = &[
    field("name", Text, "What is tested; shown in the report."),
    field("description", Text, "For readers of the file."),
    field("workflow", Text, WORKFLOW),
    field("model", Text, "The model's name in costs and events."),
    field("input", Any, "The input: a text, or an object with all inputs by name."),
    field(
        "replies",
        Map(&List(&Ref("reply"))),
        "For each agent, by its name in the workflow: its answers in order.",
    ),
    field(
        "cassette",
        Text,
        "Instead of `replies`: a recording of model calls, as a path beside this file. `synthdev test --record` makes it.",
    ),
    field(
        "tool_results",
        Map(&Either(&[List(&RESULTS), RESULTS])),
        "For each tool: its results in order; `*` stands for every other tool.",
    ),
    field("answers", List(&Either(&[Ref("answer"), Any])), "What people answer, in order."),
    field("prices", Ref("prices"), "Prices of the model, for assertions about cost."),
    field("now", Text, "What the clock shows at the start: \"2026-01-31T08:00:00Z\"."),
    field(
        "expect",
        Ref("expect"),
        "What must come of it. By default: it completes and uses everything that was scripted.",
    ),
];

/// A text or data as it is, or with conditions.
const RESULTS: SchemaShape = Either(&[Ref("result"), Any]);

fn result() -> SchemaObject {
    SchemaObject::new(
        "result",
        "A result with conditions; a plain text or other data is the result itself.",
        &[
            field("match", Any, "Only for calls whose arguments hold this text, or these values."),
            field("result", Any, "What the tool gives."),
            field("error", Text, "It fails with this text."),
            field("data", Any, "The structured result, which transitions read as `context.result`."),
            field("delay_ms", Whole, "Milliseconds of the simulated clock that it takes."),
            field("repeat", Flag, "It answers every further call as well."),
        ],
    )
}

fn answer() -> SchemaObject {
    SchemaObject::new(
        "answer",
        "An answer with conditions; anything else is the answer itself.",
        &[
            field("state", Text, "The state that asks."),
            field("match", Text, "Only if the question holds this text."),
            field("answer", Any, "What is answered."),
            field("timeout", Flag, "Nobody answers in time."),
        ],
    )
}

fn prices() -> SchemaObject {
    SchemaObject::new(
        "prices",
        "Dollars per million tokens.",
        &[
            field("input", AMOUNT, "Tokens sent."),
            field("output", AMOUNT, "Tokens answered."),
            field("cached", AMOUNT, "Tokens found in the server's cache."),
            field("written", AMOUNT, "Tokens put into the server's cache. Default: as `input`."),
        ],
    )
}

fn expect() -> SchemaObject {
    SchemaObject::new("expect", "What is not mentioned is not judged.", EXPECT_FIELDS)
}

const EXPECT_FIELDS: &[SchemaField] = &[
    field(
        "status",
        Words(&[
            ("completed", "It reached an end."),
            ("failed", "It ended with an error."),
            ("paused", "It waits for a person."),
            ("cancelled", "It was stopped."),
        ]),
        "How it ends. Default: completed, or failed where an error is expected.",
    ),
    field("path", List(&Text), "All states in the order of their visits."),
    field("visits", Map(&Whole), "Visits of single states."),
    field("visited", List(&Text), "States that must be visited."),
    field("not_visited", List(&Text), "States that must not be visited."),
    field(
        "messages",
        List(&Either(&[Text, Ref("expected_message")])),
        "What is said, in this order, with anything between.",
    ),
    field("data", Object, "Variables at the end, by name."),
    field("output", Any, "The output."),
    field("output_matches", Text, "A part of the output, or a regular expression that it fits."),
    field("error", Either(&[Text, Ref("expected_error")]), "The error that it ends with: its code, or more."),
    field("warnings", List(&Text), "Codes of all warnings, in order."),
    field("cost", Ref("expected_cost"), "What it uses."),
    field("replies_used", Flag, "Whether everything scripted must be used. Default: true."),
];

fn message() -> SchemaObject {
    SchemaObject::new(
        "expected_message",
        "A message of a conversation.",
        &[
            field("context", Text, "The conversation."),
            field("author", Text, "An agent, or `workflow`, `human`, `script`."),
            field("text", Text, "A part of it, or a regular expression that it fits."),
            field("private", Flag, "Said to one agent only, not in the conversation."),
        ],
    )
}

fn failure() -> SchemaObject {
    SchemaObject::new(
        "expected_error",
        "An error.",
        &[
            field("code", Text, "Its code, or that of what caused it in a called workflow."),
            field("state", Text, "Where it happened."),
            field("detail", Text, "A part of its text, or a regular expression that it fits."),
        ],
    )
}

fn cost() -> SchemaObject {
    SchemaObject::new(
        "expected_cost",
        "What a run uses.",
        &[
            field("calls", Whole, "Model calls, exactly."),
            field("max_calls", Whole, "Model calls, at most."),
            field("tokens", Whole, "Tokens, exactly."),
            field("max_tokens", Whole, "Tokens, at most."),
            field("usd", AMOUNT, "Dollars, exactly."),
            field("max_usd", AMOUNT, "Dollars, at most."),
        ],
    )
}
