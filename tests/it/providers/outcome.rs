//! What an answer is expected to become, in any protocol.

use std::time::Duration;

use synthdev::domain::model::{DeltaKind, FinishReason, ModelError, ModelReply, ModelRequest};
use synthdev::ports::model::ModelPort;

use super::{Heard, KEY, providers, request};
use crate::support::model_server::{Behaviour, Dialect, ModelServer};

/// A text with calls, or an error's code with words of its line.
pub enum Outcome<'a> {
    Reply(&'a str, &'a [(&'a str, &'a str, &'a str)], FinishReason),
    Error(&'a str, &'a [&'a str]),
}

/// A plain request in a protocol.
pub fn plain_request(dialect: Dialect, base_url: &str) -> ModelRequest {
    let mut asked = request(base_url);
    asked.choice.protocol = dialect.protocol();
    if dialect == Dialect::Messages {
        asked.choice.model = "claude-sonnet-4-5".to_owned();
    }
    asked
}

/// Asks once and checks that nobody asked again and that the strict server took the request.
pub async fn ask_server(
    dialect: Dialect,
    behaviour: Behaviour,
    idle: Duration,
) -> (Result<ModelReply, ModelError>, Heard) {
    let server = ModelServer::start_in_dialect(dialect, vec![behaviour]).await;
    let heard = Heard::default();
    let answer = providers(idle).call(&plain_request(dialect, &server.base_url), &heard).await;
    let requests = server.requests();
    assert_eq!((requests.len(), &requests[0].rejection), (1, &None), "retries are the runtime's");
    (answer, heard)
}

pub async fn check_outcome(dialect: Dialect, title: &str, behaviour: Behaviour, outcome: Outcome<'_>) {
    let (answer, heard) = ask_server(dialect, behaviour, Duration::from_secs(30)).await;
    match outcome {
        Outcome::Reply(text, calls, finish) => {
            let reply = answer.unwrap_or_else(|error| panic!("{title}: {error}"));
            let found: Vec<_> = reply
                .tool_calls
                .iter()
                .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
                .collect();
            assert_eq!(
                (reply.text.as_str(), found.as_slice(), reply.finish),
                (text, calls, finish),
                "{title}"
            );
            assert_eq!(heard.joined_text(DeltaKind::Text), text, "{title}: streamed text is the text");
        }
        Outcome::Error(code, says) => {
            let error = answer.expect_err(title);
            let text = error.to_string();
            assert_eq!(error.code(), code, "{title}: {text}");
            for word in says {
                assert!(text.contains(word), "{title}: `{word}` is not in: {text}");
            }
            assert!(!text.contains(KEY), "{title}: {text}");
            assert!(text.chars().count() < 330 && !text.chars().any(char::is_control), "{title}: {text}");
        }
    }
}
