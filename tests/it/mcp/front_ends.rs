//! The same use case at the command line, on the screen (in lines) and over MCP: one rule, one wording.

use serde_json::{Value, json};

use super::super::cli::world::World;
use super::client::Client;
use super::flows::{flow, ticket_workflow, world};

/// What a session in lines says to these lines.
fn on_screen(world: &World, lines: &str) -> String {
    let ran = world.run_with(&["--linear"], lines);
    ran.stdout + &ran.stderr
}

fn run_id(report: &Value) -> String {
    report["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_unknown_workflow_has_one_text() {
    let world = world(&[ticket_workflow()]);
    let says = "there is no workflow `tickets`";
    let hint = "did you mean `ticket`? `synthdev workflows` lists them";
    for arguments in [&["run", "tickets", "x"][..], &["simulate", "tickets"], &["test", "tickets"]] {
        let told = world.run_program(arguments).code(2).stderr;
        assert!(told.contains(&format!("{says}\nhint: {hint}")), "{arguments:?}: {told}");
    }
    for arguments in [["graph", "tickets"], ["check", "tickets"]] {
        let told = world.run_program(&arguments).code(2).stderr;
        let says = "there is no workflow and no file `tickets`";
        assert!(told.contains(&format!("{says}\nhint: {hint}")), "{arguments:?}: {told}");
    }
    let told = on_screen(
        &world,
        "/workflow tickets\n/workflow tickets \"x\"\n/workflow tickets --share x\n/graph tickets\n/simulate tickets\n",
    );
    let line = format!("{says} — did you mean `ticket`? /workflows lists them");
    assert_eq!(told.matches(&line).count(), 5, "{told}");
    let mut client = Client::open_client(&world);
    let refused = client.call_refusal("start_workflow", json!({"name": "tickets"}));
    assert_eq!(refused["message"], format!("{says}; did you mean `ticket`? list_workflows lists them"));
    assert_eq!(refused["data"], json!({"type": "unknown_workflow"}));
    client.close_client();
}

/// What is wrong with the definition comes before what is wrong with the input, and that before what is required.
#[test]
fn a_start_is_checked_in_one_order() {
    let needy = |name: &str, next: &str| {
        let mut needy = flow(name, &json!([{"name": "start", "transition": [{"target": next}]}]));
        needy["requirements"] = json!({"variables": ["SYNTHDEV_NOT_SET"]});
        needy["input"] = json!({"name": "count", "type": "number", "required": true});
        needy
    };
    let world = world(&[needy("broken", "nowhere"), needy("needy", "stop")]);
    let mut client = Client::open_client(&world);
    let rows = [
        ("broken", "abc", "nowhere"),
        ("broken", "3", "nowhere"),
        ("needy", "abc", "count"),
        ("needy", "3", "the variable `SYNTHDEV_NOT_SET` is not set"),
    ];
    for (name, input, says) in rows {
        let ran = world.run_program(&["run", name, input]).code(2).stderr;
        let told = on_screen(&world, &format!("/workflow {name} {input}\n"));
        let value = input.parse::<u32>().map_or_else(|_| json!(input), |count| json!(count));
        let id = client.begin_request(
            "tools/call",
            json!({"name": "start_workflow", "arguments": {"name": name, "inputs": {"count": value}}}),
        );
        let answer = client.wait_answer(id).to_string();
        for (place, text) in [("command line", &ran), ("screen", &told), ("MCP", &answer)] {
            assert!(text.contains(says), "{name} {input}, {place}: {text}");
            let is_required = text.contains("SYNTHDEV_NOT_SET` is not set");
            assert_eq!(is_required, says.contains("SYNTHDEV_NOT_SET"), "{name} {input}, {place}: {text}");
        }
    }
    assert!(world.run_program(&["runs", "list", "--json"]).json().as_array().unwrap().is_empty());
    client.close_client();
}

/// Seven rounds, of which five are allowed.
fn rounds() -> Value {
    let turn = json!([{"target": "stop", "condition": "common_data.n > 6"}, {"target": "round"}]);
    let count = json!({"script": "() => { this.common_data.n = (this.common_data.n ?? 0) + 1; }"});
    flow(
        "rounds",
        &json!([{"name": "start", "transition": [{"target": "round"}]},
                {"name": "round", "max_visits": 5, "action": count, "transition": turn}]),
    )
}

#[test]
fn nobody_passes_a_limit_by_itself() {
    let world = world(&[rounds()]);
    let stopped = || run_id(&world.run_program(&["run", "rounds", "x", "--json"]).code(4).json());
    let run = stopped();
    let told = world.run_program(&["resume", &run]).code(4).stderr;
    assert!(told.contains(&format!("synthdev resume {run} --past-limits")), "{told}");
    let retried = world.run_program(&["runs", "retry", &run]).code(2).stderr;
    assert!(retried.contains("has not failed"), "{retried}");
    let not = world.run_program(&["resume", &run, "--budget", "1"]).code(2).stderr;
    assert!(not.contains("waits for no budget there"), "{not}");
    // a session that ends at the question leaves its run as interrupted
    let shown = on_screen(&world, &format!("/resume {}\n", stopped()));
    assert!(shown.contains("Limit reached: max_visits"), "{shown}");

    let mut client = Client::open_client(&world);
    let id = json!({"workflowId": run});
    let status = client.call_tool("get_workflow_status", id.clone());
    let needs = format!("run {run} goes on only with more of what it has used up in `round`: ");
    let command = format!("in a terminal: synthdev resume {run} --past-limits gives as much again");
    let message = status["message"].as_str().unwrap();
    assert!(message.contains(&needs) && message.ends_with(&command), "{status}");
    let refused = client.call_tool("continue_workflow", id);
    assert_eq!(refused["error"]["type"], "not_continued", "{refused}");
    assert!(refused["error"]["detail"].as_str().unwrap().starts_with(&needs), "{refused}");
    assert_eq!(refused["error"]["hint"], json!(command), "{refused}");
    let forbidden = client.call_tool("continue_workflow", json!({"workflowId": run, "pastLimits": true}));
    assert_eq!(forbidden["error"]["type"], "not_permitted", "{forbidden}");
    client.close_client();

    let mut client = Client::open_with(&world, &["--remote-approvals"]);
    let refused = client.call_tool("continue_workflow", json!({"workflowId": run}));
    let hint = "continue_workflow with \"pastLimits\": true for as much again";
    assert_eq!(refused["error"]["hint"], json!(hint), "{refused}");
    let none = client.call_tool("continue_workflow", json!({"workflowId": run, "budget": 3}));
    assert!(none["error"]["detail"].as_str().unwrap().contains("waits for no budget there"), "{none}");
    for wrong in [json!({"pastLimits": "yes"}), json!({"budget": 0}), json!({"budget": "much"})] {
        let mut arguments = wrong.clone();
        arguments["workflowId"] = json!(run);
        assert_eq!(client.call_refusal("continue_workflow", arguments)["data"]["type"], "wrong_argument");
    }
    let done = client.call_tool("continue_workflow", json!({"workflowId": run, "pastLimits": true}));
    assert_eq!(done["status"], "completed", "{done}");
    client.close_client();

    let run = stopped();
    assert_eq!(
        world.run_program(&["resume", &run, "--past-limits", "--json"]).code(0).json()["status"],
        "completed"
    );
    let not = world.run_program(&["resume", &run, "--past-limits"]).code(2).stderr;
    let over = format!("run {run} is completed\nhint: synthdev runs rewind {run} --to STEP");
    assert!(not.contains(&over), "{not}");
    let token = world.run_program(&["run", "rounds", "x", "--json"]).code(4).json();
    let token = token["pauses"][0]["resume_token"].as_str().unwrap().to_owned();
    let not = world.run_program(&["resume", &token]).code(2).stderr;
    assert!(not.contains("say \"continue\" for as much again"), "{not}");
    world.run_program(&["resume", &token, "--past-limits"]).code(0);
}

#[test]
fn a_run_that_is_over_has_one_text() {
    let world = world(&[rounds()]);
    let run = run_id(&world.run_program(&["run", "rounds", "x", "--json"]).code(4).json());
    world.run_program(&["runs", "cancel", &run]).code(0);
    let says = format!("run {run} is cancelled");
    let told = world.run_program(&["resume", &run]).code(2).stderr;
    let shown = on_screen(&world, &format!("/resume {run}\n"));
    let mut client = Client::open_client(&world);
    let refused = client.call_tool("continue_workflow", json!({"workflowId": run}));
    assert!(told.contains(&says) && shown.contains(&says), "{told} {shown}");
    assert_eq!(
        (&refused["error"]["type"], &refused["error"]["detail"]),
        (&json!("not_continued"), &json!(says))
    );
    client.close_client();
}

/// The run would never stop there.
#[test]
fn a_breakpoint_that_the_workflow_lacks_starts_and_resumes_nothing() {
    let world = world(&[rounds()]);
    let stopped = run_id(&world.run_program(&["run", "rounds", "x", "--json"]).code(4).json());
    let says = |kind: &str| format!("the workflow has no such {kind}");
    let rows = [
        ("roudn", "roudn", "state", "did you mean `round`?"),
        ("tool:nothing", "tool nothing", "tool", "/breaks lists"),
    ];
    for (flag, typed, kind, hint) in rows {
        for arguments in [&["run", "rounds", "x"][..], &["resume", &stopped]] {
            let told = world.run_program(&[arguments, &["--break", flag]].concat()).code(2).stderr;
            assert!(told.contains(&says(kind)), "{arguments:?}: {told}");
        }
        for line in ["/workflow rounds x".to_owned(), format!("/resume {stopped}")] {
            let shown = on_screen(&world, &format!("/break {typed}\n{line}\n"));
            assert!(shown.contains(&says(kind)) && shown.contains(hint), "{line}: {shown}");
        }
    }
    let all = world.run_program(&["runs", "list", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    // without it, the others hold
    let shown =
        on_screen(&world, "/break roudn\n/break round\n/breaks remove 1\n/workflow rounds x\n/status\n");
    assert!(
        shown.contains("stopped before state `round`") || shown.contains("breakpoint: state round"),
        "{shown}"
    );
}

#[test]
fn a_file_that_cannot_be_written_has_one_text() {
    let world = world(&[rounds()]);
    let run = run_id(&world.run_program(&["run", "rounds", "x", "--json"]).code(4).json());
    let told = world.run_program(&["runs", "export", &run, "--to", "no/dir/x"]).code(2).stderr;
    let shown = on_screen(&world, &format!("/export {run} no/dir/x\n"));
    for text in [told, shown] {
        for part in ["no/dir/x cannot be written: ", "hint: make its directory first"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
}

#[test]
fn costs_and_simulations_say_the_same() {
    let world = world(&[rounds()]);
    let run = run_id(&world.run_program(&["run", "rounds", "x", "--json"]).code(4).json());
    let costs = world.run_program(&["runs", "cost", &run]).code(0).stdout;
    let played = world.run_program(&["simulate", "rounds"]);
    let shown = on_screen(&world, &format!("/cost {run}\n/simulate rounds\n"));
    assert!(played.stdout.contains("rounds · no test, made-up answers"), "{}", played.stdout);
    for line in costs.lines().chain(played.stdout.lines()) {
        assert!(shown.contains(line.trim()), "no {line:?} in\n{shown}");
    }
    world.write_file("r.json", "{\"replies\": {}, \"expect\": {\"status\": \"paused\"}}");
    let played = world.run_program(&["simulate", "rounds", "r.json", "y"]).stdout;
    let shown = on_screen(&world, "/simulate rounds r.json y\n/simulate rounds none.json\n");
    assert!(played.contains("path      start > round"), "{played}");
    for line in played.lines().chain(["the replies file none.json cannot be read: "]) {
        assert!(shown.contains(line.trim()), "no {line:?} in\n{shown}");
    }
    let told = world.run_program(&["simulate", "rounds", "--json"]).json();
    assert_eq!(told["runs"][0]["workflow"], "rounds", "{told}");
    world.run_program(&["simulate", "rounds", "--input", "task=x"]).code(2);
}
