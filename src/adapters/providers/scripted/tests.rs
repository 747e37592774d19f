use std::sync::Mutex;

use serde_json::json;

use super::*;
use synthdev_domain::message::ChatRole;
use synthdev_domain::model::{ModelChoice, ToolChoice};

#[derive(Default)]
struct StreamedPiecesSink(Mutex<Vec<String>>);

impl DeltaSink for StreamedPiecesSink {
    fn delta(&self, _: DeltaKind, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

fn request(agent: &str, last: &str) -> ModelRequest {
    ModelRequest {
        agent: agent.to_owned(),
        state: "code".to_owned(),
        choice: ModelChoice::default(),
        messages: vec![ChatMessage::text(ChatRole::User, last)],
        tools: [].into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    }
}

#[tokio::test]
async fn replies_come_in_order_per_agent() {
    let model = ScriptedModel::from_value(&json!({
        "model": "toy", "expect": "read by somebody else",
        "replies": {
            "coder": [
                {"text": "wörds!", "chunk": 4, "reasoning": "hm", "usage": {"prompt": 9, "completion": 2}, "delay_ms": 1},
                {"tool_calls": [{"name": "read", "arguments": {"p": 1}}, {"name": "w", "arguments": "{bad", "id": "mine"}]},
                {"error": {"kind": "rate_limited", "retry_after_ms": 5, "message": "slow"}},
                {"match": "fix (it|them)", "reply": {"text": "fixed"}},
                {"match": "a+b(", "reply": {"text": "plain"}},
            ],
            "reviewer": [{"text": "ok"}, {"text": "never"}],
        }
    }))
    .unwrap();
    let heard = StreamedPiecesSink::default();
    let first = model.answer_request(&request("coder", "go"), &heard).await.unwrap();
    assert_eq!((first.text.as_str(), first.usage.prompt, first.usage_estimated), ("wörds!", 9, false));
    assert_eq!(
        (first.model.as_deref(), first.finish, first.duration_ms),
        (Some("toy"), FinishReason::Stop, 1)
    );
    assert_eq!(*heard.0.lock().unwrap(), ["hm", "wörd", "s!"]);

    assert_eq!(model.answer_request(&request("reviewer", "?"), &heard).await.unwrap().text, "ok");
    let second = model.answer_request(&request("coder", "go"), &heard).await.unwrap();
    let calls: Vec<_> = second.tool_calls.iter().map(|c| (c.id.as_str(), c.arguments.as_str())).collect();
    assert_eq!(calls, [("call_coder_1_0", "{\"p\":1}"), ("mine", "{bad")]);
    assert!(second.usage_estimated && second.usage.completion > 0);

    let error = model.answer_request(&request("coder", "go"), &heard).await.unwrap_err();
    assert_eq!(error, ModelError::RateLimited { retry_after_ms: Some(5), detail: "slow".to_owned() });
    assert_eq!(
        model.answer_request(&request("coder", "please fix them"), &heard).await.unwrap().text,
        "fixed"
    );
    assert_eq!(model.answer_request(&request("coder", "x a+b( y"), &heard).await.unwrap().text, "plain");
    assert_eq!(model.unused_replies(), [("reviewer".to_owned(), 1)]);
}

#[tokio::test]
async fn drift_says_what_was_asked_and_what_was_expected() {
    let script = json!({"replies": {"coder": [{"match": "^exactly$", "reply": {"text": "x"}}], "idle": []}});
    let model = ScriptedModel::from_value(&script).unwrap();
    let rows = [
        ("coder", &["coder", "code", "\"something\"", "^exactly$", "reply 1"][..]),
        ("idle", &["all 0 replies"]),
        ("stranger", &["stranger", "no replies", "coder, idle"]),
    ];
    for (agent, says) in rows {
        let error = model
            .answer_request(&request(agent, "something"), &StreamedPiecesSink::default())
            .await
            .unwrap_err();
        assert_eq!(error.code(), "model.drift");
        for word in says {
            assert!(error.to_string().contains(word), "{agent}: `{word}` is not in: {error}");
        }
    }
    // What did not fit is not used up.
    assert_eq!(model.unused_replies(), [("coder".to_owned(), 0)]);
}

/// What three messages must hold, and the error if they do not.
#[tokio::test]
async fn replies_ask_for_what_an_agent_is_shown() {
    let rows = [
        (json!({"sees": "first"}), ""),
        (json!({"sees": ["first", "sec.nd", "third", "end"], "match": "third"}), ""),
        (json!({"sees_not": ["fourth"], "sees": []}), ""),
        (json!({"sees": ["second", "first"]}), "sees `first`, which it does not later"),
        (json!({"sees": ["first", "fourth"]}), "sees `fourth`, which it does not at all"),
        (json!({"sees": "first", "sees_not": "sec.nd"}), "does not see `sec.nd`, which it does"),
        (json!({"sees": "first", "match": "second"}), "expects `second`"),
    ];
    for (mut reply, says) in rows {
        reply["reply"] = json!({"text": "yes"});
        let model = ScriptedModel::from_value(&json!({"replies": {"coder": [reply]}})).unwrap();
        let mut asked = request("coder", "first");
        asked.messages.push(ChatMessage::text(ChatRole::Assistant, "second"));
        asked.messages.push(ChatMessage::text(ChatRole::User, "third and end"));
        let came = model.answer_request(&asked, &StreamedPiecesSink::default()).await;
        let error = came.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(if says.is_empty() { error.is_empty() } else { error.contains(says) }, "{reply}: {error}");
    }
}

#[test]
fn every_problem_of_a_file_is_named_with_its_place() {
    let file = json!({"replies": {"a": [
        {"txt": "x"}, {"text": 3}, {"tool_calls": [{"arguments": {}}]}, {"error": {"kind": "sad"}}, {"match": "x"},
        {"text": "x", "chunk": 0, "delay_ms": -1}, 7, {"sees": "x"},
        {"sees": ["x", 1], "sees_not": 2, "reply": {"text": "x"}}, {"match": 1, "reply": {"text": "x"}}], "b": {}}});
    let problems = ScriptedModel::from_value(&file).unwrap_err().problems;
    let starts = [
        "replies.a[0]: unknown key `txt`",
        "replies.a[0]: one of",
        "replies.a[1].text: a text",
        "replies.a[1]: one of",
        "replies.a[2].tool_calls[0]: `name`",
        "replies.a[3].error.kind: one of",
        "replies.a[4]: `match` needs",
        "replies.a[5].delay_ms: a whole number",
        "replies.a[5].chunk: at least 1",
        "replies.a[6]: an object",
        "replies.a[7]: `sees` needs",
        "replies.a[8].sees[1]: a text",
        "replies.a[8].sees_not: a text",
        "replies.a[9].match: a text",
        "replies.b: a list",
    ];
    assert_eq!(problems.len(), starts.len(), "{problems:#?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.to_string().starts_with(start), "{problem}");
    }
    for bad in [json!({}), json!([]), json!({"replies": []})] {
        assert!(ScriptedModel::from_value(&bad).is_err(), "{bad}");
    }
}
