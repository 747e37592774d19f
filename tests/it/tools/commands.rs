//! execute_terminal: output, exit, environment, and that no process outlives its call.

use std::path::Path;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use synthdev::adapters::sandbox::CommandSandbox;
use synthdev::adapters::sandbox::sandbox_places::SandboxPlaces;
use synthdev::domain::sandbox::{NetworkAccess, SandboxLayer, SandboxSettings};
use synthdev::domain::tool::ToolPreview;
use synthdev::ports::tool::{ToolPort, ToolProgressSink};

use super::{Project, invocation};
use crate::sim::luck::Luck;

/// Keeps what is reported, and lets the command go on.
struct ReportsIntoFile<'a> {
    project: &'a Project,
    reports: Mutex<Vec<String>>,
}

impl ToolProgressSink for ReportsIntoFile<'_> {
    fn report_progress(&self, text: &str) {
        self.reports.lock().unwrap().push(text.to_owned());
        std::fs::write(self.project.root().join("go"), "").unwrap();
    }
}

#[tokio::test]
async fn a_command_that_goes_on_reports_its_last_whole_line() {
    let project = Project::new(&[]);
    let sink = ReportsIntoFile { project: &project, reports: Mutex::default() };
    // it ends only once a report has come
    let line = "echo first; echo second; printf third; until [ -e go ]; do sleep 0.02; done; echo; echo last";
    for (tool, arguments) in [("execute_terminal", command(line)), ("shell", command(line))] {
        let call = invocation(tool, arguments);
        let outcome = project.tools.run_reporting(&call, false, &sink).await;
        assert!(outcome.ok && outcome.content.contains("last"), "{outcome:?}");
        let reports = std::mem::take(&mut *sink.reports.lock().unwrap());
        assert_eq!(reports.first().map(String::as_str), Some("second"), "{tool}: {reports:?}");
        std::fs::remove_file(project.root().join("go")).unwrap();
    }
}

/// Running processes whose command line contains `marker`. A zombie has no command line.
pub(crate) fn processes(marker: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}

/// Waits until `count` satisfies `wanted`; the bound is only there to end a failing test.
pub(crate) async fn wait_processes(marker: &str, wanted: impl Fn(usize) -> bool) {
    let started = Instant::now();
    while !wanted(processes(marker)) {
        assert!(started.elapsed() < Duration::from_secs(30), "{} processes of {marker}", processes(marker));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A duration for `sleep` that no other process has in its command line.
pub(crate) fn unique_marker() -> String {
    let unique = uuid::Uuid::new_v4().as_u128();
    format!("999.{unique}")
}

fn command(line: &str) -> Value {
    json!({"command": line})
}

#[tokio::test]
async fn output_and_exit() {
    let project = Project::new(&[("a b.txt", "x")]);
    project
        .expect_success(
            "execute_terminal",
            command("ls"),
            "\"exit_code\":0,\"output_bytes_left_out\":0}\na b.txt\n",
        )
        .await;
    let order = command("echo 1; echo 2 >&2; echo 3; echo 4 >&2");
    project.expect_success("execute_terminal", order, "\n1\n2\n3\n4\n").await;
    // the very text that other tools look for in files
    let root = std::fs::canonicalize(project.root()).unwrap().display().to_string();
    let printed = format!("\n{root}\n{root}/x {root}\n");
    project.expect_success("execute_terminal", command("pwd; echo \"$PWD/x $PWD\""), &printed).await;
    project.expect_success("execute_terminal", command("cat; echo no input"), "\nno input\n").await;
    project.expect_success("execute_terminal", command("printf 'a\\000b\\033[31m'"), "\nab\u{1b}[31m").await;
    project.expect_failure("execute_terminal", command("echo why >&2; exit 3"), "exit code 3").await;
    project.expect_failure("execute_terminal", command("no-such-command-here"), "exit code 127").await;
    project.expect_failure("execute_terminal", command("kill -TERM $$"), "killed by signal 15").await;
    project.expect_failure("execute_terminal", command("echo a\0b"), "NUL").await;
    let failed = project.run_tool("execute_terminal", command("echo why >&2; exit 3")).await;
    assert!(failed.content.ends_with("\nwhy\n") && failed.summary == "exit 3", "{failed:?}");
}

#[tokio::test]
async fn commands_have_no_terminal() {
    let project = Project::new(&[]);
    // a leader of its own session: field 6 of its stat line is its own id
    let line =
        command("read -r stat </proc/$$/stat; set -- ${stat##*)}; test \"$4\" = $$ && echo own session");
    project.expect_success("execute_terminal", line, "\nown session\n").await;
    project.expect_failure("execute_terminal", command("head -c 1 /dev/tty"), "exit code 1").await;
}

#[tokio::test]
async fn long_output_keeps_both_ends() {
    let project = Project::with_files(&[], |settings| settings.output_cap_bytes = 1000);
    let outcome =
        project.expect_success("execute_terminal", command("seq 1 100000"), "bytes left out …]").await;
    assert!(outcome.content.len() < 1200, "{}", outcome.content.len());
    assert!(outcome.content.contains("}\n1\n2\n3\n") && outcome.content.ends_with("99999\n100000\n"));
}

#[tokio::test]
async fn secrets_stay_out_of_the_environment() {
    // cargo sets these for every test: nothing needs to be planted in our own environment
    let line = command("echo \"[$CARGO_PKG_NAME][$CARGO_MANIFEST_DIR][$PAGER]\"");
    let project = Project::with_files(&[], |s| {
        s.strip_env = vec!["*_PKG_NAME".to_owned(), "CARGO_MANIFEST_DIR".to_owned()]
    });
    project.expect_success("execute_terminal", line.clone(), "\n[][][cat]\n").await;
    let open = Project::with_files(&[], |s| s.strip_env = vec![]);
    open.expect_success("execute_terminal", line, "\n[synthdev][").await;
}

#[tokio::test]
async fn a_timeout_kills_the_whole_group() {
    let project = Project::with_files(&[], |settings| settings.terminal_timeout = Duration::from_millis(300));
    let marker = unique_marker();
    let line = format!("echo started; sleep {marker} & (sleep {marker}; true) & wait");
    let outcome = project.run_tool("execute_terminal", command(&line)).await;
    assert!(!outcome.ok && outcome.content.contains("timed out after 0.3 s"), "{}", outcome.content);
    assert!(outcome.content.ends_with("\nstarted\n"), "what was printed is kept: {}", outcome.content);
    wait_processes(&marker, |count| count == 0).await;
    let own = json!({"command": format!("trap '' TERM INT; sleep {marker}"), "timeout_seconds": 1});
    project.expect_failure("execute_terminal", own, "timed out after 1 s").await;
    wait_processes(&marker, |count| count == 0).await;
}

#[tokio::test]
async fn dropping_the_future_kills_the_whole_group() {
    let project = Project::new(&[]);
    let marker = unique_marker();
    let call = invocation("execute_terminal", command(&format!("sleep {marker} & sleep {marker} & wait")));
    tokio::select! {
        _ = project.tools.run(&call) => panic!("it cannot end by itself"),
        // the shell and both sleeps
        () = wait_processes(&marker, |count| count == 3) => {}
    }
    wait_processes(&marker, |count| count == 0).await;
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_ends_with_it() {
    let project = Project::new(&[]);
    let marker = unique_marker();
    let line = command(&format!("sleep {marker} & echo done"));
    project
        .expect_success(
            "execute_terminal",
            line,
            "still running in the background and have been stopped\"}\ndone\n",
        )
        .await;
    wait_processes(&marker, |count| count == 0).await;
    // one that prints without an end is not waited for
    let floods = project.run_tool("execute_terminal", command("cat /dev/zero & echo done")).await;
    assert!(floods.ok && floods.content.contains("have been stopped"), "{}", floods.summary);
    let quiet = project.run_tool("execute_terminal", command("true")).await;
    assert!(!quiet.content.contains("notice"), "{}", quiet.content);
}

/// A process that left the group is not followed, and no message claims that it was stopped.
#[tokio::test]
async fn what_escapes_is_not_called_stopped() {
    let project = Project::new(&[]);
    let line = "mkfifo up; setsid sh -c 'echo > up; exec sleep 5' & read -r _ < up; echo done";
    let told = "left the command's process group (as with `setsid`) and may still be running\"}\ndone\n";
    project.expect_success("execute_terminal", command(line), told).await;
    let late = json!({"command": format!("rm up; {line}; sleep 99"), "timeout_seconds": 1});
    let late = project.run_tool("execute_terminal", late).await;
    assert!(late.content.contains("timed out after 1 s; the command and its process group"), "{late:?}");
}

/// The victim of the next tests; does nothing when run as a test of its own.
#[tokio::test]
async fn victim() {
    let Ok(line) = std::env::var("SYNTHDEV_TEST_VICTIM") else { return };
    let project = Project::new(&[]);
    let _ = project.run_tool("execute_terminal", command(&line)).await;
}

/// A process of its own that runs `line`.
fn spawn_victim(line: &str) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["tools::commands::victim", "--exact"])
        .env("SYNTHDEV_TEST_VICTIM", line)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn commands_end_even_when_we_are_killed() {
    // how, and how many processes it is
    for (line, count) in [
        ("sleep MARK & wait", 2),
        ("trap '' TERM INT HUP; nohup sleep MARK & (sleep MARK; true) & wait", 4),
        ("sleep MARK & kill -STOP $$", 2),
    ] {
        let marker = unique_marker();
        let mut victim = spawn_victim(&line.replace("MARK", &marker));
        wait_processes(&marker, |running| running == count).await;
        victim.kill().unwrap();
        victim.wait().unwrap();
        wait_processes(&marker, |running| running == 0).await;
    }
}

/// Killed at any moment of a command's start, nothing that was started stays.
#[tokio::test]
async fn commands_end_whenever_we_are_killed() {
    let mut luck = Luck::new(11);
    for _ in 0..20 {
        let marker = unique_marker();
        let mut victim = spawn_victim(&format!("sleep {marker} & sleep {marker}"));
        // the first sign of life, then some moment of the next milliseconds
        wait_processes(&marker, |running| running > 0).await;
        tokio::time::sleep(Duration::from_micros(luck.random_between(0, 3000) as u64)).await;
        victim.kill().unwrap();
        victim.wait().unwrap();
        wait_processes(&marker, |running| running == 0).await;
        // what was held back at its start does not begin afterwards
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(processes(&marker), 0);
    }
}

#[tokio::test]
async fn the_preview_warns_of_dangerous_commands() {
    let project = Project::new(&[]);
    let Some(ToolPreview::Command { command: line, cwd, warning, .. }) =
        project.preview_tool("execute_terminal", command("rm -rf target")).await
    else {
        panic!("no preview");
    };
    assert_eq!((line.as_str(), cwd.as_str()), ("rm -rf target", "."));
    assert!(warning.is_some_and(|text| text.contains("deletes directories")));
    let harmless = project.preview_tool("execute_terminal", command("cargo test")).await;
    assert!(matches!(harmless, Some(ToolPreview::Command { warning: None, .. })));
}

/// Refused, and harmless if it were not: `rm` comes after `false`.
const REFUSED: &str = "touch ran; false && rm -rf /";

#[tokio::test]
async fn what_nobody_means_never_starts_unless_the_user_typed_it() {
    let project = Project::new(&[]);
    let told =
        "[sandbox] refused: removes / recursively. No setting allows this; the user can run it with /cmd";
    project.expect_failure("execute_terminal", command(REFUSED), told).await;
    let call = invocation("execute_terminal", command(REFUSED));
    assert_eq!(project.tools.refusal_reason(&call).as_deref(), Some(told));
    assert_eq!(project.tools.refusal_reason(&invocation("execute_terminal", command("rm -rf x"))), None);
    let typed = Project::with_files(&[], |settings| settings.typed_by_user = true);
    assert_eq!(typed.tools.refusal_reason(&call), None);
    let Some(ToolPreview::Command { warning, .. }) =
        typed.preview_tool("execute_terminal", command(REFUSED)).await
    else {
        panic!("no preview");
    };
    assert_eq!(warning.as_deref(), Some("This command deletes directories for good."));
    typed.run_tool("execute_terminal", command(REFUSED)).await;
    assert_eq!(typed.list_paths(), ["", "ran"]);
}

/// Where no sandbox works the ports are closed, and so they are where there is none or the network is on.
#[tokio::test]
async fn the_preview_names_the_ports_that_a_command_reaches() {
    let data = crate::support::temporary::temp_directory();
    let confined = SandboxSettings { layer: SandboxLayer::Bubblewrap, ..SandboxSettings::default() };
    let rows = [
        (confined.clone(), true),
        (SandboxSettings { network: NetworkAccess::Ask, ..confined.clone() }, true),
        (SandboxSettings { network: NetworkAccess::On, ..confined.clone() }, false),
        (SandboxSettings { ports_are_closed: true, ..confined.clone() }, false),
        (SandboxSettings { layer: SandboxLayer::None, ..confined.clone() }, false),
        (SandboxSettings { layer: SandboxLayer::Landlock, ..confined }, false),
        (SandboxSettings::unsandboxed(), false),
    ];
    for (settings, reached) in rows {
        let about = format!("{settings:?}");
        let mut sandbox = Arc::new(CommandSandbox::disabled(data.path()));
        let project = Project::with_files(&[], |tools| {
            let places = SandboxPlaces {
                data: data.path().to_owned(),
                helper: env!("CARGO_BIN_EXE_synthdev").into(),
                ..SandboxPlaces::for_project(&tools.root)
            };
            sandbox = Arc::new(CommandSandbox::new(settings, places));
            tools.sandbox = Arc::clone(&sandbox);
        });
        let reached = reached && sandbox.prepare_current().is_ok();
        for (tool, arguments) in [("execute_terminal", command("ls")), ("shell", command("ls"))] {
            let mut call = invocation(tool, arguments);
            call.loopback_ports.insert(5432);
            let Some(ToolPreview::Command { ports, .. }) = project.tools.preview_call(&call).await else {
                panic!("no preview");
            };
            assert_eq!(ports.contains(&5432), reached, "{tool} {about}");
        }
    }
}

fn run_git(root: &Path, arguments: &[&str]) {
    let done = std::process::Command::new("git").arg("-C").arg(root).args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The policy of the first command does not know them.
#[tokio::test]
async fn what_the_user_adds_to_git_is_protected_from_the_next_command_on() {
    type Change = fn(&Path);
    let rows: [(&str, Change); 4] = [
        (".git/modules/s/config", |root| {
            std::fs::create_dir_all(root.join(".git/modules/s")).unwrap();
            std::fs::write(root.join(".git/modules/s/HEAD"), "ref: refs/heads/main\n").unwrap();
            std::fs::write(root.join(".git/modules/s/config"), "[core]\n").unwrap();
        }),
        (".git/worktrees/w/commondir", |root| {
            std::fs::create_dir_all(root.join(".git/worktrees/w")).unwrap();
            std::fs::write(root.join(".git/worktrees/w/commondir"), "../..\n").unwrap();
        }),
        ("own-hooks/pre-commit", |root| {
            std::fs::create_dir(root.join("own-hooks")).unwrap();
            std::fs::write(root.join("own-hooks/pre-commit"), "#!/bin/sh\n").unwrap();
            run_git(root, &["config", "core.hooksPath", "own-hooks"]);
        }),
        ("nested/.git/config", |root| {
            run_git(root, &["init", "-q", "nested"]);
            let author = ["-c", "user.name=u", "-c", "user.email=u@localhost"];
            let commit = ["commit", "-q", "--allow-empty", "-m", "first"];
            run_git(&root.join("nested"), &[&author[..], &commit].concat());
            run_git(root, &["-c", "advice.addEmbeddedRepo=false", "add", "nested"]);
        }),
    ];
    for layer in [SandboxLayer::Bubblewrap, SandboxLayer::Landlock] {
        for (path, change) in rows {
            let data = tempfile::tempdir().unwrap();
            let mut sandbox = Arc::new(CommandSandbox::disabled(data.path()));
            let project = Project::with_files(&[], |tools| {
                run_git(&tools.root, &["init", "-q"]);
                let places = SandboxPlaces {
                    data: data.path().to_owned(),
                    helper: env!("CARGO_BIN_EXE_synthdev").into(),
                    ..SandboxPlaces::for_project(&tools.root)
                };
                sandbox = Arc::new(CommandSandbox::new(
                    SandboxSettings { layer, ..SandboxSettings::default() },
                    places,
                ));
                tools.sandbox = Arc::clone(&sandbox);
            });
            if let Err(missing) = sandbox.prepare_current() {
                eprintln!("skipped: {layer:?}: {missing}");
                continue;
            }
            project.run_tool("execute_terminal", command("true")).await;
            change(project.root());
            let before = project.text(path);
            let attempt = command(&format!("echo ESCAPED >>{path}"));
            let told = project.run_tool("execute_terminal", attempt).await.content;
            assert_eq!(project.text(path), before, "{layer:?} {path}: {told}");
            assert!(told.contains("[sandbox]"), "{layer:?} {path}: {told}");
        }
    }
}
