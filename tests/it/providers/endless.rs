//! Answers without an end, connections that died, and windows that are smaller than they are said to be: over real sockets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use synthdev::adapters::providers::{ModelProviders, ModelTimeouts};
use synthdev::domain::ids::Timestamp;
use synthdev::domain::journal::RunStatus;
use synthdev::domain::model::{FinishReason, ModelChoice, ModelError, ModelReply, ModelRequest};
use synthdev::engine::event::RunEvent;
use synthdev::ports::clock::ClockPort;
use synthdev::ports::model::ModelPort;

use super::outcome::plain_request;
use super::{Heard, patient_providers, request};
use crate::cli::world::talk_workflow;
use crate::support::list_server::ListServer;
use crate::support::model_server::{Behaviour, Dialect, ModelServer, messages, responses};
use crate::support::stage::{Stage, Texts, spec};
use crate::support::wire::Wire;

/// What a server sends, by its number.
type Piece = fn(usize) -> String;

fn chunk(delta: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}))
}

/// The beginning of an answer of one text.
fn begun_answer(dialect: Dialect) -> Behaviour {
    match dialect {
        Dialect::Completions => Behaviour::raw_stream(&chunk(&json!({"content": "So: "}))),
        Dialect::Responses => responses::events(&responses::parts(&[responses::message("So: ")], "")[..5]),
        Dialect::Messages => {
            let usage = json!({"input_tokens": 10, "output_tokens": 1});
            messages::events(&messages::parts(&[messages::text_block("So: ")], "end_turn", &usage)[..3])
        }
    }
}

/// More of its text.
fn text_chunk(dialect: Dialect, text: &str) -> String {
    let event = match dialect {
        Dialect::Completions => return chunk(&json!({"content": text})),
        Dialect::Responses => json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}),
        Dialect::Messages => {
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        }
    };
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
}

/// The same line, or lines with numbers, without an end.
fn endless_texts(dialect: Dialect) -> [Piece; 2] {
    match dialect {
        Dialect::Completions => [
            |_| text_chunk(Dialect::Completions, "I am not sure.\n"),
            |number| text_chunk(Dialect::Completions, &format!("line {number}\n")),
        ],
        Dialect::Responses => [
            |_| text_chunk(Dialect::Responses, "I am not sure.\n"),
            |number| text_chunk(Dialect::Responses, &format!("line {number}\n")),
        ],
        Dialect::Messages => [
            |_| text_chunk(Dialect::Messages, "I am not sure.\n"),
            |number| text_chunk(Dialect::Messages, &format!("line {number}\n")),
        ],
    }
}

/// Asks once; the server must see that nobody listens any more.
async fn check_flood(
    dialect: Dialect,
    behaviour: Behaviour,
    bound: impl FnOnce(&mut ModelRequest),
) -> (Result<ModelReply, ModelError>, Heard) {
    let server = ModelServer::start_in_dialect(dialect, vec![behaviour]).await;
    let mut asked = plain_request(dialect, &server.base_url);
    bound(&mut asked);
    let heard = Heard::default();
    let answer = patient_providers().call(&asked, &heard).await;
    server.wait_closed(1).await;
    assert_eq!(server.requests().len(), 1, "{dialect:?}");
    (answer, heard)
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_and_paid_for() {
    for dialect in Dialect::ALL {
        let [same, _] = endless_texts(dialect);
        let (answer, heard) = check_flood(dialect, begun_answer(dialect).with_flood(same), |_| {}).await;
        let error = answer.unwrap_err();
        assert_eq!(error.code(), "model.repetition", "{dialect:?}: {error}");
        assert!(error.to_string().contains("I am not sure."), "{dialect:?}: {error}");
        let used = heard.1.lock().unwrap().clone().unwrap();
        assert!(used.estimated && used.usage.completion > 4_000, "{dialect:?}: {used:?}");
    }
}

#[tokio::test]
async fn an_answer_that_passes_what_was_asked_for_is_cut_and_kept() {
    for dialect in Dialect::ALL {
        let [_, lines] = endless_texts(dialect);
        let asked = |asked: &mut ModelRequest| asked.choice.parameters.max_output_tokens = Some(1_000);
        let (answer, _) = check_flood(dialect, begun_answer(dialect).with_flood(lines), asked).await;
        let reply = answer.unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
        assert_eq!((reply.finish, reply.usage_estimated), (FinishReason::Length, true), "{dialect:?}");
        assert!(reply.text.contains("line 9\n"), "{dialect:?}: what came is kept");
        // eight bytes a token and some more; what had come with the last read
        assert!((12_096..400_000).contains(&reply.text.len()), "{dialect:?}: {}", reply.text.len());
        let told = reply.text.len() as u64 / 4;
        assert!(reply.usage.completion.abs_diff(told) < 2, "{dialect:?}: {:?}", reply.usage);
    }
    let (answer, _) = check_flood(
        Dialect::Completions,
        begun_answer(Dialect::Completions).with_flood(endless_texts(Dialect::Completions)[1]),
        |asked| {
            asked.choice.max_output = Some(1_000);
        },
    )
    .await;
    assert_eq!(answer.unwrap().finish, FinishReason::Length, "the most that the model can give");
}

#[tokio::test]
async fn what_is_no_answer_is_not_read_for_ever() {
    let call = |_: usize| chunk(&json!({"tool_calls": [{"id": "", "function": {"name": "f"}}]}));
    let line = |_: usize| format!("data: {}\n", "x".repeat(1 << 16));
    let arguments = |number: usize| {
        let name = if number == 0 { "write_file" } else { "" };
        let call = json!({"index": 0, "function": {"name": name, "arguments": " 0, 0, 0, 0, 0"}});
        chunk(&json!({"tool_calls": [call]}))
    };
    let rows: [(&str, Piece, &str, &str); 4] = [
        ("lines of one event", line, "model.protocol", "more than 16 MiB"),
        ("calls", call, "model.protocol", "without an end"),
        ("arguments", arguments, "model.repetition", "0, 0, 0"),
        ("thoughts", |_| chunk(&json!({"reasoning_content": "Wait. "})), "model.repetition", "Wait."),
    ];
    for (about, piece, code, says) in rows {
        let (answer, _) =
            check_flood(Dialect::Completions, Behaviour::raw_stream("").with_flood(piece), |_| {}).await;
        let error = answer.unwrap_err();
        assert_eq!(error.code(), code, "{about}: {error}");
        assert!(error.to_string().contains(says) && !error.is_transient(), "{about}: {error}");
    }
}

#[tokio::test]
async fn a_call_ends_in_time_however_busy_its_server_is() {
    let comment: Piece = |_| ": still here\n\n".to_owned();
    for behaviour in [Behaviour::raw_stream("").with_flood(comment), Behaviour::total_silence()] {
        let server = ModelServer::start_server(vec![behaviour]).await;
        let patience = ModelTimeouts { call_timeout: Duration::from_millis(300), ..ModelTimeouts::default() };
        let mut asked = request(&server.base_url);
        asked.choice.key = None;
        let answer = ModelProviders::new(BTreeMap::new(), patience).call(&asked, &Heard::default()).await;
        let error = answer.unwrap_err();
        assert_eq!((error.code(), error.is_transient()), ("model.timeout", false), "{error}");
        assert!(error.to_string().contains("not finished within 0.3 s"), "{error}");
        assert!(error.hint().contains("call_seconds"), "{}", error.hint());
        server.wait_closed(1).await;
    }
}

/// Whoever watches and is slow, or takes nothing at all, holds a few pieces of a long answer, not all.
#[tokio::test]
async fn what_nobody_looks_at_does_not_pile_up() {
    let wire = Wire::new(Dialect::Completions).await;
    let texts = Texts { workflows: vec![talk_workflow().to_string()], ..Texts::default() };
    let straight = wire.direct_model();
    let mut stage = Stage::with_wrapped_model(&texts, |_| straight, |tools| tools);
    let lines = |number| chunk(&json!({"content": format!("{number}. {}\n", "a word ".repeat(200))}));
    wire.server.queue_answer("mock-1", begun_answer(Dialect::Completions).with_flood(lines));
    let (program, _) = stage.catalog.check_workflow("talk").unwrap();
    stage.start_run(spec(program, Map::from_iter([("task".to_owned(), json!("hello"))])));
    // it ends by itself: no answer whose length is not known is longer than a mebibyte
    wire.server.wait_closed(1).await;
    while wire.outcomes.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let heard = wire.outcomes.lock().unwrap()[0].clone().unwrap();
    assert_eq!((heard.finish, heard.text.len() >> 20), (FinishReason::Length, 1));
    assert!(stage.waiting_events() < 40, "{} events", stage.waiting_events());
    let RunEvent::Finished { status, .. } = stage.wait_end().await else { unreachable!() };
    assert_eq!(status, RunStatus::Completed);
    let streamed: usize = stage
        .seen_events()
        .iter()
        .map(|event| if let RunEvent::Delta { text, .. } = event { text.len() } else { 0 })
        .sum();
    assert_eq!(streamed, heard.text.len(), "all of it was told");
}

/// A server that promises to keep its connections and does not: that is neither an attempt nor worth a word.
#[tokio::test]
async fn a_connection_that_died_is_not_an_attempt() {
    let turns = ["1", "2", "3"].map(|text| Behaviour::text(text).then_dead());
    let server = ModelServer::start_server(turns.to_vec()).await;
    let providers = patient_providers();
    for turn in ["1", "2", "3"] {
        let answer = providers.call(&request(&server.base_url), &Heard::default()).await;
        assert_eq!(answer.unwrap().text, turn);
    }
    let on: Vec<usize> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!((on, server.connection_count()), (vec![1, 1, 2, 2, 3], 3));
}

/// A new connection that dies is one.
#[tokio::test]
async fn a_new_connection_that_dies_is_an_attempt() {
    let server = ModelServer::start_server(vec![Behaviour::reset_at_once(), Behaviour::text("2")]).await;
    let providers = patient_providers();
    let error = providers.call(&request(&server.base_url), &Heard::default()).await.unwrap_err();
    assert_eq!((error.code(), server.requests().len()), ("model.transport", 1), "{error}");
}

/// What a llama.cpp server was started with counts, not what its model was made for.
#[tokio::test]
async fn the_window_of_a_server_is_the_one_that_it_gives() {
    let list = |meta: Value| json!({"data": [{"id": "small.gguf", "meta": meta}]});
    let with = |mut list: Value, window: u64| {
        // every GET is answered with the same document: it is the list and the properties
        list["default_generation_settings"] = json!({"n_ctx": window});
        list
    };
    let rows = [
        (list(json!({"n_ctx_train": 8_192})), 8_192, 2),
        (with(list(json!({"n_ctx_train": 8_192})), 2_048), 2_048, 2),
        (with(list(json!({"n_ctx_train": 8_192, "n_ctx": 4_096})), 2_048), 4_096, 1),
    ];
    for (list, window, asked) in rows {
        let server = ListServer::start_server(None, list.clone(), Vec::new());
        let mut choice = request(&server.base_url).choice;
        choice.key = None;
        let models = patient_providers().list_models(&choice, Duration::from_secs(30)).await.unwrap();
        assert_eq!(models[0].context_size, Some(window), "{list}");
        let paths: Vec<String> = server.requests_seen().into_iter().map(|asked| asked.path).collect();
        assert_eq!(paths, ["/v1/models", "/props"][..asked], "{list}");
    }
}

#[derive(Default)]
struct SetClock(AtomicI64);

impl ClockPort for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// A server that says nothing is given up, for a minute: nothing else here would ever end the wait for it.
#[tokio::test]
async fn a_window_is_not_waited_for_longer_than_its_limit() {
    let choice = |base_url: &str| ModelChoice { key: None, ..request(base_url).choice };
    let silent = choice(&ListServer::silent_server().base_url);
    let hours = Duration::from_secs(10_000);
    let patience = ModelTimeouts {
        connect_timeout: hours,
        idle_timeout: hours,
        call_timeout: hours,
        ..ModelTimeouts::default()
    };
    assert_eq!(patience.window_timeout, Duration::from_secs(2));
    let clock = Arc::new(SetClock::default());
    let providers = ModelProviders::new(
        BTreeMap::new(),
        ModelTimeouts { window_timeout: Duration::from_millis(20), ..patience },
    )
    .with_clock(clock.clone());
    let closed = ListServer::closed_address();
    for begun in [0, 60_000] {
        clock.0.store(begun, Ordering::Relaxed);
        assert_eq!(providers.known_window(&silent), None, "it is asked");
        let told = join_all((0..100).map(|_| providers.window(&silent))).await;
        assert!(told.iter().all(Option::is_none));
        for (later, known) in [(0, Some(None)), (59_999, Some(None)), (60_000, None), (-1, None)] {
            clock.0.store(begun + later, Ordering::Relaxed);
            assert_eq!(providers.known_window(&silent), known, "{later} ms later");
        }
        assert_eq!(providers.window(&choice(&closed)).await, None);
        assert_eq!(providers.known_window(&choice(&closed)), None, "what answers at once is asked again");
    }
    for far in ["https://models.example/v1", "http://8.8.8.8/v1", "recording:it.jsonl", ""] {
        assert_eq!(providers.known_window(&choice(far)), Some(None), "{far} is not asked");
        assert_eq!(providers.window(&choice(far)).await, None);
    }
}

#[tokio::test]
async fn a_server_is_asked_once_for_each_of_its_models() {
    let window = |name: &str, window: u64| json!({"id": name, "max_model_len": window});
    let server = ListServer::start_server(
        None,
        json!({"data": [window("a", 1_024), window("b:latest", 2_048)]}),
        Vec::new(),
    );
    let providers = patient_providers();
    let choice = |model: &str| {
        let choice = request(&server.base_url).choice;
        ModelChoice { model: model.to_owned(), key: None, ..choice }
    };
    for (model, expected, asked) in
        [("a", Some(1_024), 1), ("b", Some(2_048), 2), ("c", None, 3), ("c", None, 3)]
    {
        let choice = choice(model);
        let told = join_all((0..20).map(|_| providers.window(&choice))).await;
        assert!(told.iter().all(|told| *told == expected), "{model}: {told:?}");
        assert_eq!(
            (providers.known_window(&choice), server.requests_seen().len()),
            (Some(expected), asked),
            "{model}"
        );
    }
    let set = ModelChoice { context_size: Some(7), ..choice("d") };
    assert_eq!((providers.window(&set).await, server.requests_seen().len()), (Some(7), 3));
}
