//! The cheap, cloneable way in: start runs, steer them, watch them, read history and snapshots.

use std::sync::Arc;

use super::command::RunCommand;
use super::driver_message::DriverMessage;
pub use super::event_bus::EventReceiver;
use super::lock_timing::LockTiming;
use super::redact::SecretRedactor;
pub use super::retry::RetryPolicy;
use super::run_project_lock::{DeferredProjectLock, RunProjectLock};
use super::runtime_context::RuntimeContext;
pub use super::runtime_context::{RuntimeOptions, RuntimePorts};
use super::shared_lock::SharedProjectLock;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunProgress;
use synthdev_domain::model::DecisionMemory;
use synthdev_domain::project_lock::{LockHolder, LockMode};
use synthdev_domain::tool::ToolRisk;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::clock::ClockPort;
use synthdev_ports::lock::{LockError, ProjectLock, ProjectLockGuard};
use synthdev_ports::model::ModelPort;
use synthdev_ports::run_store::{RunStore, StoreError};

/// What can be done from the command line where another run works.
pub const WAIT_OR_SHARE: &str =
    "wait for it, give this run a worktree of its own (--isolate), or share the files (--share)";
/// The same for a run that is resumed: its files are where they are.
pub const WAIT_OR_SHARE_RESUMED: &str = "wait for it, or share the files (--share)";

#[derive(Clone)]
pub struct RuntimeHandle {
    pub(super) context: Arc<RuntimeContext>,
}

impl RuntimeHandle {
    pub fn new(ports: RuntimePorts, mut options: RuntimeOptions) -> Self {
        let redactor = SecretRedactor::new(std::mem::take(&mut options.secrets));
        Self {
            context: Arc::new(RuntimeContext {
                ports,
                options,
                redactor,
                sandbox_exceptions: Arc::default(),
                asked_commands: Arc::default(),
                bus: Arc::default(),
                runs: Arc::default(),
                task_broker: Arc::default(),
                decisions: Arc::default(),
                run_server: None,
            }),
        }
    }

    /// The same watchers and runs with other ports, for runs started from now on: the configuration changed.
    #[must_use]
    pub fn with_replaced_ports(&self, ports: RuntimePorts, mut options: RuntimeOptions) -> Self {
        let redactor = SecretRedactor::new(std::mem::take(&mut options.secrets));
        self.with_context(RuntimeContext { ports, options, redactor, ..RuntimeContext::clone(&self.context) })
    }

    /// Its runs share the project's files with other runs knowingly.
    #[must_use]
    pub fn with_shared_lock(&self) -> Self {
        self.with_lock(self.context.ports.lock.as_ref().map(SharedProjectLock::wrap_lock))
    }

    /// Without the project's lock: for runs that have files of their own.
    #[must_use]
    pub fn without_project_lock(&self) -> Self {
        self.with_lock(None)
    }

    /// Its runs take the project's lock at another time.
    #[must_use]
    pub fn with_lock_timing(&self, locking: LockTiming) -> Self {
        let context = RuntimeContext::clone(&self.context);
        let options = RuntimeOptions { lock_timing: locking, ..context.options };
        self.with_context(RuntimeContext { options, ..context })
    }

    /// Asks other models: a recording, or one that is recorded.
    #[must_use]
    pub fn with_models(&self, models: Arc<dyn ModelPort>) -> Self {
        self.with_ports(RuntimePorts { models, ..self.context.ports.clone() })
    }

    /// Uses the store of another handle, with the lock that says which process drives a run.
    #[must_use]
    pub fn with_store_from(&self, other: &Self) -> Self {
        let RuntimePorts { store, lock, clock, ids, .. } = other.context.ports.clone();
        self.with_ports(RuntimePorts { store, lock, clock, ids, ..self.context.ports.clone() })
    }

    /// Its runs are recorded through another store, as one that writes to a second place first.
    #[must_use]
    pub fn with_wrapped_store(&self, wrap: &dyn Fn(Arc<dyn RunStore>) -> Arc<dyn RunStore>) -> Self {
        let ports = self.context.ports.clone();
        self.with_ports(RuntimePorts { store: wrap(Arc::clone(&ports.store)), ..ports })
    }

    /// Its runs take their times from another clock.
    #[must_use]
    pub fn with_clock(&self, clock: Arc<dyn ClockPort>) -> Self {
        self.with_ports(RuntimePorts { clock, ..self.context.ports.clone() })
    }

    /// Events of its runs go to its own subscribers only: where each of many runs has one, none gets those of all others.
    #[must_use]
    pub fn with_own_subscribers(&self) -> Self {
        self.with_context(RuntimeContext { bus: Arc::default(), ..RuntimeContext::clone(&self.context) })
    }

    fn with_lock(&self, lock: Option<Arc<dyn ProjectLock>>) -> Self {
        self.with_ports(RuntimePorts { lock, ..self.context.ports.clone() })
    }

    fn with_ports(&self, ports: RuntimePorts) -> Self {
        self.with_context(RuntimeContext { ports, ..RuntimeContext::clone(&self.context) })
    }

    fn with_context(&self, context: RuntimeContext) -> Self {
        Self { context: Arc::new(context) }
    }

    pub(crate) fn ports(&self) -> &RuntimePorts {
        &self.context.ports
    }

    /// How models gave their decisions in runs that this process drove to their end.
    pub fn decision_memory(&self) -> DecisionMemory {
        self.context.decisions.to_memory()
    }

    /// The time as runs record it.
    pub fn now(&self) -> Timestamp {
        self.context.ports.clock.now()
    }

    /// Whether a call of this tool changes nothing.
    pub fn is_read_only_tool(&self, tool: &str) -> bool {
        let mut specs = self.context.ports.tools.specs().iter();
        specs.any(|spec| spec.name == tool && spec.risk == ToolRisk::Read)
    }

    /// Every event of every run started from here; `deltas` adds the streamed pieces.
    pub fn subscribe(&self, deltas: bool) -> EventReceiver {
        self.context.bus.subscribe(deltas)
    }

    /// Every event of one run, with the streamed pieces.
    pub fn subscribe_run(&self, run: &RunId) -> EventReceiver {
        self.context.bus.subscribe_run(run)
    }

    /// Locks the project's files for a run that starts or resumes.
    pub(super) fn lock_for_run(
        &self,
        run: &RunId,
        spec: &RunSpec,
        starts: bool,
    ) -> Result<RunProjectLock, StoreError> {
        let hint = if starts { WAIT_OR_SHARE } else { WAIT_OR_SHARE_RESUMED };
        let LockTiming::BeforeChanges { waits } = self.context.options.lock_timing else {
            return Ok(RunProjectLock::acquired_at_start(self.lock(run, spec, hint)?));
        };
        if starts && !waits {
            // only a look: it is given back at once
            drop(self.lock(run, spec, hint)?);
        }
        let root = spec.program.workflows.first().filter(|_| spec.program.changes_files());
        let Some((root, lock)) = root.zip(self.context.ports.lock.clone()) else {
            return Ok(RunProjectLock::default());
        };
        let (shared, holder) = (Arc::clone(&self.context), self.lock_holder(run, &root.name, LockMode::Run));
        Ok(RunProjectLock::deferred(DeferredProjectLock { context: shared, lock, holder }))
    }

    /// The run whose end another one waits for, to change the project's files.
    pub fn awaited_lock_holder(&self, run: &RunId) -> Option<LockHolder> {
        self.context.runs.awaited_holder(run)
    }

    /// Keeps others from changing the project's files while this run may. A conversation changes them only when its
    /// user says so, and shares them. `hint`: what to do where another run works.
    pub(super) fn lock(
        &self,
        run: &RunId,
        spec: &RunSpec,
        hint: &str,
    ) -> Result<Option<ProjectLockGuard>, StoreError> {
        let Some(root) = spec.program.workflows.first() else { return Ok(None) };
        let Some(lock) = self.context.ports.lock.as_ref().filter(|_| spec.program.changes_files()) else {
            return Ok(None);
        };
        let holder = self.lock_holder(run, &root.name, LockMode::Run);
        let taken = match lock.try_lock(&holder) {
            Err(LockError::Held(_)) if root.conversational => {
                lock.try_lock(&LockHolder { hold: LockMode::Share, ..holder })
            }
            taken => taken,
        };
        taken.map(Some).map_err(|error| match error {
            LockError::Held(LockHolder { hold: LockMode::Files, .. }) => StoreError {
                message: format!("{error}: a run would work on files that change under its hands"),
                hint: Some("try again when it is done".to_owned()),
            },
            LockError::Held(LockHolder { pid, ref run, ref workflow, .. }) if pid == self.context.options.pid => {
                StoreError {
                    message: format!(
                        "run {run} of workflow `{workflow}` is still going on here: two runs would change the same files"
                    ),
                    hint: Some(hint.to_owned()),
                }
            }
            LockError::Held(_) => StoreError {
                message: format!("{error}: two runs would change the same files"),
                hint: Some(hint.to_owned()),
            },
            LockError::Io { message, hint } => StoreError { message, hint },
        })
    }

    pub(super) fn lock_holder(&self, run: &RunId, workflow: &str, hold: LockMode) -> LockHolder {
        let RuntimeOptions { project, pid, .. } = &self.context.options;
        let since = self.context.ports.clock.now();
        let (run, workflow) = (run.clone(), workflow.to_owned());
        LockHolder { run, workflow, pid: *pid, since, project: project.clone(), hold }
    }

    /// A new id, for what has to be named before its run starts.
    pub fn draw_run_id(&self) -> RunId {
        self.context.ports.ids.run_id()
    }

    /// 128 random bits as hexadecimal digits, to name a session that others must not guess.
    pub fn draw_session_id(&self) -> String {
        let ids = &self.context.ports.ids;
        format!("{:016x}{:016x}", ids.seed(), ids.seed())
    }

    /// Makes what this process has recorded findable by its words. Front-ends call it when they end.
    pub fn index_texts(&self) {
        self.ports().store.index_texts();
    }

    /// Sends a command to a run; one that is over ignores it.
    pub fn send_command(&self, run: &RunId, command: RunCommand) {
        self.context.runs.send(run, DriverMessage::Command(command));
    }

    /// Runs of this process that are not over.
    pub fn running_runs(&self) -> Vec<RunId> {
        self.context.runs.driven_runs()
    }

    /// The claim is over and nothing was changed. A dead process's run stays interrupted.
    pub(super) fn give_back(&self, run: &RunId, progress: RunProgress) {
        let _ = self.ports().store.append(run, &[], Some(&progress));
    }
}
