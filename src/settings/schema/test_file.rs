//! A test file: scripted runs of a workflow, and their expected results.

use serde_json::{Value, json};

use super::replies;
use super::shape::{SchemaDefinition, SchemaField, SchemaObject, SchemaShape, schema_field};

use SchemaShape::{Any, Either, Flag, List, Map, Number, Object, Ref, Text, Whole, Words};

/// Several tests, or one that is the whole file.
pub(super) fn test_file_root() -> Value {
    json!({"if": {"required": ["tests"]}, "then": {"$ref": "#/$defs/file"}, "else": {"$ref": "#/$defs/test"}})
}

pub(super) fn test_file_definitions() -> Vec<SchemaDefinition> {
    let own: [SchemaDefinition; 9] = [
        test_file_object().into(),
        test_object().into(),
        tool_result_object().into(),
        user_answer_object().into(),
        prices_object().into(),
        expectation_object().into(),
        message_object().into(),
        failure_object().into(),
        cost_object().into(),
    ];
    own.into_iter().chain(replies::replies_definitions()).collect()
}

const AMOUNT: SchemaShape = Number { min: 0.0, max: None };
const WORKFLOW: &str = "The workflow that is tested. Default: the name of the file, NAME.test.json.";

fn test_file_object() -> SchemaObject {
    SchemaObject::new(
        "file",
        "Tests of one workflow.",
        &[
            schema_field("workflow", Text, WORKFLOW),
            schema_field("description", Text, "For readers of the file."),
            schema_field("tests", List(&Ref("test")), "The tests; each is a run of its own."),
        ],
    )
    .require_keys(&["tests"])
}

fn test_object() -> SchemaObject {
    SchemaObject::new("test", "A run with scripted answers and its expected result.", TEST_FIELDS)
}

const TEST_FIELDS: &[SchemaField] = &[
    schema_field("name", Text, "What is tested; shown in the report."),
    schema_field("description", Text, "For readers of the file."),
    schema_field("workflow", Text, WORKFLOW),
    schema_field("model", Text, "The model's name in costs and events."),
    schema_field("input", Any, "The input: a text, or an object with all inputs by name."),
    schema_field(
        "replies",
        Map(&List(&Ref("reply"))),
        "For each agent, by its name in the workflow: its answers in order.",
    ),
    schema_field(
        "cassette",
        Text,
        "Instead of `replies`: a recording of model calls, as a path beside this file. `synthdev test --record` makes it.",
    ),
    schema_field(
        "tool_results",
        Map(&Either(&[List(&RESULTS), RESULTS])),
        "For each tool: its results in order; `*` stands for every other tool.",
    ),
    schema_field("answers", List(&Either(&[Ref("answer"), Any])), "What people answer, in order."),
    schema_field("prices", Ref("prices"), "Prices of the model, for assertions about cost."),
    schema_field("now", Text, "What the clock shows at the start: \"2026-01-31T08:00:00Z\"."),
    schema_field(
        "expect",
        Ref("expect"),
        "What must come of it. By default: it completes and uses everything that was scripted.",
    ),
];

/// A text or data as it is, or with conditions.
const RESULTS: SchemaShape = Either(&[Ref("result"), Any]);

fn tool_result_object() -> SchemaObject {
    SchemaObject::new(
        "result",
        "A result with conditions; a plain text or other data is the result itself.",
        &[
            schema_field("match", Any, "Only for calls whose arguments hold this text, or these values."),
            schema_field("result", Any, "What the tool gives."),
            schema_field("error", Text, "It fails with this text."),
            schema_field("data", Any, "The structured result, which transitions read as `context.result`."),
            schema_field("delay_ms", Whole, "Milliseconds of the simulated clock that it takes."),
            schema_field("repeat", Flag, "It answers every further call as well."),
        ],
    )
}

fn user_answer_object() -> SchemaObject {
    SchemaObject::new(
        "answer",
        "An answer with conditions; anything else is the answer itself.",
        &[
            schema_field("state", Text, "The state that asks."),
            schema_field("match", Text, "Only if the question holds this text."),
            schema_field("answer", Any, "What is answered."),
            schema_field("timeout", Flag, "No answer comes in time."),
        ],
    )
}

fn prices_object() -> SchemaObject {
    SchemaObject::new(
        "prices",
        "Dollars per million tokens.",
        &[
            schema_field("input", AMOUNT, "Tokens sent."),
            schema_field("output", AMOUNT, "Tokens answered."),
            schema_field("cached", AMOUNT, "Tokens found in the server's cache."),
            schema_field("written", AMOUNT, "Tokens put into the server's cache. Default: as `input`."),
        ],
    )
}

fn expectation_object() -> SchemaObject {
    SchemaObject::new("expect", "What is not mentioned is not judged.", EXPECT_FIELDS)
}

const EXPECT_FIELDS: &[SchemaField] = &[
    schema_field(
        "status",
        Words(&[
            ("completed", "It reached an end."),
            ("failed", "It ended with an error."),
            ("paused", "It waits for the user."),
            ("cancelled", "It was stopped."),
        ]),
        "How it ends. Default: completed, or failed where an error is expected.",
    ),
    schema_field("path", List(&Text), "All states in the order of their visits."),
    schema_field("visits", Map(&Whole), "Visits of single states."),
    schema_field("visited", List(&Text), "States that must be visited."),
    schema_field("not_visited", List(&Text), "States that must not be visited."),
    schema_field(
        "messages",
        List(&Either(&[Text, Ref("expected_message")])),
        "What is said, in this order, with anything between.",
    ),
    schema_field("data", Object, "Variables at the end, by name."),
    schema_field("output", Any, "The output."),
    schema_field("output_matches", Text, "A part of the output, or a regular expression that it fits."),
    schema_field(
        "error",
        Either(&[Text, Ref("expected_error")]),
        "The error that it ends with: its code, or more.",
    ),
    schema_field("warnings", List(&Text), "Codes of all warnings, in order."),
    schema_field("cost", Ref("expected_cost"), "What it uses."),
    schema_field("replies_used", Flag, "Whether everything scripted must be used. Default: true."),
];

fn message_object() -> SchemaObject {
    SchemaObject::new(
        "expected_message",
        "A message of a conversation.",
        &[
            schema_field("context", Text, "The conversation."),
            schema_field("author", Text, "An agent, or `workflow`, `human`, `script`."),
            schema_field("text", Text, "A part of it, or a regular expression that it fits."),
            schema_field("private", Flag, "Said to one agent only, not in the conversation."),
        ],
    )
}

fn failure_object() -> SchemaObject {
    SchemaObject::new(
        "expected_error",
        "An error.",
        &[
            schema_field("code", Text, "Its code, or that of what caused it in a called workflow."),
            schema_field("state", Text, "Where it happened."),
            schema_field("detail", Text, "A part of its text, or a regular expression that it fits."),
        ],
    )
}

fn cost_object() -> SchemaObject {
    SchemaObject::new(
        "expected_cost",
        "What a run uses.",
        &[
            schema_field("calls", Whole, "Model calls, exactly."),
            schema_field("max_calls", Whole, "Model calls, at most."),
            schema_field("tokens", Whole, "Tokens, exactly."),
            schema_field("max_tokens", Whole, "Tokens, at most."),
            schema_field("usd", AMOUNT, "Dollars, exactly."),
            schema_field("max_usd", AMOUNT, "Dollars, at most."),
        ],
    )
}
