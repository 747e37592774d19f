//! What a case is played in besides files and models: scripted results of tools, a web server, a user.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use synthdev::domain::ids::{CallId, RunId};
use synthdev::domain::tool::{ToolInvocation, ToolOutcome};
use synthdev::engine::event::RunEvent;
use synthdev::engine::input::UserAnswer;
use synthdev::ports::tool::ToolPort;
use synthdev::runtime::command::RunCommand;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::support::stage::Stage;
use super::super::support::tools::as_other_tools;

/// Tools of which some have their results in the case: `{tool: [{ok, content, data}]}`; `ok` unless it says otherwise.
pub struct Scripted {
    real: Arc<dyn ToolPort>,
    remaining_results: Mutex<BTreeMap<String, Vec<Value>>>,
}

impl Scripted {
    pub fn new(real: Arc<dyn ToolPort>, results: &Map<String, Value>) -> Arc<Self> {
        let of = |list: &Value| list.as_array().unwrap().iter().rev().cloned().collect();
        let left = results.iter().map(|(tool, list)| (tool.clone(), of(list))).collect();
        Arc::new(Self { real, remaining_results: Mutex::new(left) })
    }

    pub fn unused_replies(&self) -> Vec<String> {
        let left = self.remaining_results.lock().unwrap();
        let left = left.iter().filter(|(_, list)| !list.is_empty());
        left.map(|(tool, list)| format!("{} results of `{tool}` were not used", list.len())).collect()
    }
}

impl ToolPort for Scripted {
    as_other_tools!(real);

    fn run<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        let mut left = self.remaining_results.lock().unwrap();
        let Some(list) = left.get_mut(&invocation.tool) else { return self.real.run(invocation) };
        let missing = || json!({"ok": false, "content": "the case has no result left"});
        let result = list.pop().unwrap_or_else(missing);
        let outcome = ToolOutcome {
            ok: result["ok"].as_bool().unwrap_or(true),
            content: result["content"].as_str().unwrap_or_default().to_owned(),
            summary: "scripted".to_owned(),
            duration_ms: 0,
            changed: Vec::new(),
            data: result.get("data").cloned(),
            network_denied: false,
            lacks_sandbox: false,
        };
        std::future::ready(outcome).boxed()
    }
}

/// Begins to serve on this machine; gives its address. `/status/404` answers with that status, `/slow` never, everything
/// else with the request as JSON: `{method, path, headers, body}`.
pub async fn start_web_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve_connection(socket));
        }
    });
    url
}

async fn serve_connection(mut socket: TcpStream) {
    let mut buffer = Vec::new();
    while !is_complete(&String::from_utf8_lossy(&buffer)) {
        if socket.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let text = String::from_utf8_lossy(&buffer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap().split(' ');
    let (method, path) = (first.next().unwrap(), first.next().unwrap());
    let headers: Map<String, Value> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), json!(value)))
        .collect();
    if path == "/slow" {
        let _ = socket.read(&mut [0; 8]).await;
        return;
    }
    let echo = json!({"method": method, "path": path, "headers": headers, "body": body}).to_string();
    let (status, body) = match path.strip_prefix("/status/") {
        Some(status) => (status, json!({"status": status}).to_string()),
        None => ("200", echo),
    };
    let head =
        format!("HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}", body.len());
    let _ = socket.write_all(format!("{head}\r\nconnection: close\r\n\r\n{body}").as_bytes()).await;
}

fn is_complete(text: &str) -> bool {
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
        });
        body.len() >= length.unwrap_or(0)
    })
}

/// Drives a run to its end with the user's input: for each question the next of `answers`. Before an answer, it may
/// send messages that no question asked for. Returns questions without an answer and answers without a question.
pub async fn lead_to_end(stage: &mut Stage, run: &RunId, answers: &[Value]) -> Vec<String> {
    let mut answers = answers.iter();
    let mut problems = Vec::new();
    loop {
        match stage.next_event().await {
            RunEvent::Finished { .. } => break,
            RunEvent::PersonAsked { call, question } if !answer_question(stage, run, call, &mut answers) => {
                problems.push(format!("there is no answer for {question:?}"));
                stage.handle.send_command(run, RunCommand::End);
            }
            _ => {}
        }
    }
    problems.extend(answers.map(|answer| format!("the answer {answer} was not used")));
    problems
}

/// Whether the question is dealt with. What is said may be an answer itself, so that it is the next question's turn.
fn answer_question(
    stage: &Stage,
    run: &RunId,
    call: CallId,
    answers: &mut std::slice::Iter<'_, Value>,
) -> bool {
    for next in answers.by_ref() {
        if let Some(text) = next["say"].as_str() {
            stage.handle.send_command(run, RunCommand::Say { text: text.to_owned() });
            if next["answers"] == true {
                return true;
            }
            continue;
        }
        let answer = match next.as_str() {
            Some("continue") => UserAnswer::Continue,
            Some("stop") => UserAnswer::Stop,
            Some("silence") => return true,
            Some(other) => panic!("`{other}` is no answer"),
            None => match next.get("value") {
                Some(value) => UserAnswer::Value { value: value.clone() },
                None => UserAnswer::Text { text: next["text"].as_str().unwrap().to_owned() },
            },
        };
        stage.handle.send_command(run, RunCommand::Answer { call, answer });
        return true;
    }
    false
}
