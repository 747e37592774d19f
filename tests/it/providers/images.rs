//! Images of a conversation through real sockets: each protocol gets them in its own form, and models that take none get a
//! text that says so.

use serde_json::Value;
use synthdev::adapters::image_store::ImageStore;
use synthdev::domain::image_reference::ImageReference;
use synthdev::domain::message::{ChatMessage, ChatRole, ToolCall};
use synthdev::domain::model::ModelRequest;
use synthdev::ports::model::ModelPort;

use super::anthropic::tool;
use super::outcome::plain_request;
use super::{Heard, patient_providers};
use crate::support::model_server::{Behaviour, Dialect, ModelServer, messages, responses};

/// A png of its own for each width.
pub fn png(width: u8) -> Vec<u8> {
    let mut content = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0".to_vec();
    content.extend([width, 0, 0, 0, 9]);
    content.extend(b"\x08\x02\0\0\0 and its pixels");
    content.push(width);
    content
}

/// The end of its data in a request.
fn data_end(width: u8) -> String {
    // sixteen letters hold the last twelve bytes
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let content = png(width);
    assert_eq!(content.len() % 3, 0, "no padding");
    let groups = content[content.len() - 12..].chunks(3);
    let bits = groups.map(|group| u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]));
    let text: String = bits
        .flat_map(|bits| [18, 12, 6, 0].map(|by| char::from(letters[(bits >> by & 63) as usize])))
        .collect();
    format!("image {text}")
}

fn call(id: &str) -> ToolCall {
    let (name, arguments) = ("read".to_owned(), "{}".to_owned());
    ToolCall { id: id.to_owned(), name, arguments, original: None }
}

/// The user shows an image; two tools answer, one of them with an image; `last`: what the user says then.
fn conversation(shown: &ImageReference, found: &ImageReference, last: Option<&str>) -> Vec<ChatMessage> {
    let calls = ChatMessage {
        tool_calls: vec![call("c1"), call("c2")],
        ..ChatMessage::text(ChatRole::Assistant, "I look.")
    };
    let mut messages = vec![
        ChatMessage::text(ChatRole::User, format!("Compare\n{}", shown.to_text())),
        calls,
        ChatMessage::tool_result("c1", format!("==> b.png (image)\n{}\n", found.to_text())),
        ChatMessage::tool_result("c2", "nothing"),
    ];
    messages.extend(last.map(|text| ChatMessage::text(ChatRole::User, text)));
    messages
}

/// The body that the strict server of a protocol took.
async fn sent_body(dialect: Dialect, store: &ImageStore, images: bool, messages: Vec<ChatMessage>) -> Value {
    let answer = match dialect {
        Dialect::Completions => Behaviour::text("Seen."),
        Dialect::Messages => messages::text("Seen."),
        Dialect::Responses => responses::text("Seen."),
    };
    let server = ModelServer::start_in_dialect(dialect, vec![answer]).await;
    let mut asked: ModelRequest = plain_request(dialect, &server.base_url);
    asked.messages = messages;
    asked.choice.images = images;
    asked.tools = [tool("read")].into();
    let answered = patient_providers().with_images(store.clone()).call(&asked, &Heard::default()).await;
    assert_eq!(answered.map(|reply| reply.text), Ok("Seen.".to_owned()), "{dialect:?}");
    let requests = server.requests();
    assert_eq!((requests.len(), &requests[0].rejection), (1, &None), "{dialect:?}");
    requests[0].body.clone()
}

/// Texts, calls and images of a body in their order: `T`, `I` with the last letters of the data.
fn shape(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let image = members
                .get("data")
                .or(members.get("url"))
                .or(members.get("image_url").filter(|one| one.is_string()));
            if let Some(data) = image.and_then(Value::as_str) {
                out.push(format!("image {}", &data[data.len() - 16..]));
            } else if let Some(role) = members.get("role").and_then(Value::as_str) {
                out.push(role.to_owned());
                members.values().for_each(|value| shape(value, out));
            } else {
                if members
                    .get("type")
                    .is_some_and(|kind| kind == "function_call_output" || kind == "tool_result")
                {
                    out.push("result".to_owned());
                }
                members.values().for_each(|value| shape(value, out));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| shape(item, out)),
        _ => {}
    }
}

#[tokio::test]
async fn each_protocol_gets_images_in_its_own_form() {
    let directory = tempfile::tempdir().unwrap();
    let store = ImageStore::new(directory.path());
    let shown = store.keep_image("a.png", &png(1)).unwrap();
    let found = store.keep_image("b.png", &png(2)).unwrap();
    let (one, two) = (data_end(1), data_end(2));
    let rows: [(Dialect, Option<&str>, Vec<&str>); 6] = [
        (Dialect::Completions, None, vec!["user", &one, "assistant", "tool", "tool", "user", &two]),
        (Dialect::Completions, Some("So?"), vec!["user", &one, "assistant", "tool", "tool", "user", &two]),
        (Dialect::Messages, None, vec!["user", &one, "assistant", "user", "result", &two, "result"]),
        (Dialect::Messages, Some("So?"), vec!["user", &one, "assistant", "user", "result", &two, "result"]),
        (Dialect::Responses, None, vec!["user", &one, "assistant", "result", &two, "result"]),
        (Dialect::Responses, Some("So?"), vec!["user", &one, "assistant", "result", &two, "result", "user"]),
    ];
    for (dialect, last, expected) in rows {
        let body = sent_body(dialect, &store, true, conversation(&shown, &found, last)).await;
        let mut seen = Vec::new();
        shape(body.get("messages").or(body.get("input")).unwrap(), &mut seen);
        assert_eq!(seen, expected, "{dialect:?} {last:?}: {body:#}");
        assert!(last.is_none_or(|last| body.to_string().contains(last)), "{body:#}");
    }
}

#[tokio::test]
async fn where_an_image_is_not_sent_the_text_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let store = ImageStore::new(directory.path().join("images"));
    let shown = store.keep_image("a.png", &png(1)).unwrap();
    let lost = ImageReference { hash: "0".repeat(64), ..shown.clone() };
    for dialect in [Dialect::Completions, Dialect::Messages, Dialect::Responses] {
        let body = sent_body(dialect, &store, false, conversation(&shown, &lost, None)).await.to_string();
        assert_eq!(body.matches("not shown to you: your model takes no images").count(), 2, "{body}");
        assert!(!body.contains("base64"), "{body}");
        let body = sent_body(dialect, &store, true, conversation(&shown, &lost, None)).await.to_string();
        assert_eq!(body.matches("not shown to you: it is no longer kept").count(), 1, "{body}");
        assert!(body.contains("base64"), "{body}");
    }
}

/// What is shown of a request, and what is recorded of it, holds no content of an image.
#[tokio::test]
async fn a_body_that_is_only_shown_holds_no_content() {
    let directory = tempfile::tempdir().unwrap();
    let store = ImageStore::new(directory.path());
    let shown = store.keep_image("a.png", &png(1)).unwrap();
    for dialect in [Dialect::Completions, Dialect::Messages, Dialect::Responses] {
        let mut asked = plain_request(dialect, "http://127.0.0.1:1");
        asked.choice.images = true;
        asked.messages = vec![ChatMessage::text(ChatRole::User, shown.to_text())];
        let body = patient_providers().with_images(store.clone()).request_body(&asked).unwrap().to_string();
        assert!(body.contains("(the image)") && body.contains(&shown.hash), "{body}");
        assert!(!body.contains("iVBOR"), "{body}");
    }
}
