//! A replies file: what a scripted model answers, agent by agent.

use super::shape::{SchemaDefinition, SchemaField, SchemaObject, SchemaShape, schema_field};

use SchemaShape::{Any, Count, Either, List, Map, Ref, Text, Whole, Words};

const TEXTS: SchemaShape = Either(&[Text, List(&Text)]);

pub(super) fn replies_definitions() -> Vec<SchemaDefinition> {
    vec![
        replies_file_object().into(),
        reply_object().into(),
        text_reply_object().into(),
        tool_call_object().into(),
        error_object().into(),
        usage_object().into(),
    ]
}

fn replies_file_object() -> SchemaObject {
    SchemaObject::new(
        "replies",
        "Answers by agent, taken one after the other.",
        &[
            schema_field("model", Text, "The model's name in costs and events. Default: scripted."),
            schema_field(
                "replies",
                Map(&List(&Ref("reply"))),
                "For each agent, by its name in the workflow: its answers in order.",
            ),
        ],
    )
    .require_keys(&["replies"])
}

fn reply_object() -> SchemaObject {
    SchemaObject::new("reply", "One answer: a text, calls of tools, or an error.", REPLY_FIELDS)
}

const REPLY_FIELDS: &[SchemaField] = &[
    schema_field(
        "match",
        Text,
        "Only if the last message holds this text or fits this regular expression; then `reply` is the answer.",
    ),
    schema_field(
        "sees",
        TEXTS,
        "Only if the agent's whole request, its prompt included, holds these texts in this order; then \
            `reply` is the answer.",
    ),
    schema_field("sees_not", TEXTS, "Only if the agent's request holds none of these texts."),
    schema_field("reply", Ref("spoken"), "The answer if `match`, `sees` and `sees_not` fit."),
    schema_field("text", Text, "What is said."),
    schema_field("reasoning", Text, "What is thought, where a model shows it."),
    schema_field("tool_calls", List(&Ref("call")), "Tools that are called, deciding ones included."),
    schema_field("error", Ref("error"), "The call fails instead."),
    schema_field("usage", Ref("usage"), "Tokens that the call counts as."),
    schema_field("delay_ms", Whole, "Milliseconds before the answer, or between its pieces."),
    schema_field("chunk", Count, "Characters of each streamed piece."),
];

fn text_reply_object() -> SchemaObject {
    SchemaObject::new(
        "spoken",
        "The answer.",
        &[
            schema_field("text", Text, "What is said."),
            schema_field("reasoning", Text, "What is thought, where a model shows it."),
            schema_field("tool_calls", List(&Ref("call")), "Tools that are called, deciding ones included."),
            schema_field("error", Ref("error"), "The call fails instead."),
            schema_field("usage", Ref("usage"), "Tokens that the call counts as."),
            schema_field("delay_ms", Whole, "Milliseconds before the answer, or between its pieces."),
            schema_field("chunk", Count, "Characters of each streamed piece."),
        ],
    )
}

fn tool_call_object() -> SchemaObject {
    SchemaObject::new(
        "call",
        "A call of a tool.",
        &[
            schema_field("name", Text, "The tool."),
            schema_field(
                "arguments",
                Any,
                "Its arguments; a text is sent as it is, so that broken JSON can be tried.",
            ),
            schema_field("id", Text, "The call's id. Default: one is made."),
        ],
    )
    .require_keys(&["name"])
}

fn error_object() -> SchemaObject {
    SchemaObject::new(
        "error",
        "Why a model call fails.",
        &[
            schema_field(
                "kind",
                Words(&[
                    ("rate_limited", "Too many requests; tried again."),
                    ("rate_limit", "The same."),
                    ("overloaded", "The server is overloaded; tried again."),
                    ("transport", "The connection failed; tried again."),
                    ("timeout", "No answer in time; tried again."),
                    ("auth", "The key is refused."),
                    ("too_long", "The conversation does not fit."),
                    ("refused", "The model will not answer."),
                    ("protocol", "The answer makes no sense."),
                ]),
                "The kind of error.",
            ),
            schema_field(
                "retry_after_ms",
                Whole,
                "Milliseconds after which the server wants to be asked again.",
            ),
            schema_field("message", Text, "What the server says."),
        ],
    )
    .require_keys(&["kind"])
}

fn usage_object() -> SchemaObject {
    SchemaObject::new(
        "usage",
        "Tokens of a call.",
        &[
            schema_field("prompt", Whole, "Tokens sent."),
            schema_field("completion", Whole, "Tokens answered."),
            schema_field("cached", Whole, "Of those sent: found in the server's cache."),
            schema_field("written", Whole, "Of those sent: put into the server's cache."),
            schema_field("reasoning", Whole, "Of those answered: thought."),
        ],
    )
}
