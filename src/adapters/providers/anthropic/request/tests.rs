use super::*;
use synthdev_domain::message::{ChatMessage, ChatRole, ToolCall};
use synthdev_domain::model::ModelChoice;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

fn request(tool_choice: ToolChoice) -> ModelRequest {
    let spec = |name: &str, description: &str| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({"required": ["x"]}),
        risk: ToolRisk::Read,
        repeat: None,
    };
    ModelRequest {
        agent: "a".to_owned(),
        state: "s".to_owned(),
        choice: ModelChoice {
            model: "claude-sonnet-4-5".to_owned(),
            protocol: ModelProtocol::Anthropic,
            parameters: ModelParameters {
                temperature: Some(0.7),
                max_output_tokens: Some(9_000),
                frequency_penalty: Some(1.0),
                ..ModelParameters::default()
            },
            ..ModelChoice::default()
        },
        messages: vec![ChatMessage::text(ChatRole::System, "S"), ChatMessage::text(ChatRole::User, "U")],
        tools: [spec("one", "d"), spec("two", "")].into(),
        parsing_tools: Vec::new(),
        tool_choice,
        answer_schema: None,
    }
}

#[test]
fn a_body_is_what_the_protocol_names_and_nothing_else() {
    let mark = json!({"type": "ephemeral"});
    let schema = json!({"required": ["x"], "type": "object", "properties": {}});
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "tools": [{"name": "one", "description": "d", "input_schema": schema},
            {"name": "two", "input_schema": schema}],
        "system": [{"type": "text", "text": "S", "cache_control": mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "U", "cache_control": mark}]}],
        "tool_choice": {"type": "auto"},
        "max_tokens": 9_000,
        "temperature": 0.7,
        "stream": true,
    });
    assert_eq!(build_request(&request(ToolChoice::Auto)).to_string(), expected.to_string());
}

#[test]
fn tools_are_forced_named_or_forbidden() {
    let rows = [
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::Named("two".to_owned()), json!({"type": "tool", "name": "two"})),
        (ToolChoice::Named("gone".to_owned()), json!({"type": "auto"})),
    ];
    for (choice, expected) in rows {
        assert_eq!(build_request(&request(choice))["tool_choice"], expected);
    }
    let mut asked = request(ToolChoice::Auto);
    asked.tools = [].into();
    assert_eq!((build_request(&asked).get("tools"), build_request(&asked).get("tool_choice")), (None, None));
    let call =
        ToolCall { id: "1".to_owned(), name: "old".to_owned(), arguments: String::new(), original: None };
    asked.messages.push(ChatMessage { tool_calls: vec![call], ..ChatMessage::text(ChatRole::Assistant, "") });
    let body = build_request(&asked);
    assert_eq!((&body["tools"][0]["name"], &body["tool_choice"]), (&json!("old"), &json!({"type": "none"})));
}

#[test]
fn an_answer_has_always_a_length_that_fits() {
    let rows = [
        (None, None, 32_000),
        (Some(64_000), None, 64_000),
        (None, Some(200_000), 32_000),
        (None, Some(20_000), 10_000),
        (None, Some(5_000), 1_024),
        (Some(10), Some(5_000), 10),
    ];
    for (set, window, expected) in rows {
        let mut asked = request(ToolChoice::Auto);
        asked.tools = [].into();
        asked.messages = vec![ChatMessage::text(ChatRole::User, "x".repeat(30_000))];
        asked.choice.parameters.max_output_tokens = set;
        asked.choice.context_size = window;
        assert_eq!(build_request(&asked)["max_tokens"], expected, "{set:?} {window:?}");
    }
}

#[test]
fn the_fixed_part_and_the_last_two_user_turns_are_marked() {
    let text = ChatMessage::text;
    let mut asked = request(ToolChoice::Auto);
    for round in 0..4 {
        asked.messages.push(text(ChatRole::Assistant, format!("A{round}")));
        asked.messages.push(text(ChatRole::User, format!("U{round}")));
    }
    let marked = |body: &Value| {
        let marks = |list: &Value| {
            let blocks = list.as_array().cloned().unwrap_or_default();
            blocks.iter().map(|block| usize::from(block.get("cache_control").is_some())).collect::<Vec<_>>()
        };
        let turns: Vec<Value> =
            body["messages"].as_array().unwrap().iter().map(|m| m["content"].clone()).collect();
        let turns: Vec<usize> = turns.iter().flat_map(marks).collect();
        (marks(&body["tools"]), marks(&body["system"]), turns)
    };
    assert_eq!(marked(&build_request(&asked)), (vec![0, 0], vec![1], vec![0, 0, 0, 0, 0, 0, 1, 0, 1]));
    asked.messages.remove(0);
    assert_eq!(marked(&build_request(&asked)).0, [0, 1]);
}

/// Without the marks, which are no part of the cache, each request begins with the one before it.
#[test]
fn the_next_request_only_adds_to_the_last() {
    fn bare(body: &Value) -> String {
        let mut body = body.clone();
        for list in ["tools", "system"] {
            strip(&mut body[list]);
        }
        for turn in body["messages"].as_array_mut().unwrap() {
            strip(&mut turn["content"]);
        }
        let text = body.to_string();
        text[..text.find("],\"tool_choice\"").unwrap()].to_owned()
    }
    fn strip(list: &mut Value) {
        for block in list.as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    let mut asked = request(ToolChoice::Auto);
    let mut before = bare(&build_request(&asked));
    for round in 0..3 {
        let call = ToolCall {
            id: format!("c{round}"),
            name: "one".to_owned(),
            arguments: "{}".to_owned(),
            original: None,
        };
        let said = ChatMessage { tool_calls: vec![call], ..ChatMessage::text(ChatRole::Assistant, "Look.") };
        asked.messages.extend([said, ChatMessage::tool_result(format!("c{round}"), "found")]);
        let now = bare(&build_request(&asked));
        assert!(now.starts_with(&before), "{now}\n{before}");
        before = now;
    }
}
