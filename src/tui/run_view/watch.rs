//! Everything that the panes show of a run, folded from its events one by one.

use super::calls::Calls;
use super::data::Data;
use super::drawing::{Definition, Drawing};
use super::spending::Spending;
use super::timeline::Timeline;
use super::tree::Tree;
use crate::domain::ids::Timestamp;
use crate::domain::trail::Trail;
use crate::engine::event::RunEvent;
use crate::engine::trail::follow;

#[derive(Clone, Debug, Default)]
pub struct Watch {
    pub timeline: Timeline,
    pub calls: Calls,
    pub data: Data,
    pub spending: Spending,
    /// Called workflows, branches and items.
    pub tree: Tree,
    /// Counts changes of agents.
    pub agents: u64,
    pub drawing: Defined,
    trail: Trail,
    trail_version: u64,
}

/// Where the workflow's definition is.
#[derive(Clone, Debug, Default)]
pub enum Defined {
    /// Nobody wanted to see it.
    #[default]
    Unasked,
    Asked,
    Known(Box<Drawing>),
    /// It cannot be read: why.
    Unknown(String),
}

impl Watch {
    pub fn hear(&mut self, at: Timestamp, event: &RunEvent) {
        self.timeline.hear(at, event);
        self.calls.hear(at, event);
        self.data.hear(event);
        if self.tree.hear(event) {
            self.agents += 1;
        }
        follow(&mut self.trail, event);
        match event {
            RunEvent::StateEntered { .. }
            | RunEvent::Transitioned { .. }
            | RunEvent::Caught { .. }
            | RunEvent::ChildStarted { .. }
            | RunEvent::ChildFinished { .. }
            | RunEvent::BranchFinished { .. }
            | RunEvent::Joined { .. }
            | RunEvent::Replied { .. } => self.trail_version += 1,
            // the drawing was of what the workflow was
            RunEvent::Resumed { definition: Some(_), .. } => self.drawing = Defined::Unasked,
            _ => {}
        }
    }

    /// What the run's definition says came.
    pub fn define(&mut self, found: Result<Definition, String>) {
        self.drawing = match found {
            Ok(found) => {
                self.data.seed(&found.variables);
                Defined::Known(Box::new(Drawing::of(found.graphs)))
            }
            Err(why) => Defined::Unknown(why),
        };
        self.trail_version += 1;
    }

    /// Puts onto the drawing where the run has been, if that changed since it was done last.
    pub fn mark(&mut self) {
        if let Defined::Known(drawing) = &mut self.drawing {
            drawing.mark(&self.trail, self.trail_version);
        }
    }
}
