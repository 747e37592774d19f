//! What all runs of a process share: the ports, the options, the watchers, the ways in.

use std::sync::Arc;

use super::active_runs::ActiveRuns;
use super::asked_commands::AskedCommands;
use super::decision_memory::SharedDecisionMemory;
use super::event_bus::EventBus;
use super::lock_timing::LockTiming;
use super::redact::SecretRedactor;
use super::retry::RetryPolicy;
use super::state_snapshot;
use super::task_queue::TaskBroker;
use super::unsandboxed_commands::SandboxExceptions;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunProgress, RunStatus};
use synthdev_domain::run_error::RunError;
use synthdev_domain::snapshot::SnapshotLimits;
use synthdev_engine::event::RunEvent;
use synthdev_ports::clock::{ClockPort, IdSource};
use synthdev_ports::lock::ProjectLock;
use synthdev_ports::model::ModelPort;
use synthdev_ports::run_server::RunServer;
use synthdev_ports::run_store::RunStore;
use synthdev_ports::script::ScriptPort;
use synthdev_ports::snapshot::SnapshotPort;
use synthdev_ports::tool::ToolPort;

/// All ports that the runtime needs.
#[derive(Clone)]
pub struct RuntimePorts {
    pub models: Arc<dyn ModelPort>,
    pub tools: Arc<dyn ToolPort>,
    pub scripts: Arc<dyn ScriptPort>,
    pub snapshots: Arc<dyn SnapshotPort>,
    pub store: Arc<dyn RunStore>,
    /// `None`: the run has files of its own.
    pub lock: Option<Arc<dyn ProjectLock>>,
    pub clock: Arc<dyn ClockPort>,
    pub ids: Arc<dyn IdSource>,
}

/// Facts of this process that runs record, and how model calls are repeated.
#[derive(Clone)]
pub struct RuntimeOptions {
    /// The project's directory, as shown in history.
    pub project: String,
    pub pid: u32,
    pub retry: RetryPolicy,
    /// Keys to hide wherever a tool prints them.
    pub secrets: Vec<String>,
    pub lock_timing: LockTiming,
    /// Inputs between two stored states of a run, at least.
    pub state_interval: u32,
    /// Beyond them old snapshots go when a run takes its first one.
    pub snapshot_limits: SnapshotLimits,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            project: String::new(),
            pid: 0,
            retry: RetryPolicy::default(),
            secrets: Vec::new(),
            lock_timing: LockTiming::default(),
            state_interval: state_snapshot::INPUTS,
            snapshot_limits: SnapshotLimits::default(),
        }
    }
}

#[derive(Clone)]
pub(super) struct RuntimeContext {
    pub(super) ports: RuntimePorts,
    pub(super) options: RuntimeOptions,
    pub(super) redactor: SecretRedactor,
    pub(super) sandbox_exceptions: Arc<SandboxExceptions>,
    pub(super) asked_commands: Arc<AskedCommands>,
    pub(super) bus: Arc<EventBus>,
    pub(super) runs: Arc<ActiveRuns>,
    pub(super) task_broker: Arc<TaskBroker>,
    pub(super) decisions: Arc<SharedDecisionMemory>,
    /// Where runs may be whose journal is not kept here.
    pub(super) run_server: Option<Arc<dyn RunServer>>,
}

impl RuntimeContext {
    pub(super) fn drives_run(&self, run: &RunId) -> bool {
        self.runs.drives_run(run)
    }

    /// The driver panicked: closes the run as failed, so that no front-end waits for it. `last` is the progress that
    /// lists have: its path and its snapshot for undo stay.
    pub(super) fn fail_crashed_run(&self, run: &RunId, last: Option<RunProgress>) {
        let now = self.ports.clock.now();
        let error = RunError::new(
            "bug",
            "This run hit a bug in the program",
            "the run was stopped; other runs go on",
        )
        .with_hint("report it with the run's id; what it did is in its history");
        let progress = RunProgress {
            status: RunStatus::Failed,
            error: Some(error),
            pauses: Vec::new(),
            updated: now,
            ..last.unwrap_or_else(|| RunProgress::new(now))
        };
        let _ = self.ports.store.append(run, &[], Some(&progress));
        self.bus.publish(run, now, RunEvent::run_finished(progress));
    }
}
