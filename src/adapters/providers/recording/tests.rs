use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::*;
use crate::providers::scripted::ScriptedModel;
use synthdev_domain::cost::{AttemptUsage, TokenUsage};
use synthdev_domain::message::{ChatMessage, ChatRole};
use synthdev_domain::model::{DeltaKind, ModelChoice, ModelError, ModelReply, ModelRequest, ToolChoice};
use synthdev_domain::tool::{ParsingTool, ToolRisk, ToolSpec};
use synthdev_ports::model::{DeltaSink, ModelPort};

/// Collects every piece.
#[derive(Default)]
struct PlayedTextSink(Mutex<String>);

impl DeltaSink for PlayedTextSink {
    fn delta(&self, _: DeltaKind, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

fn request(agent: &str, state: &str, texts: &[&str]) -> ModelRequest {
    let system = "You write code.\nYou never guess. You ask when in doubt, and you say what you did.";
    let turns = texts.iter().enumerate().map(|(at, text)| {
        let role = if at % 2 == 0 { ChatRole::User } else { ChatRole::Assistant };
        ChatMessage::text(role, *text)
    });
    let mut choice =
        ModelChoice { level: "base".to_owned(), model: "m".to_owned(), ..ModelChoice::default() };
    choice.parameters.temperature = Some(0.5);
    ModelRequest {
        agent: agent.to_owned(),
        state: state.to_owned(),
        choice,
        messages: std::iter::once(ChatMessage::text(ChatRole::System, system)).chain(turns).collect(),
        tools: [ToolSpec {
            name: "read_files".to_owned(),
            description: "Reads files.".to_owned(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            risk: ToolRisk::Read,
            repeat: None,
        }]
        .into(),
        parsing_tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
    }
}

fn header() -> RecordingHeader {
    let (cassette, definition) = (FORMAT, "abc".to_owned());
    let (agents, summaries) = (Vec::new(), Vec::new());
    RecordingHeader {
        cassette,
        program: "synthdev".into(),
        workflow: "w".into(),
        definition,
        agents,
        summaries,
    }
}

fn roles(coder: &str) -> RolesByAgent {
    RolesByAgent::from([
        ("coder".to_owned(), coder.to_owned()),
        ("reviewer".to_owned(), "reviewer".to_owned()),
    ])
}

fn normalizer(key: &'static str) -> RequestNormalizer {
    let clean = move |value: Value| {
        let text = value.to_string();
        if key.is_empty() { value } else { serde_json::from_str(&text.replace(key, "***")).unwrap() }
    };
    RequestNormalizer::new(vec!["/home/me/app".to_owned()], Vec::new(), Arc::new(clean))
}

fn recorder(path: &Path, replies: Value) -> ModelCallRecorder {
    let model = ScriptedModel::from_value(&json!({ "replies": replies })).unwrap();
    ModelCallRecorder::create_file(path, &header(), roles("coder"), normalizer(""), Arc::new(model)).unwrap()
}

type ModelCallResult = Result<ModelReply, ModelError>;

/// Asks one after the other.
async fn ask_all(port: &dyn ModelPort, requests: &[ModelRequest]) -> Vec<(ModelCallResult, String)> {
    let mut answers = Vec::new();
    for request in requests {
        let ear = PlayedTextSink::default();
        let answer = port.call(request, &ear).await;
        answers.push((answer, ear.0.into_inner().unwrap()));
    }
    answers
}

/// A recording of these requests, each answered with its number.
async fn recording(requests: &[ModelRequest]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let mut replies = json!({});
    for (at, request) in requests.iter().enumerate() {
        let list = replies.as_object_mut().unwrap().entry(&request.agent).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(json!({"text": format!("answer {at}")}));
    }
    let recorder = recorder(&path, replies);
    ask_all(&recorder, requests).await;
    assert_eq!(recorder.finish_recording().unwrap(), requests.len() as u64);
    (dir, path)
}

fn player(path: &Path, coder: &str, here: RequestNormalizer) -> ModelCallPlayer {
    let playing = PlayedRecording {
        name: "a.jsonl".into(),
        record: "synthdev run w --record a.jsonl".into(),
        workflow_changed: false,
    };
    ModelCallPlayer::new(ModelRecording::open_file(path).unwrap(), playing, roles(coder), here)
}

fn two_requests() -> [ModelRequest; 2] {
    [request("coder", "code", &["do it"]), request("coder", "code", &["do it", "answer 0", "again"])]
}

/// What the second of two recorded requests becomes when it is asked otherwise.
async fn check(title: &str, coder: &str, change: impl Fn(&mut ModelRequest), says: &[&str]) {
    let (_dir, path) = recording(&two_requests()).await;
    let player = player(&path, coder, normalizer(""));
    let [_, mut second] = two_requests();
    change(&mut second);
    let (answer, heard) = ask_all(&player, &[second]).await.remove(0);
    let Err(ModelError::Drift { detail }) = answer else { panic!("{title}: {answer:?}") };
    for part in says {
        assert!(detail.contains(part), "{title}: `{part}` is not in:\n{detail}");
    }
    assert!(detail.contains("to record it again: synthdev run w --record a.jsonl"), "{title}: {detail}");
    assert!(detail.lines().count() <= 44, "{title}: {detail}");
    assert_eq!((heard.as_str(), player.missed_requests().len()), ("", 1), "{title}");
}

#[tokio::test]
async fn a_changed_request_is_refused_with_its_difference() {
    let who = "agent `coder` in state `code`";
    let near = "the nearest is call 2 (- recorded, + now):";
    let system =
        |text: &'static str| move |request: &mut ModelRequest| request.messages[0].content = text.into();
    let prompt = system("You write code.\nYou never guess. You always ask, and you say what you did.");
    check(
        "system prompt",
        "coder",
        prompt,
        &[who, near, "system prompt\n", "- You never guess. You ask when", "+ You never guess. You always"],
    )
    .await;
    let say = |request: &mut ModelRequest| request.messages[3].content = "once more".into();
    check("message", "coder", say, &[who, near, "message 4 (user)\n", "- again\n", "+ once more\n"]).await;
    let schema = |request: &mut ModelRequest| {
        Arc::make_mut(&mut request.tools)[0].parameters["properties"]["path"]["type"] = json!("array");
    };
    check(
        "tool schema",
        "coder",
        schema,
        &[who, near, "tool `read_files`\n", "-       \"type\": \"string\"", "+       \"type\": \"array\""],
    )
    .await;
    let words =
        |request: &mut ModelRequest| Arc::make_mut(&mut request.tools)[0].description = "Reads.".into();
    check("tool description", "coder", words, &["- a tool: Reads files.\n", "+ a tool: Reads.\n"]).await;
    let more = |request: &mut ModelRequest| {
        let (name, description, parameters) = ("decide".into(), "Decides.".into(), json!({}));
        request.parsing_tools = vec![ParsingTool { name, description, parameters, parsing_only: false }];
    };
    check("new tool", "coder", more, &["tool `decide`\n+ a decision: Decides.\n"]).await;
    check(
        "no tools",
        "coder",
        |request| request.tools = [].into(),
        &["tool `read_files`\n- a tool: Reads files.\n"],
    )
    .await;
    check("role", "programmer", |_| {}, &["who asks, and how\n", "- role: coder\n", "+ role: programmer\n"])
        .await;
    let level = |request: &mut ModelRequest| request.choice.level = "smart".into();
    check("level", "coder", level, &["- level: base\n", "+ level: smart\n"]).await;
    let warm = |request: &mut ModelRequest| request.choice.parameters.temperature = Some(0.7);
    check("parameter", "coder", warm, &["- temperature: 0.5\n", "+ temperature: 0.7\n"]).await;
    let forced = |request: &mut ModelRequest| request.tool_choice = ToolChoice::Required;
    check("tool choice", "coder", forced, &["- tool choice: \"auto\"\n", "+ tool choice: \"required\"\n"])
        .await;
    let cut = |request: &mut ModelRequest| drop(request.messages.pop());
    check("fewer messages", "coder", cut, &["message 3 (assistant)\n+ (assistant)\n+ answer 0\n"]).await;
    let other = |request: &mut ModelRequest| request.agent = "reviewer".into();
    check(
        "another agent",
        "coder",
        other,
        &["agent `reviewer`", "holds no call of this agent (it has: coder)"],
    )
    .await;
    let long = |request: &mut ModelRequest| request.messages[3].content = "line\n".repeat(500);
    check("a long one", "coder", long, &["more line"]).await;
}

#[tokio::test]
async fn what_is_no_part_of_the_question_does_not_count() {
    let (_dir, path) = recording(&two_requests()).await;
    let player = player(&path, "coder", normalizer(""));
    let mut requests = two_requests();
    for request in &mut requests {
        let choice = &mut request.choice;
        (choice.model, choice.provider, choice.base_url) = ("other".into(), "else".into(), "http://x".into());
        (choice.key, choice.price, choice.context_size) = (Some("k".into()), None, Some(9));
        request.state = "renamed".into();
    }
    let answers = ask_all(&player, &requests).await;
    let texts: Vec<_> = answers
        .iter()
        .map(|(answer, heard)| (answer.as_ref().unwrap().text.as_str(), heard.as_str()))
        .collect();
    assert_eq!(texts, [("answer 0", "answer 0"), ("answer 1", "answer 1")]);
    assert_eq!((player.unused_answers(), player.missed_requests()), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn calls_too_many_and_too_few_are_told() {
    let (_dir, path) = recording(&two_requests()).await;
    let few = player(&path, "coder", normalizer(""));
    ask_all(&few, &two_requests()[1..]).await;
    assert_eq!(few.unused_answers(), ["recorded call 1 of agent `coder`"]);
    let many = player(&path, "coder", normalizer(""));
    let [first, second] = two_requests();
    let answers = ask_all(&many, &[first.clone(), second, first]).await;
    let error = answers[2].0.as_ref().unwrap_err().to_string();
    assert!(error.contains("asks again what a.jsonl answers only once"), "{error}");
}

#[tokio::test]
async fn branches_find_their_answers_in_any_order() {
    let asks: Vec<ModelRequest> = (0..6)
        .map(|at| {
            request("coder", &format!("each[{at}]/work"), &[if at < 3 { "the same" } else { "another" }])
        })
        .collect();
    let (_dir, path) = recording(&asks).await;
    for turn in 0..asks.len() {
        let player = player(&path, "coder", normalizer(""));
        let order: Vec<usize> = (0..asks.len()).map(|at| (at * 5 + turn) % asks.len()).collect();
        let ears: Vec<PlayedTextSink> = order.iter().map(|_| PlayedTextSink::default()).collect();
        let over = Mutex::new(Vec::new());
        let calls = order.iter().zip(&ears).map(|(at, ear)| {
            let (player, over, asked) = (&player, &over, &asks[*at]);
            async move {
                let text = player.call(asked, ear).await.unwrap().text;
                over.lock().unwrap().push(text.clone());
                (*at, text)
            }
        });
        for (at, text) in join_all(calls).await {
            assert_eq!(text, format!("answer {at}"), "each state its own, in the order {order:?}");
        }
        let recorded: Vec<String> = (0..asks.len()).map(|at| format!("answer {at}")).collect();
        assert_eq!(over.into_inner().unwrap(), recorded, "over in the recorded order, asked as {order:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_ever_for_an_answer_that_nobody_asks_for() {
    let (_dir, path) = recording(&two_requests()).await;
    let player = player(&path, "coder", normalizer(""));
    let answers = ask_all(&player, &two_requests()[1..]).await;
    assert_eq!(answers[0].0.as_ref().unwrap().text, "answer 1");
}

#[tokio::test]
async fn failures_attempts_and_stopped_calls_come_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let errors =
        ["rate_limited", "overloaded", "transport", "timeout", "auth", "too_long", "refused", "protocol"];
    let mut replies: Vec<Value> = errors
        .iter()
        .map(|kind| json!({"error": {"kind": kind, "message": format!("it was {kind} in /home/me/app")}}))
        .collect();
    replies[0]["error"]["retry_after_ms"] = json!(1_500);
    replies.push(
        json!({"text": "at last", "reasoning": "hm, ", "usage": {"prompt": 7, "completion": 2, "cached": 3}}),
    );
    replies.push(json!({"text": "a long answer", "chunk": 1, "delay_ms": 60_000}));
    let recorder = recorder(&path, json!({ "coder": replies }));
    let [first, second] = two_requests();
    let tries = vec![first; errors.len() + 1];
    let live = ask_all(&recorder, &tries).await;
    let ear = PlayedTextSink::default();
    let stopped =
        tokio::time::timeout(std::time::Duration::from_millis(40), recorder.call(&second, &ear)).await;
    assert!(stopped.is_err(), "it is still on its way");
    assert_eq!(recorder.finish_recording().unwrap(), 10);
    let player = player(&path, "coder", normalizer(""));
    let again = ask_all(&player, &tries).await;
    assert_eq!(again, live);
    assert_eq!(again[0].0.as_ref().unwrap_err().retry_after_ms(), Some(1_500));
    let quiet = tokio::time::timeout(std::time::Duration::from_millis(200), player.call(&second, &ear)).await;
    assert!(quiet.is_err(), "it waits to be stopped again");
    assert_eq!(player.unused_answers(), Vec::<String>::new());
    let late = self::player(&path, "coder", normalizer("")).without_delays();
    let error = late.call(&second, &ear).await.unwrap_err().to_string();
    assert!(error.contains("was stopped before it was answered"), "{error}");
}

/// Breaks off, each time after as many tokens as it was asked times.
#[derive(Default)]
struct InterruptedModel(std::sync::atomic::AtomicU64);

impl ModelPort for InterruptedModel {
    fn call<'a>(
        &'a self,
        _: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> futures_util::future::BoxFuture<'a, ModelCallResult> {
        let turn = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        let usage = TokenUsage { prompt: 10 * turn, completion: turn, ..TokenUsage::default() };
        sink.report_usage(AttemptUsage { estimated: true, ..AttemptUsage::default() });
        sink.report_usage(AttemptUsage {
            usage,
            estimated: turn == 2,
            model: Some("m-1".into()),
            price: None,
        });
        Box::pin(async { Err(ModelError::Transport { detail: "broken off".into() }) })
    }
}

#[derive(Default)]
struct UsageCollectorSink(Mutex<Vec<AttemptUsage>>);

impl DeltaSink for UsageCollectorSink {
    fn delta(&self, _: DeltaKind, _: &str) {}

    fn report_usage(&self, used: AttemptUsage) {
        self.0.lock().unwrap().push(used);
    }
}

/// What was paid for without a reply is paid for again when it is played: a budget leads the same way.
#[tokio::test]
async fn what_failed_calls_used_is_played() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let recorder = ModelCallRecorder::create_file(
        &path,
        &header(),
        roles("coder"),
        normalizer(""),
        Arc::new(InterruptedModel::default()),
    )
    .unwrap();
    let (live, again) = (UsageCollectorSink::default(), UsageCollectorSink::default());
    let [request, _] = two_requests();
    for _ in 0..2 {
        recorder.call(&request, &live).await.unwrap_err();
    }
    let before =
        AttemptUsage { usage: TokenUsage { prompt: 7, ..TokenUsage::default() }, ..AttemptUsage::default() };
    recorder.record_earlier_call(&request, RecordedOutcome::Stopped { after_ms: 1 }, Some(before.clone()));
    recorder.finish_recording().unwrap();
    let player = player(&path, "coder", normalizer("")).without_delays();
    for _ in 0..3 {
        player.call(&request, &again).await.unwrap_err();
    }
    let live = live.0.into_inner().unwrap();
    assert_eq!(again.0.into_inner().unwrap(), [live[1].clone(), live[3].clone(), before]);
}

#[tokio::test]
async fn no_key_and_no_place_is_written() {
    const KEY: &str = "sk-Grep-me-9f2c41d7";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    let replies = json!({"coder": [
        {"text": format!("the key is {KEY} in /home/me/app/.env"), "tool_calls": [{"name": "read_files", "arguments": {"path": "/home/me/app/a.rs"}}]},
        {"error": {"kind": "auth", "message": format!("bad key {KEY}")}}]});
    let model = Arc::new(ScriptedModel::from_value(&json!({ "replies": replies })).unwrap());
    let recorder =
        ModelCallRecorder::create_file(&path, &header(), roles("coder"), normalizer(KEY), model).unwrap();
    let asks = [
        request("coder", "code", &[&format!("use {KEY} in /home/me/app")]),
        request("coder", "code", &["x", "y", &format!("env: {KEY}")]),
    ];
    ask_all(&recorder, &asks).await;
    recorder.finish_recording().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for secret in [KEY, "/home/me"] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
    }
    let elsewhere = RequestNormalizer::new(vec!["/srv/it".to_owned()], Vec::new(), Arc::new(|value| value));
    let player = player(&path, "coder", elsewhere);
    let told = request("coder", "code", &["use *** in /srv/it"]);
    let reply = ask_all(&player, &[told]).await.remove(0).0.unwrap();
    assert_eq!(reply.text, "the key is *** in /srv/it/.env");
    assert_eq!(reply.tool_calls[0].arguments, "{\"path\":\"/srv/it/a.rs\"}");
}

#[tokio::test]
async fn a_long_conversation_takes_room_for_its_messages_once() {
    let mut texts = Vec::new();
    let word = "many words ".repeat(100);
    let mut asks = Vec::new();
    for _ in 0..40 {
        texts.push(word.as_str());
        asks.push(request("coder", "code", &texts));
    }
    let (_dir, path) = recording(&asks).await;
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 40 * 2_000, "{size} bytes");
    let player = player(&path, "coder", normalizer(""));
    assert!(ask_all(&player, &asks).await.iter().all(|(answer, _)| answer.is_ok()));
}

#[tokio::test]
async fn damaged_files_are_refused_with_their_line() {
    let (dir, path) = recording(&two_requests()).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let newer = text.replacen("{\"cassette\":1,", "{\"cassette\":2,", 1);
    let dangling = [lines[0], lines[2], ""].join("\n");
    let torn = &text[..text.len() - 9];
    let twice = format!("{text}{}\n", lines[1]);
    let garbage = text.replacen("\"call\":1,", "\"call\":", 1);
    for (title, text, says) in [
        ("empty", "", Some("is empty: it is no recording")),
        ("another file", "# hello\n", Some("is no recording of model calls")),
        ("newer", &newer, Some("by a newer program (format 2, this program reads 1)\nhint: update synthdev")),
        ("a line that is no JSON", &garbage, Some("x:2: the recording is damaged")),
        ("a line is missing", &dangling, Some("x:2: the recording is damaged: call 1 does not stand above")),
        ("twice", &twice, Some("x:4: the recording is damaged: call 1 stands twice")),
        ("cut off", torn, None),
    ] {
        match (ModelRecording::from_reader(text.as_bytes(), "x"), says) {
            (Err(bad), Some(says)) => assert!(bad.to_string().contains(says), "{title}: {bad}"),
            (Ok(cassette), None) => assert!(cassette.is_truncated && cassette.calls.len() == 1, "{title}"),
            (read, _) => panic!("{title}: {read:?}"),
        }
    }
    let mut latin = text.clone().into_bytes();
    latin[lines[0].len() + 20] = 0xff;
    let bad = ModelRecording::from_reader(&*latin, "x").unwrap_err().to_string();
    assert!(bad.contains("x:2: the recording is damaged: it is no UTF-8 text"), "{bad}");
    drop(dir);
}

#[tokio::test]
async fn an_earlier_recording_stays_until_the_new_one_is_whole() {
    let (dir, path) = recording(&two_requests()).await;
    let old = std::fs::read(&path).unwrap();
    let recorder = recorder(&path, json!({"coder": [{"text": "new"}]}));
    ask_all(&recorder, &two_requests()[..1]).await;
    assert_eq!(std::fs::read(&path).unwrap(), old);
    let part = leftover_files(dir.path()).remove(0);
    assert_eq!(
        ModelRecording::open_file(&part).unwrap().calls.len(),
        1,
        "what there is can be played after a crash"
    );
    recorder.finish_recording().unwrap();
    assert!(std::fs::read(&path).unwrap() != old && !part.exists());
}

/// Incomplete recordings in the directory.
fn leftover_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut parts: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "part")).collect();
    parts.sort();
    parts
}

#[tokio::test]
async fn what_is_not_worth_its_place_does_not_take_it() {
    let (dir, path) = recording(&two_requests()).await;
    let old = std::fs::read(&path).unwrap();
    let replies = || json!({"coder": [{"text": "new"}]});
    let first = recorder(&path, replies());
    ask_all(&first, &two_requests()[..1]).await;
    let left = first.abandon_recording().unwrap();
    drop(first);
    assert_eq!((left.calls, left.replaces_earlier, std::fs::read(&path).unwrap()), (1, true, old.clone()));
    assert_eq!(ModelRecording::open_file(Path::new(&left.part)).unwrap().calls.len(), 1);
    assert!(left.to_string().contains("stays as it was: what was recorded until then, 1 model call, is in"));

    // another one does not touch it, and one without a call leaves nothing
    let second = recorder(&path, replies());
    assert_eq!(leftover_files(dir.path()).len(), 2);
    assert_eq!(second.abandon_recording(), None);
    let third = recorder(&path, replies());
    third.record_earlier_call(
        &two_requests()[0],
        RecordedOutcome::Error(ModelError::Transport { detail: "gone".into() }),
        None,
    );
    drop(third);
    assert_eq!(leftover_files(dir.path()), [PathBuf::from(&left.part)]);
    let lost = recorder(&path, replies());
    ask_all(&lost, &two_requests()[..1]).await;
    drop(lost);
    assert_eq!(leftover_files(dir.path()).len(), 2, "what was paid for stays");
    assert_eq!(std::fs::read(&path).unwrap(), old);
}

#[test]
fn a_file_is_recorded_by_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("a.jsonl"), dir.path().join("b.jsonl"));
    std::fs::write(dir.path().join("a.jsonl.1.part"), "left").unwrap();
    std::os::unix::fs::symlink("/nowhere", dir.path().join("a.jsonl.2.part")).unwrap();
    let first = recorder(&path, json!({}));
    let model = || Arc::new(ScriptedModel::from_value(&json!({"replies": {}})).unwrap());
    let again = || ModelCallRecorder::create_file(&path, &header(), roles("coder"), normalizer(""), model());
    let refused = again().err().unwrap().to_string();
    let process = std::process::id();
    assert!(
        refused.contains(&format!("is being recorded by process {process} already\nhint: wait")),
        "{refused}"
    );
    drop(recorder(&other, json!({})));
    assert_eq!(first.finish_recording().unwrap(), 0);
    drop(again().unwrap());
    assert_eq!(std::fs::read(dir.path().join("a.jsonl.1.part")).unwrap(), b"left");
    assert_eq!(leftover_files(dir.path()).len(), 2, "nothing else is left");
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_anything_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("notes.md");
    std::fs::File::create(&file).unwrap().write_all(b"precious").unwrap();
    for (path, says) in [
        (file.clone(), "is there and is no recording: it is not replaced\nhint: name another file"),
        (dir.path().to_owned(), "is there and is no recording"),
        (file.join("a.jsonl"), "cannot be recorded: "),
        (dir.path().join("none/a.jsonl"), "cannot be recorded: "),
    ] {
        let model = Arc::new(ScriptedModel::from_value(&json!({"replies": {}})).unwrap());
        let bad = ModelCallRecorder::create_file(&path, &header(), roles("coder"), normalizer(""), model)
            .err()
            .unwrap()
            .to_string();
        assert!(bad.contains(says), "{bad}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
}
