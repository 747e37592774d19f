//! What is executed is what was decided, whatever keys this process holds, and no copy of it shows a key.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use synthdev::domain::tool::{ToolInvocation, ToolOutcome};
use synthdev::engine::event::RunEvent;
use synthdev::ports::tool::ToolPort;

use crate::cli::world::talk_workflow;
use crate::support::stage::{Stage, Texts, spec};
use crate::support::tools::as_other_tools;

/// The project's tools, which execute nothing: what they were to execute is kept, and said as the result.
pub(super) struct Recording {
    pub(super) tools: Arc<dyn ToolPort>,
    pub(super) executed: Arc<Mutex<Vec<Value>>>,
}

impl ToolPort for Recording {
    as_other_tools!(tools);

    fn run<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        async move {
            self.executed.lock().unwrap().push(invocation.arguments.clone());
            ToolOutcome {
                ok: true,
                content: format!("did {}", invocation.arguments),
                summary: invocation.arguments.to_string(),
                ..ToolOutcome::default()
            }
        }
        .boxed()
    }
}

struct Played {
    executed: Vec<Value>,
    /// Everything that others read: requests to the model, events, the record on disk.
    copies: Vec<(&'static str, Vec<u8>)>,
    answers: Vec<String>,
}

/// A model that calls `execute_terminal` once with each of these, in a process that holds `key`.
async fn play_calls(key: &str, calls: &[Value]) -> Played {
    let tool_calls: Vec<Value> =
        calls.iter().map(|arguments| json!({"name": "execute_terminal", "arguments": arguments})).collect();
    let texts = Texts {
        workflows: vec![talk_workflow().to_string()],
        replies: json!({"coder": [{"tool_calls": tool_calls}, {"text": "Done."}]}),
        keys: vec![key.to_owned()],
        ..Texts::default()
    };
    let executed = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&executed);
    let mut stage = Stage::with_wrapped_model(
        &texts,
        |model| model,
        |tools| Arc::new(Recording { tools, executed: kept }),
    );
    let Ok((program, _)) = stage.catalog.check_workflow("talk") else {
        panic!("{:#?}", stage.catalog.diagnostics())
    };
    let inputs = Map::from_iter([("task".to_owned(), Value::from("go"))]);
    stage.start_run(spec(program, inputs));
    stage.wait_end().await;
    let seen = stage.seen_events();
    let answers = seen.iter().filter_map(|event| match event {
        RunEvent::ToolFinished { content, .. } => Some(content.clone()),
        _ => None,
    });
    let mut copies = vec![
        ("events", format!("{}", json!(seen)).into_bytes()),
        ("requests", format!("{}", json!(stage.recorder.requests())).into_bytes()),
    ];
    for end in ["", "-wal"] {
        let path = format!("{}{end}", stage.history_path().display());
        copies.push(("the record", std::fs::read(path).unwrap_or_default()));
    }
    let executed = executed.lock().unwrap().clone();
    Played { executed, copies, answers: answers.collect() }
}

fn contains_text(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// As JSON spells it, and as JSON inside of a JSON string spells it.
fn spellings(key: &str) -> Vec<String> {
    let quote = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    vec![key.to_owned(), quote(key), quote(&quote(key))]
}

fn assert_no_key(key: &str, calls: &[Value]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let played = runtime.block_on(play_calls(key, calls));
    assert_eq!(played.executed, calls, "{key}: what was executed");
    for (what, bytes) in &played.copies {
        for spelling in spellings(key) {
            assert!(!contains_text(bytes, &spelling), "{key}: {what} shows it as {spelling}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_executed_is_what_was_decided(
        key in r#"[a-z0-9]{2}[A-Za-z0-9/+=_.~"\\ -]{6,30}[A-Z0-9]{2}"#,
        before in r#"[ -~]{0,12}"#,
        after in r#"[ -~]{0,12}"#,
    ) {
        assert_no_key(&key, &[
            json!({"command": format!("{before}{key}{after}")}),
            json!({"command": format!("{key} {key}")}),
            json!({"command": "true"}),
        ]);
    }
}

/// Arguments, whether they are executed, and what the model hears where they are not.
#[test]
fn a_call_with_the_mark_of_a_hidden_key_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (command, executed) in
        [("rm -rf cache/[redacted:key]", false), ("rm -rf cache/***", true), ("echo plain", true)]
    {
        let calls = [json!({"command": command})];
        let played = runtime.block_on(play_calls("sk-a1B2c3D4e5F6", &calls));
        assert_eq!(played.executed.len(), usize::from(executed), "{command}");
        let refused = played.answers[0].contains("nothing was executed: the arguments hold `[redacted:key]`");
        assert_eq!(refused, !executed, "{command}: {:?}", played.answers);
    }
}
