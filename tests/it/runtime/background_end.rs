//! What agents have left running ends with their run, however it ends.

use serde_json::{Map, Value, json};
use synthdev::domain::journal::RunStatus;
use synthdev::domain::tool::ToolInvocation;
use synthdev::engine::event::RunEvent;
use synthdev::runtime::command::RunCommand;

use crate::cli::world::talk_workflow;
use crate::support::skip::skip_sandbox_row;
use crate::support::stage::{Stage, Texts, spec};
use crate::tools::commands::{processes, unique_marker, wait_processes};

fn ended(event: &RunEvent) -> Option<RunStatus> {
    match event {
        RunEvent::Finished { status, .. } => Some(*status),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_commands_end_before_the_end_of_their_run_is_told() {
    for cancelled in [false, true] {
        let marker = unique_marker();
        let line = format!("echo up; sleep {marker} & sleep {marker}");
        let start = json!({"name": "execute_terminal", "arguments": {"command": line, "background": true}});
        let read = json!({"name": "read_output", "arguments": {"id": "c1", "from": 0, "wait_seconds": 20}});
        let wait = json!({"name": "execute_terminal", "arguments": {"command": "sleep 60"}});
        let last = if cancelled { json!({"tool_calls": [wait]}) } else { json!({"text": "Done."}) };
        let texts = Texts {
            workflows: vec![talk_workflow().to_string()],
            replies: json!({"coder": [{"tool_calls": [start]}, {"tool_calls": [read]}, last]}),
            ..Texts::default()
        };
        let mut stage = Stage::new(&texts);
        let call: ToolInvocation = serde_json::from_value(
            json!({"agent": "coder", "tool": "execute_terminal", "arguments": {"command": "true"}}),
        )
        .unwrap();
        if let Some(reason) = stage.ports.tools.lacks_sandbox(&call) {
            return skip_sandbox_row(&format!("the end of background commands: {reason}"));
        }
        let Ok((program, _)) = stage.catalog.check_workflow("talk") else {
            panic!("{:#?}", stage.catalog.diagnostics())
        };
        let run = stage.start_run(spec(program, Map::from_iter([("task".to_owned(), Value::from("go"))])));
        if cancelled {
            wait_processes(&marker, |count| count > 0).await;
            // until the last call has begun
            let begun = |event: &RunEvent| {
                matches!(event, RunEvent::ToolStarted { arguments, .. } if arguments["command"] == "sleep 60")
                    .then_some(())
            };
            stage.wait_for(begun).await;
            stage.handle.send_command(&run, RunCommand::End);
        }
        let status = stage.wait_for(ended).await;
        assert_eq!(status, if cancelled { RunStatus::Cancelled } else { RunStatus::Completed });
        assert_eq!(processes(&marker), 0, "cancelled: {cancelled}");
        let printed = stage.seen_events().iter().any(|event| {
            matches!(event, RunEvent::ToolFinished { content, .. } if content.contains("\"running\":true") && content.ends_with("up\n"))
        });
        assert!(printed, "{:#?}", stage.seen_events());
        let kept = stage.history_path().with_file_name("commands").join(run.as_str());
        assert!(!kept.exists(), "what it printed goes with the run");
    }
}
