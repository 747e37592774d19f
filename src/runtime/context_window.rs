//! Whether a request fits its model's window, before it is sent.
//!
//! A window that the catalogue does not know is not checked. What is refused here could not have been answered: a
//! request is taken to be as short as usual text would be. An answer that was asked for at a length for which there
//! may be no room is asked for shorter.

use std::borrow::Cow;

use synthdev_domain::model::{LEAST_ANSWER, ModelError, ModelRequest};

/// The request as it can be sent.
///
/// # Errors
/// Its prompt leaves no room for an answer.
pub(super) fn fit_to_window(request: &ModelRequest) -> Result<Cow<'_, ModelRequest>, ModelError> {
    let Some(window) = request.choice.context_size else { return Ok(Cow::Borrowed(request)) };
    let answer = request.choice.parameters.max_output_tokens;
    if request.bytes().saturating_add(answer.unwrap_or(LEAST_ANSWER)) <= window {
        return Ok(Cow::Borrowed(request));
    }
    let least = answer.unwrap_or(LEAST_ANSWER).min(LEAST_ANSWER);
    let prompt = request.tokens_at_least();
    if prompt.saturating_add(least) > window {
        let model = &request.choice.model;
        return Err(ModelError::TooLong {
            detail: format!(
                "it has about {prompt} tokens, and the window of {model} has {window} for it and the answer; \
                 it was not sent"
            ),
        });
    }
    let room = window.saturating_sub(request.tokens_at_most()).max(least);
    let Some(answer) = answer.filter(|answer| *answer > room) else { return Ok(Cow::Borrowed(request)) };
    let mut shorter = request.clone();
    shorter.choice.parameters.max_output_tokens = Some(answer.min(room));
    Ok(Cow::Owned(shorter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::message::{ChatMessage, ChatRole};
    use synthdev_domain::model::{ModelChoice, ModelParameters, ToolChoice};

    fn request(text: &str, window: Option<u64>, answer: Option<u64>) -> ModelRequest {
        ModelRequest {
            agent: "a".into(),
            state: "s".into(),
            choice: ModelChoice {
                model: "m".into(),
                context_size: window,
                parameters: ModelParameters { max_output_tokens: answer, ..ModelParameters::default() },
                ..ModelChoice::default()
            },
            messages: vec![ChatMessage::text(ChatRole::User, text)],
            tools: [].into(),
            parsing_tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            answer_schema: None,
        }
    }

    /// Words of four letters with a blank: five characters, which are taken for one to two tokens.
    #[test]
    fn what_cannot_fit_is_not_sent() {
        let words = |count: usize| "word ".repeat(count);
        // the length to ask for; nothing: it is refused
        let rows = [
            ("unknown window", words(100_000), None, None, Some(None)),
            ("fits", words(100), Some(2_000), Some(500), Some(Some(500))),
            ("nothing is asked for", words(1_000), Some(4_000), None, Some(None)),
            ("shorter", words(1_000), Some(4_000), Some(3_000), Some(Some(1_992))),
            ("no more than the least", words(2_000), Some(4_000), Some(3_000), Some(Some(256))),
            ("a small answer is enough", words(3_100), Some(4_000), Some(100), Some(Some(100))),
            ("refused", words(3_100), Some(4_000), Some(3_000), None),
            ("refused without a length", words(3_100), Some(4_000), None, None),
        ];
        for (about, text, window, answer, expected) in rows {
            let request = request(&text, window, answer);
            let sent = fit_to_window(&request);
            let asked = sent.as_ref().ok().map(|sent| sent.choice.parameters.max_output_tokens);
            assert_eq!(asked, expected, "{about}");
            if let Err(error) = sent {
                let text = error.to_string();
                assert!(text.contains("about 3875 tokens, and the window of m has 4000"), "{text}");
                assert!(error.hint().contains("max_tokens"), "{}", error.hint());
            }
        }
    }
}
