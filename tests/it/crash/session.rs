//! One run from its start over kills and resumptions to its end, with a user who answers questions in between.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::journal::{RunQuery, RunStatus, RunSummary};
use synthdev::ports::run_store::RunStore;

use super::super::cli::world::World;
use super::super::support::model_server::{ModelServer, RequestResponder};
use super::moment::{self, Moment, Seen, Trigger};
use super::scene;

/// A run that needs more processes than this never ends.
const MOST_PROCESSES: usize = 40;
/// A hang is a failure; nothing takes this long otherwise.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often is looked whether it is time to kill.
const GLANCE: Duration = Duration::from_micros(300);

pub(super) struct Session {
    pub(super) world: World,
    pub(super) trigger: Arc<Trigger>,
    pub(super) server: ModelServer,
    /// The run works in a worktree of its own, which is merged at the end.
    pub(super) isolated: bool,
    /// How long processes ran.
    pub(super) time_running: Duration,
    pub(super) processes: usize,
    pub(super) kill_count: usize,
    pub(super) resume_count: usize,
    /// Commands that the user reported as done, and those to be repeated.
    pub(super) done_count: usize,
    pub(super) repeated_count: usize,
    /// How often several answers were waited for at once.
    pub(super) several_count: usize,
    /// Answers of the model that stood in the journal after a kill, with the number of requests by then.
    pub(super) replayed_replies: BTreeMap<String, usize>,
    /// What to kill at next, last first.
    moments: Vec<Moment>,
}

/// How one process ended.
struct Ended {
    was_killed: bool,
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Session {
    /// `moments` in the order in which they are waited for.
    pub(super) fn new(runtime: &tokio::runtime::Handle, mut moments: Vec<Moment>, isolated: bool) -> Self {
        moments.reverse();
        let mut world = scene::world();
        let trigger = Arc::new(Trigger::new(world.root(), world.data().join("runs.sqlite")));
        let server =
            runtime.block_on(ModelServer::start_with(Arc::clone(&trigger) as Arc<dyn RequestResponder>));
        scene::configure(&mut world, &server.base_url);
        Self {
            world,
            trigger,
            server,
            isolated,
            time_running: Duration::ZERO,
            processes: 0,
            kill_count: 0,
            resume_count: 0,
            done_count: 0,
            repeated_count: 0,
            several_count: 0,
            replayed_replies: BTreeMap::new(),
            moments,
        }
    }

    /// Through all kills to the end; the final object of the run.
    pub(super) fn play_to_end(&mut self) -> Value {
        let report = self.continue_to_end(self.start_arguments());
        if self.isolated {
            self.merge_worktree(report["run_id"].as_str().unwrap());
        }
        report
    }

    /// Into a project that nobody has touched.
    fn merge_worktree(&self, run: &str) {
        self.world.git(&["diff", "--quiet", "HEAD"]);
        self.world.run_program(&["runs", "merge", run, "--yes"]).code(0);
    }

    /// To the first kill, which comes after the run was recorded.
    pub(super) fn run_to_first_kill(&mut self) -> RunSummary {
        let ended = self.run_process(&self.start_arguments());
        assert!(ended.was_killed, "{}{}", ended.stdout, ended.stderr);
        self.found_after_kill().unwrap()
    }

    /// From there to the end.
    pub(super) fn resume_to_end(&mut self, run: &RunSummary) -> Value {
        self.continue_to_end(resume_arguments(run.id.as_str(), &[]))
    }

    fn continue_to_end(&mut self, mut next: Vec<String>) -> Value {
        loop {
            assert!(self.processes < MOST_PROCESSES, "the run never ends; last started: {next:?}");
            let ended = self.run_process(&next);
            if ended.was_killed {
                next = match self.found_after_kill() {
                    // killed between the last row and the report
                    Some(run) if run.progress.status == RunStatus::Completed => return report_for(&run),
                    Some(run) => resume_arguments(run.id.as_str(), &[]),
                    // killed before there was a run
                    None => self.start_arguments(),
                };
                continue;
            }
            let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| {
                panic!("{next:?}: {error}: {:?}\n{}\n{}", ended.code, ended.stdout, ended.stderr)
            });
            match ended.code {
                Some(0) => return report,
                Some(3) => next = self.answer_arguments(&report),
                code => panic!("{next:?} ended with {code:?}:\n{report:#}\n{}", ended.stderr),
            }
        }
    }

    fn start_arguments(&self) -> Vec<String> {
        let mut words = vec!["run", "--workflow-file", scene::WORKFLOW, "go", "--yes", "--json"];
        words.extend(self.isolated.then_some("--isolate"));
        words.into_iter().map(str::to_owned).collect()
    }

    /// One process to its end or its kill, and whatever it had started.
    fn run_process(&mut self, arguments: &[String]) -> Ended {
        if let Some(moment) = self.moments.pop_if(|_| !self.trigger.is_armed()) {
            // of later moments of time, only what is left counts
            let moment = if let (Moment::After(time), true) = (moment, self.kill_count > 0) {
                Moment::After(self.time_running + time)
            } else {
                moment
            };
            self.trigger.arm_for(moment);
        }
        self.processes += 1;
        self.resume_count += usize::from(arguments[0] == "resume");
        let errors = self.world.root().join("errors");
        let mut command = Command::new("sh");
        self.world.isolate_command(&mut command);
        // every process below inherits the fifth stream, so that the end of the output is the end of all of them; higher
        // ones are replaced on the way into the sandbox
        command.args(["-c", r#"exec "$0" "$@" 5>&1"#, env!("CARGO_BIN_EXE_synthdev")]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(fs::File::create(&errors).unwrap());
        let since = Instant::now();
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (to, all_gone) = channel();
        thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.read_to_string(&mut text);
            let _ = to.send(text);
        });
        let child = Arc::new(Mutex::new(child));
        self.trigger.watch_child(Arc::clone(&child));
        let status = loop {
            if let Some(status) = child.lock().unwrap().try_wait().unwrap() {
                break status;
            }
            assert!(since.elapsed() < PATIENCE, "{arguments:?} hangs");
            self.trigger.kill_if_due(self.time_running, since);
            thread::sleep(GLANCE);
        };
        self.time_running += since.elapsed();
        let out = all_gone.recv_timeout(PATIENCE).expect("something outlives the program that started it");
        let acknowledged = self.trigger.seen_before_kill();
        let killed = acknowledged.is_some();
        self.check_rows(&acknowledged.unwrap_or_default());
        if killed {
            self.kill_count += 1;
        }
        self.trigger.release_commands();
        Ended {
            was_killed: killed,
            code: status.code(),
            stdout: out,
            stderr: fs::read_to_string(&errors).unwrap(),
        }
    }

    /// What was read before the kill is still there; answers of the model that are there are remembered.
    fn check_rows(&mut self, acknowledged: &[Seen]) {
        let now = moment::rows(&self.trigger.database);
        assert!(now.starts_with(acknowledged), "rows were lost:\n{acknowledged:#?}\nnow:\n{now:#?}");
        let asked = self.trigger.request_marks().len();
        let replies =
            now.iter().filter(|row| row.kind == "input" && row.body.contains("\"input\":\"replied\""));
        for row in replies {
            let mark = scene::find_mark(&row.body).unwrap_or_else(|| panic!("whose reply? {}", row.body));
            self.replayed_replies.entry(mark).or_insert(asked);
        }
    }

    /// The run, if the process lived long enough to begin one. Lists say what became of it.
    fn found_after_kill(&self) -> Option<RunSummary> {
        let store = SqliteStore::new(self.trigger.database.clone());
        let deadline = Instant::now() + Duration::from_secs(5);
        let run = loop {
            let mut listed = store.list(&RunQuery::newest(0)).unwrap();
            let run = listed.pop()?;
            assert!(listed.is_empty(), "one run, and {listed:#?}");
            // a command that was just about to start holds the lock of its parent until it starts, or ends
            if run.progress.status != RunStatus::Running || Instant::now() > deadline {
                break run;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let over = matches!(run.progress.status, RunStatus::Paused | RunStatus::Completed);
        assert!(
            run.progress.status == RunStatus::Interrupted || over,
            "a killed run is {:?}",
            run.progress.status
        );
        if self.kill_count == 1 {
            let told = self.world.run_program(&["runs", "list", "--json"]).code(0).json();
            assert_eq!(told[0]["status"], run.progress.status.as_str());
        }
        Some(run)
    }

    /// The user's answer to the first question of several.
    fn answer_arguments(&mut self, report: &Value) -> Vec<String> {
        let run = report["run_id"].as_str().unwrap_or_else(|| panic!("{report:#}"));
        let pauses = report["pauses"].as_array().unwrap_or_else(|| panic!("{report:#}"));
        self.several_count += usize::from(pauses.len() > 1);
        let pause = pauses.first().unwrap_or_else(|| panic!("paused for nothing: {report:#}"));
        let results = match pause["reason"].as_str().unwrap() {
            "input" => scene::ANSWER.to_owned(),
            "uncertain_effect" => self.decide_uncertain(pause).to_string(),
            other => panic!("paused for {other}: {report:#}"),
        };
        resume_arguments(run, &["--state", pause["state"].as_str().unwrap(), "--results", &results])
    }

    fn decide_uncertain(&mut self, pause: &Value) -> Value {
        let message = pause["message"].as_str().unwrap();
        assert!(message.contains("\n┃ "), "the command bears no mark: {message}");
        let number = scene::command_number_in(message);
        let effects = fs::read_to_string(self.world.root().join("effects")).unwrap();
        if !effects.lines().any(|line| line == number.to_string()) {
            self.repeated_count += 1;
            return json!({"decision": "repeat"});
        }
        self.done_count += 1;
        let said = scene::command_output(number);
        let shell =
            json!({"exit_code": 0, "stdout": said, "stderr": "", "timed_out": false, "duration_ms": 1});
        let of_an_agent = pause["message"].as_str().unwrap().contains("execute_terminal");
        json!({"decision": "done", "result": if of_an_agent { Value::from(said) } else { shell }})
    }
}

/// What the program would have printed, had it lived.
fn report_for(run: &RunSummary) -> Value {
    let progress = &run.progress;
    json!({"run_id": run.id, "output": progress.output, "path": progress.path, "snapshot": progress.snapshot,
        "usage": progress.usage, "warnings": []})
}

fn resume_arguments(run: &str, more: &[&str]) -> Vec<String> {
    [&["resume", run, "--yes", "--json"], more].concat().iter().map(|&word| word.to_owned()).collect()
}
