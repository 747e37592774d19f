//! A replay for readers: events, costs, and the state of the run. It need not know the next inputs, so a journal can be
//! fed while it is still being read.
//!
//! Refuses what needs the whole journal: leaving out what a rewind discarded, and budgets that appear in the middle of
//! a run.

use std::sync::Arc;

use super::asked_approval::asked_approval;
use super::event::StepEvent;
use super::input::Input;
use super::machine::Machine;
use super::replay::{gives_agent_budget, is_program_bounded};
use super::replay_skips::ReplaySkips;
use super::run_spec::RunSpec;
use synthdev_domain::ids::Timestamp;

/// Gets the events as they come.
pub type ReplayEventSink<'a> = &'a mut dyn FnMut(Timestamp, StepEvent);

/// Inputs go in one by one; the events are those of a whole replay. None of them is kept.
#[derive(Debug)]
pub struct StreamingReplay {
    machine: Machine,
    /// The machine does not build requests for models and scripts.
    skips_requests: bool,
    inputs_fed: usize,
    /// Inputs between two compactions.
    compaction_interval: usize,
    /// Old entries were dropped.
    was_compacted: bool,
    /// Fed when the next input is known.
    held_input: Option<(Timestamp, Input)>,
    /// The held input reads old entries: nothing is dropped before it.
    held_looks_back: bool,
    tells_approvals: bool,
}

/// See [`StreamingReplay::with_compaction`].
const APART: usize = 512;

/// A journal that has to be replayed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NeedsFullReplay;

impl StreamingReplay {
    pub fn new(spec: Arc<RunSpec>) -> Self {
        let spares = !is_program_bounded(&spec.program);
        let mut machine = Machine::new(spec);
        if spares {
            machine.skip_calls(Arc::new(ReplaySkips::skip_all()));
        }
        Self {
            machine,
            skips_requests: spares,
            inputs_fed: 0,
            compaction_interval: APART,
            was_compacted: false,
            held_input: None,
            held_looks_back: false,
            tells_approvals: false,
        }
    }

    /// Also tells which approvals were asked for. A machine has no such event: it is published where a question is shown.
    #[must_use]
    pub fn with_asked_approvals(self) -> Self {
        Self { tells_approvals: true, ..self }
    }

    /// Drops entries that no prompt shows any more, each time after so many inputs.
    #[must_use]
    pub fn with_compaction(self, inputs: usize) -> Self {
        Self { compaction_interval: inputs.max(1), ..self }
    }

    /// Takes the next input.
    ///
    /// # Errors
    /// It makes earlier ones void, brings a budget that earlier ones should have known, or looks back at what was let go
    /// of.
    pub fn feed_input(
        &mut self,
        at: Timestamp,
        input: Input,
        told: ReplayEventSink<'_>,
    ) -> Result<(), NeedsFullReplay> {
        // a script that rewrites a conversation, and agents of a new definition, need all entries
        let (void, program, rewrites) = match &input {
            Input::Rewound(returned) => (returned.kept < self.inputs_fed, returned.program.as_ref(), false),
            Input::Resumed(resumed) => (false, resumed.program.as_ref(), false),
            Input::Evaluated { outcome, .. } => (false, None, !outcome.patch.contexts.is_empty()),
            Input::Started { .. }
            | Input::Cancelled { .. }
            | Input::Said { .. }
            | Input::Steered(_)
            | Input::SnapshotTaken { .. }
            | Input::SnapshotFailed { .. }
            | Input::ScriptFailed { .. }
            | Input::Replied { .. }
            | Input::ModelFailed { .. }
            | Input::Approved { .. }
            | Input::ToolChecked { .. }
            | Input::ToolDone { .. }
            | Input::Answered { .. }
            | Input::Stopped { .. }
            | Input::Elapsed { .. } => (false, None, false),
        };
        let looks_back = rewrites || program.is_some();
        let late = self.was_compacted && looks_back;
        let brings_budget = program.is_some_and(is_program_bounded) || gives_agent_budget(&input);
        if void || late || self.skips_requests && brings_budget {
            return Err(NeedsFullReplay);
        }
        self.inputs_fed += 1;
        self.held_looks_back = looks_back;
        if let Some((at, earlier)) = self.held_input.replace((at, input)) {
            if let Some((_, Input::Rewound(returned))) = &self.held_input {
                // a rewind stops the run in the middle of the input before it
                self.machine.halt_before(returned.step);
            }
            self.feed_machine(at, earlier, told);
        }
        Ok(())
    }

    /// The state of the run. Not for resuming: requests of pending effects were never built.
    pub fn finish(mut self, told: ReplayEventSink<'_>) -> Machine {
        if let Some((at, input)) = self.held_input.take() {
            self.feed_machine(at, input, told);
        }
        self.machine.skip_calls(Arc::default());
        self.machine
    }

    fn feed_machine(&mut self, at: Timestamp, input: Input, told: ReplayEventSink<'_>) {
        let mut output = self.machine.handle_input(at, input);
        output.events.drain(..).for_each(|event| told(at, event));
        if self.tells_approvals {
            let next = self.held_input.as_ref().map(|(_, input)| input);
            output
                .effects
                .iter()
                .filter_map(|asked| asked_approval(asked, next))
                .for_each(|event| told(at, event.into()));
        }
        self.machine.recycle_output(output);
        let is_due = self.inputs_fed.is_multiple_of(self.compaction_interval);
        if self.skips_requests && is_due && !self.held_looks_back {
            self.was_compacted = self.machine.forget_old();
        }
    }
}
