//! Questions to a model beside the runs: how they end, and what they are charged for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, pending};
use synthdev::domain::cost::{AttemptUsage, TokenPrice, TokenUsage};
use synthdev::domain::message::{ChatMessage, ChatRole};
use synthdev::domain::model::{ModelChoice, ModelError, ModelReply, ModelRequest, ToolChoice};
use synthdev::ports::model::{DeltaSink, ModelPort};
use synthdev::runtime::handle::{RetryPolicy, RuntimeHandle, RuntimeOptions};
use synthdev::runtime::one_shot_query::OneShotOutcome;
use tokio::sync::Notify;

use crate::support::stage::{Stage, Texts};

const KEY: &str = "sk-a-key-that-nobody-sees";

/// What a call says of its use, and how it ends; nothing: never.
type Call = (u64, Option<Result<ModelReply, ModelError>>);

/// Gives its answers in order, for any model.
struct Line {
    calls: Mutex<VecDeque<Call>>,
    hang_notify: Arc<Notify>,
}

impl ModelPort for Line {
    fn call<'a>(
        &'a self,
        _: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let (tokens, end) = self.calls.lock().unwrap().pop_front().expect("one call too many");
        sink.report_usage(AttemptUsage { usage: usage(tokens), ..AttemptUsage::default() });
        Box::pin(async move {
            match end {
                Some(end) => end,
                None => {
                    self.hang_notify.notify_one();
                    pending().await
                }
            }
        })
    }
}

fn usage(prompt: u64) -> TokenUsage {
    TokenUsage { prompt, ..TokenUsage::default() }
}

fn choice(model: &str, dollars: Option<f64>) -> ModelChoice {
    let price = dollars.map(|input| TokenPrice { input, ..TokenPrice::default() });
    ModelChoice { model: model.into(), price, ..ModelChoice::default() }
}

fn request(fallback: Vec<ModelChoice>) -> ModelRequest {
    ModelRequest {
        agent: "/cmd".into(),
        state: "/cmd".into(),
        choice: ModelChoice { fallback, ..choice("a", Some(1.0)) },
        messages: vec![ChatMessage::text(ChatRole::User, format!("list files with {KEY}"))],
        tools: [].into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    }
}

fn model_down() -> Option<Result<ModelReply, ModelError>> {
    Some(Err(ModelError::Overloaded { retry_after_ms: None, detail: "busy".into() }))
}

/// How it ended, in words; model, tokens and cost of each line.
async fn ask_once(
    calls: Vec<Call>,
    fallback: Vec<ModelChoice>,
) -> (String, Vec<(String, u64, Option<f64>)>, Stage) {
    let hangs = Arc::new(Notify::new());
    let line = Line { calls: Mutex::new(calls.into()), hang_notify: Arc::clone(&hangs) };
    let stage = Stage::with_model(&Texts::default(), |_| Arc::new(line));
    let retry = RetryPolicy { attempts: 2, first_delay_ms: 1, longest_delay_ms: 1 };
    let options = RuntimeOptions { retry, secrets: vec![KEY.into()], ..RuntimeOptions::default() };
    let handle = RuntimeHandle::new(stage.ports.clone(), options);
    let asked = handle.ask_model(request(fallback), async move { hangs.notified().await }).await;
    let ended = match asked.outcome {
        OneShotOutcome::Answered(reply) => reply.text,
        OneShotOutcome::Failed(error) => error.to_string(),
        OneShotOutcome::Stopped => "stopped".to_owned(),
    };
    let spent = asked.costs.into_iter().map(|entry| (entry.model, entry.usage.prompt, entry.cost_usd));
    (ended, spent.collect(), stage)
}

#[tokio::test]
async fn every_attempt_is_paid_for_however_it_ends() {
    let reply = |tokens: u64| {
        Some(Ok(ModelReply { text: format!("`ls` {KEY}"), usage: usage(tokens), ..ModelReply::default() }))
    };
    let line = |model: &str, tokens: u64, cost: Option<f64>| (model.to_owned(), tokens, cost);
    let million = 1_000_000;
    // one answer after one failure
    let (ended, spent, stage) =
        ask_once(vec![(million, model_down()), (million, reply(2 * million))], Vec::new()).await;
    assert_eq!(spent, [line("a", 3 * million, Some(3.0))]);
    // no key goes out, none comes back
    assert!(ended.starts_with("`ls` ") && !ended.contains(KEY), "{ended}");
    let sent = serde_json::to_string(&stage.recorder.requests()).unwrap();
    assert!(sent.contains("list files with") && !sent.contains(KEY), "{sent}");
    // the server's name of the model is spelled differently
    let dated =
        ModelReply { model: Some("a-2024-08-06".into()), usage: usage(million), ..ModelReply::default() };
    let (_, spent, _) = ask_once(vec![(million, model_down()), (0, Some(Ok(dated)))], Vec::new()).await;
    assert_eq!(spent, [line("a", 2 * million, Some(2.0))]);
    // the next of the row, whose price nobody knows
    let calls = vec![(million, model_down()), (million, model_down()), (0, reply(5))];
    let (_, spent, stage) = ask_once(calls, vec![choice("b", None)]).await;
    assert_eq!(spent, [line("a", 2 * million, Some(2.0)), line("b", 5, None)]);
    assert_eq!(stage.recorder.requests().last().unwrap().choice.model, "b");
    // nobody is left to ask
    let (ended, spent, _) = ask_once(vec![(1, model_down()), (2, model_down())], Vec::new()).await;
    assert!(ended.contains("busy"), "{ended}");
    assert_eq!(spent.len(), 1);
    assert_eq!(spent[0].1, 3);
    // a lasting error is not asked elsewhere
    let refused = Some(Err(ModelError::Auth { detail: "no".into() }));
    let (_, spent, _) = ask_once(vec![(7, refused)], vec![choice("b", None)]).await;
    assert_eq!(spent.iter().map(|one| one.1).sum::<u64>(), 7);
    // stopped in the middle of the second attempt
    let (ended, spent, _) = ask_once(vec![(1, model_down()), (4, None)], Vec::new()).await;
    assert_eq!((ended.as_str(), spent[0].1), ("stopped", 5));
}
