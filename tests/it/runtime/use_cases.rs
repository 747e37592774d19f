//! Use cases of the service where a front-end alone once had the rule.

use std::sync::Mutex;

use super::*;
use synthdev::adapters::project_lock::FileLock;
use synthdev::domain::journal::SearchQuery;
use synthdev::domain::snapshot::{
    ChangedFile, RunWorktree, SkippedPath, UnmergedChanges, WorktreeMergeResult,
};
use synthdev::ports::snapshot::SnapshotError;
use synthdev::ports::worktree::{MergeError, WorktreePort};
use synthdev::service::project_snapshots::{ProjectSnapshotError, SnapshotService};
use synthdev::service::run_control::{ControlAction, RunControlOutcome, control_run};
use synthdev::service::run_list::{RunListError, search_texts};
use synthdev::service::run_place::RunOperation;
use synthdev::service::run_resume::{
    ContinuingParty, LimitIncrease, TypedAnswers, check_resumable, continuation_answers,
};
use synthdev::service::run_start::{PreparedWorktree, RunStartError};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_this_process_has_ended_when_its_cancel_is_answered() {
    let world = World::new();
    let run = world.start_run(&workflow(
        ParameterType::String,
        StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(60)))),
        Vec::new(),
        Vec::new(),
    ));
    let summary = world.handle.summary(run.as_str()).unwrap();
    let done = control_run(&world.handle, &summary, ControlAction::Cancel).await.unwrap();
    assert_eq!(done.to_string(), format!("run {run} is cancelled"));
    assert!(matches!(done, RunControlOutcome::Released(_)), "{done:?}");
    assert_eq!(world.handle.running_runs(), []);
    let summary = world.handle.summary(run.as_str()).unwrap();
    let again = control_run(&world.handle, &summary, ControlAction::Cancel).await.unwrap_err();
    assert_eq!(again.to_string(), format!("run {run} is cancelled already"));
}

#[test]
fn a_search_without_a_word_is_refused() {
    let world = World::new();
    for (text, found) in [("", Err(RunListError::NoWord)), (" …\"", Err(RunListError::NoWord)), ("x", Ok(0))]
    {
        let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
        assert_eq!(search_texts(&world.handle, &query, 9).map(|hits| hits.len()), found, "{text}");
    }
}

#[test]
fn no_files_are_restored_under_the_hands_of_a_run() {
    let world = World::new();
    let (project, data) = (world.directory.path().join("project"), world.directory.path().join("data"));
    let process = || {
        let lock = Arc::new(FileLock::open(project.clone(), &data));
        RuntimeHandle::new(
            RuntimePorts { lock: Some(lock), ..world.ports.clone() },
            RuntimeOptions::default(),
        )
    };
    let (here, there) = (process(), process());
    let service = SnapshotService::new(&here, Arc::clone(&world.ports.snapshots));
    let file = project.join("a.txt");
    std::fs::write(&file, "before").unwrap();
    let info = service.create("").unwrap().info;
    assert_eq!(info.label, "manual");
    std::fs::write(&file, "after").unwrap();
    let works = there.lock_files(&RunId::from("r1"), "other").unwrap();
    let refused = service.restore(info.id.as_str()).unwrap_err();
    assert!(matches!(refused, ProjectSnapshotError::Store(_)), "{refused}");
    assert!(refused.to_string().contains("its files cannot be changed under its hands"), "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "after");
    drop(works);
    service.restore(info.id.as_str()).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "before");
}

/// A worktree whose missing files cannot be listed.
#[derive(Default)]
struct Unlisted {
    discarded: Mutex<Vec<RunWorktree>>,
}

fn error<T>() -> Result<T, SnapshotError> {
    Err(SnapshotError { message: "unreadable".to_owned(), hint: None })
}

impl WorktreePort for Unlisted {
    fn create(&self, run: &RunId, _: &str) -> Result<RunWorktree, SnapshotError> {
        let text = run.to_string();
        Ok(RunWorktree { path: text.clone(), branch: text.clone(), base: text })
    }

    fn skipped(&self, _: &RunWorktree) -> Result<Vec<SkippedPath>, SnapshotError> {
        error()
    }

    fn changes(&self, _: &RunWorktree) -> Result<Vec<ChangedFile>, SnapshotError> {
        error()
    }

    fn unmerged(&self, _: &RunWorktree) -> Result<Option<UnmergedChanges>, SnapshotError> {
        error()
    }

    fn diff(&self, _: &RunWorktree) -> Result<String, SnapshotError> {
        error()
    }

    fn merge(&self, _: &RunWorktree) -> Result<WorktreeMergeResult, MergeError> {
        Ok(error()?)
    }

    fn discard(&self, worktree: &RunWorktree, _: bool) -> Result<(), SnapshotError> {
        self.discarded.lock().unwrap().push(worktree.clone());
        Ok(())
    }
}

#[test]
fn nothing_is_left_of_a_worktree_whose_run_does_not_start() {
    let world = World::new();
    let trees = Unlisted::default();
    let program = WorkflowProgram { workflows: Vec::new(), hash: String::new(), start_warnings: Vec::new() };
    let refused = PreparedWorktree::create(&world.handle, &trees, &program).err();
    assert!(matches!(refused, Some(RunStartError::Snapshot(_))), "{refused:?}");
    assert_eq!(trees.discarded.lock().unwrap().len(), 1);
}

fn failing_state() -> StateBody {
    StateBody::Action(ActionSpec {
        tool: "execute_terminal".into(),
        risk: ToolRisk::Execute,
        arguments: vec![(vec!["command".into()], ValueSource::Text("exit 3".into()))],
        expect: ActionExpectation::Ok,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_states_are_tried_again_and_a_limit_is_passed_only_if_that_is_said() {
    let one = |work: StateBody| workflow(ParameterType::String, work, Vec::new(), Vec::new());
    let mut limited = one(StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(0)))));
    Arc::get_mut(&mut limited).unwrap().limits.max_steps = 1;
    let no_limit = Err("has reached no limit there");
    // the workflow, how it stops, and how many pauses are answered without and with more of a limit
    let rows = [
        ("a failed state", one(failing_state()), RunStatus::Failed, Ok(1), no_limit),
        (
            "a failed branch beside a question",
            two_branches([failing_state(), pause_state("Ship it?")]),
            RunStatus::Failed,
            Ok(1),
            no_limit,
        ),
        ("a limit", limited, RunStatus::Paused, Err("goes on only with more"), Ok(1)),
        ("a question", one(pause_state("Ship it?")), RunStatus::Paused, Err("no step to retry"), no_limit),
        (
            "the end",
            one(StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(0))))),
            RunStatus::Completed,
            Err("is completed"),
            Err("is completed"),
        ),
    ];
    for (name, flow, status, plain, raised) in rows {
        let mut world = World::new();
        let mut spec = spec(&flow, false);
        spec.approvals = spec.approvals.approving_all();
        let run = world.handle.start(spec).unwrap();
        assert_eq!(world.events_to_end().await.1, status, "{name}");
        let summary = world.handle.summary(run.as_str()).unwrap();
        let more = LimitIncrease { passes_limits: true, budget: None };
        for (increase, expected) in [(LimitIncrease::default(), plain), (more, raised)] {
            for party in [ContinuingParty::User, ContinuingParty::Client] {
                let raises = increase.passes_limits;
                let typed = TypedAnswers { increase: increase.clone(), ..TypedAnswers::default() };
                match (continuation_answers(&world.handle, &summary, party, &typed), expected) {
                    (Ok(given), Ok(expected)) => {
                        assert_eq!(given.answers.len(), expected, "{name}: {raises}");
                    }
                    (Err(error), Err(expected)) => {
                        assert!(error.to_string().contains(expected), "{name}: {raises}: {error}");
                    }
                    (answers, expected) => panic!("{name}: {raises}: {answers:?}, not {expected:?}"),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_taken_up_says_why_and_what_to_do() {
    let world = World::new();
    let run = world.start_run(&workflow(
        ParameterType::String,
        StateBody::Wait(WaitSpec::For(ValueSource::Value(json!(60)))),
        Vec::new(),
        Vec::new(),
    ));
    let store = Arc::new(SqliteStore::new(world.directory.path().join("data/runs.sqlite")));
    let there = RuntimeHandle::new(RuntimePorts { store, ..world.ports.clone() }, RuntimeOptions::default());
    let check = |handle: &RuntimeHandle, here: &str, operation: RunOperation, text: &str, hint: &str| {
        let summary = handle.summary(run.as_str()).unwrap();
        let refused = check_resumable(handle, &summary, here, operation, |_| true).unwrap_err();
        let hints = refused.hint().unwrap_or_default();
        assert_eq!(refused.to_string(), text);
        assert!(hints.contains(hint), "{hints}");
    };
    let home = world.handle.summary(run.as_str()).unwrap().project;
    let (resume, retry) = (RunOperation::Resume, RunOperation::Retry);
    let own = std::process::id();
    check(
        &world.handle,
        &home,
        resume,
        &format!("run {run} is running here"),
        &format!("synthdev runs show {run}"),
    );
    let driven = format!("run {run} is running in process {own}");
    check(&there, &home, resume, &driven, &format!("synthdev runs pause {run}"));
    check(&there, &home, retry, &format!("run {run} has not failed: it is running"), "runs show");
    let elsewhere = format!("run {run} belongs to {home}");
    check(&there, "/other", resume, &elsewhere, &format!("synthdev -C {home} resume {run}"));
    check(&there, "/other", retry, &elsewhere, &format!("synthdev -C {home} runs retry {run}"));
    let summary = world.handle.summary(run.as_str()).unwrap();
    // its user has it here: it stops before its next state, and is not given back
    let stopped = control_run(&world.handle, &summary, ControlAction::Pause).await.unwrap();
    assert_eq!(stopped, RunControlOutcome::StopRequested(run.clone()));
    assert!(!stopped.to_string().contains('/'), "no command of the screen: {stopped}");
    assert!(world.handle.running_runs().contains(&run));
    control_run(&world.handle, &summary, ControlAction::Cancel).await.unwrap();
    check(&there, &home, resume, &format!("run {run} is cancelled"), &format!("runs rewind {run} --to STEP"));
}
