//! Drives one run: takes inputs in order, journals each before anything follows from it, performs effects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::AbortHandle;

use super::command::Command;
use super::journal::Journal;
use super::mail::{Mail, Partial};
use super::perform::Performer;
use super::shared::Shared;
use crate::domain::ids::{CallId, RunId};
use crate::domain::journal::RunProgress;
use crate::engine::effect::Effect;
use crate::engine::event::RunEvent;
use crate::engine::input::Input;
use crate::engine::machine::Machine;

pub(super) struct Driver {
    pub(super) run: RunId,
    pub(super) shared: Arc<Shared>,
    pub(super) machine: Machine,
    pub(super) journal: Journal,
    pub(super) inbox: UnboundedReceiver<Mail>,
    pub(super) outbox: UnboundedSender<Mail>,
    pub(super) interactive: bool,
    pub(super) journal_broken: bool,
    /// What lists know of the run, for the case that a bug ends it.
    pub(super) last: Arc<Mutex<Option<RunProgress>>>,
}

impl Driver {
    /// Runs until the machine is over; `false` if a bug ended it.
    pub(super) async fn run(mut self) -> bool {
        let partial: Partial = Arc::default();
        let performer = Performer {
            run: self.run.clone(),
            shared: Arc::clone(&self.shared),
            outbox: self.outbox.clone(),
            partial: Arc::clone(&partial),
            interactive: self.interactive,
        };
        let mut tasks: HashMap<CallId, AbortHandle> = HashMap::new();
        while !self.machine.is_over() {
            let Some(mail) = self.inbox.recv().await else { break };
            let Some(input) = as_input(mail, &partial) else {
                tasks.into_values().for_each(|task| task.abort());
                return false;
            };
            for effect in self.step(input) {
                match effect {
                    Effect::Abort { call } => {
                        if let Some(task) = tasks.remove(&call) {
                            task.abort();
                        }
                        // what it had streamed belongs to nobody any more
                        partial.lock().unwrap_or_else(PoisonError::into_inner).remove(&call);
                    }
                    Effect::Finish => {}
                    effect => {
                        if let Some((call, task)) = performer.perform(effect) {
                            tasks.retain(|_, task| !task.is_finished());
                            tasks.insert(call, task);
                        }
                    }
                }
            }
        }
        tasks.into_values().for_each(|task| task.abort());
        true
    }

    /// Whether lists would show something else. Ten thousand items of a loop, each with states of its own, must not
    /// write the same long path ten thousand times.
    fn is_news(&self, progress: &RunProgress) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_none_or(|last| {
            last.path.len() != progress.path.len()
                || last.status != progress.status
                || last.snapshot != progress.snapshot
                || progress.updated.0.saturating_sub(last.updated.0) >= STALE_MS
        })
    }

    /// One input through the machine. The journal is written before events are seen or effects begin.
    fn step(&mut self, input: Input) -> Vec<Effect> {
        let now = self.shared.ports.clock.now();
        let input = self.shared.redactor.clean_data(input);
        let output = self.machine.handle(now, input.clone());
        let boundary = output.events.iter().any(is_boundary);
        let progress = boundary.then(|| self.machine.progress()).filter(|progress| self.is_news(progress));
        if progress.is_some() {
            self.last.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&progress);
        }
        if let Err(error) = self.journal.record(now, &input, &output.effects, progress.as_ref())
            && !std::mem::replace(&mut self.journal_broken, true)
        {
            let text = format!("this run is no longer recorded: {error}");
            self.shared.bus.publish(&self.run, now, RunEvent::Warning { code: "journal".into(), text });
        }
        for event in output.events {
            log(&self.run, &event);
            self.shared.bus.publish(&self.run, now, event);
        }
        output.effects
    }
}

/// Milliseconds after which the summary row is written although only sums have changed.
const STALE_MS: i64 = 1_000;

/// Where the summary row changes in a way that lists show.
fn is_boundary(event: &RunEvent) -> bool {
    matches!(
        event,
        RunEvent::StateEntered { .. } | RunEvent::Finished { .. } | RunEvent::SnapshotTaken { .. }
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

fn as_input(mail: Mail, partial: &Partial) -> Option<Input> {
    Some(match mail {
        Mail::Broken => return None,
        Mail::Input(input) => {
            if let Input::Replied { call, .. } | Input::ModelFailed { call, .. } = &input {
                partial.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
            }
            input
        }
        Mail::Command(Command::Cancel) => Input::Cancelled { partial: take(partial), end: false },
        Mail::Command(Command::End) => Input::Cancelled { partial: take(partial), end: true },
        Mail::Command(Command::Approve { call, decision }) => Input::Approved { call, decision },
        Mail::Command(Command::Answer { call, answer }) => Input::Answered { call, answer },
        Mail::Command(Command::Say { text }) => Input::Said { text },
    })
}

fn take(partial: &Partial) -> Vec<(CallId, String)> {
    let all = std::mem::take(&mut *partial.lock().unwrap_or_else(PoisonError::into_inner));
    all.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}
