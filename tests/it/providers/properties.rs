//! Whatever a conversation looks like, the strict server of each protocol takes the request that is made of it.

use proptest::prelude::*;
use serde_json::json;
use synthdev::adapters::providers::{anthropic, openai, responses as answers};
use synthdev::domain::message::{ChatMessage, ChatRole, OpaqueBlock, ToolCall};
use synthdev::domain::model::{ModelRequest, ToolChoice};

use super::anthropic::tool;
use super::outcome::plain_request;
use crate::support::model_server::messages::thinking_block;
use crate::support::model_server::{Dialect, messages, responses, strict_check};

/// Words, and what is none.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("Look.\n".to_owned()),
        Just("ä".repeat(500))
    ]
}

fn call() -> impl Strategy<Value = ToolCall> {
    let ids = prop::sample::select(vec!["1", "2", "a.b", "", "call_1"]);
    let arguments = prop::sample::select(vec!["{}", "{\"a\":1}", "", "{cut", "[1]", "null"]);
    let names = prop::sample::select(vec!["read", "list", "no such name", ""]);
    (ids, names, arguments).prop_map(|(id, name, arguments)| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        original: None,
    })
}

fn sealed() -> impl Strategy<Value = OpaqueBlock> {
    let blocks = vec![
        json!({"type": "redacted_thinking", "data": "x"}),
        thinking_block("Hm", "sig-1"),
        json!({"type": "reasoning", "summary": [], "encrypted_content": "enc-1"}),
    ];
    (0..4_usize, prop::sample::select(blocks)).prop_map(|(after, block)| OpaqueBlock { after, block })
}

fn message() -> impl Strategy<Value = ChatMessage> {
    let calls = prop::collection::vec(call(), 0..3);
    let thoughts = prop::collection::vec(sealed(), 0..3);
    (0..6_u8, words(), calls, thoughts).prop_map(|(who, text, calls, thoughts)| match who {
        0 => ChatMessage::text(ChatRole::System, text),
        1 => ChatMessage::text(ChatRole::User, text),
        2 => ChatMessage::tool_result(calls.first().map_or("1", |call| call.id.as_str()), text),
        3 => ChatMessage::text(ChatRole::Assistant, text),
        _ => {
            let said = ChatMessage::text(ChatRole::Assistant, text);
            ChatMessage { tool_calls: calls, sealed: thoughts, ..said }
        }
    })
}

proptest! {
    #[test]
    fn any_request_is_taken(
        messages in prop::collection::vec(message(), 0..14),
        offered in any::<bool>(),
        choice in prop::sample::select(vec![
            ToolChoice::Auto, ToolChoice::Required, ToolChoice::Named("read".to_owned()),
        ]),
        effort in prop::sample::select(vec![None, Some("low"), Some("max")]),
        model in prop::sample::select(vec!["claude-sonnet-4-5", "claude-opus-4-7", "gpt-5", "mine"]),
        most in prop::sample::select(vec![None, Some(10), Some(3_000)]),
        window in prop::sample::select(vec![None, Some(2_000), Some(200_000)]),
    ) {
        for dialect in Dialect::ALL {
            let mut asked: ModelRequest = plain_request(dialect, "https://models.example/v1");
            asked.messages.clone_from(&messages);
            asked.tools = if offered { [tool("read"), tool("list")].into() } else { [].into() };
            asked.tool_choice = choice.clone();
            asked.choice.model = model.to_owned();
            asked.choice.context_size = window;
            asked.choice.parameters.max_output_tokens = most;
            asked.choice.parameters.reasoning_effort = effort.map(str::to_owned);
            let (body, checked) = match dialect {
                Dialect::Completions => {
                    let body = openai::build_request(&asked).unwrap();
                    let checked = strict_check(&body);
                    (body, checked)
                }
                Dialect::Responses => {
                    let body = answers::build_request(&asked);
                    let checked = responses::check_body(&body);
                    (body, checked)
                }
                Dialect::Messages => {
                    let body = anthropic::build_request(&asked);
                    let checked = messages::check_body(&body);
                    (body, checked)
                }
            };
            prop_assert_eq!(checked, Ok(()), "{}", body);
        }
    }
}
