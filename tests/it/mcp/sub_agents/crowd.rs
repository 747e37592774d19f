//! Many at once: nothing is lost, doubled or misplaced (SUBA-14).

use std::collections::{BTreeMap, VecDeque};

use super::*;

const AGENTS: usize = 50;

/// As many as the word of the environment says, else few enough for every day.
fn items() -> usize {
    std::env::var("MCP_ITEMS").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

#[derive(Clone)]
enum Doing {
    Asks,
    /// The result, once more the same, and another one.
    Submits { left: usize },
}

#[test]
fn fifty_sub_agents_at_once_lose_and_double_nothing() {
    let count = items();
    let list: Vec<Value> = (0..count).map(|at| json!({"name": format!("n{at}")})).collect();
    let body = json!([
        {"name": "start", "type": "shell", "command": "check", "args": ["common_data.item.name"],
         "transition": [{"target": "stop"}]},
        {"name": "stop", "input": "context.result.stdout"},
    ]);
    let mut flow = each(&json!(list));
    flow["states"][0]["states"] = body;
    let world = world(&[flow]);
    let mut client = Client::open(&world);
    let told = client.call("each", json!({}));
    let run = told["workflowId"].clone();
    let mut waiting: VecDeque<String> = tasks(&told).into();
    assert_eq!(waiting.len(), AGENTS.min(count));
    let mut open: BTreeMap<u64, (String, Doing)> = BTreeMap::new();
    let mut known: Vec<String> = waiting.iter().cloned().collect();
    let (mut accepted, mut duplicates, mut conflicts) = (0, 0, 0);
    let mut finished = None;
    let ask = |client: &mut Client, id: &str| client.begin_call("get_next_step", json!({"workflow_id": id}));
    while finished.is_none() {
        while let Some(id) = waiting.pop_front() {
            let call = ask(&mut client, &id);
            open.insert(call, (id, Doing::Asks));
        }
        let Some((&call, _)) = open.first_key_value() else {
            let told = ended(&mut client, &run);
            if told["status"] == "completed" {
                finished = Some(told);
                continue;
            }
            let fresh: Vec<String> = tasks(&told).into_iter().filter(|id| !known.contains(id)).collect();
            known.extend(fresh.iter().cloned());
            waiting.extend(fresh);
            continue;
        };
        let (id, doing) = open.remove(&call).unwrap();
        let told = client.told(call);
        match (doing, told["status"].as_str().unwrap()) {
            (Doing::Asks, "pending_step") => {
                let step = &told["step"];
                let result = done(step);
                let other = json!({"stdout": "other", "stderr": "", "exit_code": 0});
                for (left, result) in [(2, &result), (1, &result), (0, &other)] {
                    let hand_in = json!({"workflow_id": id, "step_id": step["step_id"], "result": result});
                    let call = client.begin_call("submit_step_result", hand_in);
                    open.insert(call, (id.clone(), Doing::Submits { left }));
                }
            }
            (Doing::Asks, "waiting") => waiting.push_back(id),
            (Doing::Asks, "complete") => {}
            (Doing::Submits { left }, "accepted") => {
                assert!(left > 0, "the other result came later: {told}");
                if told["duplicate"] == true { duplicates += 1 } else { accepted += 1 }
            }
            (Doing::Submits { left: 0 }, "error") => {
                assert_eq!(told["code"], "step_already_completed", "{told}");
                conflicts += 1;
                waiting.push_back(id);
            }
            (_, status) => panic!("{status}: {told}"),
        }
    }
    let expected: Vec<String> = (0..count).map(|at| format!("ok-n{at}")).collect();
    assert_eq!(finished.unwrap()["output"], json!(expected));
    assert_eq!((accepted, duplicates, conflicts), (count, count, count));
    client.close();
}
