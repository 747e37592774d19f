//! A replay for those who only want to see what happened: events, costs, and where the run stands. It need not know what
//! comes next, so a journal can be fed while it is still being read.
//!
//! Refuses what only a replay with the whole journal at hand can do: leaving out what a run went back behind, and
//! budgets that appear in the middle of a run.

use std::sync::Arc;

use super::event::RunEvent;
use super::input::Input;
use super::machine::Machine;
use super::replay::is_bounded;
use super::spared::Spared;
use super::spec::RunSpec;
use crate::domain::ids::Timestamp;

/// Inputs go in one by one; the events are those of a whole replay (FSM-27).
#[derive(Debug)]
pub struct Look {
    machine: Machine,
    events: Vec<(Timestamp, RunEvent)>,
    /// The machine does not put together what it asks of models and scripts.
    spares: bool,
    fed: usize,
    /// Is fed when it is known what follows it.
    held: Option<(Timestamp, Input)>,
}

/// A journal that has to be replayed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeedsAll;

/// What was seen.
#[derive(Debug)]
pub struct Seen {
    /// Not for going on: what it waits for was never put together.
    pub machine: Machine,
    pub events: Vec<(Timestamp, RunEvent)>,
}

impl Look {
    pub fn new(spec: Arc<RunSpec>) -> Self {
        let spares = !is_bounded(&spec.program);
        let mut machine = Machine::new(spec);
        if spares {
            machine.spare(Arc::new(Spared::all()));
        }
        Self { machine, events: Vec::new(), spares, fed: 0, held: None }
    }

    /// Takes the next input.
    ///
    /// # Errors
    /// It makes earlier ones void, or brings a budget that earlier ones should have known.
    pub fn feed(&mut self, at: Timestamp, input: Input) -> Result<(), NeedsAll> {
        let (void, program) = match &input {
            Input::Returned(returned) => (returned.kept < self.fed, returned.program.as_ref()),
            Input::Resumed(resumed) => (false, resumed.program.as_ref()),
            Input::Started { .. }
            | Input::Cancelled { .. }
            | Input::Said { .. }
            | Input::SnapshotTaken { .. }
            | Input::SnapshotFailed { .. }
            | Input::Evaluated { .. }
            | Input::ScriptFailed { .. }
            | Input::Replied { .. }
            | Input::ModelFailed { .. }
            | Input::Approved { .. }
            | Input::ToolDone { .. }
            | Input::Answered { .. }
            | Input::Elapsed { .. } => (false, None),
        };
        if void || self.spares && program.is_some_and(is_bounded) {
            return Err(NeedsAll);
        }
        self.fed += 1;
        if let Some((at, earlier)) = self.held.replace((at, input)) {
            if let Some((_, Input::Returned(returned))) = &self.held {
                // a run that goes back stands still in the middle of the input before
                self.machine.halt_before(returned.step);
            }
            self.take(at, earlier);
        }
        Ok(())
    }

    pub fn end(mut self) -> Seen {
        if let Some((at, input)) = self.held.take() {
            self.take(at, input);
        }
        self.machine.spare(Arc::default());
        Seen { machine: self.machine, events: self.events }
    }

    fn take(&mut self, at: Timestamp, input: Input) {
        let mut output = self.machine.handle(at, input);
        self.events.extend(output.events.drain(..).map(|event| (at, event)));
        self.machine.reuse(output);
    }
}
