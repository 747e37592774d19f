//! What a state with a `type` does.

use super::actions::StepForm;
use super::for_each_form::ForEachForm;
use super::parallel_form::ParallelForm;
use super::pauses::{FailForm, PauseForm, WaitForm};
use super::spanned::InputForm;

#[derive(Clone, PartialEq, Debug, Default)]
pub enum WorkForm {
    /// No `type`: the agent, sub-workflow or script that the state names.
    #[default]
    Plain,
    Parallel(ParallelForm),
    ForEach(ForEachForm),
    /// `tool`, `mcp`, `shell`, `http`.
    Step(StepForm),
    Pause(PauseForm),
    Wait(WaitForm),
    Fail(FailForm),
    Final,
}

impl WorkForm {
    /// Every value that is looked at when the state does its work, in a fixed order.
    pub fn inputs(&self) -> Vec<&InputForm> {
        match self {
            Self::Plain | Self::Parallel(_) | Self::Final => Vec::new(),
            Self::ForEach(form) => vec![&form.items],
            Self::Step(form) => form.arguments.computed_leaves.iter().map(|(_, input)| input).collect(),
            Self::Pause(form) => form.message.iter().collect(),
            Self::Wait(form) => vec![&form.input],
            Self::Fail(form) => form.cause.iter().collect(),
        }
    }
}
