//! A replies file: what a scripted model answers, agent by agent.

use super::shape::{SchemaDefinition, SchemaField, SchemaObject, SchemaShape, field};

use SchemaShape::{Any, Count, Either, List, Map, Ref, Text, Whole, Words};

const TEXTS: SchemaShape = Either(&[Text, List(&Text)]);

pub(super) fn definitions() -> Vec<SchemaDefinition> {
    vec![file().into(), reply().into(), spoken().into(), call().into(), error().into(), usage().into()]
}

fn file() -> SchemaObject {
    SchemaObject::new(
        "replies",
        "Answers by agent, taken one after the other.",
        &[
            field("model", Text, "The model's name in costs and events. Default: scripted."),
            field(
                "replies",
                Map(&List(&Ref("reply"))),
                "For each agent, by its name in the workflow: its answers in order.",
            ),
        ],
    )
    .requires(&["replies"])
}

fn reply() -> SchemaObject {
    SchemaObject::new("reply", "One answer: a text, calls of tools, or an error.", REPLY_FIELDS)
}

const REPLY_FIELDS: &[SchemaField] = &[
    field(
        "match",
        Text,
        "Only if the last message holds this text or fits this regular expression; then `reply` is the answer.",
    ),
    field(
        "sees",
        TEXTS,
        "Only if all that the agent is shown, its prompt included, holds these texts in this order; then `reply` is the answer.",
    ),
    field("sees_not", TEXTS, "Only if nothing that the agent is shown holds one of these texts."),
    field("reply", Ref("spoken"), "The answer if `match`, `sees` and `sees_not` fit."),
    field("text", Text, "What is said."),
    field("reasoning", Text, "What is thought, where a model shows it."),
    field("tool_calls", List(&Ref("call")), "Tools that are called, deciding ones included."),
    field("error", Ref("error"), "The call fails instead."),
    field("usage", Ref("usage"), "Tokens that the call counts as."),
    field("delay_ms", Whole, "Milliseconds before the answer, or between its pieces."),
    field("chunk", Count, "Characters of each streamed piece."),
];

fn spoken() -> SchemaObject {
    SchemaObject::new(
        "spoken",
        "The answer.",
        &[
            field("text", Text, "What is said."),
            field("reasoning", Text, "What is thought, where a model shows it."),
            field("tool_calls", List(&Ref("call")), "Tools that are called, deciding ones included."),
            field("error", Ref("error"), "The call fails instead."),
            field("usage", Ref("usage"), "Tokens that the call counts as."),
            field("delay_ms", Whole, "Milliseconds before the answer, or between its pieces."),
            field("chunk", Count, "Characters of each streamed piece."),
        ],
    )
}

fn call() -> SchemaObject {
    SchemaObject::new(
        "call",
        "A call of a tool.",
        &[
            field("name", Text, "The tool."),
            field(
                "arguments",
                Any,
                "Its arguments; a text is sent as it is, so that broken JSON can be tried.",
            ),
            field("id", Text, "The call's id. Default: one is made."),
        ],
    )
    .requires(&["name"])
}

fn error() -> SchemaObject {
    SchemaObject::new(
        "error",
        "Why a model call fails.",
        &[
            field(
                "kind",
                Words(&[
                    ("rate_limited", "Too many requests; tried again."),
                    ("rate_limit", "The same."),
                    ("overloaded", "The server has too much to do; tried again."),
                    ("transport", "The connection failed; tried again."),
                    ("timeout", "No answer in time; tried again."),
                    ("auth", "The key is refused."),
                    ("too_long", "The conversation does not fit."),
                    ("refused", "The model will not answer."),
                    ("protocol", "The answer makes no sense."),
                ]),
                "The kind of error.",
            ),
            field("retry_after_ms", Whole, "Milliseconds after which the server wants to be asked again."),
            field("message", Text, "What the server says."),
        ],
    )
    .requires(&["kind"])
}

fn usage() -> SchemaObject {
    SchemaObject::new(
        "usage",
        "Tokens of a call.",
        &[
            field("prompt", Whole, "Tokens sent."),
            field("completion", Whole, "Tokens answered."),
            field("cached", Whole, "Of those sent: found in the server's cache."),
            field("written", Whole, "Of those sent: put into the server's cache."),
            field("reasoning", Whole, "Of those answered: thought."),
        ],
    )
}
