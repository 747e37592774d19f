//! Everything that goes wrong with servers, in every protocol: what a run makes of it, whether it asks again, and the
//! hint for its user. One table; a row is a fault.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use synthdev::adapters::providers::ModelTimeouts;
use synthdev::domain::ids::RunId;
use synthdev::domain::journal::RunStatus;
use synthdev::engine::event::RunEvent;
use synthdev::runtime::command::RunCommand;

use crate::cli::world::talk_workflow;
use crate::support::model_server::{Behaviour, Dialect, dead_url, messages, responses};
use crate::support::stage::{Stage, Texts, spec};
use crate::support::wire::Wire;

/// Silence is borne so long where it is the fault; nothing else comes near the usual limit.
const SHORT: Duration = Duration::from_millis(500);

/// What a run makes of it.
enum Ends {
    /// It fails with this error, having asked so often; the error says this, and its hint that.
    Failed { code: &'static str, requests: usize, message: &'static str, hint: &'static str },
    /// It goes on and completes, having asked so often; the last request holds this.
    Completed { requests: usize, sent: &'static str },
}

struct Fault {
    title: &'static str,
    /// Given to the first request, and to the second.
    answers: [Behaviour; 2],
    ends: Ends,
    /// Milliseconds after which the server wants to be asked again.
    retry_delay: Option<RangeInclusive<u64>>,
}

/// A run on a wire, one after the other.
struct Line {
    stage: Stage,
    wire: Arc<Wire>,
}

impl Line {
    async fn new(dialect: Dialect, patience: ModelTimeouts) -> Self {
        let wire = Wire::with_timeouts(dialect, patience).await;
        let texts = Texts { workflows: vec![talk_workflow().to_string()], ..Texts::default() };
        let straight = wire.direct_model();
        Self { stage: Stage::with_wrapped_model(&texts, |_| straight, |tools| tools), wire }
    }

    fn start_run(&self) -> RunId {
        let (program, _) = self.stage.catalog.check_workflow("talk").unwrap();
        self.stage.start_run(spec(program, Map::from_iter([("task".to_owned(), json!("hello"))])))
    }

    async fn check_fault(&mut self, fault: Fault) {
        let title = fault.title;
        for behaviour in fault.answers {
            self.wire.server.queue_answer("mock-1", behaviour);
        }
        let before = self.wire.outcomes.lock().unwrap().len();
        self.start_run();
        let RunEvent::Finished { status, output, error, .. } = self.stage.wait_end().await else {
            unreachable!()
        };
        let heard = self.wire.outcomes.lock().unwrap()[before..].to_vec();
        self.wire.server.forget_answers("mock-1");
        assert_eq!(self.wire.refused_requests(), Vec::<String>::new(), "{title}");
        let first = heard.first().unwrap();
        if let Some(wait) = fault.retry_delay {
            let found = first.as_ref().unwrap_err().retry_after_ms().unwrap();
            assert!(wait.contains(&found), "{title}: {found} ms");
        }
        match fault.ends {
            Ends::Failed { code, requests: asked, message: says, hint: advice } => {
                let failure = error.unwrap_or_else(|| panic!("{title}: {status:?} with {output:?}"));
                let (detail, hint) = (failure.detail.as_str(), failure.hint.as_deref().unwrap_or_default());
                assert_eq!((failure.code.as_str(), heard.len()), (code, asked), "{title}: {detail}");
                assert!(detail.contains(says), "{title}: no `{says}` in: {detail}");
                assert!(hint.contains(advice), "{title}: no `{advice}` in: {hint}");
                let one_line = detail.chars().count() < 400 && !detail.chars().any(char::is_control);
                assert!(one_line, "{title}: {detail}");
            }
            Ends::Completed { requests: asked, sent } => {
                assert_eq!(
                    (status, error, heard.len()),
                    (RunStatus::Completed, None, asked),
                    "{title}: {heard:?}"
                );
                let requests = self.wire.server.requests();
                let last = requests.last().unwrap().body.to_string();
                assert!(last.contains(sent), "{title}: no `{sent}` in {last}");
            }
        }
    }
}

fn failed_run(code: &'static str, asked: usize, says: &'static str, advice: &'static str) -> Ends {
    Ends::Failed { code, requests: asked, message: says, hint: advice }
}

fn row(title: &'static str, answer: Behaviour, ends: Ends) -> Fault {
    Fault { title, answers: [answer.clone(), answer], ends, retry_delay: None }
}

/// The answer, then `Fine.`
fn then_fine(
    title: &'static str,
    dialect: Dialect,
    answer: Behaviour,
    asked: usize,
    sent: &'static str,
) -> Fault {
    Fault {
        title,
        answers: [answer, dialect.text("Fine.")],
        ends: Ends::Completed { requests: asked, sent },
        retry_delay: None,
    }
}

/// Refused for now; a header says when to retry.
fn limited(dialect: Dialect, header: &str, value: &str, asked: usize, wait: RangeInclusive<u64>) -> Fault {
    let answer =
        Behaviour::status(429, &dialect.error("rate_limit_error", "slow down")).header(header, value);
    let ends = failed_run("model.rate_limit", asked, "slow down", "wait a little");
    Fault { retry_delay: Some(wait), ..row("too many requests", answer, ends) }
}

/// A server that says no, or not now.
#[expect(clippy::too_many_lines, reason = "one story from its beginning to its end, or one table")]
fn refusals(dialect: Dialect) -> Vec<Fault> {
    let error = |status: u16, kind: &str, text: &str| Behaviour::status(status, &dialect.error(kind, text));
    let anthropic = dialect == Dialect::Messages;
    let quota = if anthropic {
        error(400, "invalid_request_error", "Your credit balance is too low to access the API.")
    } else {
        error(
            429,
            "insufficient_quota",
            "You exceeded your current quota, check your plan and billing details.",
        )
    };
    let unknown = if anthropic {
        error(404, "not_found_error", "model: mock-1")
    } else {
        error(404, "model_not_found", "The model `mock-1` does not exist")
    };
    let long = if anthropic {
        error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
    } else {
        error(400, "context_length_exceeded", "Your input exceeds the context window: 210000 > 200000")
    };
    let trouble = "the provider has trouble";
    vec![
        // a run here waits for one millisecond at most
        limited(dialect, "retry-after", "7", 1, 7_000..=7_000),
        limited(dialect, "retry-after", "0", 2, 0..=0),
        limited(dialect, "retry-after-ms", "1", 2, 1..=1),
        limited(dialect, "retry-after", "Tue, 14 Nov 2000 22:13:50 GMT", 2, 0..=0),
        limited(dialect, "retry-after", "Fri, 14 Nov 2200 22:13:50 GMT", 1, 3_600_000..=u64::MAX),
        row(
            "quota exhausted",
            quota,
            failed_run("model.auth", 1, "no credit left; add some there", "an account without credit"),
        ),
        row(
            "bad key",
            error(401, "authentication_error", "invalid key"),
            failed_run("model.auth", 1, "401", "set a key"),
        ),
        row(
            "unknown model",
            unknown,
            failed_run("model.protocol", 1, "no such model; set another one", "the model"),
        ),
        row(
            "too long",
            long,
            failed_run("context_overflow", 1, "210000", "let the conversation be cut earlier"),
        ),
        row(
            "500",
            error(500, "api_error", "oops"),
            failed_run("model.overloaded", 2, "oops (after 2 attempts)", trouble),
        ),
        row("529", error(529, "overloaded_error", "busy"), failed_run("model.overloaded", 2, "529", trouble)),
        row(
            "500 without a word",
            Behaviour::status(500, ""),
            failed_run("model.overloaded", 2, "without a word", trouble),
        ),
        row("refusal", refusal(dialect), failed_run("model.refusal", 1, "the model refused", "rephrase")),
    ]
}

/// The key is known, but not for this.
fn denials(dialect: Dialect) -> Vec<Fault> {
    let error = |status: u16, kind: &str, text: &str| Behaviour::status(status, &dialect.error(kind, text));
    vec![
        row(
            "no credit",
            error(402, "billing_error", "pay first"),
            failed_run("model.auth", 1, "no credit left; add some there", "an account without credit"),
        ),
        row(
            "not allowed",
            error(403, "permission_error", "not in your country"),
            failed_run(
                "model.auth",
                1,
                "does not allow this (403: not in your country)",
                "what this key may use",
            ),
        ),
    ]
}

/// What comes is no answer, or not all of it.
fn breakdowns(dialect: Dialect) -> Vec<Fault> {
    let page = || "<html><head><title>Log\n in</title></head></html>".to_owned();
    let url = "the URL of an";
    let check = "check the base URL";
    let broke = "the connection to";
    vec![
        row(
            "reset in the text",
            unended_text(dialect).with_reset_connection(),
            failed_run("model.transport", 2, "after 2 characters", check),
        ),
        // no connection is left from before: with one that is, this would not be an attempt
        row("reset at once", Behaviour::reset_at_once(), failed_run("model.transport", 2, broke, check)),
        row(
            "cut in the text",
            unended_text(dialect).with_cut_connection(),
            failed_run("model.transport", 2, "after 2 characters", check),
        ),
        row(
            "ended in the text",
            unended_text(dialect),
            failed_run("model.transport", 2, "after 2 characters", check),
        ),
        row(
            "arguments cut off",
            half_a_call(dialect).with_cut_connection(),
            failed_run("model.transport", 2, "middle of a tool call", check),
        ),
        row(
            "empty body",
            Behaviour::raw_stream(""),
            failed_run("model.transport", 2, "before anything", check),
        ),
        row(
            "a page",
            Behaviour::html_page(&page()),
            failed_run("model.protocol", 1, "a web page, \"Log in\"", url),
        ),
        row(
            "a page for an error",
            Behaviour::status(502, &page()),
            failed_run("model.overloaded", 2, "a web page", "trouble"),
        ),
        row(
            "words",
            Behaviour::raw_stream("hello there"),
            failed_run("model.protocol", 1, "hello there", url),
        ),
        row(
            "nothing said",
            dialect.text(""),
            failed_run("model.empty", 1, "the model answered nothing", "room for"),
        ),
    ]
}

/// Odd answers that a run can go on with.
fn oddities(dialect: Dialect) -> Vec<Fault> {
    let broken = "{\"file_paths\": [";
    let twice = dialect.calls(&[
        ("c1", "read_files", "{\"file_paths\":[\"a\"]}"),
        ("c1", "read_files", "{\"file_paths\":[\"b\"]}"),
    ]);
    // whichever piece comes first, both calls are whole when they go back
    let sent = if dialect == Dialect::Messages {
        "{\"file_paths\":[\"bb\"]}"
    } else {
        "{\\\"file_paths\\\":[\\\"bb\\\"]}"
    };
    vec![
        then_fine(
            "arguments that are no JSON",
            dialect,
            dialect.calls(&[("c1", "read_files", broken)]),
            2,
            "JSON",
        ),
        then_fine("arguments cut at the output limit", dialect, cut_at_the_limit(dialect), 2, "JSON"),
        then_fine("one id for two calls", dialect, twice, 2, "\"c1\""),
        then_fine("pieces out of order", dialect, out_of_order(dialect), 2, sent),
        then_fine("another model answers", dialect, dialect.text("Hi").served_by("mock-9"), 1, "mock-1"),
    ]
}

fn faults(dialect: Dialect) -> impl Iterator<Item = Fault> {
    [refusals, denials, breakdowns, oddities].into_iter().flat_map(move |some| some(dialect))
}

/// The events of a text whose end is missing.
fn unended_text(dialect: Dialect) -> Behaviour {
    match dialect {
        Dialect::Completions => Behaviour::events(&[r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#]),
        Dialect::Responses => responses::events(&responses::parts(&[responses::message("Hi")], "")[..5]),
        Dialect::Messages => messages::events(&text_parts()[..4]),
    }
}

fn text_parts() -> Vec<Value> {
    messages::parts(
        &[messages::text_block("Hi")],
        "end_turn",
        &json!({"input_tokens": 10, "output_tokens": 1}),
    )
}

fn half_a_call(dialect: Dialect) -> Behaviour {
    let (id, name, arguments) = ("c1", "write_file", "{\"file_path\": \"cut.txt\"");
    match dialect {
        Dialect::Completions => {
            let call = json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
            Behaviour::events(&[&json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string()])
        }
        Dialect::Responses => {
            responses::events(&responses::parts(&[responses::call(id, name, arguments)], "")[..5])
        }
        Dialect::Messages => {
            let call = messages::call_block(id, name, arguments);
            messages::events(&messages::parts(&[call], "tool_use", &Value::Null)[..5])
        }
    }
}

/// The server ends the answer by the book where it may not go on, in the middle of a call.
fn cut_at_the_limit(dialect: Dialect) -> Behaviour {
    let (id, name, arguments) = ("c1", "read_files", "{\"file_paths\": [");
    match dialect {
        Dialect::Completions => {
            let call = json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
            Behaviour::from_chunks(&[json!({"tool_calls": [call]})], "length")
        }
        Dialect::Responses => {
            let mut parts = responses::parts(&[responses::call(id, name, arguments)], "");
            let end = parts.iter_mut().rev().find(|part| part["type"] == "response.completed").unwrap();
            end["type"] = json!("response.incomplete");
            end["response"]["status"] = json!("incomplete");
            end["response"]["incomplete_details"] = json!({"reason": "max_output_tokens"});
            responses::events(&parts)
        }
        Dialect::Messages => {
            messages::blocks_answer(&[messages::call_block(id, name, arguments)], "max_tokens")
        }
    }
}

fn refusal(dialect: Dialect) -> Behaviour {
    match dialect {
        Dialect::Completions => Behaviour::from_chunks(&[json!({"refusal": "I won't."})], "stop"),
        Dialect::Responses => {
            let mut message = responses::message("");
            message["content"] = json!([{"type": "refusal", "refusal": "I won't."}]);
            responses::items(&[message])
        }
        Dialect::Messages => messages::blocks_answer(&[messages::text_block("I")], "refusal"),
    }
}

/// Two calls whose pieces are mixed; where a protocol has a beginning for each, the second one's comes late.
fn out_of_order(dialect: Dialect) -> Behaviour {
    let calls = [
        ("c1", "read_files", "{\"file_paths\":[\"aa\"]}"),
        ("c2", "read_files", "{\"file_paths\":[\"bb\"]}"),
    ];
    if dialect == Dialect::Completions {
        let piece = |index: usize, start: bool, from: usize, to: usize| {
            let (id, name, arguments) = calls[index];
            let mut call = json!({"index": index, "function": {"arguments": arguments[from..to]}});
            if start {
                call["id"] = json!(id);
                call["function"]["name"] = json!(name);
            }
            json!({"tool_calls": [call]})
        };
        let pieces =
            [(0, true, 0, 4), (1, true, 0, 5), (1, false, 5, 9), (0, false, 4, 21), (1, false, 9, 21)];
        let deltas: Vec<Value> =
            pieces.into_iter().map(|(index, start, from, to)| piece(index, start, from, to)).collect();
        return Behaviour::from_chunks(&deltas, "tool_calls");
    }
    let (parts, place, begins) = if dialect == Dialect::Responses {
        let items = calls.map(|(id, name, arguments)| responses::call(id, name, arguments));
        (responses::parts(&items, ""), "output_index", "response.output_item.added")
    } else {
        let blocks = calls.map(|(id, name, arguments)| messages::call_block(id, name, arguments));
        (messages::parts(&blocks, "tool_use", &Value::Null), "index", "content_block_start")
    };
    let of = |index: usize| parts.iter().filter(|part| part[place] == index).cloned().collect::<Vec<_>>();
    let (first, mut second) = (of(0), of(1));
    assert!(second[0]["type"] == begins && first.len() == second.len());
    second.swap(0, 1);
    let outside = |part: &&Value| part[place].is_null();
    let head = parts.iter().take_while(outside).cloned();
    let tail = parts.iter().rev().take_while(outside).cloned().collect::<Vec<_>>().into_iter().rev();
    let mixed = first.into_iter().zip(second).flat_map(|(one, other)| [one, other]);
    let events: Vec<Value> = head.chain(mixed).chain(tail).collect();
    if dialect == Dialect::Responses { responses::events(&events) } else { messages::events(&events) }
}

#[tokio::test]
async fn every_fault_has_its_end_and_its_advice_in_every_protocol() {
    let all = Dialect::ALL.map(|dialect| async move {
        let mut line = Line::new(dialect, ModelTimeouts::default()).await;
        for fault in faults(dialect) {
            line.check_fault(fault).await;
        }
        let last = line.wire.outcomes.lock().unwrap().last().cloned();
        let served = last.unwrap().unwrap().model;
        assert_eq!(
            served.as_deref(),
            Some("mock-9"),
            "{dialect:?}: the model that says it answered is passed on"
        );
        *line.wire.redirect_url.lock().unwrap() = Some(dead_url());
        let refused =
            failed_run("model.transport", 2, "cannot connect to http://127.0.0.1", "the server is running");
        line.check_fault(row("connection refused", Behaviour::total_silence(), refused)).await;
    });
    futures_util::future::join_all(all).await;
}

/// What a model did not say can be asked for again, or taken otherwise: it has a name of its own.
#[tokio::test]
async fn an_empty_answer_is_tried_again_and_caught() {
    for dialect in Dialect::ALL {
        for (empty, ends) in [(1, "Fine."), (2, "nothing came")] {
            let mut file = talk_workflow();
            file["states"][1]["retry"] = json!([{"errors": "model.empty", "max_attempts": 2, "delay": 0}]);
            file["states"][1]["catch"] = json!([{"errors": "model.empty", "target": "stop",
                "before": "common_data.result = 'nothing came'"}]);
            let texts = Texts { workflows: vec![file.to_string()], ..Texts::default() };
            let wire = Wire::new(dialect).await;
            let straight = wire.direct_model();
            let mut line =
                Line { stage: Stage::with_wrapped_model(&texts, |_| straight, |tools| tools), wire };
            let answers = std::iter::repeat_n(dialect.text(""), empty).chain([dialect.text("Fine.")]);
            answers.for_each(|answer| line.wire.server.queue_answer("mock-1", answer));
            line.start_run();
            let RunEvent::Finished { status, output, .. } = line.stage.wait_end().await else {
                unreachable!()
            };
            assert_eq!((status, output), (RunStatus::Completed, Some(json!(ends))), "{dialect:?}");
            assert_eq!(line.wire.requests(), 2, "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn no_silence_is_borne_for_ever() {
    let patience = ModelTimeouts { connect_timeout: SHORT, idle_timeout: SHORT, ..ModelTimeouts::default() };
    let all = Dialect::ALL.map(|dialect| async move {
        let went = "went silent";
        let rows = [
            row(
                "from the start",
                Behaviour::total_silence(),
                failed_run("model.timeout", 2, "sent nothing for 1 s", went),
            ),
            row(
                "before the stream",
                Behaviour::raw_stream("").with_stall(),
                failed_run("model.timeout", 2, "before anything", went),
            ),
            row(
                "in the stream",
                unended_text(dialect).with_stall(),
                failed_run("model.timeout", 2, "0.5 s after 2 characters", went),
            ),
            row(
                "in an error",
                Behaviour::status(500, "oops").with_stall(),
                failed_run("model.overloaded", 2, "500: oops", "the provider has trouble"),
            ),
        ];
        // each has a server of its own, so that all silence is borne at once
        let all = rows.map(|fault| async move {
            let mut line = Line::new(dialect, patience).await;
            line.check_fault(fault).await;
            line.wire.server.wait_closed(2).await;
        });
        futures_util::future::join_all(all).await;
    });
    futures_util::future::join_all(all).await;
}

/// Before anything has come, in the middle of an answer and of an error: cancelling the run closes its connection.
#[tokio::test]
async fn a_cancel_closes_the_connection() {
    for dialect in Dialect::ALL {
        let error = Behaviour::status(500, "oops").with_stall();
        for (stalled, speaks) in
            [(Behaviour::total_silence(), false), (unended_text(dialect).with_stall(), true), (error, false)]
        {
            let mut line = Line::new(dialect, ModelTimeouts::default()).await;
            line.wire.server.queue_answer("mock-1", stalled);
            let run = line.start_run();
            let begun = |event: &RunEvent| match event {
                RunEvent::ModelCalled { .. } if !speaks => Some(()),
                RunEvent::Delta { .. } => Some(()),
                _ => None,
            };
            line.stage.wait_for(begun).await;
            line.wire.server.wait_requests(1).await;
            line.stage.handle.send_command(&run, RunCommand::Cancel);
            let RunEvent::Finished { status, .. } = line.stage.wait_end().await else { unreachable!() };
            assert_eq!(status, RunStatus::Cancelled, "{dialect:?}");
            line.wire.server.wait_closed(1).await;
        }
    }
}

/// A server that is asked too often wants an hour: nobody has to sit through it.
#[tokio::test]
async fn a_cancel_ends_the_wait_for_another_attempt() {
    for dialect in Dialect::ALL {
        let Line { stage, wire } = Line::new(dialect, ModelTimeouts::default()).await;
        let mut line = Line { stage: stage.waiting_for_servers(), wire };
        let busy = Behaviour::status(429, &dialect.error("rate_limit_error", "slow down"));
        line.wire.server.queue_answer("mock-1", busy.header("retry-after", "3600"));
        let run = line.start_run();
        let waits = |event: &RunEvent| match event {
            RunEvent::ModelRetry { delay_ms, .. } => Some(*delay_ms),
            _ => None,
        };
        assert_eq!(line.stage.wait_for(waits).await, 3_600_000, "{dialect:?}");
        line.stage.handle.send_command(&run, RunCommand::Cancel);
        let RunEvent::Finished { status, .. } = line.stage.wait_end().await else { unreachable!() };
        assert_eq!((status, line.wire.requests()), (RunStatus::Cancelled, 1), "{dialect:?}");
    }
}
