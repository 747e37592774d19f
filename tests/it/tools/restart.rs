//! The crash rule's questions to the tools: what was planned, what is found after a restart, what may be repeated.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use synthdev::adapters::tools::scripted::ScriptedTools;
use synthdev::adapters::tools::{ProjectTools, ToolSettings};
use synthdev::domain::tool::{
    InterruptedCallStatus, PlannedFileEdit, RerunPolicy, ToolInvocation, ToolOutcome, ToolRisk, ToolSpec,
};
use synthdev::ports::tool::ToolPort;
use tempfile::TempDir;

use super::{Project, invocation};
use crate::sim::luck::Luck;

/// Without the time, which is different every time.
fn without_times(mut outcome: ToolOutcome) -> ToolOutcome {
    let mut head: Value = serde_json::from_str(&outcome.content).unwrap();
    head["time_ms"] = 0.into();
    outcome.content = head.to_string();
    outcome.duration_ms = 0;
    outcome
}

fn some_text(luck: &mut Luck) -> String {
    let words = ["fn", "let", "x = 1;", "grüß", "\n", "\r\n", " ", "{", "}", "日本"];
    (0..luck.random_between(0, 30)).map(|_| luck.pick_item(&words)).collect()
}

fn some_call(luck: &mut Luck, project: &Project, path: &str) -> ToolInvocation {
    if luck.random_chance(40) {
        let mut arguments = json!({"file_path": path, "content": some_text(luck)});
        if luck.random_chance(20) {
            arguments["overwrite"] = false.into();
        }
        if luck.random_chance(20) {
            arguments["create_directories"] = false.into();
        }
        return invocation("write_file", arguments);
    }
    let bytes = std::fs::read(project.root().join(path)).unwrap_or_default();
    let text = String::from_utf8(bytes).unwrap();
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (one, other) = (luck.pick_item(&places), luck.pick_item(&places));
    let old = &text[one.min(other)..one.max(other)];
    invocation("edit_file", json!({"file_path": path, "old_text": old, "new_text": some_text(luck)}))
}

/// What the file was and is, apart from what the tools say.
fn content(project: &Project, path: &str) -> Option<Vec<u8>> {
    std::fs::read(project.root().join(path)).ok()
}

#[tokio::test]
async fn three_hundred_random_changes_are_told_truly() {
    let project = Project::new(&[("a", "some text\n"), ("deep/b", "")]);
    let paths = ["a", "deep/b", "new", "x/y/z"];
    let mut luck = Luck::new(300);
    let mut told: BTreeMap<&str, u32> = BTreeMap::new();
    let mut asked = 0;
    while asked < 300 {
        let path = luck.pick_item(&paths);
        let call = some_call(&mut luck, &project, path);
        let before = content(&project, path);
        let Some(planned) = project.tools.plan_file_edit(&call).await else {
            let refused = project.tools.run(&call).await;
            assert!(!refused.ok, "not planned, yet done: {call:?}");
            *told.entry("refused").or_default() += 1;
            continue;
        };
        asked += 1;
        assert_eq!(content(&project, path), before, "to plan is not to do");
        let performed = luck.random_chance(60);
        let mut expected = planned.outcome.clone();
        if performed {
            assert_eq!(without_times(project.tools.run(&call).await), expected, "{call:?}");
        }
        let meddled = luck.random_chance(20);
        if meddled {
            let stranger = format!("{asked} somebody else was here");
            std::fs::create_dir_all(project.root().join(path).parent().unwrap()).unwrap();
            std::fs::write(project.root().join(path), stranger).unwrap();
        }
        let nothing_to_do = planned.before == planned.after;
        let standing = project.tools.check_interrupted_call(&call, &planned).await;
        let kind = match (meddled, performed || nothing_to_do) {
            (true, _) => {
                assert!(
                    matches!(&standing, InterruptedCallStatus::Unclear { reason } if reason.contains(path)),
                    "{standing:?}"
                );
                "unclear"
            }
            (false, true) => {
                expected.summary.push_str(", found done after a restart");
                assert_eq!(standing, InterruptedCallStatus::Done(expected), "{call:?}");
                "done"
            }
            (false, false) => {
                assert_eq!(standing, InterruptedCallStatus::NotBegun, "{call:?}");
                assert_eq!(content(&project, path), before);
                "not begun"
            }
        };
        *told.entry(kind).or_default() += 1;
        if luck.random_chance(10) && project.root().join(path).exists() {
            std::fs::remove_file(project.root().join(path)).unwrap();
        }
    }
    assert!(["refused", "unclear", "done", "not begun"].iter().all(|kind| told[kind] > 20), "{told:?}");
    assert!(project.list_paths().iter().all(|name| !name.contains(".tmp")), "{:?}", project.list_paths());
}

/// The n-th text of the writer below; each is longer than the one before.
fn text(n: usize) -> String {
    format!("{n}:{}", "x".repeat(100_000 * (n + 1)))
}

/// The victim of the next tests; does nothing when run as a test of its own. Keeps a journal as a run does.
#[tokio::test]
async fn writer() {
    let Ok(place) = std::env::var("SYNTHDEV_TEST_WRITER") else { return };
    let tools = ProjectTools::new(ToolSettings::new(Path::new(&place).join("project")));
    let mut journal = std::fs::File::create(Path::new(&place).join("journal")).unwrap();
    for n in 0.. {
        let call = invocation("write_file", json!({"file_path": "deep/a", "content": text(n)}));
        let planned = serde_json::to_string(&tools.plan_file_edit(&call).await.unwrap()).unwrap();
        journal.write_all(format!("{planned}\n").as_bytes()).unwrap();
        assert!(tools.run(&call).await.ok);
        journal.write_all(b"done\n").unwrap();
    }
}

/// A project and a journal, and a process that writes both until it is killed.
struct Killed {
    place: TempDir,
}

impl Killed {
    /// `limits`: what the shell that starts the writer sets before.
    fn start_writer(limits: &str) -> (Self, Child) {
        let place = crate::support::temporary::temp_directory();
        std::fs::create_dir(place.path().join("project")).unwrap();
        let mut writer = Command::new("sh");
        writer.args(["-c", &format!("{limits} exec \"$0\" \"$@\"")]).arg(std::env::current_exe().unwrap());
        writer.args(["tools::restart::writer", "--exact"]).env("SYNTHDEV_TEST_WRITER", place.path());
        let child = writer.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        (Self { place }, child)
    }

    fn project(&self) -> PathBuf {
        self.place.path().join("project")
    }

    fn journal_text(&self) -> String {
        std::fs::read_to_string(self.place.path().join("journal")).unwrap_or_default()
    }

    /// What is half written at this moment.
    fn half_written_file(&self) -> Option<PathBuf> {
        let found = std::fs::read_dir(self.project().join("deep")).ok()?.flatten();
        found.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "tmp"))
    }

    /// Waits for a sign; the bound is only there to end a failing test.
    fn wait_for(&self, sign: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !sign(self) {
            assert!(started.elapsed() < Duration::from_secs(60), "the writer does not write");
        }
    }

    /// The reported status of the last call that was begun is true, and the project has no other files.
    async fn check_status(&self) -> InterruptedCallStatus {
        let journal = self.journal_text();
        // a row that was not written to its end was never acknowledged
        let whole = &journal[..journal.rfind('\n').unwrap() + 1];
        let begun = whole.lines().filter(|line| *line != "done");
        let begun: Vec<PlannedFileEdit> = begun.map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = begun.len() - 1;
        let call = invocation("write_file", json!({"file_path": "deep/a", "content": text(last)}));
        let tools = ProjectTools::new(ToolSettings::new(self.project()));
        let now = std::fs::read_to_string(self.project().join("deep/a")).ok();
        let standing = tools.check_interrupted_call(&call, &begun[last]).await;
        if now.as_ref() == Some(&text(last)) {
            assert!(matches!(standing, InterruptedCallStatus::Done(_)), "{standing:?}");
        } else {
            assert!(now == last.checked_sub(1).map(text), "half a file");
            assert_eq!(standing, InterruptedCallStatus::NotBegun);
            assert!(!whole.ends_with("done\n"), "a finished write is lost");
        }
        let names = walk_files(&self.project());
        let expected: &[&str] = if now.is_some() { &["deep", "deep/a"] } else { &["deep"] };
        assert!(names.is_empty() || names == expected, "{names:?}");
        assert!(tools.run(&call).await.ok);
        assert_eq!(walk_files(&self.project()), ["deep", "deep/a"]);
        standing
    }
}

/// At random moments, and as soon as a half-written file is seen.
#[tokio::test]
async fn a_write_that_was_really_killed_is_told_truly() {
    let mut luck = Luck::new(9);
    for round in 0..20 {
        let (killed, mut writer) = Killed::start_writer("");
        let rows = luck.random_between(0, 6);
        killed.wait_for(|killed| killed.journal_text().matches('\n').count() > rows);
        if round % 2 == 0 {
            killed.wait_for(|killed| killed.half_written_file().is_some());
        } else {
            std::thread::sleep(Duration::from_micros(luck.random_between(0, 20_000) as u64));
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        killed.check_status().await;
    }
}

/// The system itself kills a process whose file grows over a limit: always in the middle of a write.
#[tokio::test]
async fn a_write_that_is_killed_in_its_middle_leaves_nothing() {
    let (killed, mut writer) = Killed::start_writer("ulimit -c 0; ulimit -f 500;");
    assert!(!writer.wait().unwrap().success());
    let half = killed.half_written_file().unwrap();
    assert!(half.metadata().unwrap().len() > 0);
    assert_eq!(killed.check_status().await, InterruptedCallStatus::NotBegun);
}

fn walk_files(root: &Path) -> Vec<String> {
    let found = ignore::WalkBuilder::new(root).standard_filters(false).build().flatten().skip(1);
    let mut names: Vec<String> =
        found.map(|e| e.path().strip_prefix(root).unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_may_be_repeated() {
    let project = Project::new(&[]);
    let http = |method: Option<&str>| {
        let mut arguments = json!({"url": "http://127.0.0.1/"});
        if let Some(method) = method {
            arguments["method"] = method.into();
        }
        ("http_request", arguments)
    };
    let rows = [
        (("read_files", json!({"file_paths": ["a"]})), RerunPolicy::Safe),
        (("list_directory", json!({"directory_path": "."})), RerunPolicy::Safe),
        (("exact_search", json!({"search_string": "a"})), RerunPolicy::Safe),
        (("write_file", json!({"file_path": "a", "content": "a"})), RerunPolicy::Compare),
        (("edit_file", json!({"file_path": "a", "old_text": "a", "new_text": "b"})), RerunPolicy::Compare),
        (("execute_terminal", json!({"command": "true"})), RerunPolicy::Ask),
        (("shell", json!({"command": "true"})), RerunPolicy::Ask),
        (("mcp", json!({"server": "s", "tool": "t"})), RerunPolicy::Ask),
        (http(None), RerunPolicy::Safe),
        (http(Some("GET")), RerunPolicy::Safe),
        (http(Some("head")), RerunPolicy::Safe),
        (http(Some("OPTIONS")), RerunPolicy::Safe),
        (http(Some("POST")), RerunPolicy::Ask),
        (http(Some("PUT")), RerunPolicy::Ask),
        (http(Some("DELETE")), RerunPolicy::Ask),
        (http(Some("GET ")), RerunPolicy::Ask),
        (("http_request", json!({"method": "GET"})), RerunPolicy::Ask),
        (("unheard_of", json!({})), RerunPolicy::Ask),
    ];
    let scripted = ScriptedTools::new(project.tools.specs().to_vec(), Vec::new(), "*");
    for ((tool, arguments), expected) in rows {
        let call = invocation(tool, arguments);
        assert_eq!(project.tools.rerun_policy(&call), expected, "{call:?}");
        assert_eq!(scripted.rerun_policy(&call), RerunPolicy::Safe, "nothing happens outside");
    }
}

/// Definitions are pinned by what is written of their tools: an undeclared repeat must not show there.
#[test]
fn a_tool_may_declare_its_repeat() {
    let bare = json!({"name": "t", "description": "", "parameters": {}, "risk": "execute"});
    let mut spec: ToolSpec = serde_json::from_value(bare.clone()).unwrap();
    assert_eq!((spec.rerun_policy(), serde_json::to_value(&spec).unwrap()), (RerunPolicy::Ask, bare));
    for (risk, expected) in [
        (ToolRisk::Read, RerunPolicy::Safe),
        (ToolRisk::Write, RerunPolicy::Compare),
        (ToolRisk::Execute, RerunPolicy::Ask),
    ] {
        spec.risk = risk;
        assert_eq!(spec.rerun_policy(), expected);
    }
    spec.repeat = Some(RerunPolicy::Safe);
    assert_eq!(
        (spec.rerun_policy(), &serde_json::to_value(&spec).unwrap()["repeat"]),
        (RerunPolicy::Safe, &json!("safe"))
    );
}
