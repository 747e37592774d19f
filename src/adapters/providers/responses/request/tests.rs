use super::*;
use synthdev_domain::message::{ChatMessage, ChatRole, OpaqueBlock, ToolCall};
use synthdev_domain::model::ToolChoice;
use synthdev_domain::protocol::ModelProtocol;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

fn spec(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        risk: ToolRisk::Read,
        repeat: None,
    }
}

fn request(model: &str, parameters: ModelParameters) -> ModelRequest {
    ModelRequest {
        agent: "a".to_owned(),
        state: "s".to_owned(),
        choice: ModelChoice {
            model: model.to_owned(),
            base_url: "https://api.openai.com/v1".to_owned(),
            protocol: ModelProtocol::Responses,
            parameters,
            ..ModelChoice::default()
        },
        messages: vec![ChatMessage::text(ChatRole::System, "S"), ChatMessage::text(ChatRole::User, "U")],
        tools: [].into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    }
}

#[test]
fn a_body_is_what_the_protocol_names_and_nothing_else() {
    let closed = json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"],
        "additionalProperties": false});
    let mut asked = request(
        "gpt-4.1",
        ModelParameters {
            temperature: Some(0.7),
            top_p: Some(0.5),
            top_k: Some(3),
            max_output_tokens: Some(9),
            ..ModelParameters::default()
        },
    );
    asked.tools = [spec("one", "d", closed.clone()), spec("two", "", json!({"required": ["x"]}))].into();
    let expected = json!({
        "model": "gpt-4.1",
        "instructions": "S",
        "tools": [
            {"type": "function", "name": "one", "description": "d", "strict": true, "parameters": closed},
            {"type": "function", "name": "two", "strict": false,
                "parameters": {"required": ["x"], "type": "object", "properties": {}}},
        ],
        "input": [{"type": "message", "role": "user", "content": "U"}],
        "tool_choice": "auto",
        "temperature": 0.7,
        "top_p": 0.5,
        "max_output_tokens": 16,
        "store": false,
        "stream": true,
    });
    assert_eq!(build_request(&asked).to_string(), expected.to_string());
}

#[test]
fn a_choice_is_as_binding_as_it_was_meant() {
    let named = |name: &str| ToolChoice::Named(name.to_owned());
    let rows = [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::Required, json!("required")),
        (named("one"), json!({"type": "function", "name": "one"})),
        (named("gone"), json!("auto")),
    ];
    for (choice, expected) in rows {
        let mut asked = request("gpt-4.1", ModelParameters::default());
        asked.tools = [spec("one", "", json!({}))].into();
        asked.tool_choice = choice;
        assert_eq!(build_request(&asked)["tool_choice"], expected);
        asked.tools = [].into();
        assert_eq!(build_request(&asked).get("tool_choice"), None);
    }
}

#[test]
fn reasoning_is_asked_for_and_kept_as_each_model_takes_it() {
    let summed = |effort: &str| json!({"effort": effort, "summary": "auto"});
    let rows = [
        ("gpt-5", None, Value::Null, true),
        ("gpt-5.1-mini", Some("Low"), summed("low"), true),
        ("gpt-5.1", Some("off"), json!({"effort": "none"}), true),
        ("openai/o4-mini", Some("max"), summed("xhigh"), true),
        ("ft:o4-mini:me", None, Value::Null, true),
        ("codex-mini-latest", Some(" "), Value::Null, true),
        ("gpt-5-chat-latest", None, Value::Null, false),
        ("gpt-4.1", None, Value::Null, false),
        ("olmo", None, Value::Null, false),
        ("mine", Some("high"), summed("high"), true),
    ];
    let block = json!({"type": "reasoning", "summary": [], "encrypted_content": "x"});
    let foreign = json!({"type": "thinking", "thinking": "Hm", "signature": "s"});
    for (model, effort, reasoning, kept) in rows {
        let effort = effort.map(str::to_owned);
        let mut asked =
            request(model, ModelParameters { reasoning_effort: effort, ..ModelParameters::default() });
        let call =
            ToolCall { id: "c".to_owned(), name: "r".to_owned(), arguments: "{}".to_owned(), original: None };
        asked.messages.push(ChatMessage {
            tool_calls: vec![call],
            sealed: vec![
                OpaqueBlock { after: 0, block: foreign.clone() },
                OpaqueBlock { after: 0, block: block.clone() },
            ],
            ..ChatMessage::text(ChatRole::Assistant, "")
        });
        let body = build_request(&asked);
        assert_eq!(body.get("reasoning").unwrap_or(&Value::Null), &reasoning, "{model}");
        let types: Vec<_> =
            body["input"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
        let expected = if kept {
            "message reasoning function_call function_call_output"
        } else {
            "message function_call function_call_output"
        };
        assert_eq!((types.join(" ").as_str(), body.get("include").is_some()), (expected, kept), "{model}");
    }
}
