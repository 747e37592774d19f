//! The cheap, cloneable way in: start runs, steer them, watch them, read history and snapshots.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::bus::Bus;
use super::command::Command;
use super::driver::{Driver, Mail};
use super::journal::Journal;
use super::redact::Redactor;
pub use super::retry::RetryPolicy;
use crate::domain::cost::Usage;
use crate::domain::failure::Failure;
use crate::domain::ids::RunId;
use crate::domain::journal::{RunHeader, RunProgress, RunStatus};
use crate::domain::workflow::plain_text;
use crate::engine::event::{Published, RunEvent};
use crate::engine::input::Input;
use crate::engine::machine::Machine;
use crate::engine::spec::RunSpec;
use crate::ports::clock::{Clock, IdSource};
use crate::ports::model::ModelPort;
use crate::ports::run_store::{RunStore, StoreError};
use crate::ports::script::ScriptPort;
use crate::ports::snapshot::SnapshotPort;
use crate::ports::tool::ToolPort;

/// Everything the runtime needs of the world.
#[derive(Clone)]
pub struct Ports {
    pub models: Arc<dyn ModelPort>,
    pub tools: Arc<dyn ToolPort>,
    pub scripts: Arc<dyn ScriptPort>,
    pub snapshots: Arc<dyn SnapshotPort>,
    pub store: Arc<dyn RunStore>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
}

/// Facts of this process that runs record, and how model calls are repeated.
#[derive(Clone, Default)]
pub struct Options {
    /// The project's directory, as shown in history.
    pub project: String,
    pub pid: u32,
    pub retry: RetryPolicy,
    /// Keys to hide wherever a tool prints them.
    pub secrets: Vec<String>,
}

pub(super) struct Shared {
    pub(super) ports: Ports,
    pub(super) options: Options,
    pub(super) redactor: Redactor,
    pub(super) bus: Bus,
    runs: Mutex<HashMap<RunId, UnboundedSender<Mail>>>,
}

#[derive(Clone)]
pub struct Handle {
    pub(super) shared: Arc<Shared>,
}

impl Handle {
    pub fn new(ports: Ports, mut options: Options) -> Self {
        let redactor = Redactor::new(std::mem::take(&mut options.secrets));
        let shared = Shared { ports, options, redactor, bus: Bus::default(), runs: Mutex::default() };
        Self { shared: Arc::new(shared) }
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
    pub fn start(&self, spec: RunSpec) -> Result<RunId, StoreError> {
        let shared = &self.shared;
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
        };
        let shared = Arc::clone(shared);
        let id = run.clone();
        tokio::spawn(async move {
            // A bug in one run ends that run only; the others and the screen go on.
            if !AssertUnwindSafe(driver.run()).catch_unwind().await.unwrap_or(false) {
                shared.end_broken(&id);
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
        })
    }
}

impl Shared {
    /// The driver panicked: the run is closed as failed, so that nobody waits for it.
    fn end_broken(&self, run: &RunId) {
        let now = self.ports.clock.now();
        let error =
            Failure::new("bug", "This run hit a bug in the program", "the run was stopped; other runs go on")
                .hint("report it with the run's id; what it did is in its history");
        let progress = RunProgress {
            status: RunStatus::Failed,
            path: Vec::new(),
            usage: Usage::default(),
            cost_usd: None,
            snapshot: None,
            output: None,
            error: Some(error.clone()),
            updated: now,
        };
        let _ = self.ports.store.append(run, &[], Some(&progress));
        self.bus.publish(
            run,
            now,
            RunEvent::Finished {
                status: RunStatus::Failed,
                output: None,
                error: Some(error),
                path: Vec::new(),
                snapshot: None,
                usage: Usage::default(),
                cost_usd: None,
            },
        );
    }
}
