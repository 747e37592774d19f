use super::*;
use synthdev_domain::message::{OpaqueBlock, ToolCall};

fn call(id: &str, sealed: Vec<OpaqueBlock>) -> ChatMessage {
    let call = ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: "{\"p\":1}".to_owned(),
        original: None,
    };
    ChatMessage { tool_calls: vec![call], sealed, ..ChatMessage::text(ChatRole::Assistant, "") }
}

fn thought(after: usize, signature: &str) -> OpaqueBlock {
    OpaqueBlock { after, block: json!({ "type": "thinking", "thinking": "Hm", "signature": signature }) }
}

fn user(content: &str) -> ChatMessage {
    ChatMessage::text(ChatRole::User, content)
}

/// Each turn as `u:` or `a:` with the kinds of its blocks and a value that identifies each.
fn shape(conversation: &AnthropicConversation) -> Vec<String> {
    let block = |block: &Value| {
        let kind = block["type"].as_str().unwrap();
        let tell = ["text", "id", "tool_use_id", "signature"].iter().find_map(|key| block[*key].as_str());
        format!("{kind}={}", tell.unwrap())
    };
    let turn = |turn: &AnthropicTurn| {
        let blocks: Vec<String> = turn.blocks.iter().map(block).collect();
        format!("{}:{}", if turn.user { "u" } else { "a" }, blocks.join(" "))
    };
    conversation.turns.iter().map(turn).collect()
}

#[test]
fn results_open_the_users_turn_and_ids_are_plain_and_unique() {
    let messages = vec![
        ChatMessage::text(ChatRole::System, "S"),
        user("U"),
        call("a.b", vec![thought(0, "s")]),
        ChatMessage::tool_result("a.b", "one"),
        call("a.b", Vec::new()),
        ChatMessage::tool_result("a.b", "two"),
        user("V"),
    ];
    let found = arrange_messages(messages, true, &AttachedImages::default());
    assert_eq!(found.system, [json!({ "type": "text", "text": "S" })]);
    assert_eq!(found.used_tools, ["read"]);
    let expected = [
        "u:text=U",
        "a:thinking=s tool_use=a_b",
        "u:tool_result=a_b",
        "a:tool_use=a_b_2",
        "u:tool_result=a_b_2 text=V",
    ];
    assert_eq!(shape(&found), expected);
}

#[test]
fn thoughts_stand_where_they_stood_and_never_last() {
    let mut message = call("1", vec![thought(0, "x"), thought(1, "y"), thought(9, "z")]);
    message.content = "Let me look.".to_owned();
    let rows = [
        (true, "a:thinking=x text=Let me look. thinking=y thinking=z tool_use=1"),
        (false, "a:text=Let me look. tool_use=1"),
    ];
    for (thoughts, expected) in rows {
        assert_eq!(
            shape(&arrange_messages(vec![message.clone()], thoughts, &AttachedImages::default())),
            [expected]
        );
    }
}

#[test]
fn a_turn_that_began_without_a_thought_is_known() {
    let result = || ChatMessage::tool_result("1", "x");
    let with = || call("1", vec![thought(0, "s")]);
    let without = || call("1", Vec::new());
    let late = || call("1", vec![thought(1, "s")]);
    let said = || ChatMessage::text(ChatRole::Assistant, "A");
    let rows = [
        (vec![user("U")], false),
        (vec![user("U"), said(), user("V")], false),
        (vec![user("U"), with(), result()], false),
        (vec![user("U"), without(), result()], true),
        (vec![user("U"), late(), result()], true),
        // one thought opens the whole turn
        (vec![user("U"), with(), result(), without(), result()], false),
        (vec![user("U"), without(), result(), with(), result()], true),
        // a word of the user begins another
        (vec![user("U"), without(), result(), user("V"), with(), result()], false),
        (vec![user("U"), with(), result(), user("V"), without(), result()], true),
        (vec![user("U"), without(), result(), user("V")], true),
        (vec![user("U"), without(), result(), said(), user("V")], false),
    ];
    for (at, (messages, expected)) in rows.into_iter().enumerate() {
        assert_eq!(lacks_signed_thought(&messages), expected, "row {at}");
    }
}
