//! What servers have used before an answer broke off, was refused or was stopped: it is paid for, in every protocol.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use synthdev::adapters::providers::{PriceList, ProviderPriceLists};
use synthdev::domain::cost::{AttemptUsage, CostEntry, TokenPrice};
use synthdev::domain::ids::RunId;
use synthdev::domain::protocol::ModelProtocol;
use synthdev::engine::event::RunEvent;
use synthdev::ports::model::ModelPort;
use synthdev::runtime::command::RunCommand;

use super::Heard;
use super::outcome::{ask_server, plain_request};
use crate::cli::world::talk_workflow;
use crate::support::model_server::{Behaviour, Dialect, ModelServer, messages, responses};
use crate::support::stage::{Stage, Texts, spec};
use crate::support::wire::Wire;

/// An answer that breaks off after forty characters.
fn half_answer(dialect: Dialect) -> Behaviour {
    let text = "0123456789 0123456789 0123456789 0123456";
    match dialect {
        Dialect::Completions => {
            let chunk = json!({"model": "mock-1", "choices": [{"index": 0, "delta": {"content": text}}]});
            Behaviour::events(&[&chunk.to_string()])
        }
        Dialect::Responses => {
            responses::events(&responses::parts(&[responses::message(&text.replace(' ', "_"))], "")[..5])
        }
        Dialect::Messages => {
            let usage = json!({"input_tokens": 10, "output_tokens": 1});
            let parts = messages::parts(&[messages::text_block(&text.replace(' ', "_"))], "end_turn", &usage);
            messages::events(&parts[..4])
        }
    }
}

async fn reported_usage(dialect: Dialect, behaviour: Behaviour) -> Option<AttemptUsage> {
    let (answer, heard) = ask_server(dialect, behaviour, Duration::from_millis(300)).await;
    answer.unwrap_err();
    heard.1.lock().unwrap().clone()
}

#[tokio::test]
async fn what_a_broken_answer_used_is_told() {
    // a silent server is waited for: all at once
    futures_util::future::join_all(Dialect::ALL.map(|dialect| async move {
        for broken in [half_answer(dialect).with_cut_connection(), half_answer(dialect).with_stall()] {
            let used = reported_usage(dialect, broken).await.unwrap_or_else(|| panic!("{dialect:?}"));
            assert!(used.estimated && used.model.is_some(), "{dialect:?}: {used:?}");
            assert_eq!(used.usage.completion, 10, "{dialect:?}: {used:?}");
            // Anthropic's says at the start how long the prompt is
            assert_eq!(used.usage.prompt == 10, dialect.protocol() == ModelProtocol::Anthropic, "{used:?}");
        }
        for nothing in [
            Behaviour::status(401, "{}"),
            Behaviour::total_silence(),
            Behaviour::raw_stream("").with_cut_connection(),
        ] {
            assert_eq!(reported_usage(dialect, nothing).await, None, "{dialect:?}");
        }
    }))
    .await;
}

/// What a server has counted itself is no estimate.
#[tokio::test]
async fn what_a_refused_or_failed_answer_used_is_what_the_server_says() {
    let failed = json!({"type": "response.failed", "response": {"object": "response", "status": "failed",
        "model": "mock-1", "error": {"code": "server_error", "message": "it broke"},
        "usage": {"input_tokens": 10, "output_tokens": 5}}});
    let chunk = |value: Value| value.to_string();
    let counted = json!({"prompt_tokens": 10, "completion_tokens": 5});
    let rows = [
        (Dialect::Messages, messages::blocks_answer(&[messages::text_block("No.")], "refusal")),
        (Dialect::Messages, messages::blocks_answer(&[], "end_turn")),
        (Dialect::Responses, responses::events(&[failed])),
        (Dialect::Completions, Behaviour::from_chunks(&[json!({"content": "He"})], "content_filter")),
        (
            Dialect::Completions,
            Behaviour::events(&[
                &chunk(json!({"model": "mock-1", "choices": [{"delta": {"content": "Hi"}}]})),
                &chunk(json!({"error": {"message": "died", "code": 502}, "usage": counted, "choices": []})),
            ]),
        ),
    ];
    for (at, (dialect, behaviour)) in rows.into_iter().enumerate() {
        let used = reported_usage(dialect, behaviour).await.unwrap_or_else(|| panic!("row {at}"));
        let counts = (used.usage.prompt, used.usage.completion, used.estimated);
        assert_eq!(counts, (10, 5, false), "row {at}: {used:?}");
    }
}

/// A run of one call on a wire.
struct Line {
    stage: Stage,
    wire: Arc<Wire>,
}

impl Line {
    async fn new(dialect: Dialect, flow: &Value) -> Self {
        let wire = Wire::new(dialect).await;
        let texts = Texts { workflows: vec![flow.to_string()], ..Texts::default() };
        let straight = wire.direct_model();
        Self { stage: Stage::with_wrapped_model(&texts, |_| straight, |tools| tools), wire }
    }

    fn start_run(&self) -> RunId {
        let (program, _) = self.stage.catalog.check_workflow("talk").unwrap();
        self.stage.start_run(spec(program, Map::from_iter([("task".to_owned(), json!("hello"))])))
    }

    /// The only line of its ledger, rebuilt from the journal.
    async fn charged_entry(&self, run: &RunId) -> CostEntry {
        for _ in 0..500 {
            let record = self.stage.handle.load_record(run.as_str()).unwrap();
            if let [entry] = &record.ledger.entries.iter().collect::<Vec<_>>()[..] {
                return entry.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nothing was charged");
    }
}

#[tokio::test]
async fn an_attempt_that_broke_off_counts_with_the_answer_after_it() {
    for dialect in Dialect::ALL {
        let mut line = Line::new(dialect, &talk_workflow()).await;
        line.wire.server.queue_answer("mock-1", half_answer(dialect).with_cut_connection());
        line.wire.server.queue_answer("mock-1", dialect.text("Fine."));
        let run = line.start_run();
        let told = |event: &RunEvent| match event {
            RunEvent::Replied { usage, estimated, .. } => Some((*usage, *estimated)),
            _ => None,
        };
        let (usage, estimated) = line.stage.wait_for(told).await;
        line.stage.wait_end().await;
        let entry = line.charged_entry(&run).await;
        assert!(estimated && entry.estimated, "{dialect:?}: {entry:?}");
        assert_eq!((entry.usage, entry.usage.completion), (usage, 10 + 5), "{dialect:?}");
        assert!(usage.prompt > 10, "{dialect:?}: both prompts: {usage:?}");
    }
}

#[tokio::test]
async fn a_call_that_fails_for_good_is_charged() {
    for dialect in Dialect::ALL {
        let mut line = Line::new(dialect, &talk_workflow()).await;
        for _ in 0..2 {
            line.wire.server.queue_answer("mock-1", half_answer(dialect).with_cut_connection());
        }
        let run = line.start_run();
        let RunEvent::Finished { usage, .. } = line.stage.wait_end().await else { unreachable!() };
        let entry = line.charged_entry(&run).await;
        assert_eq!((entry.usage, entry.usage.completion, entry.estimated), (usage, 20, true), "{dialect:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_is_charged() {
    let mut limited = talk_workflow();
    limited["states"][1]["timeout"] = json!(1);
    // a time limit is waited for: all rows at once
    let rows = [(talk_workflow(), true), (limited, false)];
    let rows = rows.iter().flat_map(|row| Dialect::ALL.map(|dialect| (row, dialect)));
    futures_util::future::join_all(rows.map(|((flow, cancels), dialect)| async move {
        let mut line = Line::new(dialect, flow).await;
        line.wire.server.queue_answer("mock-1", half_answer(dialect).with_stall());
        let run = line.start_run();
        line.stage.wait_for(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
        if *cancels {
            line.stage.handle.send_command(&run, RunCommand::Cancel);
        }
        let RunEvent::Finished { usage, .. } = line.stage.wait_end().await else { unreachable!() };
        let entry = line.charged_entry(&run).await;
        assert_eq!((entry.usage.completion, entry.estimated), (10, true), "{dialect:?} {cancels}");
        assert_eq!(entry.state, "say");
        // the end knows it already, and so do lists
        let listed = line.stage.handle.load_record(run.as_str()).unwrap().summary.progress.usage;
        assert_eq!((usage, listed), (entry.usage, entry.usage), "{dialect:?} {cancels}");
    }))
    .await;
}

/// Whoever leaves a run has the call made once more: the first one stays paid.
#[tokio::test]
async fn a_call_that_is_left_is_charged() {
    for dialect in Dialect::ALL {
        let mut line = Line::new(dialect, &talk_workflow()).await;
        line.wire.server.queue_answer("mock-1", half_answer(dialect).with_stall());
        let run = line.start_run();
        line.stage.wait_for(|event| matches!(event, RunEvent::Delta { .. }).then_some(())).await;
        line.stage.handle.send_command(&run, RunCommand::Leave);
        let entry = line.charged_entry(&run).await;
        assert_eq!((entry.usage.completion, entry.estimated), (10, true), "{dialect:?}");
        let record = line.stage.handle.load_record(run.as_str()).unwrap();
        assert_eq!(record.summary.progress.usage, entry.usage, "{dialect:?}");
        assert!(!record.summary.progress.status.is_over(), "{:?}", record.summary.progress.status);
    }
}

/// The catalogue's price of what has served, with the answer and with what broke off.
#[tokio::test]
async fn what_served_in_another_s_place_is_priced() {
    let price = |input| TokenPrice { input, output: input, ..TokenPrice::default() };
    let list = PriceList { models: vec![("small".to_owned(), price(0.5))], default_price: None };
    let prices = ProviderPriceLists::from([("mock".to_owned(), list)]);
    for dialect in Dialect::ALL {
        for (served, expected) in [("small-2025-04-14", Some(price(0.5))), ("unlisted", None)] {
            let behaviours = vec![
                dialect.text("Hi.").served_by(served),
                half_answer(dialect).served_by(served).with_cut_connection(),
            ];
            let server = ModelServer::start_in_dialect(dialect, behaviours).await;
            let mut asked = plain_request(dialect, &server.base_url);
            asked.choice.price = Some(price(9.0));
            let (providers, heard) =
                (super::patient_providers().with_prices(prices.clone()), Heard::default());
            let reply = providers.call(&asked, &heard).await.unwrap();
            assert_eq!((reply.model.as_deref(), reply.price), (Some(served), expected), "{dialect:?}");
            providers.call(&asked, &heard).await.unwrap_err();
            assert_eq!(heard.1.lock().unwrap().as_ref().unwrap().price, expected, "{dialect:?}");
        }
    }
}

/// A hard budget is asked before each attempt, not only before the first.
#[tokio::test]
async fn an_attempt_that_has_no_room_is_not_made() {
    let broken = async |flow: &Value| {
        let mut line = Line::new(Dialect::Completions, flow).await;
        for _ in 0..2 {
            line.wire.server.queue_answer("mock-1", half_answer(Dialect::Completions).with_cut_connection());
        }
        let run = line.start_run();
        let end = line.stage.wait_end().await;
        (line, run, end)
    };
    let (_, _, RunEvent::Finished { usage: both, .. }) = broken(&talk_workflow()).await else {
        unreachable!()
    };
    let one = both.prompt / 2;
    let within = |tokens: u64| {
        let mut flow = talk_workflow();
        flow["budget"] = json!({"tokens": tokens});
        flow
    };
    // an error names the most that a call may use if the budget has no room for it
    let (_, _, RunEvent::Finished { error: Some(refused), .. }) = broken(&within(one)).await else {
        unreachable!()
    };
    let most = refused.detail.split("room for ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let (line, run, end) = broken(&within(most.parse::<u64>().unwrap() + one / 2)).await;
    let RunEvent::Finished { status, error, usage, .. } = end else { unreachable!() };
    let code = error.map(|error| error.code);
    assert_eq!((status.as_str(), code.as_deref()), ("paused", Some("budget_exceeded")));
    assert_eq!((usage.completion, line.wire.server.requests().len()), (10, 1));
    assert_eq!(line.charged_entry(&run).await.usage, usage);
}
