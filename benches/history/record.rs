//! Makes the journal of a long run: the machine is driven with scripted answers, and its rows are stored as the
//! runtime stores them.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::cost::TokenUsage;
use synthdev::domain::ids::{RunId, Timestamp};
use synthdev::domain::journal::{JournalRow, JournalRowKind, RunHeader};
use synthdev::domain::message::ToolCall;
use synthdev::domain::model::{FinishReason, ModelReply, ModelRequest};
use synthdev::domain::script::{ScopePatch, ScriptOutcome, TriedGuard};
use synthdev::domain::tool::ToolOutcome;
use synthdev::engine::effect::Effect;
use synthdev::engine::input::{Input, UserAnswer};
use synthdev::engine::machine::Machine;
use synthdev::engine::pending_requests::PendingRequests;
use synthdev::engine::run_spec::RunSpec;
use synthdev::ports::run_store::RunStore;
use synthdev::runtime::preview::RecentEvents;
use synthdev::runtime::state_snapshot::StateSnapshot;

use super::shape::Shape;

pub const RUN: &str = "0190aaaa-0000-7000-8000-000000000000";

/// Gives what an input took in the last tenth of the run, compared with the first.
pub fn record(shape: Shape, messages: usize, file: &Path, project: &str) -> f64 {
    let spec = shape.spec();
    let mut machine = Machine::new(spec.clone());
    machine.compacts_history();
    let mut requests = PendingRequests::default();
    let mut ring = RecentEvents::default();
    let mut rows = Vec::new();
    let mut times = Vec::new();
    let mut count = 0;
    let mut input = Input::Started { seed: 7 };
    while count < messages || !requests.can_be_stored(&machine) {
        let at = Timestamp(1_700_000_000_000 + i64::try_from(rows.len()).unwrap() * 40);
        let body = serde_json::to_string(&input).unwrap();
        rows.push(JournalRow {
            digest: Some(0x5eed),
            ..JournalRow::new(JournalRowKind::Input, at, input.answered_call(), body)
        });
        let began = Instant::now();
        let output = requests.handle_input(&mut machine, at, input);
        times.push(began.elapsed());
        ring.record_events(at, &output.events);
        let effect = output.effects.into_iter().next_back().expect("the run goes on");
        rows.extend(intent(at, &effect));
        (input, count) = answer(shape, effect, count);
    }
    let store = SqliteStore::new(file.to_owned());
    let (header, progress) = (header(&spec, project), machine.progress());
    store.import(&header, &rows, &progress, None).unwrap();
    // left by its driver, in order
    store.claim(&header.id).unwrap();
    let preview = ring.to_preview_json();
    store.append_with_preview(&header.id, &[], Some(&progress), &preview.unwrap_or_default()).unwrap();
    let began = Instant::now();
    let state = StateSnapshot::encode(&machine, &requests, &ring)
        .expect("nothing but a model or the user is waited for");
    let encoded = began.elapsed();
    store.save_state(&header.id, &state).unwrap();
    println!(
        "{shape:?}: a state of {} KB, encoded in {:.1} ms, stored in {:.1} ms",
        state.len() / 1024,
        encoded.as_secs_f64() * 1e3,
        began.elapsed().as_secs_f64() * 1e3
    );
    store.release(&header.id);
    growth(&times)
}

fn answer(shape: Shape, effect: Effect, count: usize) -> (Input, usize) {
    match effect {
        Effect::Evaluate { call, .. } => {
            let set = Map::from_iter([("count".to_owned(), json!(count))]);
            let outcome = ScriptOutcome {
                chosen: Some(0),
                tried: vec![TriedGuard { held: true, value: "true".to_owned() }],
                patch: ScopePatch { set, ..ScopePatch::default() },
                ..ScriptOutcome::default()
            };
            (Input::Evaluated { call, outcome }, count)
        }
        Effect::CallModel { call, request } => {
            (Input::Replied { call, reply: reply(shape, &request, count) }, count + 1)
        }
        Effect::RunTool { call, .. } => {
            let outcome = ToolOutcome {
                ok: true,
                content: text(count),
                summary: "12 lines of src/lib.rs".to_owned(),
                duration_ms: 3,
                ..ToolOutcome::default()
            };
            (Input::ToolDone { call, outcome }, count + 1)
        }
        Effect::AskPerson { call, .. } => {
            (Input::Answered { call, answer: UserAnswer::Text { text: text(count) } }, count + 1)
        }
        other => panic!("nobody answers {other:?}"),
    }
}

fn reply(shape: Shape, request: &ModelRequest, count: usize) -> ModelReply {
    let tools = shape == Shape::Tools && count % 4 == 1;
    let call = ToolCall {
        id: format!("call_{count}"),
        name: "read_files".to_owned(),
        arguments: "{\"path\":\"src/lib.rs\",\"from\":1,\"lines\":12}".to_owned(),
        original: None,
    };
    ModelReply {
        text: if tools { String::new() } else { text(count) },
        reasoning: String::new(),
        tool_calls: tools.then_some(call).into_iter().collect(),
        sealed: Vec::new(),
        usage: TokenUsage { prompt: 12_000, completion: 60, cached: 11_000, ..TokenUsage::default() },
        usage_estimated: false,
        model: Some(request.choice.model.clone()),
        finish: if tools { FinishReason::ToolCalls } else { FinishReason::Stop },
        duration_ms: 1_200,
        ..ModelReply::default()
    }
}

/// About 200 characters.
fn text(count: usize) -> String {
    format!(
        "{count}: the change is small: `parse` now returns an error with its place, and every caller shows it.\n\
         - one file is read once\n- no panic on bad input, whatever the \"line\" says; see src/lib.rs for the rest."
    )
}

fn intent(at: Timestamp, effect: &Effect) -> Option<JournalRow> {
    let body = match effect {
        Effect::CallModel { request, .. } => json!({
            "effect": "call_model", "agent": request.agent, "state": request.state,
            "model": request.choice.model, "messages": request.messages.len(),
        }),
        Effect::RunTool { invocation, risk, .. } => json!({
            "effect": "run_tool", "agent": invocation.agent, "tool": invocation.tool,
            "risk": risk, "arguments": invocation.arguments,
        }),
        _ => return None,
    };
    Some(JournalRow::new(JournalRowKind::Intent, at, effect.call(), Value::to_string(&body)))
}

fn header(spec: &RunSpec, project: &str) -> RunHeader {
    RunHeader {
        id: RunId::from(RUN),
        workflow: spec.program.workflows[0].name.clone(),
        definition_hash: spec.program.hash.clone(),
        spec: serde_json::to_string(spec).unwrap(),
        input: String::new(),
        project: project.to_owned(),
        started: Timestamp(0),
        pid: std::process::id(),
        origin: None,
        worktree: None,
    }
}

/// The last tenth by the first; the very first inputs warm things up.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn growth(times: &[Duration]) -> f64 {
    let tenth = (times.len() / 10).max(1);
    let sum = |part: &[Duration]| part.iter().sum::<Duration>().as_nanos() as f64;
    sum(&times[times.len() - tenth..]) / sum(&times[..tenth]).max(1.0)
}
