//! The cheap, cloneable way in: start runs, steer them, watch them, read history and snapshots.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::command::Command;
use super::driver::Driver;
use super::journal::Journal;
use super::mail::Mail;
use super::redact::Redactor;
pub use super::retry::RetryPolicy;
use super::shared::Shared;
pub use super::shared::{Options, Ports};
use crate::domain::ids::RunId;
use crate::domain::journal::RunHeader;
use crate::domain::workflow::plain_text;
use crate::engine::event::Published;
use crate::engine::input::Input;
use crate::engine::machine::Machine;
use crate::engine::spec::RunSpec;
use crate::ports::run_store::StoreError;

#[derive(Clone)]
pub struct Handle {
    pub(super) shared: Arc<Shared>,
}

impl Handle {
    pub fn new(ports: Ports, mut options: Options) -> Self {
        let redactor = Redactor::new(std::mem::take(&mut options.secrets));
        let shared = Shared { ports, options, redactor, bus: Arc::default(), runs: Arc::default() };
        Self { shared: Arc::new(shared) }
    }

    /// The same watchers and runs with other ports, for runs started from now on: the configuration changed.
    #[must_use]
    pub fn rewired(&self, ports: Ports, mut options: Options) -> Self {
        let redactor = Redactor::new(std::mem::take(&mut options.secrets));
        let (bus, runs) = (Arc::clone(&self.shared.bus), Arc::clone(&self.shared.runs));
        Self { shared: Arc::new(Shared { ports, options, redactor, bus, runs }) }
    }

    pub fn ports(&self) -> &Ports {
        &self.shared.ports
    }

    /// Every event of every run started from here; `deltas` adds the streamed pieces.
    pub fn subscribe(&self, deltas: bool) -> UnboundedReceiver<Published> {
        self.shared.bus.subscribe(deltas)
    }

    /// Records and starts a run. It goes on in the background; watch it through `subscribe`.
    ///
    /// # Errors
    /// The run cannot be recorded: nothing was started.
    pub fn start(&self, mut spec: RunSpec) -> Result<RunId, StoreError> {
        let shared = &self.shared;
        spec.inputs = shared.redactor.clean_data(spec.inputs);
        let last = Arc::default();
        let run = shared.ports.ids.run_id();
        let header = self.header(&run, &spec)?;
        shared.ports.store.create(&header)?;
        let (outbox, inbox) = unbounded_channel();
        let _ = outbox.send(Mail::Input(Input::Started { seed: shared.ports.ids.seed() }));
        shared.runs.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), outbox.clone());
        let driver = Driver {
            run: run.clone(),
            shared: Arc::clone(shared),
            interactive: spec.interactive,
            machine: Machine::new(Arc::new(spec)),
            journal: Journal { run: run.clone(), store: Arc::clone(&shared.ports.store) },
            inbox,
            outbox,
            journal_broken: false,
            last: Arc::clone(&last),
        };
        let shared = Arc::clone(shared);
        let id = run.clone();
        tokio::spawn(async move {
            // A bug in one run ends that run only; the others and the screen go on.
            if !AssertUnwindSafe(driver.run()).catch_unwind().await.unwrap_or(false) {
                let last = last.lock().unwrap_or_else(PoisonError::into_inner).take();
                shared.end_broken(&id, last);
            }
            shared.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        });
        Ok(run)
    }

    /// Sends a command to a run; one that is over ignores it.
    pub fn send(&self, run: &RunId, command: Command) {
        let runs = self.shared.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outbox) = runs.get(run) {
            let _ = outbox.send(Mail::Command(command));
        }
    }

    /// Runs of this process that are not over.
    pub fn running(&self) -> Vec<RunId> {
        self.shared.runs.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn header(&self, run: &RunId, spec: &RunSpec) -> Result<RunHeader, StoreError> {
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
            project: self.shared.options.project.clone(),
            started: self.shared.ports.clock.now(),
            pid: self.shared.options.pid,
            origin: None,
            worktree: None,
        })
    }
}
