//! Many at once: nothing is lost, doubled or misplaced.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;

const AGENTS: usize = 50;

/// As many as the word of the environment says, else few enough for every day.
fn items() -> usize {
    std::env::var("MCP_ITEMS").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

/// A task, and what is asked for it.
enum Doing {
    Asks,
    Submits { stdout: String },
}

/// So many items, each with one command.
fn crowd_world(count: usize) -> World {
    let list: Vec<Value> = (0..count).map(|at| json!({"name": format!("n{at}")})).collect();
    let body = json!([
        {"name": "start", "type": "shell", "command": "check", "args": ["common_data.item.name"],
         "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "context.result.stdout"},
    ]);
    let mut flow = each_step_workflow(&json!(list));
    flow["states"][0]["states"] = body;
    world(&[flow])
}

/// Every result is handed in twice, and another one at the same time: whichever comes first counts.
#[test]
fn fifty_sub_agents_at_once_lose_and_double_nothing() {
    let count = items();
    let world = crowd_world(count);
    let mut client = Client::open_client(&world);
    let first = client.call_tool("each", json!({}));
    let mut waiting: VecDeque<String> = tasks(&first).into();
    assert_eq!(waiting.len(), AGENTS.min(count));
    let mut known: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut open: BTreeMap<u64, (String, Doing)> = BTreeMap::new();
    let mut left: BTreeMap<String, u32> = BTreeMap::new();
    let mut won: BTreeMap<String, String> = BTreeMap::new();
    let mut told_so: BTreeMap<&str, usize> = BTreeMap::new();
    let finished = loop {
        while let Some(id) = waiting.pop_front() {
            let call = client.begin_call("get_next_step", json!({"workflow_id": id}));
            open.insert(call, (id, Doing::Asks));
        }
        let Some((call, (id, doing))) = open.pop_first() else {
            let told = wait_ended(&mut client, &first["workflowId"]);
            if told["status"] == "completed" {
                break told;
            }
            waiting.extend(tasks(&told).into_iter().filter(|id| known.insert(id.clone())));
            continue;
        };
        let told = client.call_result(call);
        if matches!(doing, Doing::Submits { .. }) {
            let left = left.get_mut(&id).unwrap();
            *left -= 1;
            waiting.extend((*left == 0).then(|| id.clone()));
        }
        match (doing, told["status"].as_str().unwrap()) {
            (Doing::Asks, "pending_step") => {
                let step = &told["step"];
                let name = text(&step["parameters"]["args"][0]);
                for said in ["ok", "ok", "other"] {
                    let stdout = format!("{said}-{name}");
                    let call = begin_submit(&mut client, &id, &step["step_id"], &stdout);
                    open.insert(call, (id.clone(), Doing::Submits { stdout }));
                }
                left.insert(id, 3);
            }
            (Doing::Asks, "waiting") => waiting.push_back(id),
            (Doing::Asks, "complete") => assert_eq!(told["final_result"], json!(won[&id])),
            (Doing::Submits { stdout }, "accepted") if told["duplicate"] == true => {
                assert!(stdout.starts_with("ok-"), "{stdout}");
                *told_so.entry("duplicate").or_default() += 1;
            }
            (Doing::Submits { stdout }, "accepted") => {
                assert_eq!(won.insert(id, stdout), None, "two results were taken");
            }
            (Doing::Submits { .. }, "error") => {
                assert_eq!(told["code"], "step_already_completed", "{told}");
                *told_so.entry("refused").or_default() += 1;
            }
            (_, status) => panic!("{status}: {told}"),
        }
    };
    check_output(finished["output"].as_array().unwrap(), won, count);
    assert_eq!(told_so.values().sum::<usize>(), 2 * count, "{told_so:?}");
    client.close_client();
}

fn begin_submit(client: &mut Client, id: &str, step: &Value, stdout: &str) -> u64 {
    let result = json!({"stdout": stdout, "stderr": "", "exit_code": 0});
    client.begin_call("submit_step_result", json!({"workflow_id": id, "step_id": step, "result": result}))
}

/// Every item has its own result in its own place, and it is the one that was taken.
fn check_output(output: &[Value], won: BTreeMap<String, String>, count: usize) {
    for (at, got) in output.iter().enumerate() {
        assert!(*got == json!(format!("ok-n{at}")) || *got == json!(format!("other-n{at}")), "{at}: {got}");
    }
    let mut got: Vec<String> = output.iter().map(text).collect();
    let mut taken: Vec<String> = won.into_values().collect();
    got.sort();
    taken.sort();
    assert_eq!((got.len(), got), (count, taken));
}
