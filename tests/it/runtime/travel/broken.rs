//! Files that come back in part only, or not at all: nothing goes on over them unnoticed.

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use serde_json::json;
use synthdev::domain::file_progress::FileProgress;
use synthdev::domain::ids::{RunId, SnapshotId};
use synthdev::domain::journal::{RunStatus, RunSummary};
use synthdev::domain::snapshot::{ChangedFile, SnapshotInfo, SnapshotRequest, SnapshotRestoreResult};
use synthdev::engine::event::RunEvent;
use synthdev::ports::snapshot::{RestoreStartHook, SnapshotChoice, SnapshotError, SnapshotPort};
use synthdev::runtime::cancel::CancelOutcome;
use synthdev::runtime::command::RunCommand;
use synthdev::runtime::handle::{RuntimeHandle, RuntimeOptions, RuntimePorts};
use synthdev::runtime::resume::ResumeRequest;
use synthdev::runtime::time_travel::{ReplayVerdict, StepChanges};

use super::recorded;
use super::stage::{Stage, program, run_spec};
use super::{Original, assert_same, events};
use crate::runtime::PATIENCE;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// Nothing was changed.
    Early,
    /// One file was changed, then the disk is full.
    Midway,
    /// All of them came back, then the process died.
    Late,
    None,
}

struct Faulty {
    inner: Arc<dyn SnapshotPort>,
    project: PathBuf,
    fault: Fault,
    /// Happens before the files are looked at.
    before_restore: Box<dyn Fn() + Send + Sync>,
    /// Happens before a snapshot is taken.
    before_take: Box<dyn Fn() + Send + Sync>,
}

impl SnapshotPort for Faulty {
    fn take(&self, request: &SnapshotRequest) -> Result<SnapshotInfo, SnapshotError> {
        (self.before_take)();
        self.inner.take(request)
    }

    fn progress(&self) -> FileProgress {
        FileProgress { done_count: 3, total_count: 16, ..FileProgress::default() }
    }

    fn list(&self) -> Result<Vec<SnapshotInfo>, SnapshotError> {
        self.inner.list()
    }

    fn find(&self, id: &str) -> Result<SnapshotInfo, SnapshotError> {
        self.inner.find(id)
    }

    fn changes(
        &self,
        id: &SnapshotId,
        other: Option<&SnapshotId>,
    ) -> Result<Vec<ChangedFile>, SnapshotError> {
        self.inner.changes(id, other)
    }

    fn diff(&self, id: &SnapshotId, other: Option<&SnapshotId>) -> Result<String, SnapshotError> {
        self.inner.diff(id, other)
    }

    fn restore_with_hook(
        &self,
        id: &SnapshotId,
        begin: RestoreStartHook<'_>,
    ) -> Result<SnapshotRestoreResult, SnapshotError> {
        let full = Err(SnapshotError { message: "the disk is full".into(), hint: None });
        (self.before_restore)();
        match self.fault {
            Fault::None => return self.inner.restore_with_hook(id, begin),
            Fault::Early => return full,
            Fault::Midway => {
                let safety = self.inner.take(&SnapshotRequest::default())?.id;
                begin(Some(&safety))?;
                fs::remove_file(self.project.join("draft.txt")).unwrap();
            }
            Fault::Late => {
                self.inner.restore_with_hook(id, begin)?;
            }
        }
        full
    }

    fn delete(&self, id: &SnapshotId) -> Result<(), SnapshotError> {
        self.inner.delete(id)
    }

    fn delete_chosen(&self, choose: SnapshotChoice<'_>) -> Result<Vec<SnapshotInfo>, SnapshotError> {
        self.inner.delete_chosen(choose)
    }
}

struct Scene {
    stage: Stage,
    original: Original,
}

impl Scene {
    async fn new() -> Self {
        let recorded = recorded::linear_program();
        let mut stage = Stage::new(&recorded.replies);
        let original = Original::record_run(&mut stage, &recorded).await;
        Self { stage, original }
    }

    fn with_fault(&self, fault: Fault) -> Faulty {
        let inner = self.stage.ports.snapshots.clone();
        let (before_restore, before_take) = (Box::new(|| ()), Box::new(|| ()));
        Faulty { inner, project: self.stage.project(), fault, before_restore, before_take }
    }

    /// The same runtime with files that cannot come back.
    fn runtime_with_broken_files(&self) -> RuntimeHandle {
        let ports = self.stage.ports.clone();
        let ports = RuntimePorts { snapshots: Arc::new(self.with_fault(Fault::Early)), ..ports };
        self.stage.handle.with_replaced_ports(ports, RuntimeOptions::default())
    }

    fn changes(&self, step: usize) -> StepChanges {
        StepChanges { files: self.original.steps[step - 1].files.clone(), ..StepChanges::default() }
    }

    fn all_runs(&self) -> (Vec<RunSummary>, Vec<serde_json::Value>) {
        (self.stage.handle.list_runs(0).unwrap(), events(&self.stage, &self.original.run))
    }

    fn status(&self, run: &RunId) -> RunStatus {
        self.stage.handle.summary(run.as_str()).unwrap().progress.status
    }

    /// It goes on as the first time, over the files of then.
    async fn assert_continues(&mut self, run: &RunId) {
        self.stage.continue_run(run).await;
        assert_same(&events(&self.stage, run), &self.original.events, "events");
        assert_eq!(&self.stage.tree(), self.original.trees.last().unwrap());
        assert!(matches!(self.stage.handle.verify_replay(run), Ok(ReplayVerdict::Same { .. })));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_takes_a_while_says_how_far_it_is() {
    let scene = Scene::new().await;
    let (go, held) = channel::<()>();
    let mut slow = scene.with_fault(Fault::None);
    let held = Mutex::new(held);
    // the sender that is gone holds up no other snapshot
    slow.before_take = Box::new(move || {
        let _ = held.lock().unwrap().recv();
    });
    let ports = RuntimePorts { snapshots: Arc::new(slow), ..scene.stage.ports.clone() };
    let handle = scene.stage.handle.with_replaced_ports(ports, RuntimeOptions::default());
    let mut events = handle.subscribe(false);
    let run = handle.start(run_spec(program(&recorded::linear_program().workflows))).unwrap();
    let mut reported = 0;
    while let Some(published) = tokio::time::timeout(PATIENCE, events.recv()).await.unwrap() {
        match published.event {
            RunEvent::SnapshotProgress { done_files, total_files, elapsed_ms } => {
                assert_eq!((done_files, total_files), (3, 16));
                assert!(elapsed_ms > 0);
                reported += 1;
                if reported == 2 {
                    break;
                }
            }
            RunEvent::ToolStarted { .. } | RunEvent::Finished { .. } => panic!("it waits for its snapshot"),
            _ => {}
        }
    }
    drop(go);
    handle.send_command(&run, RunCommand::Cancel);
    while !handle.running_runs().is_empty() {
        tokio::task::yield_now().await;
    }
    let record = handle.load_record(run.as_str()).unwrap();
    let is_progress = |event: &RunEvent| matches!(event, RunEvent::SnapshotProgress { .. });
    assert!(!record.events.iter().any(|(_, event)| is_progress(&event.event)), "it is not recorded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_do_not_come_back_leave_everything_as_it_was() {
    let scene = Scene::new().await;
    let (handle, run) = (&scene.stage.handle, &scene.original.run);
    let (before, tree) = (scene.all_runs(), scene.stage.tree());
    let full = scene.with_fault(Fault::Early);
    let refused = handle.rewind(run, 3, scene.changes(3), &full).unwrap_err();
    assert_eq!(refused.message, "the disk is full");
    handle.fork(run, 3, scene.changes(3), &full).unwrap_err();
    handle.undo(run, &scene.changes(1).files.unwrap(), &full).unwrap_err();
    // nor is anything brought back for what cannot be
    let midway = scene.with_fault(Fault::Midway);
    handle.rewind(run, 99, scene.changes(3), &midway).unwrap_err();
    let nothing = program(&[json!({"workflow_name": "empty", "states": [
        {"name": "start", "transition": [{"target": "stop"}]}, {"name": "stop"}]})]);
    handle.fork(run, 3, StepChanges { program: Some(nothing), ..scene.changes(3) }, &midway).unwrap_err();
    assert_eq!((scene.all_runs(), scene.stage.tree()), (before, tree));
    assert_eq!(scene.status(run), RunStatus::Completed);
    handle.rewind(run, 3, scene.changes(3), &*scene.stage.ports.snapshots).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewind_that_stopped_midway_is_finished_before_the_run_goes_on() {
    let mut scene = Scene::new().await;
    let run = scene.original.run.clone();
    for fault in [Fault::Midway, Fault::Late] {
        let error =
            scene.stage.handle.rewind(&run, 3, scene.changes(3), &scene.with_fault(fault)).unwrap_err();
        assert!(error.message.contains("only a part of the files is back"), "{error}");
        assert!(error.hint.unwrap().contains(&format!("synthdev resume {run}")));
        assert_eq!(scene.status(&run), RunStatus::Paused);
        // while they cannot come back it does not go on, and no other run begins with them
        let (before, tree) = (scene.all_runs(), scene.stage.tree());
        let refused =
            scene.runtime_with_broken_files().resume(&run, ResumeRequest::default()).await.unwrap_err();
        assert!(refused.to_string().contains("cannot be brought back now: the disk is full"), "{refused}");
        assert!(refused.hint().unwrap().contains("--keep-files"));
        let refused =
            scene.stage.handle.fork(&run, 2, StepChanges::default(), &scene.with_fault(fault)).unwrap_err();
        assert!(refused.message.contains("of two moments"), "{refused}");
        assert_eq!((scene.all_runs(), scene.stage.tree()), (before, tree));
        let mut told = scene.stage.handle.subscribe(false);
        scene.assert_continues(&run).await;
        let first = told.recv().await.unwrap().event;
        assert!(matches!(&first, RunEvent::Warning { code, .. } if code == "files"), "{first:?}");
    }
    // it is settled: going on again brings nothing back
    let settled = scene.stage.handle.fork(&run, 3, StepChanges::default(), &scene.with_fault(Fault::Early));
    settled.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_that_stopped_midway_is_a_run_that_finishes_it() {
    let mut scene = Scene::new().await;
    let run = scene.original.run.clone();
    let before = scene.all_runs();
    scene.stage.handle.fork(&run, 3, scene.changes(3), &scene.with_fault(Fault::Midway)).unwrap_err();
    let after = scene.all_runs();
    assert_eq!((after.0.len(), &after.1), (before.0.len() + 1, &before.1));
    let fork = after.0.iter().find(|one| one.id != run).unwrap().id.clone();
    assert_eq!((scene.status(&fork), scene.status(&run)), (RunStatus::Paused, RunStatus::Completed));
    scene.runtime_with_broken_files().resume(&fork, ResumeRequest::default()).await.unwrap_err();
    scene.assert_continues(&fork).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_person_may_keep_files_that_are_of_two_moments() {
    let scene = Scene::new().await;
    let (handle, run) = (&scene.stage.handle, &scene.original.run);
    handle.rewind(run, 3, scene.changes(3), &scene.with_fault(Fault::Midway)).unwrap_err();
    handle.rewind(run, 4, StepChanges::default(), &scene.with_fault(Fault::Early)).unwrap_err();
    handle.rewind(run, 3, StepChanges::default(), &scene.with_fault(Fault::Early)).unwrap();
    handle.fork(run, 3, StepChanges::default(), &scene.with_fault(Fault::Early)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undo_that_stopped_midway_is_known() {
    let mut scene = Scene::new().await;
    let run = scene.original.run.clone();
    let (first, tree) = (scene.changes(1).files.unwrap(), scene.original.trees[0].clone());
    for fault in [Fault::Midway, Fault::Late] {
        let handle = &scene.stage.handle;
        handle.undo(&run, &first, &scene.with_fault(fault)).unwrap_err();
        assert_eq!(scene.status(&run), RunStatus::Completed);
        let refused = handle.fork(&run, 2, StepChanges::default(), &scene.with_fault(fault)).unwrap_err();
        assert!(refused.hint.unwrap().contains(&format!("runs undo {run}")));
        handle.undo(&run, &first, &*scene.stage.ports.snapshots).unwrap();
        assert_eq!((scene.status(&run), &scene.stage.tree()), (RunStatus::Completed, &tree));
        // it can still go back with all its files, which settles it as well
        handle.undo(&run, &first, &scene.with_fault(Fault::Early)).unwrap_err();
        handle.rewind(&run, 3, scene.changes(3), &*scene.stage.ports.snapshots).unwrap();
        scene.assert_continues(&run).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_went_on_meanwhile_is_left_alone() {
    let scene = Scene::new().await;
    let (handle, run) = (scene.stage.handle.clone(), scene.original.run.clone());
    handle.rewind(&run, 4, scene.changes(4), &*scene.stage.ports.snapshots).unwrap();
    let tree = scene.stage.tree();
    // somebody gives the run up while the present is stored
    let (other, given_up) = (handle.clone(), run.clone());
    let mut slow = scene.with_fault(Fault::None);
    slow.before_restore = Box::new(move || {
        let done = other.cancel(&given_up).now_or_never();
        assert_eq!(done, Some(Ok(CancelOutcome::Done)));
    });
    let refused = handle.rewind(&run, 2, scene.changes(2), &slow).unwrap_err();
    assert!(refused.message.contains("has gone on meanwhile"), "{refused}");
    assert_eq!((scene.status(&run), scene.stage.tree()), (RunStatus::Cancelled, tree));
    assert_eq!(handle.steps(&run).unwrap().len(), 4);
}
