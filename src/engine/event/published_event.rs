//! An event with what it does not say itself: its run, time and step.

use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::RunEvent;
use synthdev_domain::ids::{RunId, Timestamp};

/// An event with its run, time and step; one line of `--events`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PublishedEvent {
    pub run: RunId,
    pub at: Timestamp,
    /// As in [`StepEvent`]. Pieces and retries of a model call, and notices of the program itself, have none.
    #[serde(default, skip_serializing_if = "is_before_steps")]
    pub at_step: u32,
    #[serde(flatten)]
    pub event: RunEvent,
}

/// An event with the step in which it happened. The step is no part of the event: it follows from the ones before.
#[derive(Clone, PartialEq, Debug)]
pub struct StepEvent {
    /// From 1, as `runs steps` counts; 0: before the first step.
    pub at_step: u32,
    pub event: RunEvent,
}

impl Deref for StepEvent {
    type Target = RunEvent;

    fn deref(&self) -> &RunEvent {
        &self.event
    }
}

/// Of no step.
impl From<RunEvent> for StepEvent {
    fn from(event: RunEvent) -> Self {
        Self { at_step: 0, event }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_before_steps(step: &u32) -> bool {
    *step == 0
}
