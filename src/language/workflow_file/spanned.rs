//! A value as written: its place, and for inputs and arguments how it is meant.

use std::ops::Range;

use serde_json::{Map, Value};

/// A value with its bytes in the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpannedValue<T> {
    pub value: T,
    pub span: Range<usize>,
}

pub type SpannedText = SpannedValue<String>;

/// `input` and its like: a text whose kind loading decides, or one of the explicit forms.
#[derive(Clone, PartialEq, Debug)]
pub enum InputForm {
    /// An expression iff it parses as one and all its names are known.
    Auto(SpannedText),
    /// As `Auto`, but it must also read something of the run: commands, addresses and messages are mostly text.
    Words(SpannedText),
    Text(SpannedText),
    Expression(SpannedText),
    /// Text with `{{expressions}}`.
    Template(SpannedText),
    /// A template in a file beside the workflow file.
    File(SpannedText),
    /// Literal JSON that is no text.
    Value(SpannedValue<Value>),
    /// The message of a `delegate` state.
    Request(Box<RequestForm>),
}

/// What a `delegate` state asks for, as a message: `prompt` between a text before and a text after it.
#[derive(Clone, PartialEq, Debug)]
pub struct RequestForm {
    pub text_before: String,
    pub prompt: Option<InputForm>,
    pub text_after: String,
}

/// The arguments of a step: what is literal, and what has to be looked at, by path.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StepArguments {
    /// With `null` where a leaf belongs.
    pub literal: Map<String, Value>,
    pub computed_leaves: Vec<(Vec<String>, InputForm)>,
    /// The names of the arguments, for findings.
    pub names: Vec<SpannedText>,
}

impl InputForm {
    /// Byte range of the value.
    pub fn span(&self) -> Range<usize> {
        match self {
            Self::Auto(text)
            | Self::Words(text)
            | Self::Text(text)
            | Self::Expression(text)
            | Self::Template(text)
            | Self::File(text) => text.span.clone(),
            Self::Value(literal) => literal.span.clone(),
            Self::Request(request) => request.prompt.as_ref().map_or(0..0, Self::span),
        }
    }
}
