//! Commands in the background: what they print, what they read, their terminals, and that none outlives its run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use synthdev::adapters::sandbox::CommandSandbox;
use synthdev::adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev::adapters::tools::ToolSettings;
use synthdev::domain::ids::RunId;
use synthdev::domain::sandbox::{SandboxLayer, SandboxSettings};
use synthdev::domain::tool::{RerunPolicy, ToolOutcome, ToolPreview};
use synthdev::ports::tool::ToolPort;
use tempfile::TempDir;

use super::commands::{processes, unique_marker, wait_processes};
use super::own_tools::own_tool;
use super::{Project, invocation};
use crate::support::skip::skip_sandbox_row;

/// A project with a place for what its commands print.
struct BackgroundProject {
    project: Project,
    data: TempDir,
}

impl BackgroundProject {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, SandboxSettings::unsandboxed(), |_| {})
    }

    fn with(
        files: &[(&str, &str)],
        sandbox: SandboxSettings,
        adjust: impl FnOnce(&mut ToolSettings),
    ) -> Self {
        let data = crate::support::temporary::temp_directory();
        let project = Project::with_files(files, |settings| {
            let places = SandboxPlaces {
                data: data.path().to_owned(),
                helper: env!("CARGO_BIN_EXE_synthdev").into(),
                ..SandboxPlaces::for_project(&settings.root)
            };
            settings.sandbox = Arc::new(CommandSandbox::new(sandbox, places));
            settings.command_outputs = Some(data.path().join("commands"));
            adjust(settings);
        });
        Self { project, data }
    }

    async fn start(&self, command: &str) -> ToolOutcome {
        self.start_with(json!({"command": command})).await
    }

    async fn start_with(&self, mut arguments: Value) -> ToolOutcome {
        arguments["background"] = true.into();
        self.project.run_tool("execute_terminal", arguments).await
    }

    async fn read(&self, arguments: Value) -> ToolOutcome {
        self.project.run_tool("read_output", arguments).await
    }

    async fn send(&self, id: &str, input: &str) -> ToolOutcome {
        self.project.run_tool("send_input", json!({"id": id, "input": input, "wait_seconds": 20})).await
    }

    /// Reads on until the command has ended, and returns all that it printed.
    async fn read_to_end(&self, id: &str) -> (Value, String) {
        let mut text = String::new();
        loop {
            let read = self.read(json!({"id": id, "wait_seconds": 30})).await;
            text.push_str(read.body());
            let head = head(&read);
            if head["running"] == false && head["to"] == head["printed"] {
                return (head, text);
            }
        }
    }

    /// Reads on until something was printed that contains this.
    async fn read_until(&self, id: &str, wanted: &str) -> String {
        let mut text = String::new();
        while !text.contains(wanted) {
            let read = self.read(json!({"id": id, "wait_seconds": 30})).await;
            text.push_str(read.body());
            assert!(text.contains(wanted) || head(&read)["running"] == true, "wanted {wanted}\nin {text}");
        }
        text
    }

    async fn end_run(&self, is_final: bool) {
        self.project.tools.end_run(&RunId::from("r1"), is_final).await;
    }

    fn kept_files(&self) -> usize {
        std::fs::read_dir(self.data.path().join("commands/r1")).map_or(0, Iterator::count)
    }
}

fn head(outcome: &ToolOutcome) -> Value {
    serde_json::from_str(outcome.content.lines().next().unwrap()).unwrap()
}

#[tokio::test]
async fn what_a_command_prints_is_read_piece_by_piece() {
    let stage = BackgroundProject::new(&[]);
    let started = stage.start("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two >&2; exit 3").await;
    assert!(started.ok && started.content.contains("\"running\":true"), "{}", started.content);
    assert_eq!((head(&started)["id"].as_str(), started.body()), (Some("c1"), "one\n"));
    let nothing = stage.read(json!({"id": "c1"})).await;
    assert_eq!((nothing.body(), &head(&nothing)["running"]), ("", &json!(true)));
    std::fs::write(stage.project.root().join("go"), "").unwrap();
    let (end, rest) = stage.read_to_end("c1").await;
    assert_eq!((rest.as_str(), &end["exit_code"], &end["status"]), ("two\n", &json!(3), &json!("exit 3")));
    for (arguments, expected) in [
        (json!({"id": "c1", "from": 0}), "one\ntwo\n"),
        (json!({"id": "c1", "from": 2, "max_bytes": 1}), "e"),
        (json!({"id": "c1", "from": 0, "max_bytes": 6}), "one\n"),
        (json!({"id": "c1"}), "two\n"),
        (json!({"id": "c1", "from": -3}), "wo\n"),
        (json!({"id": "c1", "from": 99}), ""),
    ] {
        assert_eq!(stage.read(arguments.clone()).await.body(), expected, "{arguments}");
    }
    let list = stage.read(json!({})).await;
    assert_eq!(
        list.body(),
        "c1: exit 3, 8 bytes printed: echo one; while [ ! -e go ]; do sleep 0.01; done; echo two >&2; exit 3\n"
    );
}

#[tokio::test]
async fn a_user_sees_what_runs_and_stops_it() {
    let stage = BackgroundProject::new(&[]);
    let (tools, run) = (&stage.project.tools, RunId::from("r1"));
    let running = || -> Vec<(String, String)> {
        tools.running_commands(&run).into_iter().map(|one| (one.id, one.command)).collect()
    };
    assert_eq!(running(), []);
    tools.wait_command_end(&run).await;
    let wait = "while [ ! -e go ]; do sleep 0.01; done";
    stage.start(wait).await;
    stage.start("sleep 1000").await;
    let of = |id: &str, command: &str| (id.to_owned(), command.to_owned());
    assert_eq!(running(), [of("c1", wait), of("c2", "sleep 1000")]);
    assert!(!tools.stop_running_command(&run, "c3"));
    assert!(!tools.stop_running_command(&RunId::from("r2"), "c2"), "of another run");
    let ended = tools.wait_command_end(&run);
    assert!(tools.stop_running_command(&run, "c2"));
    ended.await;
    assert_eq!(running(), [of("c1", wait)]);
    assert_eq!(stage.read_to_end("c2").await.0["status"], "stopped");
    // one that starts later may end first
    tokio::join!(tools.wait_command_end(&run), stage.start("true"));
    assert_eq!(running(), [of("c1", wait)]);
    let ended = tools.wait_command_end(&run);
    std::fs::write(stage.project.root().join("go"), "").unwrap();
    ended.await;
    assert_eq!(running(), []);
    assert!(!tools.stop_running_command(&run, "c1"), "it has ended");
}

#[tokio::test]
async fn a_command_that_fails_at_once_is_told_at_once() {
    let stage = BackgroundProject::new(&[("web/a.txt", "a")]);
    let failed = stage.start("no-such-command-here").await;
    assert!(!failed.ok && failed.content.contains("it has ended already: exit 127"), "{}", failed.content);
    let done = stage.start_with(json!({"command": "ls", "directory": "web"})).await;
    assert!(
        done.ok && done.body() == "a.txt\n" && done.content.contains("\"status\":\"exit 0\""),
        "{done:?}"
    );
}

#[tokio::test]
async fn calls_that_make_no_sense_are_answered() {
    let stage = BackgroundProject::new(&[("a.txt", "a")]);
    let none = "this run has started no background command";
    for tool in ["read_output", "stop_command", "send_input"] {
        let arguments =
            if tool == "send_input" { json!({"id": "c1", "input": "x"}) } else { json!({"id": "c1"}) };
        stage.project.expect_failure(tool, arguments, none).await;
    }
    stage.start("true").await;
    for (tool, arguments, why) in [
        ("read_output", json!({"id": "7"}), "there is no background command `7`; there are: c1"),
        ("read_output", json!({"id": "c1", "max_bytes": 0}), "at least 1"),
        ("read_output", json!({"id": "c1", "wait_seconds": 601}), "at most 600"),
        ("send_input", json!({"id": "c1"}), "`input` is missing"),
        ("send_input", json!({"id": "c1", "input": "x"}), "c1 has ended: exit 0"),
        ("send_input", json!({"id": "c1", "input": "x".repeat(70_000)}), "the limit is 65536"),
        ("stop_command", json!({}), "`id` is missing"),
        ("execute_terminal", json!({"command": "ls", "background": "yes"}), "true or false"),
        ("execute_terminal", json!({"command": "ls", "directory": "a.txt"}), "there is no directory `a.txt`"),
        ("execute_terminal", json!({"command": "ls", "directory": "none"}), "there is no directory `none`"),
        ("execute_terminal", json!({"command": "ls", "directory": ".."}), "is outside the project"),
        ("execute_terminal", json!({"command": "a\0b", "background": true}), "NUL"),
    ] {
        stage.project.expect_failure(tool, arguments, why).await;
    }
    let mut of_no_run = invocation("execute_terminal", json!({"command": "ls", "background": true}));
    of_no_run.run = None;
    let outcome = stage.project.tools.run(&of_no_run).await;
    assert!(!outcome.ok && outcome.content.contains("only calls of a run"), "{}", outcome.content);
    let homeless = Project::new(&[]);
    homeless
        .expect_failure(
            "execute_terminal",
            json!({"command": "ls", "background": true}),
            "no directory to keep",
        )
        .await;
}

#[tokio::test]
async fn what_recovery_and_the_user_are_told() {
    let stage = BackgroundProject::new(&[]);
    for (tool, expected) in [
        ("execute_terminal", RerunPolicy::Ask),
        ("read_output", RerunPolicy::Safe),
        ("send_input", RerunPolicy::Ask),
        ("stop_command", RerunPolicy::Safe),
    ] {
        assert_eq!(stage.project.tools.rerun_policy(&invocation(tool, json!({}))), expected, "{tool}");
    }
    let call = json!({"command": "rm -rf x", "background": true, "directory": "."});
    let Some(ToolPreview::Command { warning, background, .. }) =
        stage.project.preview_tool("execute_terminal", call).await
    else {
        panic!("no preview");
    };
    assert!(warning.is_some() && background);
    stage.start("cat").await;
    let shown = stage.project.preview_tool("send_input", json!({"id": "c1", "input": "hello\n"})).await;
    assert_eq!(shown, Some(ToolPreview::Text { text: "input for c1, which runs: cat\nhello\n".to_owned() }));
}

#[tokio::test]
async fn a_command_reads_what_it_is_sent() {
    let stage = BackgroundProject::new(&[]);
    stage.start("read -r name; echo \"hello $name\"; cat").await;
    assert_eq!(stage.send("c1", "you\n").await.body(), "hello you\n");
    assert_eq!(stage.send("c1", "more\n").await.body(), "more\n");
    let last = json!({"id": "c1", "input": "end", "end_input": true, "wait_seconds": 20});
    stage.project.expect_success("send_input", last, "\nend").await;
    assert_eq!(stage.read_to_end("c1").await.0["status"], "exit 0");
    let late = stage.project.run_tool("send_input", json!({"id": "c1", "input": "x"})).await;
    assert!(!late.ok, "{}", late.content);
    // a shell would execute it
    stage.start("sh").await;
    let refused = json!({"id": "c2", "input": "touch ran; false && rm -rf /\n"});
    let told = "[sandbox] refused: removes / recursively";
    stage.project.expect_failure("send_input", refused.clone(), told).await;
    let reason = stage.project.tools.refusal_reason(&invocation("send_input", refused));
    assert!(reason.is_some_and(|reason| reason.starts_with(told)));
}

#[tokio::test]
async fn stopped_commands_end_with_their_whole_group() {
    let stage = BackgroundProject::new(&[]);
    let marker = unique_marker();
    let line = format!("echo up; trap '' TERM; sleep {marker} & (sleep {marker}; true) & wait");
    stage.start(&line).await;
    wait_processes(&marker, |count| count >= 3).await;
    let stopped = stage.project.run_tool("stop_command", json!({"id": "c1"})).await;
    assert!(stopped.ok && stopped.content.contains("\"status\":\"stopped\""), "{}", stopped.content);
    wait_processes(&marker, |count| count == 0).await;
    let again = stage.project.run_tool("stop_command", json!({"id": "c1"})).await;
    assert!(again.ok && again.content.contains("\"status\":\"stopped\""), "{}", again.content);
    let timed = json!({"command": format!("sleep {marker}"), "timeout_seconds": 1});
    stage.start_with(timed).await;
    assert_eq!(stage.read_to_end("c2").await.0["status"], "timed out after 1 s");
    wait_processes(&marker, |count| count == 0).await;
}

#[tokio::test]
async fn no_command_outlives_its_run() {
    let stage = BackgroundProject::new(&[]);
    let marker = unique_marker();
    for is_final in [false, true] {
        stage.start(&format!("echo up; sleep {marker} & sleep {marker}")).await;
        wait_processes(&marker, |count| count == 3).await;
        stage.end_run(is_final).await;
        assert_eq!(processes(&marker), 0, "ended when the run has ended");
        assert_eq!(stage.kept_files() > 0, !is_final, "what it printed is kept for a run that is resumed");
    }
    // a run that is resumed has its earlier commands, and new numbers
    stage.start("echo first; sleep 99").await;
    stage.end_run(false).await;
    let read = stage.read(json!({"id": "c1", "from": 0})).await;
    assert!(read.content.contains("\"status\":\"stopped\"") && read.body() == "first\n", "{}", read.content);
    assert_eq!(head(&stage.start("true").await)["id"], "c2");
}

#[tokio::test]
async fn only_so_many_run_at_once() {
    let stage = BackgroundProject::new(&[]);
    for _ in 0..8 {
        assert!(stage.start("sleep 99").await.ok);
    }
    let more = stage.start("sleep 99").await;
    assert!(more.content.contains("8 background commands of this run are running"), "{}", more.content);
    stage.project.run_tool("stop_command", json!({"id": "c3"})).await;
    assert_eq!(head(&stage.start("sleep 99").await)["id"], "c9");
    stage.end_run(true).await;
    for _ in 0..20 {
        stage.start("true").await;
    }
    assert!(stage.kept_files() <= 2 * 17, "{} files", stage.kept_files());
}

#[tokio::test]
async fn a_flood_is_kept_within_bounds() {
    let stage = BackgroundProject::new(&[]);
    stage.start("yes 0123456789012345678901234567890123456789 | head -c 30000000; echo; echo the end").await;
    loop {
        let read = stage.read(json!({"id": "c1", "from": -100, "wait_seconds": 30})).await;
        let seen = head(&read);
        // it may have ended while what stood at the end before was read
        if seen["running"] == false && seen["to"] == seen["printed"] {
            assert!(read.body().ends_with("\nthe end\n"), "{}", read.content);
            break;
        }
    }
    let kept = std::fs::metadata(stage.data.path().join("commands/r1/1.output")).unwrap().len();
    assert!(kept <= 16 * 1024 * 1024, "{kept}");
    let lost = stage.read(json!({"id": "c1", "from": 20_000_000})).await;
    assert!(lost.content.contains("bytes from 20000000 on are no longer kept"), "{}", lost.content);
}

#[tokio::test]
async fn keys_are_hidden_from_what_is_kept() {
    let stage = BackgroundProject::with(&[], SandboxSettings::unsandboxed(), |settings| {
        settings.output_redaction = Arc::new(|text| text.replace("sk-secret-key", "[redacted:key]"));
    });
    // in two pieces, with a pause that no program makes within a line
    stage.start("printf 'a sk-sec'; sleep 0.005; echo ret-key b").await;
    let (_, text) = stage.read_to_end("c1").await;
    let text = format!("{}{text}", stage.read(json!({"id": "c1", "from": 0})).await.body());
    assert!(text.contains("a [redacted:key] b"), "{text}");
    for name in ["1.output", "1.json"] {
        let kept = std::fs::read_to_string(stage.data.path().join("commands/r1").join(name)).unwrap();
        assert!(!kept.contains("sk-secret-key"), "{name}: {kept}");
    }
}

/// What is to be killed in the test below; does nothing when run as a test of its own.
#[tokio::test]
async fn background_victim() {
    let Ok(line) = std::env::var("SYNTHDEV_TEST_BACKGROUND") else { return };
    let data = std::env::var("SYNTHDEV_TEST_BACKGROUND_DATA").unwrap();
    let project = Project::with_files(&[], |settings| settings.command_outputs = Some(data.into()));
    let call = invocation("execute_terminal", json!({"command": line, "background": true}));
    project.tools.run(&call).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test]
async fn commands_end_when_the_program_is_killed_and_a_resumed_run_is_told() {
    let stage = BackgroundProject::new(&[]);
    let marker = unique_marker();
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["tools::background::background_victim", "--exact"])
        .env(
            "SYNTHDEV_TEST_BACKGROUND",
            format!("echo begun; trap '' HUP TERM; sleep {marker} & sleep {marker}"),
        )
        .env("SYNTHDEV_TEST_BACKGROUND_DATA", stage.data.path().join("commands"))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_processes(&marker, |count| count == 3).await;
    let output = stage.data.path().join("commands/r1/1.output");
    while std::fs::read_to_string(&output).unwrap_or_default().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    wait_processes(&marker, |count| count == 0).await;
    let read = stage.read(json!({"id": "c1"})).await;
    assert_eq!(read.body(), "begun\n");
    assert!(read.content.contains("it ended with the program that ran it"), "{}", read.content);
    stage.project.expect_failure("send_input", json!({"id": "c1", "input": "x"}), "c1 has ended").await;
}

fn layered(layer: SandboxLayer) -> SandboxSettings {
    match layer {
        SandboxLayer::None => SandboxSettings::unsandboxed(),
        layer => SandboxSettings { layer, hidden: vec!["secrets".to_owned()], ..SandboxSettings::default() },
    }
}

/// A project in this layer, if this machine has it.
fn in_layer(layer: SandboxLayer) -> Option<BackgroundProject> {
    let stage = BackgroundProject::with(&[("secrets/key", "NEEDLE")], layered(layer), |_| {});
    let call = invocation("execute_terminal", json!({"command": "true"}));
    match stage.project.tools.lacks_sandbox(&call) {
        None => Some(stage),
        Some(reason) => {
            skip_sandbox_row(&format!("background commands in {layer:?}: {reason}"));
            None
        }
    }
}

const LAYERS: [SandboxLayer; 3] = [SandboxLayer::None, SandboxLayer::Bubblewrap, SandboxLayer::Landlock];

#[tokio::test]
async fn a_terminal_is_a_real_one_in_every_layer() {
    for layer in LAYERS {
        let Some(stage) = in_layer(layer) else { continue };
        let line = "test -t 0 && test -t 1 && test -t 2 && stty size </dev/tty && echo $TERM";
        let waited = json!({"command": line, "pty": true});
        stage.project.expect_success("execute_terminal", waited, "\n24 80\nxterm-256color\n").await;
        let none = json!({"command": "test -t 0 || test -t 1 || head -c 1 /dev/tty || echo none"});
        stage.project.expect_success("execute_terminal", none, "none\n").await;
        // input ends: nothing waits for the user
        let reads = json!({"command": "cat; echo over", "pty": true, "timeout_seconds": 20});
        stage.project.expect_success("execute_terminal", reads, "over\n").await;
        // without `noflsh` the terminal drops what is printed while it handles Ctrl-C
        let line = "stty noflsh; stty size; trap 'echo interrupted' INT; read -r word; echo \"got $word\"; sh -c 'echo asleep; exec sleep 99'; echo after; read -r last; echo $last";
        stage.start_with(json!({"command": line, "pty": true})).await;
        let said = stage.read(json!({"id": "c1", "from": 0, "wait_seconds": 20})).await;
        assert_eq!(said.body(), "24 80\n", "{layer:?}: {}", said.content);
        let echoed = stage.send("c1", "yes\n").await;
        let mut text = echoed.body().to_owned();
        // the shell waits for its command by then: a key between the two would be lost to the trap
        if !text.contains("asleep") {
            text.push_str(&stage.read_until("c1", "asleep").await);
        }
        assert!(text.contains("got yes"), "{layer:?}: {text}");
        assert!(text.starts_with("yes\n"), "a terminal echoes: {layer:?}: {text}");
        // Ctrl-C ends what runs in the foreground of the terminal
        let mut text = String::new();
        for _ in 0..10 {
            let press = json!({"id": "c1", "input": "\u{3}", "wait_seconds": 3});
            text.push_str(stage.project.run_tool("send_input", press).await.body());
            if text.contains("after") || layer == SandboxLayer::Landlock {
                break;
            }
        }
        assert!(text.contains("after") || layer == SandboxLayer::Landlock, "{layer:?}: {text}");
        stage.project.run_tool("stop_command", json!({"id": "c1"})).await;
    }
}

/// Of a command, and what the answer says; nothing of it may happen.
const ESCAPES: [(&str, &str); 4] = [
    ("echo x >OUTSIDE/made", "may not be written"),
    ("cat secrets/key", "[sandbox]"),
    ("mkdir -p .synthdev && echo x >.synthdev/settings.json", ""),
    ("cat COMMANDS/r1/1.json", ""),
];

#[tokio::test]
async fn nothing_gets_out_of_the_background() {
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        let Some(stage) = in_layer(layer) else { continue };
        // outside of the private directories
        let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let place = |path: &Path| path.display().to_string();
        for pty in [false, true] {
            for (line, told) in ESCAPES {
                let line = line
                    .replace("OUTSIDE", &place(outside.path()))
                    .replace("COMMANDS", &place(&stage.data.path().join("commands")));
                let started = stage.start_with(json!({"command": line, "pty": pty})).await;
                let id = head(&started)["id"].as_str().unwrap().to_owned();
                let (end, _) = stage.read_to_end(&id).await;
                let text = stage.read(json!({"id": id, "from": 0})).await.content;
                let about = format!("{layer:?} pty {pty}: {line}: {text}");
                assert!(text.contains(told), "{about}");
                assert!(!text.contains("NEEDLE") && !text.contains("\"terminal\""), "{about}");
                assert!(!outside.path().join("made").exists(), "{about}");
                assert!(!stage.project.root().join(".synthdev/settings.json").exists(), "{about}");
                assert_eq!(end["running"], false);
            }
        }
        if layer == SandboxLayer::Landlock {
            // older kernels cannot end what left the group
            continue;
        }
        let marker = unique_marker();
        stage.start(&format!("setsid sleep {marker} & sleep {marker}")).await;
        wait_processes(&marker, |count| count >= 3).await;
        stage.end_run(true).await;
        wait_processes(&marker, |count| count == 0).await;
    }
}

#[tokio::test]
async fn what_an_answer_leaves_out_can_be_read() {
    let stage = BackgroundProject::with(&[], SandboxSettings::unsandboxed(), |settings| {
        settings.output_cap_bytes = 4096;
        settings.output_redaction = Arc::new(|text: String| text.replace("1500", "[key]"));
        settings.own_tools = vec![own_tool("many_lines", &["seq", "1", "3000"], json!({"type": "object"}))];
    });
    let printed: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    let kept = printed.replace("1500", "[key]");
    let script = "return Array.from({length: 3000}, (_, nth) => nth + 1).join('\\n')";
    let rows = [
        ("execute_terminal", json!({"command": "seq 1 3000"}), "exit 0", kept.as_str()),
        ("execute_terminal", json!({"command": "seq 1 3000; exit 3"}), "exit 3", kept.as_str()),
        ("many_lines", json!({}), "exit 0", kept.as_str()),
        ("execute_script", json!({"script": script}), "ended", kept.trim_end()),
    ];
    for (nth, (tool, arguments, status, expected)) in rows.into_iter().enumerate() {
        let answer = stage.project.run_tool(tool, arguments.clone()).await;
        assert!(answer.content.contains(" bytes left out …]"), "{tool} {arguments}: {}", answer.content);
        let id = head(&answer)["output_id"].as_str().unwrap().to_owned();
        assert_eq!(id, format!("c{}", nth + 1), "{tool} {arguments}");
        let next = stage.read(json!({"id": id, "max_bytes": 64})).await;
        assert_eq!((head(&next)["from"].as_u64(), &head(&next)["status"]), (Some(2048), &json!(status)));
        let mut whole = stage.read(json!({"id": id, "from": 0})).await.body().to_owned();
        while whole.len() < expected.len() {
            let more = stage.read(json!({"id": id})).await;
            assert!(!more.body().is_empty(), "{tool} {arguments}: {} bytes, then nothing", whole.len());
            whole.push_str(more.body());
        }
        assert_eq!(whole, expected, "{tool} {arguments}");
    }
    let short = stage.project.run_tool("execute_terminal", json!({"command": "seq 1 3"})).await;
    assert_eq!(head(&short)["output_id"], Value::Null);
    stage.end_run(true).await;
    assert_eq!(stage.kept_files(), 0);
}
