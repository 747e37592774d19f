//! A replies file: what a scripted model answers, agent by agent.

use super::shape::{SchemaDefinition, SchemaObject};
use synthdev_language::key_declaration::{KeyDeclaration, ValueShape, declared_key, declared_word};

use ValueShape::{Any, Count, Either, List, Map, Ref, Text, Whole, Words};

const TEXTS: ValueShape = Either(&[Text, List(&Text)]);

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
            declared_key("model")
                .with_value(Text, "The model's name in costs and events. Default: scripted."),
            declared_key("replies")
                .with_value(
                    Map(&List(&Ref("reply"))),
                    "For each agent, by its name in the workflow: its answers in order.",
                )
                .required(),
        ],
    )
}

fn reply_object() -> SchemaObject {
    SchemaObject::new("reply", "One answer: a text, calls of tools, or an error.", REPLY_FIELDS)
}

const REPLY_FIELDS: &[KeyDeclaration] = &[
    declared_key("match").with_value(Text, "Only if the last message holds this text or fits this regular expression; then `reply` is the answer."),
    declared_key("sees").with_value(TEXTS, "Only if the agent's whole request, its prompt included, holds these texts in this order; then \
            `reply` is the answer."),
    declared_key("sees_not").with_value(TEXTS, "Only if the agent's request holds none of these texts."),
    declared_key("reply").with_value(Ref("spoken"), "The answer if `match`, `sees` and `sees_not` fit."),
    declared_key("text").with_value(Text, "What is said."),
    declared_key("reasoning").with_value(Text, "What is thought, where a model shows it."),
    declared_key("tool_calls").with_value(List(&Ref("call")), "Tools that are called, deciding ones included."),
    declared_key("error").with_value(Ref("error"), "The call fails instead."),
    declared_key("usage").with_value(Ref("usage"), "Tokens that the call counts as."),
    declared_key("delay_ms").with_value(Whole, "Milliseconds before the answer, or between its pieces."),
    declared_key("chunk").with_value(Count, "Characters of each streamed piece."),
];

fn text_reply_object() -> SchemaObject {
    SchemaObject::new(
        "spoken",
        "The answer.",
        &[
            declared_key("text").with_value(Text, "What is said."),
            declared_key("reasoning").with_value(Text, "What is thought, where a model shows it."),
            declared_key("tool_calls")
                .with_value(List(&Ref("call")), "Tools that are called, deciding ones included."),
            declared_key("error").with_value(Ref("error"), "The call fails instead."),
            declared_key("usage").with_value(Ref("usage"), "Tokens that the call counts as."),
            declared_key("delay_ms")
                .with_value(Whole, "Milliseconds before the answer, or between its pieces."),
            declared_key("chunk").with_value(Count, "Characters of each streamed piece."),
        ],
    )
}

fn tool_call_object() -> SchemaObject {
    SchemaObject::new(
        "call",
        "A call of a tool.",
        &[
            declared_key("name").with_value(Text, "The tool.").required(),
            declared_key("arguments")
                .with_value(Any, "Its arguments; a text is sent as it is, so that broken JSON can be tried."),
            declared_key("id").with_value(Text, "The call's id. Default: one is made."),
        ],
    )
}

const ERROR_KEYS: &[KeyDeclaration] = &[
    declared_key("kind")
        .with_value(
            Words(&[
                declared_word("rate_limited", "Too many requests; tried again."),
                declared_word("rate_limit", "The same."),
                declared_word("overloaded", "The server is overloaded; tried again."),
                declared_word("transport", "The connection failed; tried again."),
                declared_word("timeout", "No answer in time; tried again."),
                declared_word("auth", "The key is refused."),
                declared_word("too_long", "The conversation does not fit."),
                declared_word("refused", "The model will not answer."),
                declared_word("protocol", "The answer makes no sense."),
            ]),
            "The kind of error.",
        )
        .required(),
    declared_key("retry_after_ms")
        .with_value(Whole, "Milliseconds after which the server wants to be asked again."),
    declared_key("message").with_value(Text, "What the server says."),
];

fn error_object() -> SchemaObject {
    SchemaObject::new("error", "Why a model call fails.", ERROR_KEYS)
}

fn usage_object() -> SchemaObject {
    SchemaObject::new(
        "usage",
        "Tokens of a call.",
        &[
            declared_key("prompt").with_value(Whole, "Tokens sent."),
            declared_key("completion").with_value(Whole, "Tokens answered."),
            declared_key("cached").with_value(Whole, "Of those sent: found in the server's cache."),
            declared_key("written").with_value(Whole, "Of those sent: put into the server's cache."),
            declared_key("reasoning").with_value(Whole, "Of those answered: thought."),
        ],
    )
}
