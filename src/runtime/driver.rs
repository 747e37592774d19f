//! Drives one run: takes inputs in order, journals each before anything follows from it, performs effects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::AbortHandle;

use super::command::Command;
use super::journal::Journal;
use super::mail::{Mail, Partial};
use super::perform::Performer;
use super::redact::Redactor;
use super::shared::Shared;
use crate::domain::ids::{CallId, RunId, Timestamp};
use crate::domain::journal::RunProgress;
use crate::engine::effect::Effect;
use crate::engine::event::RunEvent;
use crate::engine::input::Input;
use crate::engine::machine::{Machine, Output};
use crate::ports::lock::Guard;
use crate::ports::run_store::StoreError;

pub(super) struct Driver {
    pub(super) run: RunId,
    pub(super) shared: Arc<Shared>,
    pub(super) machine: Machine,
    pub(super) journal: Journal,
    pub(super) inbox: UnboundedReceiver<Mail>,
    pub(super) outbox: UnboundedSender<Mail>,
    pub(super) journal_broken: bool,
    /// What lists know of the run, for the case that a bug ends it.
    pub(super) last: Arc<Mutex<Option<RunProgress>>>,
    /// Nobody else changes the project's files meanwhile.
    pub(super) _guard: Option<Guard>,
}

/// How a run begins or goes on.
pub(super) struct Opening {
    /// What its first input led to, which is in the journal already.
    pub(super) output: Output,
    pub(super) at: Timestamp,
    /// What was asked for earlier and must be done again, with the number of the attempt.
    pub(super) again: Vec<(Effect, u32)>,
}

impl Driver {
    /// Runs until the machine is over, or the run is left as it is; `false` if a bug ended it.
    pub(super) async fn run(mut self, opening: Opening) -> bool {
        let partial: Partial = Arc::default();
        let performer = Performer {
            run: self.run.clone(),
            shared: Arc::clone(&self.shared),
            outbox: self.outbox.clone(),
            partial: Arc::clone(&partial),
            interactive: self.machine.is_present(),
        };
        let mut tasks = Tasks { performer, running: HashMap::new() };
        let Opening { output, at, again } = opening;
        self.tell(at, output.events);
        output.effects.into_iter().for_each(|effect| tasks.begin(effect));
        let again: Vec<(Effect, u32)> = again
            .into_iter()
            .filter(|(effect, _)| effect.call().is_some_and(|call| self.machine.awaits(call)))
            .collect();
        let recorded = self.journal.again(at, again.iter().map(|(effect, attempt)| (effect, *attempt)));
        self.note_broken(recorded);
        again.into_iter().for_each(|(effect, _)| tasks.begin(effect));
        while !self.machine.is_over() {
            let Some(mail) = self.inbox.recv().await else { break };
            let input = match mail {
                // its status stays as it is: whoever looks finds it interrupted, and can take it up again
                Mail::Command(Command::Leave) => break,
                Mail::Broken => return false,
                mail => as_input(mail, &partial, &self.shared.redactor),
            };
            if let Some(input) = input {
                self.step(input).into_iter().for_each(|effect| tasks.begin(effect));
            }
            if self.journal_broken && !self.shared.ports.store.drives(&self.run) {
                // somebody else took it up: two drivers would do everything twice
                break;
            }
        }
        drop(self.journal.flush());
        true
    }

    /// One input through the machine. The journal is written before events are seen or effects begin.
    fn step(&mut self, input: Input) -> Vec<Effect> {
        let now = self.shared.ports.clock.now();
        let input = self.shared.redactor.clean_data(input);
        let output = self.machine.handle(now, input.clone());
        let boundary = output.events.iter().any(is_boundary);
        let (machine, last) = (&self.machine, &self.last);
        let progress = || news(machine, last);
        let recorded =
            self.journal.record(now, &input, (&output.effects, &output.events), boundary, &progress);
        self.note_broken(recorded);
        self.tell(now, output.events);
        output.effects
    }

    fn tell(&self, at: Timestamp, events: Vec<RunEvent>) {
        for event in events {
            log(&self.run, &event);
            self.shared.bus.publish(&self.run, at, event);
        }
    }

    /// The run goes on without its journal, and says so once.
    fn note_broken(&mut self, recorded: Result<(), StoreError>) {
        if let Err(error) = recorded
            && !std::mem::replace(&mut self.journal_broken, true)
        {
            let now = self.shared.ports.clock.now();
            let text = format!("this run is no longer recorded: {error}");
            self.shared.bus.publish(&self.run, now, RunEvent::Warning { code: "journal".into(), text });
        }
    }
}

/// What is being done for the run; all of it stops with the driver.
struct Tasks {
    performer: Performer,
    running: HashMap<CallId, AbortHandle>,
}

impl Tasks {
    fn begin(&mut self, effect: Effect) {
        match effect {
            Effect::Abort { call } => {
                if let Some(task) = self.running.remove(&call) {
                    task.abort();
                }
                // what it had streamed belongs to nobody any more
                self.performer.partial.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
            }
            Effect::Finish => {}
            effect => {
                if let Some((call, task)) = self.performer.perform(effect) {
                    self.running.retain(|_, task| !task.is_finished());
                    self.running.insert(call, task);
                }
            }
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.running.values().for_each(AbortHandle::abort);
    }
}

/// What lists show, if it is something else than before. Ten thousand items of a loop, each with states of its own,
/// must not write the same long path ten thousand times.
fn news(machine: &Machine, last: &Mutex<Option<RunProgress>>) -> Option<RunProgress> {
    let progress = machine.progress();
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let news = last.as_ref().is_none_or(|last| {
        last.path.len() != progress.path.len()
            || last.status != progress.status
            || last.snapshot != progress.snapshot
            || progress.updated.0.saturating_sub(last.updated.0) >= STALE_MS
    });
    news.then(|| last.insert(progress).clone())
}

/// Milliseconds after which the summary row is written although only sums have changed.
const STALE_MS: i64 = 1_000;

/// Where the summary row changes in a way that lists show.
fn is_boundary(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::StateEntered { .. }
            | RunEvent::Finished { .. }
            | RunEvent::SnapshotTaken { .. }
            | RunEvent::Resumed { .. }
    )
}

/// The log file tells what happened and when, never what was said.
fn log(run: &RunId, event: &RunEvent) {
    match event {
        RunEvent::RunStarted { workflow, .. } => tracing::info!(%run, workflow, "started"),
        RunEvent::StateEntered { state, visit, .. } => tracing::debug!(%run, state, visit, "state"),
        RunEvent::ModelCalled { agent, model, messages, .. } => {
            tracing::debug!(%run, agent, model, messages, "model called");
        }
        RunEvent::ModelFailed { agent, code, attempts, .. } => {
            tracing::warn!(%run, agent, code, attempts, "model failed");
        }
        RunEvent::ToolStarted { agent, tool, .. } => tracing::debug!(%run, agent, tool, "tool"),
        RunEvent::SnapshotFailed { reason } => tracing::warn!(%run, reason, "no snapshot"),
        RunEvent::Finished { status, error, .. } => {
            let code = error.as_ref().map_or("", |error| error.code.as_str());
            tracing::info!(%run, status = status.as_str(), code, "finished");
        }
        _ => {}
    }
}

fn as_input(mail: Mail, partial: &Partial, redactor: &Redactor) -> Option<Input> {
    Some(match mail {
        Mail::Broken | Mail::Command(Command::Leave) => return None,
        Mail::Input(input) => {
            if let Input::Replied { call, .. } | Input::ModelFailed { call, .. } = &input {
                partial.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
            }
            input
        }
        Mail::Command(Command::Cancel) => Input::Cancelled { partial: take(partial, redactor), end: false },
        Mail::Command(Command::End) => Input::Cancelled { partial: take(partial, redactor), end: true },
        Mail::Command(Command::Approve { call, decision }) => Input::Approved { call, decision },
        Mail::Command(Command::Answer { call, answer }) => Input::Answered { call, answer },
        Mail::Command(Command::Say { text }) => Input::Said { text },
    })
}

fn take(partial: &Partial, redactor: &Redactor) -> Vec<(CallId, String)> {
    let all = std::mem::take(&mut *partial.lock().unwrap_or_else(PoisonError::into_inner));
    let cut = all.into_iter().filter(|(_, text)| !text.is_empty());
    cut.map(|(call, text)| (call, redactor.clean_cut(text))).collect()
}
