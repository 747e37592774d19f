//! The whole program without a screen, as a user starts it, against a server on 127.0.0.1 (performance rows 1 to 5):
//!
//! - start-up: from exec to the first byte of the first model request, with 20 roles and 10 workflows of the user's;
//! - streaming: a run whose only reply has 20,000 tokens, and one of 2,000: CPU per token and how it grows;
//! - tools: a run with 50 rounds of an own read tool, less one without: wall time per round;
//! - agents: a run whose agent starts 200 others, which are all alive at the same time: at most 100 MB.
//!
//! CPU is that of the whole process tree as the system counts it for ended children (in steps of 10 ms, so it is summed over
//! all rounds); memory is the peak that the process has reached when its last request arrives or its reply ends.
//! `cargo bench --bench program`; `PROGRAM=/path/to/synthdev` measures another build.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a benchmark touches the real world and may stop at the first surprise"
)]

#[path = "terminal/wire.rs"]
mod wire;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use wire::{chunk, event, read_request};

/// Each figure is the median of so many starts; CPU is their mean.
const STARTS: usize = 30;
const ROUNDS: usize = 50;
const TOKENS: usize = 20_000;
/// Agents that are alive at the same time, beside the one that started them.
const AGENTS: usize = 200;
/// Megabytes that the program may use for them.
const MOST_MEMORY: f64 = 100.0;
/// How long the server waits for all of them.
const LONGEST_START: Duration = Duration::from_secs(120);
/// Steps of the system's clock for CPU times in a second.
const TICKS: f64 = 100.0;

/// What the server answers.
#[derive(Clone, Copy, Default)]
enum Answers {
    /// A word.
    #[default]
    Word,
    /// A text of so many tokens, 100 in a write.
    Text(usize),
    /// So many rounds of a tool, then a word.
    Tools(usize),
    /// Calls that start so many agents, then a word to each of them once all have asked for one.
    Agents(usize),
}

impl Answers {
    /// Least requests of a run.
    fn requests(self) -> usize {
        match self {
            Self::Word | Self::Text(_) => 1,
            Self::Tools(rounds) => rounds + 1,
            Self::Agents(count) => count + 2,
        }
    }

    /// The calls of the answer to a request, by its number from 1.
    fn calls(self, count: usize) -> Option<String> {
        match self {
            Self::Tools(rounds) if count <= rounds => Some(call(count)),
            Self::Agents(agents) if count == 1 => Some((0..agents).map(start_agent).collect()),
            Self::Word | Self::Text(_) | Self::Tools(_) | Self::Agents(_) => None,
        }
    }
}

/// What goes on between the server and one start of the program.
#[derive(Default)]
struct Talk {
    answers: Answers,
    process: u32,
    /// When requests came.
    requests: Vec<Instant>,
    /// The most memory that the program had used by the end of an answer, in kilobytes.
    peak: u64,
}

fn main() {
    let measured = std::env::args().any(|argument| argument == "--bench");
    let starts = if measured { STARTS } else { 1 };
    let program = std::env::var_os("PROGRAM")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_synthdev")), PathBuf::from);
    let place = Place::new(&program);

    let start = place.measure(Answers::Word, starts);
    println!(
        "start-up, exec to first request: median {:.1} ms, CPU of the whole run {:.1} ms, peak {:.1} MB",
        start.first, start.cpu, start.peak
    );
    let few = place.measure(Answers::Text(TOKENS / 10), starts);
    let many = place.measure(Answers::Text(TOKENS), starts);
    let each = |run: &Figures, tokens: usize| (run.cpu - start.cpu) * 1_000.0 / tokens as f64;
    let (per_few, per_many) = (each(&few, TOKENS / 10), each(&many, TOKENS));
    println!(
        "streaming {TOKENS} tokens: {:.0} ms, CPU {per_many:.2} us per token ({per_few:.2} with a tenth of them), \
         peak {:.1} MB",
        many.whole, many.peak
    );
    let tools = place.measure(Answers::Tools(ROUNDS), starts);
    println!(
        "{ROUNDS} tool rounds: {:.0} ms, {:.2} ms a round, CPU {:.2} ms a round, peak {:.1} MB",
        tools.whole,
        (tools.whole - start.whole) / ROUNDS as f64,
        (tools.cpu - start.cpu) / ROUNDS as f64,
        tools.peak
    );
    place.let_agents_start_others();
    let agents = place.measure(Answers::Agents(AGENTS), starts.min(5));
    println!(
        "{AGENTS} agents alive in one run: {:.0} ms, CPU {:.2} ms an agent, peak {:.1} MB",
        agents.whole,
        (agents.cpu - start.cpu) / AGENTS as f64,
        agents.peak
    );
    // an unoptimized program is larger by itself
    assert!(!measured || agents.peak <= MOST_MEMORY, "at most {MOST_MEMORY} MB are allowed");
}

/// Milliseconds and megabytes.
struct Figures {
    first: f64,
    whole: f64,
    cpu: f64,
    peak: f64,
}

/// A home with settings, a project, a server, and the program.
struct Place {
    program: PathBuf,
    directory: tempfile::TempDir,
    url: String,
    talk: Arc<Mutex<Talk>>,
}

impl Place {
    fn new(program: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let user = directory.path().join("home/.config/synthdev");
        fs::create_dir_all(user.join("roles")).unwrap();
        fs::create_dir_all(user.join("workflows")).unwrap();
        fs::create_dir_all(directory.path().join("project")).unwrap();
        fs::write(directory.path().join("project/file.txt"), "one\ntwo\nthree\n").unwrap();
        let roles: serde_json::Map<String, serde_json::Value> = (0..20)
            .map(|number| {
                let message = "You do what you are asked, with care, and say what you did. ".repeat(10);
                (format!("role_{number}"), serde_json::json!({"level": "base", "systemMessage": message, "includedTools": ["read_files"]}))
            })
            .collect();
        fs::write(user.join("roles/own.json"), serde_json::Value::Object(roles).to_string()).unwrap();
        for number in 0..10 {
            let name = format!("flow_{number}");
            let workflow = serde_json::json!({
                "workflow_name": name, "description": "one agent, one word", "snapshot": "off",
                "input": {"name": "task", "type": "string", "description": "what to do"},
                "output": {"name": "said", "type": "string"},
                "contexts": [{"name": "talk", "max_length": 1_000_000}],
                "agents": [{"agent_role": format!("role_{number}"), "context": "talk", "role": "assistant", "max_tool_rounds": 200}],
                "states": [
                    {"name": "start", "agent": format!("role_{number}"), "input": "common_data.task",
                        "transition": [{"target": "stop", "before": "common_data.said = 'done'"}]},
                    {"name": "stop", "input": "common_data.said"}]});
            fs::write(user.join(format!("workflows/{name}.json")), workflow.to_string()).unwrap();
        }
        let (url, talk) = serve();
        Self { program: program.to_owned(), directory, url, talk }
    }

    /// The other figures are of a home without this.
    fn let_agents_start_others(&self) {
        let user = self.directory.path().join("home/.config/synthdev");
        let settings = serde_json::json!({"agents": {"max_alive": AGENTS}});
        fs::write(user.join("settings.json"), settings.to_string()).unwrap();
        let file = user.join("roles/own.json");
        let mut roles: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        roles["role_4"]["enabled_agents"] = serde_json::json!(["role_3"]);
        fs::write(file, roles.to_string()).unwrap();
    }

    fn measure(&self, answers: Answers, starts: usize) -> Figures {
        let (mut first, mut whole, mut peak) = (Vec::new(), Vec::new(), Vec::new());
        // the files are in the system's cache then
        self.once(answers);
        let before = children_cpu();
        for _ in 0..starts {
            let (began, ended, talk) = self.once(answers);
            first.push(milliseconds(talk.requests[0] - began));
            whole.push(milliseconds(ended - began));
            peak.push(talk.peak as f64 / 1024.0);
        }
        let cpu = (children_cpu() - before) / starts as f64;
        Figures { first: median(first), whole: median(whole), cpu, peak: median(peak) }
    }

    /// One run of the program; when it began and ended, and what the server saw.
    fn once(&self, answers: Answers) -> (Instant, Instant, Talk) {
        let home = self.directory.path().join("home");
        let workflow = if matches!(answers, Answers::Agents(_)) { "flow_4" } else { "flow_3" };
        // no request is answered before its process is known
        let mut talk = self.talk.lock().unwrap();
        let began = Instant::now();
        let mut child = Command::new(&self.program)
            .args(["run", workflow, "Say something.", "--yes"])
            .env_clear()
            .env("HOME", &home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SYNTHDEV_BASE_URL", &self.url)
            .env("SYNTHDEV_BASE_MODEL", "mock-1")
            .current_dir(self.directory.path().join("project"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        *talk = Talk { answers, process: child.id(), ..Talk::default() };
        drop(talk);
        let status = child.wait().unwrap();
        let ended = Instant::now();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(status.success(), "{said}");
        let talk = std::mem::take(&mut *self.talk.lock().unwrap());
        let (asked, wanted) = (talk.requests.len(), answers.requests());
        // an agent that hands in no result is asked for it once more
        assert!(
            asked == wanted || matches!(answers, Answers::Agents(_)) && asked > wanted,
            "{asked}: {said}"
        );
        (began, ended, talk)
    }
}

/// A server with a thread for each connection; its URL.
fn serve() -> (String, Arc<Mutex<Talk>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let talk = Arc::new(Mutex::new(Talk::default()));
    let shared = Arc::clone(&talk);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let talk = Arc::clone(&shared);
            std::thread::spawn(move || answer_all(socket.unwrap(), &talk));
        }
    });
    (url, talk)
}

/// All requests of one connection.
fn answer_all(socket: TcpStream, shared: &Mutex<Talk>) {
    socket.set_nodelay(true).unwrap();
    let mut to = socket.try_clone().unwrap();
    let mut from = BufReader::with_capacity(1 << 20, socket);
    while from.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
        if !read_request(&mut from, &mut to) {
            return;
        }
        let at = Instant::now();
        let mut talk = shared.lock().unwrap();
        talk.requests.push(at);
        let count = talk.requests.len();
        let calls = talk.answers.calls(count);
        wire::head(&mut to).unwrap();
        match (talk.answers, &calls) {
            (_, Some(calls)) => chunk(&mut to, calls).unwrap(),
            (Answers::Word | Answers::Tools(_) | Answers::Agents(_), None) => {
                chunk(&mut to, &event("{\"content\":\"done\"}", "null")).unwrap();
            }
            (Answers::Text(tokens), None) => {
                // a text that repeats itself would be stopped
                let token = |number: usize| event(&format!("{{\"content\":\" t{number}\"}}"), "null");
                for first in (0..tokens).step_by(100) {
                    let tokens: String = (first..tokens.min(first + 100)).map(token).collect();
                    chunk(&mut to, &tokens).unwrap();
                }
            }
        }
        if let (Answers::Agents(agents), None) = (talk.answers, &calls) {
            drop(talk);
            wait_for_requests(shared, agents + 1);
            talk = shared.lock().unwrap();
        }
        talk.peak = talk.peak.max(peak(talk.process));
        let finish = if calls.is_some() { "\"tool_calls\"" } else { "\"stop\"" };
        wire::end(&mut to, finish).unwrap();
    }
}

/// All that are wanted have come: their agents are alive at the same time.
fn wait_for_requests(talk: &Mutex<Talk>, wanted: usize) {
    let began = Instant::now();
    while talk.lock().unwrap().requests.len() < wanted {
        assert!(began.elapsed() < LONGEST_START, "{wanted} agents did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A tool call.
fn call(count: usize) -> String {
    tool_call(0, &format!("call_{count}"), "read_files", "{\\\"file_paths\\\":[\\\"file.txt\\\"]}")
}

fn start_agent(number: usize) -> String {
    let arguments = format!("{{\\\"role\\\":\\\"role_3\\\",\\\"task\\\":\\\"part {number}\\\"}}");
    tool_call(number, &format!("start_{number}"), "spawn_agent", &arguments)
}

fn tool_call(index: usize, id: &str, tool: &str, arguments: &str) -> String {
    let function = format!("{{\"name\":\"{tool}\",\"arguments\":\"{arguments}\"}}");
    let call = format!("{{\"index\":{index},\"id\":\"{id}\",\"type\":\"function\",\"function\":{function}}}");
    event(&format!("{{\"tool_calls\":[{call}]}}"), "null")
}

/// The most memory that a process has used so far, in kilobytes.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}

/// CPU of all ended children, user and kernel, in milliseconds.
fn children_cpu() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    // the fields behind the name begin with the third
    (ticks(13) + ticks(14)) / TICKS * 1_000.0
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
