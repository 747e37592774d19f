//! What other branches had under way when a step of one began: nothing that they completed happens once more.

use std::fs;
use std::future::{Future, poll_fn};
use std::task::{Context, Poll};

use serde_json::{Value, json};
use synthdev::domain::ids::RunId;
use synthdev::domain::journal::RunStatus;
use synthdev::engine::effect::UserQuestion;
use synthdev::engine::event::RunEvent;
use synthdev::engine::steering::SteeringAction;
use synthdev::runtime::command::RunCommand;
use synthdev::runtime::resume::ResumeRequest;
use synthdev::runtime::time_travel::{ReplayVerdict, StepChanges};

use super::recorded::Recorded;
use super::stage::{Stage, program, run_spec};
use super::tools;

fn shell(name: &str, command: &str, target: &str) -> Value {
    json!({"name": name, "type": "shell", "command": command, "transition": [{"target": target}]})
}

fn end() -> Value {
    json!({"name": "end", "type": "final", "input": "'x'"})
}

/// `first` waits until the others have begun, and goes on with its second state.
fn branches(join: &str, until: &str, others: &[Value]) -> Recorded {
    let wait = format!("until {until}; do sleep 0.01; done");
    let first = json!({"name": "first", "states": [
        shell("start", &wait, "then"), shell("then", "echo x >> go.log", "end"), end()]});
    let states = json!([
        {"name": "start", "transition": [{"target": "both"}]},
        {"name": "both", "type": "parallel", "join": join, "output": {"as": "both"},
            "branches": ([&[first], others].concat()), "transition": [{"target": "stop"}]},
        {"name": "stop"}
    ]);
    let workflow = json!({
        "workflow_name": "beside", "description": "a test",
        "contexts": [{"name": "main", "starting_messages": []}],
        "agents": [{"agent_role": "critic", "context": "main", "role": "assistant"}],
        "states": states
    });
    Recorded { workflows: vec![workflow], replies: json!({"critic": [{"text": "well."}]}) }
}

/// A command and a model that answer when the second state of `first` has begun.
fn wait_for_all() -> Recorded {
    let push = "echo push >> side.log; until [ -e go.log ]; do sleep 0.01; done";
    let words = json!({"name": "start", "agent": "critic", "input": {"text": "well?"},
        "transition": [{"target": "end"}]});
    let others = [
        json!({"name": "command", "states": [shell("start", push, "end"), end()]}),
        json!({"name": "words", "states": [words, end()]}),
    ];
    branches("all", "[ -s side.log ] && [ -e asked.log ]", &others)
}

/// A command that is stopped in the middle, as the first branch is enough.
fn wait_for_any() -> Recorded {
    let push = "echo push >> side.log; sleep 60";
    let others = [json!({"name": "command", "states": [shell("start", push, "end"), end()]})];
    branches("any", "[ -s side.log ]", &others)
}

async fn record_branches(recorded: Recorded) -> (Stage, RunId, u32) {
    let mut stage = Stage::new(&recorded.replies);
    fs::write(stage.project().join("hold.log"), "").unwrap();
    let run = stage.record_run(program(&recorded.workflows)).await;
    let steps = stage.handle.steps(&run).unwrap();
    let inside = steps.iter().find(|step| step.state == "both.first/then").unwrap();
    assert_eq!((inside.within.as_deref(), inside.forked), (Some("both"), Some(2)));
    (stage, run, inside.step)
}

impl Stage {
    fn push_count(&self) -> usize {
        fs::read_to_string(self.project().join("side.log")).unwrap().lines().count()
    }

    fn request_count(&self) -> usize {
        self.model_requests.take_values().len()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_other_branches_completed_is_not_done_again() {
    let (mut stage, run, step) = record_branches(wait_for_all()).await;
    let original = stage.handle.load_record(run.as_str()).unwrap();
    assert_eq!((stage.push_count(), stage.request_count()), (1, 1));
    let snapshots = stage.ports.snapshots.clone();
    let (fork, _) = stage.handle.fork(&run, step, StepChanges::default(), &*snapshots).unwrap();
    // back, once more before it went on, and once more from where it went on to
    for again in [1, 2, 1] {
        for _ in 0..again {
            stage.handle.rewind(&run, step, StepChanges::default(), &*snapshots).unwrap();
        }
        stage.continue_run(&run).await;
        assert_eq!((stage.push_count(), stage.request_count()), (1, 0));
        let record = stage.handle.load_record(run.as_str()).unwrap();
        assert_eq!(
            tools(record.events.iter().map(|(_, event)| &event.event)),
            tools(original.events.iter().map(|(_, event)| &event.event))
        );
        // what was paid is counted once
        assert_eq!(record.summary.progress.usage, original.summary.progress.usage);
        assert_eq!(record.summary.progress.output, original.summary.progress.output);
        assert!(matches!(stage.handle.verify_replay(&run), Ok(ReplayVerdict::Same { .. })));
    }
    stage.continue_run(&fork).await;
    assert_eq!((stage.push_count(), stage.request_count()), (1, 0));
    let record = stage.handle.load_record(fork.as_str()).unwrap();
    assert_eq!(record.summary.progress.usage, original.summary.progress.usage);
    assert!(matches!(stage.handle.verify_replay(&fork), Ok(ReplayVerdict::Same { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_never_answered_is_asked_about() {
    let (mut stage, run, step) = record_branches(wait_for_any()).await;
    let snapshots = stage.ports.snapshots.clone();
    let (fork, _) = stage.handle.fork(&run, step, StepChanges::default(), &*snapshots).unwrap();
    stage.handle.rewind(&run, step, StepChanges::default(), &*snapshots).unwrap();
    for run in [run, fork] {
        stage
            .handle
            .resume(&run, ResumeRequest { user_present: true, ..ResumeRequest::default() })
            .await
            .unwrap();
        stage.assert_ended(&run).await;
        let events = stage.handle.load_record(run.as_str()).unwrap().events;
        let asked = |event: &RunEvent| {
            matches!(event, RunEvent::PersonAsked { question: UserQuestion::Uncertain { state, .. }, .. }
                if state == "both.command/start")
        };
        assert!(events.iter().any(|(_, event)| asked(event)), "{events:#?}");
        assert_eq!(stage.push_count(), 1);
        assert_eq!(stage.handle.summary(run.as_str()).unwrap().progress.status, RunStatus::Completed);
    }
}

// nobody else can have done it before the first look
#[tokio::test(flavor = "current_thread")]
async fn who_gives_up_waiting_for_a_run_to_be_taken_up_leaves_it_with_a_driver() {
    let (mut stage, run, step) = record_branches(wait_for_any()).await;
    let snapshots = stage.ports.snapshots.clone();
    stage.handle.rewind(&run, step, StepChanges::default(), &*snapshots).unwrap();
    {
        let going = ResumeRequest { user_present: true, ..ResumeRequest::default() };
        let mut resumed = Box::pin(stage.handle.resume(&run, going));
        let once = |context: &mut Context<'_>| Poll::Ready(resumed.as_mut().poll(context).is_pending());
        assert!(poll_fn(once).await, "it had been done before anybody could give up");
    }
    stage.assert_ended(&run).await;
    assert_eq!(stage.handle.summary(run.as_str()).unwrap().progress.status, RunStatus::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_files_a_run_goes_back_to_before_all_branches() {
    let (stage, run, step) = record_branches(wait_for_all()).await;
    let snapshots = stage.ports.snapshots.clone();
    let before = stage.handle.load_record(run.as_str()).unwrap().events;
    let place = stage.handle.find_step(&run, step).unwrap();
    let files = || StepChanges { files: place.files.clone(), ..StepChanges::default() };
    let refused = stage.handle.rewind(&run, step, files(), &*snapshots).unwrap_err();
    assert!(
        refused.message.contains("in a branch of `both`") && refused.message.contains("step 2"),
        "{refused}"
    );
    stage.handle.fork(&run, step, files(), &*snapshots).unwrap_err();
    assert_eq!(stage.handle.load_record(run.as_str()).unwrap().events, before);
    let whole = stage.handle.step_with_files(&run, step).unwrap();
    assert_eq!((whole.step, &whole.files), (2, &place.files));
    stage.handle.rewind(&run, whole.step, files(), &*snapshots).unwrap();
    assert_eq!(stage.handle.steps(&run).unwrap().len(), 2);
}

/// What became of a text that was queued before a step.
#[derive(Clone, Copy, PartialEq, Debug)]
enum TextFate {
    /// Withdrawn in that step.
    Withdrawn,
    /// Not read until the end, which gives it back.
    Unread,
    /// Read by a later step; the withdrawal came after that.
    Read,
}

async fn wait_for_event(stage: &Stage, run: &RunId, wanted: impl Fn(&RunEvent) -> bool) {
    let has = || {
        let record = stage.handle.load_record(run.as_str()).unwrap();
        record.events.iter().any(|(_, event)| wanted(&event.event))
    };
    while !has() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_the_user_has_back_stays_away_from_a_fork() {
    let text = || "by the way".to_owned();
    let take_back = || RunCommand::Steer(SteeringAction::TakeBack { text: text() });
    let enters = |wanted: &'static str| move |event: &RunEvent| matches!(event, RunEvent::StateEntered { state, .. } if state == wanted);
    for fate in [TextFate::Withdrawn, TextFate::Unread, TextFate::Read] {
        let waits = |name, file: &str, target| {
            shell(name, &format!("until [ -e {file}.log ]; do sleep 0.01; done"), target)
        };
        let reads = json!({"name": "reads", "type": "pause", "kind": "text", "message": "more?",
            "transition": [{"target": "third"}]});
        let after_second = if fate == TextFate::Read { "reads" } else { "third" };
        let workflow = json!({
            "workflow_name": "texts", "description": "a test",
            "states": [
                waits("start", "said", "second"), waits("second", "back", after_second), reads,
                waits("third", "late", "stop"), {"name": "stop"}]
        });
        let mut stage = Stage::new(&json!({}));
        let go_on = |file: &str| fs::write(stage.project().join(format!("{file}.log")), "").unwrap();
        let run = stage.handle.start(run_spec(program(&[workflow]))).unwrap();
        stage.handle.send_command(&run, RunCommand::Say { text: text() });
        wait_for_event(&stage, &run, |event| matches!(event, RunEvent::Queued { .. })).await;
        go_on("said");
        wait_for_event(&stage, &run, enters("second")).await;
        if fate == TextFate::Withdrawn {
            stage.handle.send_command(&run, take_back());
            wait_for_event(&stage, &run, |event| matches!(event, RunEvent::TakenBack { .. })).await;
        }
        go_on("back");
        wait_for_event(&stage, &run, enters("third")).await;
        if fate == TextFate::Read {
            stage.handle.send_command(&run, take_back());
            // commands are read in their order
            stage.handle.send_command(&run, RunCommand::Say { text: "more".to_owned() });
            let more = |event: &RunEvent| matches!(event, RunEvent::Queued { text } if text == "more");
            wait_for_event(&stage, &run, more).await;
        }
        go_on("late");
        stage.assert_ended(&run).await;
        let snapshots = stage.ports.snapshots.clone();
        let (fork, _) = stage.handle.fork(&run, 2, StepChanges::default(), &*snapshots).unwrap();
        let record = stage.handle.load_record(fork.as_str()).unwrap();
        let told = record.events.iter().filter_map(|(_, event)| match &event.event {
            RunEvent::Queued { text: queued } if *queued == text() => Some("queued"),
            RunEvent::TakenBack { text: queued } if *queued == text() => Some("taken back"),
            _ => None,
        });
        let expected: &[&str] = if fate == TextFate::Read { &["queued"] } else { &["queued", "taken back"] };
        assert_eq!(told.collect::<Vec<_>>(), expected, "{fate:?}");
        stage.continue_run(&fork).await;
        assert!(matches!(stage.handle.verify_replay(&fork), Ok(ReplayVerdict::Same { .. })));
    }
}
