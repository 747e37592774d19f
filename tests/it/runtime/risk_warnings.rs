//! A risky command that runs without a question is told; one that the user was asked about is not told again.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use synthdev::domain::approval::{ApprovalDecision, ApprovalPolicy};
use synthdev::engine::event::RunEvent;
use synthdev::runtime::command::RunCommand;

use super::executed_arguments::Recording;
use crate::cli::world::talk_workflow;
use crate::support::stage::{Stage, Texts, spec};

/// The warnings of a run whose agent calls `execute_terminal` once with each of these. Nothing is executed.
async fn warnings_of(commands: &[&str], asks: bool) -> Vec<String> {
    let call = |command: &&str| json!({"name": "execute_terminal", "arguments": {"command": command}});
    let calls: Vec<Value> = commands.iter().map(call).collect();
    let texts = Texts {
        workflows: vec![talk_workflow().to_string()],
        replies: json!({"coder": [{"tool_calls": calls}, {"text": "Done."}]}),
        ..Texts::default()
    };
    let executed = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&executed);
    let wrap =
        |tools| -> Arc<dyn synthdev::ports::tool::ToolPort> { Arc::new(Recording { tools, executed: kept }) };
    let mut stage = Stage::with_wrapped_model(&texts, |model| model, wrap);
    let Ok((program, _)) = stage.catalog.check_workflow("talk") else {
        panic!("{:#?}", stage.catalog.diagnostics())
    };
    let mut spec = spec(program, Map::from_iter([("task".to_owned(), Value::from("go"))]));
    if asks {
        (spec.interactive, spec.approvals) = (true, ApprovalPolicy::default());
    }
    let run = stage.start_run(spec);
    for _ in commands.iter().filter(|_| asks) {
        let question = |event: &RunEvent| match event {
            RunEvent::ApprovalAsked { call, .. } => Some(*call),
            _ => None,
        };
        let call = stage.wait_for(question).await;
        let decision = ApprovalDecision::Allow;
        stage.handle.send_command(&run, RunCommand::Approve { call, decision });
    }
    stage.wait_end().await;
    assert_eq!(executed.lock().unwrap().len(), commands.len(), "{commands:?}");
    assert_eq!(stage.run_faults(&run), Vec::<String>::new(), "{commands:?}");
    let seen = stage.seen_events();
    let warnings = seen.iter().filter_map(|event| match event {
        RunEvent::Warning { code, text } if code == "risky_command" => Some(text.clone()),
        _ => None,
    });
    warnings.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_risky_command_that_runs_unasked_is_told_once() {
    let check = async |commands: &[&str], asks: bool, expected: &[&str]| {
        let warnings = warnings_of(commands, asks).await;
        let about = format!("{commands:?} asks: {asks}: {warnings:#?}");
        assert_eq!(warnings.len(), expected.len(), "{about}");
        for (warning, begins) in warnings.iter().zip(expected) {
            assert!(warning.starts_with(begins) && warning.contains("leave out --yes"), "{about}");
        }
    };
    let push = "`git push --force` runs without a question. This command overwrites history on a server.";
    let clean = "`git clean -fd` runs without a question. This command deletes untracked files.";
    check(&["git push --force"], false, &[push]).await;
    check(&["git push --force", "make test", "git clean -fd"], false, &[push, clean]).await;
    check(&["make test"], false, &[]).await;
    // refused, which is told as such
    check(&["rm -rf /"], false, &[]).await;
    check(&["git push --force"], true, &[]).await;
}
