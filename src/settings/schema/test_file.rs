//! A test file: scripted runs of a workflow, and their expected results.

use serde_json::{Value, json};

use super::replies;
use super::shape::{SchemaDefinition, SchemaObject};
use synthdev_language::key_declaration::{KeyDeclaration, ValueShape, declared_key, declared_word};

use ValueShape::{Any, Either, Flag, List, Map, Number, Object, Ref, Text, Whole, Words};

/// Several tests, or one that is the whole file.
pub(super) fn test_file_root() -> Value {
    json!({"if": {"required": ["tests"]}, "then": {"$ref": "#/$defs/file"}, "else": {"$ref": "#/$defs/test"}})
}

pub(super) fn test_file_definitions() -> Vec<SchemaDefinition> {
    let own: [SchemaDefinition; 10] = [
        test_file_object().into(),
        test_object().into(),
        tool_result_object().into(),
        user_answer_object().into(),
        user_message_object().into(),
        prices_object().into(),
        expectation_object().into(),
        message_object().into(),
        failure_object().into(),
        cost_object().into(),
    ];
    own.into_iter().chain(replies::replies_definitions()).collect()
}

const AMOUNT: ValueShape = Number { min: 0.0, max: None };
const WORKFLOW: &str = "The workflow that is tested. Default: the name of the file, NAME.test.json.";

fn test_file_object() -> SchemaObject {
    SchemaObject::new(
        "file",
        "Tests of one workflow.",
        &[
            declared_key("workflow").with_value(Text, WORKFLOW),
            declared_key("description").with_value(Text, "For readers of the file."),
            declared_key("tests")
                .with_value(List(&Ref("test")), "The tests; each is a run of its own.")
                .required(),
        ],
    )
}

fn test_object() -> SchemaObject {
    SchemaObject::new("test", "A run with scripted answers and its expected result.", TEST_FIELDS)
}

const TEST_FIELDS: &[KeyDeclaration] = &[
    declared_key("name").with_value(Text, "What is tested; shown in the report."),
    declared_key("description").with_value(Text, "For readers of the file."),
    declared_key("workflow").with_value(Text, WORKFLOW),
    declared_key("model").with_value(Text, "The model's name in costs and events."),
    declared_key("input").with_value(Any, "The input: a text, or an object with all inputs by name."),
    declared_key("replies").with_value(Map(&List(&Ref("reply"))), "For each agent, by its name in the workflow: its answers in order."),
    declared_key("cassette").with_value(Text, "Instead of `replies`: a recording of model calls, as a path beside this file. `synthdev test --record` makes it."),
    declared_key("tool_results").with_value(Map(&Either(&[List(&RESULTS), RESULTS])), "For each tool: its results in order; `*` stands for every other tool."),
    declared_key("answers").with_value(List(&Either(&[Ref("answer"), Any])), "What people answer, in order."),
    declared_key("said").with_value(List(&Ref("said")), "What the user says without being asked, in order."),
    declared_key("prices").with_value(Ref("prices"), "Prices of the model, for assertions about cost."),
    declared_key("now").with_value(Text, "What the clock shows at the start: \"2026-01-31T08:00:00Z\"."),
    declared_key("expect").with_value(Ref("expect"), "What must come of it. By default: it completes and uses everything that was scripted."),
];

/// A text or data as it is, or with conditions.
const RESULTS: ValueShape = Either(&[Ref("result"), Any]);

fn tool_result_object() -> SchemaObject {
    SchemaObject::new(
        "result",
        "A result with conditions; a plain text or other data is the result itself.",
        &[
            declared_key("match")
                .with_value(Any, "Only for calls whose arguments hold this text, or these values."),
            declared_key("result").with_value(Any, "What the tool gives."),
            declared_key("error").with_value(Text, "It fails with this text."),
            declared_key("data")
                .with_value(Any, "The structured result, which transitions read as `context.result`."),
            declared_key("delay_ms").with_value(Whole, "Milliseconds of the simulated clock that it takes."),
            declared_key("repeat").with_value(Flag, "It answers every further call as well."),
        ],
    )
}

fn user_answer_object() -> SchemaObject {
    SchemaObject::new(
        "answer",
        "An answer with conditions; anything else is the answer itself.",
        &[
            declared_key("state").with_value(Text, "The state that asks."),
            declared_key("match").with_value(Text, "Only if the question holds this text."),
            declared_key("answer").with_value(Any, "What is answered."),
            declared_key("timeout").with_value(Flag, "No answer comes in time."),
        ],
    )
}

fn user_message_object() -> SchemaObject {
    SchemaObject::new(
        "said",
        "A message of the user that no state asks for.",
        &[
            declared_key("state").with_value(Text, "It is said when the run enters this state.").required(),
            declared_key("text").with_value(Text, "What is said.").required(),
        ],
    )
}

fn prices_object() -> SchemaObject {
    SchemaObject::new(
        "prices",
        "Dollars per million tokens.",
        &[
            declared_key("input").with_value(AMOUNT, "Tokens sent."),
            declared_key("output").with_value(AMOUNT, "Tokens answered."),
            declared_key("cached").with_value(AMOUNT, "Tokens found in the server's cache."),
            declared_key("written")
                .with_value(AMOUNT, "Tokens put into the server's cache. Default: as `input`."),
        ],
    )
}

fn expectation_object() -> SchemaObject {
    SchemaObject::new("expect", "What is not mentioned is not judged.", EXPECT_FIELDS)
}

const EXPECT_FIELDS: &[KeyDeclaration] = &[
    declared_key("status").with_value(
        Words(&[
            declared_word("completed", "It reached an end."),
            declared_word("failed", "It ended with an error."),
            declared_word("paused", "It waits for the user."),
            declared_word("cancelled", "It was stopped."),
        ]),
        "How it ends. Default: completed, or failed where an error is expected.",
    ),
    declared_key("path").with_value(List(&Text), "All states in the order of their visits."),
    declared_key("visits").with_value(Map(&Whole), "Visits of single states."),
    declared_key("visited").with_value(List(&Text), "States that must be visited."),
    declared_key("not_visited").with_value(List(&Text), "States that must not be visited."),
    declared_key("messages").with_value(
        List(&Either(&[Text, Ref("expected_message")])),
        "What is said, in this order, with anything between.",
    ),
    declared_key("data").with_value(Object, "Variables at the end, by name."),
    declared_key("output").with_value(Any, "The output."),
    declared_key("output_matches")
        .with_value(Text, "A part of the output, or a regular expression that it fits."),
    declared_key("error").with_value(
        Either(&[Text, Ref("expected_error")]),
        "The error that it ends with: its code, or more.",
    ),
    declared_key("warnings").with_value(List(&Text), "Codes of all warnings, in order."),
    declared_key("cost").with_value(Ref("expected_cost"), "What it uses."),
    declared_key("replies_used").with_value(Flag, "Whether everything scripted must be used. Default: true."),
];

fn message_object() -> SchemaObject {
    SchemaObject::new(
        "expected_message",
        "A message of a conversation.",
        &[
            declared_key("context").with_value(Text, "The conversation."),
            declared_key("author").with_value(Text, "An agent, or `workflow`, `human`, `script`."),
            declared_key("text").with_value(Text, "A part of it, or a regular expression that it fits."),
            declared_key("private").with_value(Flag, "Said to one agent only, not in the conversation."),
        ],
    )
}

fn failure_object() -> SchemaObject {
    SchemaObject::new(
        "expected_error",
        "An error.",
        &[
            declared_key("code")
                .with_value(Text, "Its code, or that of what caused it in a called workflow."),
            declared_key("state").with_value(Text, "Where it happened."),
            declared_key("detail")
                .with_value(Text, "A part of its text, or a regular expression that it fits."),
        ],
    )
}

fn cost_object() -> SchemaObject {
    SchemaObject::new(
        "expected_cost",
        "What a run uses.",
        &[
            declared_key("calls").with_value(Whole, "Model calls, exactly."),
            declared_key("max_calls").with_value(Whole, "Model calls, at most."),
            declared_key("tokens").with_value(Whole, "Tokens, exactly."),
            declared_key("max_tokens").with_value(Whole, "Tokens, at most."),
            declared_key("usd").with_value(AMOUNT, "Dollars, exactly."),
            declared_key("max_usd").with_value(AMOUNT, "Dollars, at most."),
        ],
    )
}
