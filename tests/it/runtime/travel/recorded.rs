//! Workflows that change files in many ways, with what their models say.

use serde_json::{Value, json};

pub struct Recorded {
    pub workflows: Vec<Value>,
    pub replies: Value,
}

fn workflow(name: &str, states: &Value) -> Value {
    json!({
        "workflow_name": name, "description": "a test",
        "input": {"name": "task", "type": "string", "description": "what to do"},
        "output": {"name": "result", "type": "string", "required": false},
        "contexts": [{"name": "main", "starting_messages": []}, {"name": "side", "starting_messages": []}],
        "agents": [
            {"agent_role": "writer", "context": "main", "role": "assistant"},
            {"agent_role": "critic", "context": "side", "role": "assistant"}
        ],
        "states": states
    })
}

/// The agent writes, then says so; a variable counts it.
fn writes_program(name: &str, targets: &[(&str, &str)]) -> Value {
    let ways = targets.iter().map(|(target, condition)| {
        json!({"target": target, "condition": condition,
            "before": "() => { common_data.count = (common_data.count || 0) + 1; \
                       common_data.result = 'said: ' + this.getAgent('writer').getLastResponse(); }"})
    });
    json!({"name": name, "agent": "writer", "input": format!("'write {name} ' + (common_data.count || 0)"),
        "action": {"function": "sendUserMessage"}, "transition": ways.collect::<Vec<_>>()})
}

fn shell(name: &str, command: &str, target: &str) -> Value {
    json!({"name": name, "type": "shell", "command": command, "transition": [{"target": target}]})
}

fn call(file: &str, text: &str) -> Value {
    json!({"tool_calls": [{"name": "write_file", "arguments": {"file_path": file, "content": text}}]})
}

fn say(text: &str) -> Value {
    json!({"text": text})
}

pub fn linear_program() -> Recorded {
    let states = json!([
        {"name": "start", "action": {"script": "common_data.list = [1, 2]; common_data.deep = {a: {b: 1}};"},
            "transition": [{"target": "draft"}]},
        writes_program("draft", &[("arrange", "true")]),
        shell("arrange", "chmod -x src/tool.sh; rm -r untracked.txt link; ln -s draft.txt link; echo run >> ignored.log", "judge"),
        {"name": "judge", "agent": "critic", "input": "'judge ' + common_data.result",
            "action": {"function": "sendUserMessage"},
            "transition": [{"target": "rework", "condition": "true",
                "before": "common_data.list.push(3); common_data.deep.a.b = 2; delete common_data.count;"}]},
        writes_program("rework", &[("tidy", "true")]),
        shell("tidy", "chmod +x draft.txt; rm -f link src/tracked.txt; mkdir -p deep/er; echo x > deep/er/file; ln -s er deep/link", "last"),
        writes_program("last", &[("stop", "true")]),
        {"name": "stop"}
    ]);
    let replies = json!({
        "writer": [call("draft.txt", "first draft\n"), call("src/more.txt", "more\n"), say("drafted"),
            call("draft.txt", "second draft\n"), say("reworked"), call("staged.txt", "last word\n"), say("done")],
        "critic": [say("not good enough")]
    });
    Recorded { workflows: vec![workflow("linear", &states)], replies }
}

pub fn looping_program() -> Recorded {
    let states = json!([
        {"name": "start", "transition": [{"target": "write"}]},
        writes_program("write", &[("mark", "(common_data.count || 0) < 4"), ("stop", "true")]),
        shell("mark", "echo round >> rounds.txt; chmod +x rounds.txt; ln -sfn \"r$(wc -l < rounds.txt)\" newest", "write"),
        {"name": "stop"}
    ]);
    let round = |at: usize| {
        [call(&format!("r{at}"), &format!("round {at}\n")), say(&format!("round {at} is written"))]
    };
    let replies: Vec<Value> = (1..=5).flat_map(round).collect();
    Recorded { workflows: vec![workflow("looping", &states)], replies: json!({"writer": replies}) }
}

pub fn nested_program() -> Recorded {
    let calls = |name: &str, target: &str| {
        json!({"name": name,
            "action": {"sub_workflow": "inner", "sub_workflow_input": {"task": format!("'{name} ' + common_data.task")}},
            "transition": [{"target": target, "condition": "true",
                "before": "common_data.last = this.sub_workflow_result;"}]})
    };
    let outer = json!([
        {"name": "start", "transition": [{"target": "one"}]},
        calls("one", "between"),
        shell("between", "mv inner.txt outer.txt; rm -f untracked.txt", "two"),
        calls("two", "finish"),
        writes_program("finish", &[("stop", "true")]),
        {"name": "stop"}
    ]);
    let inner = json!([
        {"name": "start", "action": {"script": "common_data.own = common_data.task + '!';"}, "transition": [{"target": "work"}]},
        writes_program("work", &[("check", "true")]),
        shell("check", "test -f inner.txt && chmod +x inner.txt", "stop"),
        {"name": "stop"}
    ]);
    let replies = json!({"writer": [call("inner.txt", "by the first child\n"), say("first"),
        call("inner.txt", "by the second child\n"), say("second"), call("end.txt", "end\n"), say("end")]});
    Recorded { workflows: vec![workflow("nested", &outer), workflow("inner", &inner)], replies }
}

pub fn parallel_program() -> Recorded {
    let states = json!([
        {"name": "start", "action": {"script": "common_data.begun = true;"}, "transition": [{"target": "before"}]},
        shell("before", "echo before > before.txt", "both"),
        {"name": "both", "type": "parallel", "output": {"as": "both"},
            "branches": [
                {"name": "left", "states": [
                    {"name": "start", "agent": "writer", "input": {"text": "left"}, "transition": [{"target": "more"}]},
                    {"name": "more", "type": "shell", "command": "echo left > left-more.txt", "transition": [{"target": "end"}]},
                    {"name": "end", "type": "final", "input": "'left'"}]},
                {"name": "right", "states": [
                    {"name": "start", "agent": "critic", "input": {"text": "right"}, "transition": [{"target": "more"}]},
                    {"name": "more", "type": "shell", "command": "ln -s before.txt right-link; chmod +x before.txt", "transition": [{"target": "end"}]},
                    {"name": "end", "type": "final", "input": "'right'"}]}],
            "transition": [{"target": "after"}]},
        shell("after", "rm -f untracked.txt; echo after >> before.txt", "close"),
        writes_program("close", &[("stop", "true")]),
        {"name": "stop"}
    ]);
    let replies = json!({
        "writer": [call("left.txt", "left\n"), say("left is done"), call("end.txt", "end\n"), say("all is done")],
        "critic": [say("right is done")]
    });
    Recorded { workflows: vec![workflow("parallel", &states)], replies }
}
