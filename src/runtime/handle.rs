//! The cheap, cloneable way in: start runs, steer them, watch them, read history and snapshots.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use tokio::sync::mpsc::unbounded_channel;

use super::command::RunCommand;
use super::driver::{DriverStart, RunDriver};
use super::driver_message::DriverMessage;
pub use super::event_bus::EventReceiver;
use super::held_effects::HeldEffects;
use super::journal::{self, RunJournal};
use super::lock_timing::LockTiming;
use super::preview::RecentEvents;
use super::redact::SecretRedactor;
pub use super::retry::RetryPolicy;
use super::run_project_lock::{DeferredProjectLock, RunProjectLock};
use super::runtime_context::RuntimeContext;
pub use super::runtime_context::{RuntimeOptions, RuntimePorts};
use super::shared_lock::SharedProjectLock;
use super::task_queue::AppliedAnswer;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunHeader;
use synthdev_domain::project_lock::{LockHolder, LockMode};
use synthdev_domain::snapshot::RunWorktree;
use synthdev_domain::tool::ToolRisk;
use synthdev_domain::workflow::{WorkflowProgram, plain_text};
use synthdev_engine::input::Input;
use synthdev_engine::machine::Machine;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::lock::{LockError, ProjectLock, ProjectLockGuard};
use synthdev_ports::model::ModelPort;
use synthdev_ports::run_store::StoreError;

/// What can be done from the command line where another run works.
pub const WAIT_OR_SHARE: &str =
    "wait for it, give this run a worktree of its own (--isolate), or share the files (--share)";

#[derive(Clone)]
pub struct RuntimeHandle {
    pub(super) context: Arc<RuntimeContext>,
}

impl RuntimeHandle {
    pub fn new(ports: RuntimePorts, mut options: RuntimeOptions) -> Self {
        let redactor = SecretRedactor::new(std::mem::take(&mut options.secrets));
        let (bus, runs, desk, exceptions) = (Arc::default(), Arc::default(), Arc::default(), Arc::default());
        Self {
            context: Arc::new(RuntimeContext {
                ports,
                options,
                redactor,
                sandbox_exceptions: exceptions,
                bus,
                runs,
                task_broker: desk,
            }),
        }
    }

    /// The same watchers and runs with other ports, for runs started from now on: the configuration changed.
    #[must_use]
    pub fn with_replaced_ports(&self, ports: RuntimePorts, mut options: RuntimeOptions) -> Self {
        let redactor = SecretRedactor::new(std::mem::take(&mut options.secrets));
        let RuntimeContext { bus, runs, task_broker: desk, sandbox_exceptions: exceptions, .. } =
            &*self.context;
        let (bus, runs, desk) = (Arc::clone(bus), Arc::clone(runs), Arc::clone(desk));
        let exceptions = Arc::clone(exceptions);
        Self {
            context: Arc::new(RuntimeContext {
                ports,
                options,
                redactor,
                sandbox_exceptions: exceptions,
                bus,
                runs,
                task_broker: desk,
            }),
        }
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
        let RuntimeContext {
            ports,
            options,
            redactor,
            sandbox_exceptions: exceptions,
            bus,
            runs,
            task_broker: desk,
        } = &*self.context;
        let (bus, runs, desk) = (Arc::clone(bus), Arc::clone(runs), Arc::clone(desk));
        let options = RuntimeOptions { lock_timing: locking, ..options.clone() };
        let (ports, redactor, exceptions) = (ports.clone(), redactor.clone(), Arc::clone(exceptions));
        Self {
            context: Arc::new(RuntimeContext {
                ports,
                options,
                redactor,
                sandbox_exceptions: exceptions,
                bus,
                runs,
                task_broker: desk,
            }),
        }
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

    fn with_lock(&self, lock: Option<Arc<dyn ProjectLock>>) -> Self {
        self.with_ports(RuntimePorts { lock, ..self.context.ports.clone() })
    }

    fn with_ports(&self, ports: RuntimePorts) -> Self {
        let RuntimeContext {
            options,
            redactor,
            sandbox_exceptions: exceptions,
            bus,
            runs,
            task_broker: desk,
            ..
        } = &*self.context;
        let (options, redactor, exceptions) = (options.clone(), redactor.clone(), Arc::clone(exceptions));
        let (bus, runs, desk) = (Arc::clone(bus), Arc::clone(runs), Arc::clone(desk));
        Self {
            context: Arc::new(RuntimeContext {
                ports,
                options,
                redactor,
                sandbox_exceptions: exceptions,
                bus,
                runs,
                task_broker: desk,
            }),
        }
    }

    pub(crate) fn ports(&self) -> &RuntimePorts {
        &self.context.ports
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

    /// Records and starts a run. It continues in the background; watch it through `subscribe`.
    ///
    /// # Errors
    /// The run cannot be recorded, another run works in this project, or a change of its files as a whole was cut off:
    /// nothing was started.
    pub fn start(&self, spec: RunSpec) -> Result<RunId, StoreError> {
        self.start_as(self.context.ports.ids.run_id(), spec, None)
    }

    /// The same with an id that was drawn before, because its worktree is named after it.
    ///
    /// # Errors
    /// As `start`.
    pub fn start_as(
        &self,
        run: RunId,
        spec: RunSpec,
        worktree: Option<RunWorktree>,
    ) -> Result<RunId, StoreError> {
        let shared = &self.context;
        let mut spec = spec;
        let warnings = std::mem::take(&mut spec.program.start_warnings);
        self.reject_keys_in_definition(&spec.program)?;
        // what is left are texts that models read, and inputs
        let spec = shared.redactor.clean_data(spec);
        let files = self.lock_for_run(&run, &spec, true)?;
        if spec.program.changes_files() {
            self.ensure_files_consistent()?;
        }
        let header = RunHeader { worktree, ..self.run_header(&run, &spec)? };
        self.listen_for_control();
        shared.ports.store.create(&header)?;
        let input = Input::Started { seed: shared.ports.ids.seed() };
        let mut machine = Machine::new(Arc::new(spec));
        let at = shared.ports.clock.now();
        let output = machine.handle_input(at, input.clone());
        shared.task_broker.apply_output(at, &run, &machine, AppliedAnswer::default(), &output);
        let mut rows = Vec::new();
        journal::input_rows(at, &input, &output.effects, &output.events, &mut rows)?;
        shared.ports.store.append(&run, &rows, Some(&machine.progress()))?;
        let opening = DriverStart {
            recent_events: RecentEvents::default(),
            output,
            warnings,
            at,
            repeated_effects: Vec::new(),
        };
        self.launch_driver(run.clone(), machine, files, opening, Vec::new());
        Ok(run)
    }

    /// A definition is recorded with its keys hidden, and a run is resumed from its record: states and scripts with a key
    /// in them would then do something else.
    ///
    /// # Errors
    /// A state or a script holds a key.
    pub(super) fn reject_keys_in_definition(&self, program: &WorkflowProgram) -> Result<(), StoreError> {
        let redactor = &self.context.redactor;
        if !redactor.contains_key(program) {
            return Ok(());
        }
        for workflow in &program.workflows {
            let state = workflow.states.iter().find(|state| redactor.contains_key(state));
            let script = || workflow.scripts.iter().find(|script| redactor.contains_key(script));
            let place = match state {
                Some(state) => format!("state `{}`", state.name),
                None => match script() {
                    Some(script) => format!("the script at {}:{}", script.place.line, script.place.column),
                    None => continue,
                },
            };
            return Err(StoreError {
                message: format!(
                    "workflow `{}` holds the text of an API key in {place}: nothing was started",
                    workflow.name
                ),
                hint: Some(
                    "name the variable instead of its text: `$NAME` in a command whose `env` sets it, or \
                     {\"env\": \"NAME\"} in a header of an `http` state"
                        .to_owned(),
                ),
            });
        }
        Ok(())
    }

    /// Drives a run from here on; `mail` is what it gets first.
    pub(super) fn launch_driver(
        &self,
        run: RunId,
        mut machine: Machine,
        files: RunProjectLock,
        mut opening: DriverStart,
        mail: Vec<Input>,
    ) {
        machine.compacts_history();
        let shared = Arc::clone(&self.context);
        let (outbox, inbox) = unbounded_channel();
        for input in mail {
            let _ = outbox.send(DriverMessage::Input(input));
        }
        let last = Arc::new(Mutex::new(Some(machine.progress())));
        shared.runs.insert_run(run.clone(), outbox.clone());
        let mine = outbox.clone();
        let driver = RunDriver {
            run: run.clone(),
            context: Arc::clone(&shared),
            machine,
            journal: RunJournal::new(run.clone(), Arc::clone(&shared.ports.store)),
            recent_events: std::mem::take(&mut opening.recent_events),
            inbox,
            outbox,
            held_effects: HeldEffects::default(),
            store_error: None,
            claim_lost: false,
            unpublished_end: None,
            last_progress: Arc::clone(&last),
            files,
        };
        tokio::spawn(async move {
            // A bug in one run ends that run only; the others and the screen continue.
            if !AssertUnwindSafe(driver.run(opening)).catch_unwind().await.unwrap_or(false) {
                let last = last.lock().unwrap_or_else(PoisonError::into_inner).take();
                shared.fail_crashed_run(&run, last);
            }
            if shared.runs.remove_run(&run, &mine) {
                shared.task_broker.mark_idle(&run, |run| shared.drives_run(run));
            }
        });
    }

    /// Locks the project's files for a run that starts or resumes.
    pub(super) fn lock_for_run(
        &self,
        run: &RunId,
        spec: &RunSpec,
        starts: bool,
    ) -> Result<RunProjectLock, StoreError> {
        let LockTiming::BeforeChanges { waits } = self.context.options.lock_timing else {
            return Ok(RunProjectLock::acquired_at_start(self.lock(run, spec)?));
        };
        if starts && !waits {
            // only a look: it is given back at once
            drop(self.lock(run, spec)?);
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
    /// user says so, and shares them.
    pub(super) fn lock(&self, run: &RunId, spec: &RunSpec) -> Result<Option<ProjectLockGuard>, StoreError> {
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
            LockError::Held(_) => StoreError {
                message: format!("{error}: two runs would change the same files"),
                hint: Some(WAIT_OR_SHARE.to_owned()),
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

    /// Sends a command to a run; one that is over ignores it.
    pub fn send_command(&self, run: &RunId, command: RunCommand) {
        self.context.send(run, DriverMessage::Command(command));
    }

    /// Runs of this process that are not over.
    pub fn running_runs(&self) -> Vec<RunId> {
        self.context.runs.driven_runs()
    }

    fn run_header(&self, run: &RunId, spec: &RunSpec) -> Result<RunHeader, StoreError> {
        let text = serde_json::to_string(spec).map_err(|error| StoreError {
            message: format!("the run cannot be recorded: {error}"),
            hint: None,
        })?;
        let root = spec.program.workflows.first();
        Ok(RunHeader {
            id: run.clone(),
            workflow: root.map(|workflow| workflow.name.clone()).unwrap_or_default(),
            definition_hash: spec.program.hash.clone(),
            spec: text,
            input: spec.inputs.values().map(plain_text).collect::<Vec<_>>().join("\n"),
            project: self.context.options.project.clone(),
            started: self.context.ports.clock.now(),
            pid: self.context.options.pid,
            origin: None,
            worktree: None,
        })
    }
}
