//! What is killed: a workflow with everything that a kill can hurt, and a model whose answers depend on what it is
//! asked, never on how often.

use std::fs;

use serde_json::{Value, json};

use super::super::cli::world::World;
use super::super::support::model_server::{Behaviour, Recorded};

pub(super) const WORKFLOW: &str = "w.json";
/// Numbers of the commands in the order in which they run, but for those of the two branches.
pub(super) const COMMANDS: [u32; 7] = [20, 10, 11, 12, 30, 31, 45];
/// Commands of the two branches, which can run at the same time.
pub(super) const AT_ONCE: [u32; 2] = [30, 31];
/// The user's answer to the question in the middle.
pub(super) const ANSWER: &str = "5";
/// What every answer of the model can be recognised by: this, the task and the turn.
const MARK: &str = "m_";

/// `$SIDE`: notes its start, takes effect, notes its end. Waits while a `hold` file for the command exists.
const COMMAND: &str = r#"here=${0%/*}
echo "start $1" >> "$here/trace"
while [ -e "$here/hold-start-$1" ]; do sleep 0.05; done
echo "$1" >> "$here/effects"
echo "end $1" >> "$here/trace"
while [ -e "$here/hold-end-$1" ]; do sleep 0.05; done
echo "made $1"
"#;

/// The project.
pub(super) fn world() -> World {
    let mut world = World::new();
    let side = world.root().join("side.sh");
    world.set_variable("SIDE", side.to_str().unwrap());
    world.write_file("notes.txt", "count: |\nsum: |\n");
    world.write_file("right.txt", "right: |\n");
    world.write_json(WORKFLOW, &workflow());
    world.git(&["init", "-q", "-b", "main"]);
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "first"]);
    fs::write(side, COMMAND).unwrap();
    for name in ["trace", "effects"] {
        fs::write(world.root().join(name), "").unwrap();
    }
    world
}

/// The model's address.
pub(super) fn configure(world: &mut World, base_url: &str) {
    world.set_variable("SYNTHDEV_BASE_URL", base_url);
    world.set_variable("SYNTHDEV_API_KEY", "sk-loopback-0002");
    world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
    // what commands leave beside the project is counted
    let writable = serde_json::json!({"sandbox": {"writable": [world.root().display().to_string()]}});
    world.write_user_file("settings.json", &writable.to_string());
}

/// The command line of a command by its number.
pub(super) fn command_line_of(number: u32) -> String {
    format!("sh $SIDE {number}")
}

/// The command that a text is about.
pub(super) fn command_number_in(text: &str) -> u32 {
    let text = text.replace("\n┃ ", " ");
    let after = text.split_once("$SIDE ").unwrap_or_else(|| panic!("which command? {text}")).1;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("which command? {text}"))
}

/// What the command would have said.
pub(super) fn command_output(number: u32) -> String {
    format!("made {number}\n")
}

fn workflow() -> Value {
    let to = |target: &str| json!([{"target": target}]);
    let side = |number: &str| json!({"template": format!("sh $SIDE {number}")});
    let branch_right = json!([
        {"name": "start", "agent": "righty", "input": {"text": "TASK:right."}, "transition": to("turn")},
        {"name": "turn", "action": {"script": "() => { common_data.turns += 1; }"},
         "transition": [{"target": "turn", "condition": "common_data.turns < 3"}, {"target": "rest"}]},
        {"name": "rest", "type": "wait", "duration": 0.02, "transition": to("mark")},
        {"name": "mark", "type": "shell", "command": side("31"), "transition": to("stop")},
        {"name": "stop", "input": "common_data.turns"}]);
    let branch_left = json!([
        {"name": "start", "agent": "lefty", "input": {"text": "TASK:left."}, "transition": to("stop")},
        {"name": "stop", "input": {"text": "left is done"}}]);
    json!({"workflow_name": "w", "description": "everything that a kill can hurt", "snapshot": "required",
        "input": {"name": "task", "type": "string"}, "output": {"name": "report", "type": "string"},
        "variables": {"round": 0, "turns": 0, "seen": []},
        "limits": {"max_concurrency": 2},
        "contexts": [{"name": "main"}, {"name": "left"}, {"name": "right"}],
        "agents": [
            {"agent_role": "coder", "context": "main", "role": "assistant"},
            {"name": "lefty", "agent_role": "coder", "context": "left", "role": "assistant"},
            {"name": "righty", "agent_role": "coder", "context": "right", "role": "assistant"}],
        "states": [
            {"name": "start", "action": {"script": "() => { common_data.seen = [common_data.task]; }"},
             "transition": to("edit")},
            {"name": "edit", "agent": "coder", "input": {"text": "TASK:edit."}, "transition": to("mark")},
            {"name": "mark", "type": "shell", "command": side("1{{common_data.round}}"),
             "output": {"as": "last"}, "transition": to("count")},
            {"name": "count", "action": {"script":
                "() => { common_data.round += 1; common_data.seen.push(common_data.last.stdout.trim()); }"},
             "transition": [{"target": "mark", "condition": "common_data.round < 3"}, {"target": "fan"}]},
            {"name": "fan", "type": "parallel", "output": {"as": "both"}, "transition": to("ask"),
             "branches": [{"name": "left", "states": branch_left}, {"name": "right", "states": branch_right}]},
            {"name": "ask", "type": "pause", "kind": "number", "message": {"text": "How many?"},
             "output": {"as": "many"}, "transition": to("after")},
            {"name": "after", "type": "shell", "command": side("4{{common_data.many}}"),
             "output": {"as": "last"}, "transition": to("sum")},
            {"name": "sum", "agent": "coder", "input": {"template": "TASK:sum. {{common_data.last.stdout}}"},
             "transition": to("stop")},
            {"name": "stop", "input":
                "common_data.seen.join() + ' ' + JSON.stringify(common_data.both) + ' ' + common_data.last.stdout \
                 + getAgent('coder').getLastResponse()"}]})
}

/// Which answer a request gets: the task, and how often its agent has answered since.
pub(super) fn request_mark(request: &Recorded) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let task = |text: &str| Some(text.split_once("TASK:")?.1.split_once('.')?.0.to_owned());
    let mut found = None;
    for message in messages {
        match message["role"].as_str().unwrap() {
            "user" => found = task(message["content"].as_str().unwrap()).map(|task| (task, 0)).or(found),
            "assistant" => found = found.map(|(task, turn)| (task, turn + 1)),
            _ => {}
        }
    }
    let (task, turn) = found.unwrap_or_else(|| panic!("a request without a task: {}", request.body));
    format!("{MARK}{task}_{turn}")
}

/// The mark of the answer in a text, if there is one.
pub(super) fn find_mark(text: &str) -> Option<String> {
    let found = &text[text.find(MARK)?..];
    let end = found.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(found.len());
    // ids of calls carry a letter behind it
    let mut parts = found[..end].split('_');
    Some(format!("{}_{}_{}", parts.next()?, parts.next()?, parts.next()?))
}

pub(super) fn answer_for(mark: &str) -> Behaviour {
    let edit = |path: &str, old: &str, new: &str| {
        ("edit_file", json!({"file_path": path, "old_text": old, "new_text": new}))
    };
    let write = |path: &str, text: &str| ("write_file", json!({"file_path": path, "content": text}));
    let run = |number: u32| ("execute_terminal", json!({"command": command_line_of(number)}));
    match &mark[MARK.len()..] {
        // a doubled edit shows: it finds its place again
        "edit_0" | "edit_1" => calls(mark, &[edit("notes.txt", "count: |", "count: ||")]),
        "edit_2" => calls(mark, &[write("made/one.txt", "one\n"), run(20)]),
        "left_0" => calls(mark, &[write("left.txt", "left\n"), run(30)]),
        "right_0" => calls(mark, &[edit("right.txt", "right: |", "right: ||")]),
        "right_1" => calls(mark, &[edit("right.txt", "right: |", "right: ||")]),
        "sum_0" => calls(mark, &[edit("notes.txt", "sum: |", "sum: ||")]),
        "edit_3" | "left_1" | "right_2" | "sum_1" => Behaviour::text(&format!("{mark} is done.")),
        other => panic!("nobody asks for {other}"),
    }
}

fn calls(mark: &str, calls: &[(&str, Value)]) -> Behaviour {
    let calls: Vec<(String, &str, String)> = calls
        .iter()
        .zip('a'..)
        .map(|((name, arguments), letter)| (format!("{mark}_{letter}"), *name, arguments.to_string()))
        .collect();
    let calls: Vec<(&str, &str, &str)> =
        calls.iter().map(|(id, name, arguments)| (id.as_str(), *name, arguments.as_str())).collect();
    Behaviour::calls(&calls)
}
