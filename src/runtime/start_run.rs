//! Starting a run: its record, the project's lock, the first input, and the task that drives it.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use tokio::sync::mpsc::unbounded_channel;

use super::driver::{DriverStart, EventPublisher, RunDriver};
use super::driver_message::DriverMessage;
use super::handle::RuntimeHandle;
use super::held_effects::HeldEffects;
use super::journal::{self, RunJournal};
use super::preview::RecentEvents;
use super::run_project_lock::RunProjectLock;
use super::state_schedule::StateSchedule;
use super::task_queue::AppliedAnswer;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunHeader;
use synthdev_domain::snapshot::RunWorktree;
use synthdev_domain::workflow::{WorkflowProgram, plain_text};
use synthdev_engine::input::Input;
use synthdev_engine::machine::Machine;
use synthdev_engine::pending_requests::PendingRequests;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::run_store::StoreError;

impl RuntimeHandle {
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
        shared.decisions.apply_to(&mut spec.program);
        self.reject_keys_in_definition(&spec.program)?;
        // what is left are texts that models read, and inputs
        let spec = shared.redactor.clean_data(spec);
        let files = self.lock_for_run(&run, &spec, true)?;
        if spec.program.changes_files() {
            self.ensure_files_consistent()?;
        }
        let header = RunHeader { worktree, ..self.run_header(&run, &spec)? };
        self.listen_for_control();
        // a pause that comes before the driver is there waits for it
        let _starting = shared.task_broker.begin_resume(&run);
        shared.ports.store.create(&header)?;
        let input = Input::Started { seed: shared.ports.ids.seed() };
        let mut machine = Machine::new(Arc::new(spec));
        let at = shared.ports.clock.now();
        let mut requests = PendingRequests::default();
        let output = requests.handle_input(&mut machine, at, input.clone());
        shared.task_broker.apply_output(at, &run, &machine, AppliedAnswer::default(), &output);
        let mut rows = Vec::new();
        journal::input_rows(at, &input, &output.effects, &output.events, &mut rows)?;
        shared.ports.store.append(&run, &rows, Some(&machine.progress()))?;
        let opening = DriverStart {
            requests,
            state_schedule: StateSchedule::default(),
            recent_events: RecentEvents::default(),
            output,
            warnings,
            at,
            repeated_effects: Vec::new(),
            is_new_run: true,
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
        let (inbox_sender, inbox) = unbounded_channel();
        for input in mail {
            let _ = inbox_sender.send(DriverMessage::Input(input));
        }
        let last = Arc::new(Mutex::new(Some(machine.progress())));
        shared.runs.insert_run(run.clone(), inbox_sender.clone(), Arc::clone(&shared.ports.tools));
        let mine = inbox_sender.clone();
        let driver = RunDriver {
            run: run.clone(),
            context: Arc::clone(&shared),
            publisher: EventPublisher::new(run.clone(), Arc::clone(&shared)),
            machine,
            requests: std::mem::take(&mut opening.requests),
            state_schedule: opening.state_schedule.with_interval(shared.options.state_interval),
            journal: RunJournal::new(run.clone(), Arc::clone(&shared.ports.store)),
            recent_events: std::mem::take(&mut opening.recent_events),
            inbox,
            inbox_sender,
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
