use super::*;

fn text(role: ChatRole, content: &str) -> ChatMessage {
    ChatMessage::text(role, content)
}

#[test]
fn texts_are_merged_and_framed() {
    use ChatRole::{Assistant, System, User};
    let rows = [
        (vec![text(System, "S"), text(System, "T"), text(User, "U")], vec!["system:S\n\nT", "user:U"]),
        (
            vec![text(System, "S"), text(Assistant, "A"), text(User, "U")],
            vec!["system:S", "user:Begin.", "assistant:A", "user:U"],
        ),
        (
            vec![text(User, "U"), text(User, " "), text(User, "V"), text(Assistant, "A")],
            vec!["user:U\n\nV", "assistant:A", "user:Continue."],
        ),
        (vec![text(User, "U"), text(System, "S")], vec!["user:U\n\n[system]: S"]),
        (vec![text(User, "U"), ChatMessage::tool_result("x", "lost")], vec!["user:U\n\n[tool result]: lost"]),
        (vec![], vec!["user:Begin."]),
    ];
    for (messages, expected) in rows {
        let found: Vec<_> = normalize_messages(&messages)
            .iter()
            .map(|m| format!("{}:{}", m.role.as_str(), m.content))
            .collect();
        assert_eq!(found, expected, "{messages:?}");
    }
}

#[test]
fn calls_are_answered_at_once_and_in_order() {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: "näme of tool".to_owned(),
        arguments: arguments.to_owned(),
        original: None,
    };
    let asked = |id: &str| ChatMessage {
        tool_calls: vec![call(id, "{\"a\":1}"), call("2", "{cut")],
        ..text(ChatRole::Assistant, "I look.")
    };
    let messages = vec![
        text(ChatRole::User, "U"),
        asked("1"),
        text(ChatRole::User, "a notice"),
        ChatMessage::tool_result("2", "two"),
        ChatMessage::tool_result("1", "one"),
        // The same ids in a later round: each round gets its own results.
        asked("1"),
        ChatMessage::tool_result("1", "uno"),
    ];
    let found = normalize_messages(&messages);
    let shape: Vec<_> = found
        .iter()
        .map(|m| format!("{} {}{}", m.role.as_str(), m.tool_call_id.as_deref().unwrap_or(""), m.content))
        .collect();
    assert_eq!(
        shape,
        [
            "user U",
            "assistant I look.",
            "tool 1one",
            "tool 2two",
            "user a notice",
            "assistant I look.",
            "tool 1uno",
            "tool 2(the tool call was interrupted; it has no result)",
        ]
    );
    assert_eq!(found[1].tool_calls[0].name, "n_me_of_tool");
    assert_eq!(found[1].tool_calls[0].arguments, "{\"a\":1}");
    assert_eq!(found[1].tool_calls[1].arguments, "{\"invalid_arguments\":\"{cut\"}");
}

#[test]
fn names_are_cut_to_what_servers_take() {
    assert_eq!(function_name(""), "unknown");
    assert_eq!(function_name("ok_name-1"), "ok_name-1");
    assert_eq!(function_name(&"x".repeat(80)).len(), 64);
}

#[test]
fn calls_made_at_once_have_ids_of_their_own() {
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        original: None,
    };
    let ids = ["1", "1", "", "", "1_2"];
    let asked = ChatMessage { tool_calls: ids.map(call).to_vec(), ..text(ChatRole::Assistant, "") };
    let found = normalize_messages(&[text(ChatRole::User, "U"), asked]);
    let called: Vec<_> = found[1].tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(called, ["1", "1_2", "call", "call_2", "1_2_2"]);
    let answered: Vec<_> = found[2..].iter().map(|answer| answer.tool_call_id.as_deref().unwrap()).collect();
    assert_eq!(answered, called);
}
