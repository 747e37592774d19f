//! What a state or workflow may spend, and what happens when it fails: the keys and forms that `error_policy` reads.

use super::super::key_declaration::ValueShape::{Count, Flag, Number, Text};
use super::super::key_declaration::{ObjectDeclaration, declared_key};
use super::spanned::SpannedText;
use super::value_shapes::{DURATION, END, SCHEMA, TEXTS, TIME_END};
use synthdev_domain::workflow::RetryBackoff;

pub(super) const BUDGET: ObjectDeclaration = ObjectDeclaration {
    name: "budget",
    noun: "`budget`",
    description: "What may be spent. A number is the hard end: the run pauses before the next model call.",
    keys: &[
        declared_key("tokens").with_value(END, "Prompt and completion tokens together."),
        declared_key("cost_usd").with_value(END, "US dollars, by the prices of the catalogue of models."),
        declared_key("duration").with_value(TIME_END, "Seconds, or ISO 8601 (\"PT30M\"), since the run or the visit began, or the agent was first asked."),
    ],
    future_keys: &[],
};

pub(super) const CAP: ObjectDeclaration = ObjectDeclaration {
    name: "cap",
    noun: "a budget",
    description: "Two ends of a budget.",
    keys: &[
        declared_key("soft").with_value(DURATION, "Warns once. Default: four fifths of `hard`."),
        declared_key("hard").with_value(DURATION, "Pauses before a model call that could pass it."),
    ],
    future_keys: &[],
};

pub(super) const RETRY: ObjectDeclaration = ObjectDeclaration {
    name: "retry",
    noun: "a retry rule",
    description: "When and how a failed state is tried again; the first rule that fits counts.",
    keys: &[
        declared_key("errors")
            .with_value(TEXTS, "Names of errors, `model.*` for all of a kind, `*` for all. Default: all.")
            .with_example(r#"["model.*", "tool.failed"]"#),
        declared_key("delay").with_value(DURATION, "Seconds before the second attempt. Default: 1."),
        declared_key("max_attempts")
            .with_value(Count, "Attempts of a visit, the first included. Default: 3."),
        declared_key("backoff")
            .with_value(Number { min: 1.0, max: None }, "The delay grows by this factor. Default: 2."),
        declared_key("max_delay").with_value(DURATION, "Longest delay, in seconds. Default: 60."),
        declared_key("jitter")
            .with_value(Flag, "A random part of the delay, so that several retries do not coincide."),
        declared_key("description").with_value(Text, "For readers of the file."),
    ],
    future_keys: &[],
};

pub(super) const CATCH: ObjectDeclaration = ObjectDeclaration {
    name: "catch",
    noun: "a catch rule",
    description: "Where to go when a state failed and no retry is left; the first rule that fits counts.",
    keys: &[
        declared_key("errors")
            .with_value(TEXTS, "Names of errors, `model.*` for all of a kind, `*` for all. Default: all."),
        declared_key("as").with_value(
            Text,
            "The key of `common_data` that receives `{name, title, detail, state, agent}`.",
        ),
        declared_key("target").with_value(Text, "The state to go to.").required(),
        declared_key("before").with_value(Text, "A script that runs before the target is entered."),
        declared_key("description").with_value(Text, "For readers of the file."),
    ],
    future_keys: &[],
};

pub(super) const OUTPUT: ObjectDeclaration = ObjectDeclaration {
    name: "stored",
    noun: "`output` of a state",
    description: "What becomes of a state's result.",
    keys: &[
        declared_key("as").with_value(Text, "The key of `common_data` that receives it."),
        declared_key("schema")
            .with_value(SCHEMA, "A JSON Schema that it must fit, or the name of one in `use.schemas`."),
        declared_key("description").with_value(Text, "For readers of the file."),
    ],
    future_keys: &[],
};

#[derive(Clone, PartialEq, Debug)]
pub struct RetryForm {
    pub errors: Vec<SpannedText>,
    pub max_attempts: u32,
    pub backoff: RetryBackoff,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatchForm {
    pub errors: Vec<SpannedText>,
    pub key: Option<String>,
    pub before_script: Option<SpannedText>,
    pub target: SpannedText,
}

/// `on_error` of a state or workflow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnErrorForm {
    Fail,
    Continue,
    Go(SpannedText),
}
