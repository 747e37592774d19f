//! The commands in blocks of the pages run as they stand: in a project with what the page speaks of, on a model server of
//! this machine. What does not run here is named, with what runs it instead.

use std::collections::BTreeSet;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::code_blocks::{blocks_of, own_arguments};
use super::shell_words::{Pipeline, parse_pipelines};
use crate::cli::world::{Ran, World, talk_workflow, wait_for, workflow};
use crate::support::model_server::{Behaviour, ModelServer, Recorded, RequestResponder};

/// What is there before a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scene {
    /// What the line before it in its block has left.
    After,
    /// A project with workflows and tests, and a model.
    Project,
    /// The same with a test that names a recording, which is not there yet.
    Unrecorded,
    /// No model is set.
    NoModel,
    /// Runs of `coder_reviewer`, the newest of six steps.
    Completed,
    /// It waits for an answer.
    Asks,
    /// It waits for the approval of a command.
    WantsApproval,
    /// Its model failed while it was recorded into `FILE`; now it answers.
    Failed,
    /// It has used up its dollars.
    OverBudget,
    /// It has used up its steps.
    OverLimit,
    /// It works.
    Works,
}

/// A line of a block, without its comment.
struct Line {
    text: &'static str,
    scene: Scene,
    /// A yes to what it asks on a terminal.
    yes: bool,
    /// What it leaves is no scene for the next line.
    changes: bool,
    code: i32,
    /// A part of what it prints.
    says: &'static str,
}

const fn line(text: &'static str, scene: Scene, says: &'static str) -> Line {
    Line { text, scene, yes: false, changes: false, code: 0, says }
}

impl Line {
    const fn asks(self) -> Self {
        Self { yes: true, ..self }
    }

    const fn changes(self) -> Self {
        Self { changes: true, ..self }
    }

    const fn code(self, code: i32) -> Self {
        Self { code, ..self }
    }
}

const LINES: &[Line] = &[
    // README.md
    line("synthdev models", Scene::Project, "priced"),
    line("synthdev doctor", Scene::Project, "Everything is in order."),
    line("synthdev run coder_reviewer \"Add a --dry-run flag\" --yes", Scene::Project, "All is done."),
    line("synthdev check", Scene::Project, "no problems"),
    line("synthdev check my_flow.json", Scene::Project, "no problems"),
    line("synthdev new workflow my_flow", Scene::NoModel, "synthdev run my_flow"),
    line("synthdev graph my_flow", Scene::After, "stop"),
    line("synthdev simulate my_flow replies.json", Scene::Project, "completed"),
    line("synthdev simulate coder_reviewer", Scene::Project, "coder_reviewer"),
    line("synthdev test", Scene::After, " passed"),
    line("synthdev runs list", Scene::Completed, "coder_reviewer"),
    line("synthdev runs show RUN", Scene::Completed, "● 1 start"),
    line("synthdev resume RUN", Scene::Failed, "All is done."),
    line("synthdev resume RUN --past-limits", Scene::OverLimit, "All is done."),
    line("synthdev resume RUN --results ANSWER", Scene::Asks, "All is done."),
    line("synthdev resume RUN --budget +1.00", Scene::OverBudget, "All is done."),
    line("synthdev resume RUN --record FILE", Scene::Failed, "recorded "),
    line("synthdev runs retry RUN", Scene::Failed, "All is done."),
    line("synthdev runs rewind RUN --to 5", Scene::Completed, "step 5").asks().changes(),
    line("synthdev runs fork RUN --at 5 --set common_data.tone=dry", Scene::Completed, "synthdev resume")
        .changes(),
    line("synthdev runs undo RUN", Scene::Completed, "notes.txt").asks().changes(),
    line("synthdev why RUN 5", Scene::Completed, "review"),
    line("synthdev run --isolate coder_reviewer \"task\"", Scene::Project, "All is done."),
    // docs/runs.md
    line("synthdev runs pause RUN", Scene::Works, "is paused"),
    line("synthdev runs cancel RUN", Scene::Asks, "cancelled"),
    line("synthdev resume RUN --results '\"yes\"'", Scene::Asks, "All is done."),
    line(
        "synthdev resume RUN --state review --results '{\"decision\": \"allow\"}'",
        Scene::WantsApproval,
        "exit_code",
    ),
    line("synthdev resume RUN --results '{\"decision\": \"run\"}'", Scene::WantsApproval, "exit_code"),
    line("synthdev resume RUN --yes", Scene::WantsApproval, "exit_code"),
    line("synthdev resume RUN --upgrade", Scene::Failed, "the definition is the same"),
    line("synthdev runs steps RUN", Scene::Completed, "review"),
    line(
        "synthdev runs fork RUN --at 5 --set common_data.tone='\"dry\"'",
        Scene::Completed,
        "synthdev resume",
    )
    .changes(),
    line("synthdev runs replay RUN", Scene::Completed, "the same "),
    line(
        "synthdev runs list --status failed --since 7d --workflow coder_reviewer",
        Scene::Completed,
        "no runs match",
    ),
    line("synthdev runs list --tree", Scene::Completed, "coder_reviewer"),
    line("synthdev runs search \"rate limit\" backo", Scene::Completed, "rate limit"),
    line("synthdev runs show RUN --request last", Scene::Completed, "review_work"),
    line("synthdev runs cost RUN", Scene::Completed, "by agent"),
    line("synthdev runs cost --by day --since 30d", Scene::Completed, "2 runs"),
    line("synthdev runs contexts RUN", Scene::Completed, "coder"),
    line("synthdev runs diff RUN OTHER", Scene::Completed, "rate limit"),
    line("synthdev runs export RUN --to run.json", Scene::Completed, "run.json"),
    line("synthdev runs export RUN --to run.md", Scene::Completed, "run.md"),
    line("synthdev runs export RUN --to it.cassette.jsonl", Scene::Completed, "it.cassette.jsonl"),
    line("synthdev runs gc --older-than 90", Scene::Completed, "nothing to remove"),
    line("synthdev runs gc --max-size 500", Scene::Completed, "the other runs take"),
    line("synthdev runs delete RUN", Scene::Completed, "removed run").asks().changes(),
    line("synthdev runs du", Scene::Completed, "of this project"),
    // docs/workflow-tests.md
    line("synthdev test coder_reviewer", Scene::Project, " passed"),
    line("synthdev test flows/a.test.json flows", Scene::Project, " passed"),
    line("synthdev simulate coder_reviewer r.json \"a task\"", Scene::Project, "completed"),
    line("synthdev test --record flows/a.test.json", Scene::Unrecorded, "1 passed"),
    line("synthdev test flows/a.test.json", Scene::After, "1 passed"),
    line(
        "synthdev run coder_reviewer \"add a greeting\" --yes --record greeting.jsonl",
        Scene::Project,
        "recorded 4 model calls in greeting.jsonl",
    ),
    line(
        "synthdev run coder_reviewer \"add a greeting\" --yes --replay greeting.jsonl",
        Scene::After,
        "no model was called",
    ),
    line("synthdev run plan \"add a greeting\" --record plan.jsonl", Scene::Project, "is not written")
        .code(3),
    line("synthdev resume RUN --results yes --record plan.jsonl", Scene::After, "recorded 2 model calls"),
    line("synthdev run plan \"add a greeting\" --replay plan.jsonl", Scene::After, "--replay plan.jsonl")
        .code(3),
    line("synthdev resume RUN --results yes --replay plan.jsonl", Scene::After, "no model was called"),
    line("synthdev runs export RUN --format recording --to plan.jsonl", Scene::Completed, "plan.jsonl"),
    // docs/repl.md
    line(
        "printf '%s\\n' 'What does this project do?' '/cost' | synthdev --linear",
        Scene::Project,
        "All is done.",
    ),
    // docs/mcp.md, docs/tools.md
    line("synthdev mcp --provider agentllm", Scene::NoModel, ""),
    line("synthdev mcp --fast-provider agentllm", Scene::Project, ""),
    line("synthdev mcp add git uvx mcp-server-git", Scene::Project, "added `git`"),
    line(
        "synthdev mcp add --header 'Authorization: Bearer ${ISSUES_TOKEN}' issues https://mcp.example.com/mcp",
        Scene::After,
        "added `issues`",
    ),
    // docs/workflows.md
    line("synthdev new workflow NAME", Scene::NoModel, "synthdev run my_flow"),
    line("synthdev check NAME", Scene::After, "no problems"),
    line("synthdev graph NAME", Scene::After, "stop"),
    line("synthdev test NAME", Scene::Project, "1 passed"),
    line("synthdev run NAME \"the input\"", Scene::After, "All is done."),
    // CONTRIBUTING.md
    line("cargo run --locked -- demo --headless", Scene::NoModel, "summary"),
    line("cargo run --locked -- check workflows/coder_reviewer.json", Scene::Project, "no problems"),
];

/// The beginnings of lines that do not run here, with what runs them, or why nothing does.
const ELSEWHERE: &[(&str, &str)] = &[
    ("synthdev", "pty: needs a terminal"),
    ("synthdev configure", "pty::setup: asks on a terminal"),
    ("cargo run --locked -- demo", "pty: needs a terminal"),
    ("synthdev -C /path/to/your/project mcp --http 127.0.0.1:7331", "mcp::http: serves until it is stopped"),
    ("cargo build --locked", "builds this program"),
    ("cargo test --locked", "runs these tests"),
    ("cargo test --locked -p synthdev-engine prompt::", "runs these tests"),
    ("cargo test --locked --test it machine::retries", "runs these tests"),
    ("cargo test --locked --test it conformance::", "runs these tests"),
    ("cargo test --locked --test it -- --list", "runs these tests"),
    ("cd your-project", "the shell's"),
    ("mkdir .synthdev", "docs::moving"),
    (
        "cp -r /path/to/synth-dev/config/roles /path/to/synth-dev/config/workflows .synthdev/",
        "docs::moving: the files of another program",
    ),
    ("synthdev trust", "docs::moving"),
    ("synthdev check --trust", "docs::moving"),
    ("synthdev run release_note \"1.2.0\" --replies replies.json", "docs::moving"),
    ("synthdev run headline \"The parser accepts tabs\" --replies line.json", "docs::moving"),
];

/// A reviewer wants one improvement of each work; a model that shall fail does so once.
#[derive(Default)]
struct PageModel {
    reviews: AtomicUsize,
    failures: AtomicUsize,
}

impl RequestResponder for PageModel {
    fn reply_to(&self, request: &Recorded) -> Behaviour {
        let asked = request.body["messages"].to_string();
        // of each run the first call
        if asked.contains("fail once") && self.failures.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            return Behaviour::status(401, "{\"error\": {\"message\": \"no\"}}");
        }
        if !request.body["tools"].to_string().contains("review_work") {
            let is_written = asked.contains("\"tool\"") || !asked.contains("write it down");
            let write = json!({"file_path": "notes.txt", "content": "backoff"}).to_string();
            return match is_written {
                true => Behaviour::text("All is done."),
                false => Behaviour::calls(&[("c1", "write_file", &write)]),
            };
        }
        let first = self.reviews.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let decision = match first {
            true => json!({"improvement_needed": true, "continue_message": "Once more."}),
            false => json!({"improvement_needed": false, "work_summary": "All is done."}),
        };
        Behaviour::calls(&[("c1", "review_work", &decision.to_string())])
    }

    fn on_answered(&self, _: &Recorded) {}
}

/// A world in which a page's command makes sense, with the values of its placeholders.
struct Stage {
    world: World,
    /// A run that works meanwhile.
    background: Option<Child>,
}

fn named(mut flow: Value, name: &str) -> String {
    flow["workflow_name"] = name.into();
    flow.to_string()
}

/// Says something, asks the user, and says something again.
fn plan_workflow() -> Value {
    let say = |name: &str, target: &str| {
        json!({"name": name, "agent": "coder", "input": "common_data.task",
            "action": {"function": "sendUserMessage"},
            "transition": [{"target": target,
                "before": "() => { this.common_data.result = this.getAgent('coder').getLastResponse(); }"}]})
    };
    workflow(&json!([
        {"name": "start", "transition": [{"target": "say"}]},
        say("say", "ask"),
        {"name": "ask", "type": "pause", "kind": "text", "message": {"text": "Like this?"},
            "output": {"as": "answer"}, "transition": [{"target": "more"}]},
        say("more", "stop"),
        {"name": "stop", "input": "common_data.result"}]))
}

impl Stage {
    fn empty() -> Self {
        Self { world: World::repository(), background: None }
    }

    fn project(server: &ModelServer) -> Self {
        let mut world = World::repository();
        world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
        world.set_variable("SYNTHDEV_BASE_MODEL", "priced");
        let prices = json!({"providers": {"page": {"base_url": server.base_url, "needs_key": false,
            "models": {"priced": {"prices": {"input": 1, "output": 1}}}}}});
        world.write_user_file("models.json", &prices.to_string());
        let replies = json!({"input": "x", "replies": {"coder": [{"text": "All is done."}]}});
        let reviewed = json!({"coder": [{"text": "All is done."}], "reviewer": [{"tool_calls": [{"name": "review_work",
            "arguments": {"improvement_needed": false, "work_summary": "All is done."}}]}]});
        world.write_json("replies.json", &replies);
        world.write_json("r.json", &json!({ "replies": reviewed }));
        let test = json!({"name": "a page", "input": "x", "replies": replies["replies"]});
        world.write_user_file("workflows/my_flow.test.json", &test.to_string());
        for name in ["my_flow", "flows/a"] {
            let flow = named(talk_workflow(), &name.replace("flows/", ""));
            world.write_file(&format!("{name}.json"), &flow);
        }
        world.write_json("flows/a.test.json", &test);
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/workflows/coder_reviewer.json");
        world.write_file("workflows/coder_reviewer.json", &std::fs::read_to_string(shipped).unwrap());
        world.write_user_file("workflows/plan.json", &named(plan_workflow(), "plan"));
        world.write_user_file("workflows/my_flow.json", &named(talk_workflow(), "my_flow"));
        Self { world, background: None }
    }

    fn with_run(server: &ModelServer, flow: &Value, arguments: &[&str], code: i32) -> Self {
        let stage = Self::project(server);
        stage.world.write_user_file("workflows/mine.json", &named(flow.clone(), "mine"));
        stage.world.run_program(&[&["run", "mine"], arguments].concat()).code(code);
        stage
    }

    fn completed(server: &ModelServer) -> Self {
        let stage = Self::project(server);
        for task in ["no backoff at a rate limit", "write it down: backoff at a rate limit"] {
            stage.world.run_program(&["run", "coder_reviewer", task, "--yes"]).code(0);
        }
        stage
    }

    fn working(server: &ModelServer) -> Self {
        let states = json!([{"name": "start", "type": "wait", "duration": 600, "transition": [{"target": "stop"}]},
            {"name": "stop"}]);
        let mut stage = Self::project(server);
        let mut flow = workflow(&states);
        flow.as_object_mut().unwrap().remove("output");
        stage.world.write_user_file("workflows/mine.json", &named(flow, "mine"));
        stage.background = Some(stage.world.command(&["run", "mine", "x"]).spawn().unwrap());
        wait_for("the run works", || {
            let runs = stage.world.run_program(&["runs", "list", "--json"]).json();
            (runs[0]["status"] == "running" && !runs[0]["path"].is_null()).then_some(())
        });
        stage
    }

    fn set(scene: Scene, server: &ModelServer) -> Self {
        let limited = || {
            let mut flow = talk_workflow();
            flow["limits"] = json!({"max_steps": 2});
            flow
        };
        let command = json!([
            {"name": "start", "transition": [{"target": "review"}]},
            {"name": "review", "type": "shell", "command": "true", "output": {"as": "result"},
                "transition": [{"target": "stop"}]},
            {"name": "stop", "input": "JSON.stringify(common_data.result)"}]);
        let poor = || {
            let mut flow = talk_workflow();
            flow["budget"] = json!({"cost_usd": 0.000_001});
            flow
        };
        match scene {
            Scene::NoModel => Self::empty(),
            Scene::Project | Scene::After => Self::project(server),
            Scene::Unrecorded => {
                let stage = Self::project(server);
                let test = json!({"name": "a page", "input": "x", "cassette": "a.cassette.jsonl"});
                stage.world.write_json("flows/a.test.json", &test);
                stage
            }
            Scene::Completed => Self::completed(server),
            Scene::Asks => Self::with_run(server, &plan_workflow(), &["x"], 3),
            Scene::WantsApproval => Self::with_run(server, &workflow(&command), &["x"], 5),
            Scene::Failed => {
                Self::with_run(server, &talk_workflow(), &["fail once", "--record", "it.jsonl"], 1)
            }
            Scene::OverBudget => Self::with_run(server, &poor(), &["x"], 4),
            Scene::OverLimit => Self::with_run(server, &limited(), &["x"], 4),
            Scene::Works => Self::working(server),
        }
    }

    /// What the user types where the page has a placeholder.
    fn fill_in(&self, word: &str) -> String {
        let run = |at: usize| {
            let runs = self.world.run_program(&["runs", "list", "--json"]).json();
            runs[at]["id"].as_str().unwrap_or_else(|| panic!("no run {at}: {runs}")).to_owned()
        };
        match word {
            "RUN" => run(0),
            "OTHER" => run(1),
            "NAME" => "my_flow".to_owned(),
            "FILE" => "it.jsonl".to_owned(),
            "ANSWER" => "yes".to_owned(),
            _ => word.to_owned(),
        }
    }

    fn run_line(&self, commands: &[Vec<String>], yes: bool) -> Ran {
        let (input, own) = match commands {
            [own] => (String::new(), own),
            // `printf '%s\n' A B`: a line each
            [printed, own] if printed[0] == "printf" && printed[1] == "%s\\n" => {
                (printed[2..].iter().map(|line| format!("{line}\n")).collect(), own)
            }
            _ => panic!("no way to run {commands:?}"),
        };
        let own = own_arguments(own).unwrap_or_else(|| panic!("{own:?} is not our program"));
        let mut arguments: Vec<String> = own[1..].iter().map(|word| self.fill_in(word)).collect();
        arguments.extend(yes.then(|| "--yes".to_owned()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.world.run_with(&arguments, &input)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut child) = self.background.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The line as the table has it.
fn without_comment(line: &str) -> &str {
    line.split("  #").next().unwrap().split(" # ").next().unwrap().trim()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_in_a_block_runs_as_it_stands() {
    let (mut problems, mut unused) = (Vec::new(), BTreeSet::new());
    unused.extend(LINES.iter().map(|line| line.text).chain(ELSEWHERE.iter().map(|(text, _)| *text)));
    for block in blocks_of("sh") {
        let server = ModelServer::start_with(Arc::new(PageModel::default())).await;
        server.add_document("/v1/models", json!({"data": [{"id": "priced"}]}));
        let mut stage: Option<(Stage, &Line)> = None;
        for Pipeline { commands, line: typed } in parse_pipelines(&block.text) {
            let text = without_comment(&typed);
            unused.remove(text);
            if ELSEWHERE.iter().any(|(elsewhere, _)| *elsewhere == text) {
                continue;
            }
            let Some(line) = LINES.iter().find(|line| line.text == text) else {
                problems.push(format!("{}: `{text}` is run by nothing: add it to LINES", block.place));
                continue;
            };
            let serves = |before: &Line| {
                line.scene == Scene::After
                    || line.scene == before.scene && line.scene == Scene::Completed && !before.changes
            };
            let here = match stage.take().filter(|(_, before)| serves(before)) {
                Some((before, _)) => before,
                None => Stage::set(line.scene, &server),
            };
            let ran = here.run_line(&commands, line.yes);
            let printed = format!("{}{}", ran.stdout, ran.stderr);
            if ran.code != Some(line.code) || !printed.contains(line.says) {
                let (code, says) = (line.code, line.says);
                problems.push(format!(
                    "{}: `{text}` ends with {:?} instead of {code}, or does not say `{says}`:\n{printed}",
                    block.place, ran.code
                ));
            }
            stage = Some((here, line));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(unused.is_empty(), "no page has these lines any more: {unused:#?}");
}

/// The refusal of a key that belongs to another server, as the page shows it.
#[test]
fn the_refused_key_is_told_as_the_page_of_models_shows_it() {
    let page = include_str!("../../../docs/models.md");
    let block = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut world = World::new();
    for (name, value) in [
        ("SYNTHDEV_API_KEY", "sk-of-the-base-level"),
        ("SYNTHDEV_BASE_MODEL", "gpt-4.1"),
        ("SYNTHDEV_SMART_BASE_URL", "https://models.example"),
        ("SYNTHDEV_SMART_MODEL", "big-one"),
    ] {
        world.set_variable(name, value);
    }
    let printed = world.run_program(&["doctor", "--offline"]).code(1).stdout;
    assert!(
        block.lines().count() > 1 && printed.contains(block),
        "the page says\n{block}\nthe program\n{printed}"
    );
}
