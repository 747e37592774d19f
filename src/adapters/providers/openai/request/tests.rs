use serde_json::json;

use super::*;
use synthdev_domain::model::ToolChoice;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

fn request(provider: &str, base_url: &str, tool_choice: ToolChoice) -> ModelRequest {
    let spec = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "d".to_owned(),
        parameters: json!({"required": ["x"]}),
        risk: ToolRisk::Read,
        repeat: None,
    };
    ModelRequest {
        agent: "a".to_owned(),
        state: "s".to_owned(),
        choice: ModelChoice {
            provider: provider.to_owned(),
            base_url: base_url.to_owned(),
            model: "m".to_owned(),
            parameters: ModelParameters { max_output_tokens: Some(9), ..ModelParameters::default() },
            ..ModelChoice::default()
        },
        messages: vec![ChatMessage::text(ChatRole::User, "U")],
        tools: [spec("one"), spec("two")].into(),
        parsing_tools: Vec::new(),
        tool_choice,
        answer_schema: None,
    }
}

#[test]
fn a_choice_binds_on_servers_that_ignore_names_too() {
    let named = json!({"type": "function", "function": {"name": "two"}});
    let two = || ToolChoice::Named("two".to_owned());
    let rows = [
        ("openai", "https://api.openai.com/v1", two(), named.clone(), "one two"),
        ("mistral", "https://api.mistral.ai/v1", two(), named, "one two"),
        ("ollama", "https://ollama.example/v1", two(), json!("required"), "two"),
        ("mine", "http://localhost:8080/v1", two(), json!("required"), "two"),
        ("mine", "http://192.168.0.9:8080/v1", two(), json!("required"), "two"),
        ("mine", "https://x.example/v1", ToolChoice::Required, json!("required"), "one two"),
        ("mine", "https://x.example/v1", ToolChoice::Auto, json!("auto"), "one two"),
        ("mine", "https://x.example/v1", ToolChoice::Named("gone".to_owned()), json!("auto"), "one two"),
    ];
    for (provider, url, choice, expected, offered) in rows {
        let body = build_request(&request(provider, url, choice)).unwrap();
        assert_eq!(body["tool_choice"], expected, "{provider} {url}");
        let tools = body["tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
        assert_eq!(names.join(" "), offered, "{provider} {url}");
        let schema = json!({"required": ["x"], "type": "object", "properties": {}});
        assert_eq!(tools[0]["function"]["parameters"], schema);
    }
}

#[test]
fn without_tools_there_is_no_choice_and_only_set_parameters_are_sent() {
    let rows =
        [("https://api.openai.com/v1", "max_completion_tokens"), ("http://localhost/v1", "max_tokens")];
    for (url, limit) in rows {
        let mut asked = request("p", url, ToolChoice::Required);
        asked.tools = [].into();
        let expected = json!({"model": "m", "messages": [{"role": "user", "content": "U"}], limit: 9,
            "stream": true, "stream_options": {"include_usage": true}});
        assert_eq!(build_request(&asked).unwrap(), expected);
    }
}
