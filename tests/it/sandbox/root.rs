//! The root in which the rows are run, and what came of them there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::row::{Group, Layer, Row};

/// A user who owns nothing on this machine, where the tests are run by root.
const NOBODY: u32 = 231_072;

/// What came of one row.
#[derive(Default)]
pub struct Seen {
    /// Of the tool, as the model gets it.
    pub answer: String,
    /// The outside is as it was.
    pub broken: bool,
}

impl Seen {
    pub fn has_escaped(&self) -> bool {
        self.broken || self.answer.contains("ESCAPED")
    }
}

/// Runs the rows of the groups, each group by one process of the program.
///
/// # Errors
/// It cannot be made here, or the layer does not work in it: why.
pub fn throw_away_root(groups: &[&Group], layer: Layer) -> Result<BTreeMap<String, Seen>, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the rows speak to the Linux of x86_64".to_owned());
    }
    let stage = tempfile::tempdir().unwrap();
    write_stage(stage.path(), groups, layer);
    let done = start_run(stage.path())?;
    let out = String::from_utf8_lossy(&done.stdout);
    if !out.lines().any(|line| line == "done") {
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(
            !out.contains("group "),
            "the rows did not come to their end ({}):\n{said}\n{out}",
            done.status
        );
        return Err(format!("{}\n{out}", said.trim()));
    }
    let seen = read_results(&out, groups, layer);
    let first = seen.values().next().map_or("", |seen| seen.answer.as_str());
    match first.find("no sandbox works") {
        Some(at) => Err(first[at..].lines().next().unwrap_or_default().to_owned()),
        None => Ok(seen),
    }
}

fn start_run(stage: &Path) -> Result<std::process::Output, String> {
    let own = ["-Urmpnf", "--kill-child", "sh"].map(str::to_owned).to_vec();
    let script = stage.join("root.sh").display().to_string();
    let program = env!("CARGO_BIN_EXE_synthdev");
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "150", "unshare"]);
    if rustix::process::getuid().is_root() {
        // a mount that only these processes see, so that the program is found wherever it was built
        let bound = stage.join("synthdev").display().to_string();
        let line = format!(
            "mount --make-rprivate / && mount --bind '{program}' '{bound}' && \
             exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups prlimit --nproc=8000:8000 unshare \"$@\""
        );
        command.args(["-m", "sh", "-c", &line, "sh"]);
    } else if fs::hard_link(program, stage.join("synthdev")).is_err() {
        fs::copy(program, stage.join("synthdev")).unwrap();
    }
    command.args(own).args([script.as_str(), &stage.display().to_string()]);
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.current_dir("/").stdin(Stdio::null());
    command.output().map_err(|error| format!("timeout, unshare: {error}"))
}

fn write_stage(stage: &Path, groups: &[&Group], layer: Layer) {
    fs::create_dir(stage.join("root")).unwrap();
    fs::set_permissions(stage, fs::Permissions::from_mode(0o755)).unwrap();
    if rustix::process::getuid().is_root() {
        fs::write(stage.join("synthdev"), "").unwrap();
        std::os::unix::fs::chown(stage.join("root"), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    for (name, text) in [
        ("root.sh", include_str!("root.sh")),
        ("world.sh", include_str!("world.sh")),
        ("check.sh", include_str!("check.sh")),
        ("outside.pl", include_str!("outside.pl")),
    ] {
        fs::write(stage.join(name), text).unwrap();
    }
    for group in groups {
        let rows = group.rows(layer);
        if !rows.is_empty() {
            write_group(&stage.join("groups").join(group.name), group, &rows, layer);
        }
    }
}

fn write_group(to: &Path, group: &Group, rows: &[&Row], layer: Layer) {
    fs::create_dir_all(to.join("rows")).unwrap();
    fs::create_dir_all(to.join("checks")).unwrap();
    let put = |name: &str, text: &str| fs::write(to.join(name), text).unwrap();
    put("rows/prelude.sh", include_str!("prelude.sh"));
    for row in rows {
        put(&format!("rows/{}.sh", row.name), &format!(". ./rows/prelude.sh\n{}\n", row.script));
        if !row.intact_check.is_empty() {
            put(&format!("checks/{}", row.name), row.intact_check);
        }
    }
    if group.late {
        put("late", "");
    }
    put("setup.sh", group.setup);
    let (setting, argument) = match layer {
        Layer::Bubblewrap => ("bubblewrap", ""),
        Layer::Landlock => ("landlock", ""),
        Layer::Nothing => ("auto", "--no-sandbox"),
    };
    let more = if group.settings.is_empty() { String::new() } else { format!(", {}", group.settings) };
    put("settings.json", &format!(r#"{{"sandbox": {{"layer": "{setting}"{more}}}}}"#));
    put("arguments", if argument.is_empty() { group.arguments } else { argument });
    put("workflow.json", &workflow(group).to_string());
    let calls: Vec<Value> = rows.iter().map(|row| call(row)).collect();
    put(
        "replies.json",
        &json!({"replies": {"coder": [{"tool_calls": calls}, {"text": "done"}]}}).to_string(),
    );
}

fn call(row: &Row) -> Value {
    let line = format!("sh ./rows/{}.sh", row.name);
    json!({"name": "execute_terminal", "arguments": {"command": line}})
}

fn workflow(group: &Group) -> Value {
    let first = match group.shell {
        Some((command, variables)) => {
            let variables: serde_json::Map<String, Value> =
                variables.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            let mut state = json!({"name": "start", "type": "shell", "command": command, "env": variables,
                "expect_exit": "any", "execution": "server", "transition": [{"target": "talk"}]});
            if group.stopped {
                state["timeout"] = json!(3);
                state["catch"] = json!([{"errors": ["timeout"], "target": "talk"}]);
            }
            state
        }
        None => json!({"name": "start", "transition": [{"target": "talk"}]}),
    };
    let mut talk = agent_workflow(&first);
    let sandbox = json!({"ports": group.ports});
    if !group.called {
        if !group.ports.is_empty() {
            talk["sandbox"] = sandbox;
        }
        return talk;
    }
    let input = talk["input"].clone();
    talk["workflow_name"] = json!("called");
    let call = json!({"sub_workflow": "called", "sub_workflow_input": {"task": "common_data.task"}});
    let caller = json!({
        "workflow_name": "attempts", "description": "attempts", "input": input, "sandbox": sandbox,
        "states": [{"name": "start", "action": call, "transition": [{"target": "stop"}]}, {"name": "stop"}]
    });
    json!([caller, talk])
}

/// An agent that does what its replies say, after a first state.
pub fn agent_workflow(first: &Value) -> Value {
    let talk = json!({"name": "talk", "agent": "coder", "input": "common_data.task",
        "action": {"function": "sendUserMessage"}, "transition": [{"target": "stop"}]});
    json!({
        "workflow_name": "attempts", "description": "attempts",
        "input": {"name": "task", "type": "string", "description": "what to do"},
        "contexts": [{"name": "main", "starting_messages": []}],
        "agents": [{"agent_role": "coder", "context": "main", "role": "assistant"}],
        "states": [first, talk, {"name": "stop"}]
    })
}

fn read_results(out: &str, groups: &[&Group], layer: Layer) -> BTreeMap<String, Seen> {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    let mut rows: Vec<&Row> = Vec::new();
    for line in out.lines() {
        if let Some(name) = line.strip_prefix("group ") {
            rows = groups.iter().find(|group| group.name == name).unwrap().rows(layer);
            rows.reverse();
        } else if let Some(check) = line.strip_prefix("check ") {
            let (name, state) = check.split_once(' ').unwrap();
            seen.entry(name.to_owned()).or_default().broken = state != "intact";
        } else if let Some(name) = line.strip_prefix("left ") {
            panic!("{layer:?}: the private directory of the sandbox stays behind after the group {name}");
        } else if line.starts_with("ended ") || line.starts_with("error ") {
            eprintln!("{layer:?}: {line}");
        } else if let Ok(event) = serde_json::from_str::<Value>(line)
            && event["event"] == "tool_finished"
            && event["tool"] == "execute_terminal"
            && let Some(row) = rows.pop()
        {
            seen.entry(row.name.to_owned()).or_default().answer =
                event["content"].as_str().unwrap().to_owned();
        }
    }
    seen
}
