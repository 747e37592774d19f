//! What the reader of a body needs to know of a protocol.

use serde_json::Value;

use crate::domain::model::ModelError;

use super::errors;
use super::spoken::Spoken;

/// One answer of some protocol, put together piece by piece.
pub trait Answer: Default + Send {
    /// What a whole answer is called, for the text of an error: `a chat completion`.
    const KIND: &'static str;

    /// Takes one event of a stream. `shown`: the server, for error texts.
    ///
    /// # Errors
    /// An error that the server reports; data that is no JSON.
    fn event(&mut self, name: &str, data: &str, shown: &str) -> Result<(), ModelError> {
        let data = data.trim();
        if data.is_empty() || self.quick(name, data) {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done();
            return Ok(());
        }
        self.value(name, &parsed(name, data, shown)?, shown)
    }

    /// Takes what almost every event is, a piece of text; whether it was one.
    fn quick(&mut self, name: &str, data: &str) -> bool;

    /// `[DONE]` has arrived, which ends a stream where the protocol has it.
    fn done(&mut self);

    /// Takes one event that has been parsed, or a whole answer.
    ///
    /// # Errors
    /// An error that the server reports.
    fn value(&mut self, name: &str, value: &Value, shown: &str) -> Result<(), ModelError>;

    fn spoken(&self) -> &Spoken;

    fn spoken_mut(&mut self) -> &mut Spoken;

    /// Something of the protocol has arrived.
    fn has_begun(&self) -> bool;

    /// The server said that the model is finished; what may follow is only bookkeeping.
    fn is_complete(&self) -> bool;

    /// The last event of the protocol has arrived.
    fn is_over(&self) -> bool;
}

/// The data of one event.
///
/// # Errors
/// It is no JSON.
fn parsed(name: &str, data: &str, shown: &str) -> Result<Value, ModelError> {
    serde_json::from_str(data).map_err(|_| {
        let text = errors::one_line(data);
        match name {
            "error" => errors::of_object(&Value::String(text), shown),
            _ => ModelError::Protocol {
                detail: format!("{shown} sent something in its stream that is not JSON: {text}"),
            },
        }
    })
}

/// The server answers in another protocol than the one it was asked in.
pub fn speaks_chat<A: Answer>(shown: &str) -> ModelError {
    ModelError::Protocol {
        detail: format!(
            "{shown} answered with chat completions, not with {}: set `\"protocol\": \"chat\"` for its provider in \
             models.json",
            A::KIND
        ),
    }
}
