//! For a look at what happened: what was said long ago is let go of while the run is played.
//!
//! A view never goes back, so what no agent of a conversation is shown any more is needed by nobody who only plays. Its
//! place in the log stays, as do its length in every sight.

use super::Machine;
use crate::domain::context::{Author, Trim};
use crate::domain::ids::{AgentIx, ContextIx};
use crate::engine::thread::Thread;

impl Machine {
    /// Lets go of the texts that no view shows any more. Whether there are such texts: then nothing may look at the whole
    /// of a conversation again.
    pub fn fade(&mut self) -> bool {
        let program = &self.spec.program;
        let lanes = std::iter::once(&mut self.lane).chain(self.lanes.values_mut());
        let mut faded = false;
        // what a branch says comes to its parent, whose agents have not seen it yet
        for frame in lanes.filter(|lane| lane.parent.is_none()).flat_map(|lane| &mut lane.frames) {
            let Some(workflow) = program.workflows.get(frame.workflow.0) else { continue };
            for (at, thread) in frame.threads.iter_mut().enumerate() {
                let trims = workflow.contexts.get(at).is_some_and(|spec| spec.trim == Trim::DropOldest);
                let agents = workflow.agents.iter().enumerate();
                let seated = agents.filter(|(_, agent)| agent.context == ContextIx(at));
                if trims && thread.base.is_none() {
                    thread.fade(seated.map(|(agent, _)| AgentIx(agent)));
                }
                faded |= thread.has_faded();
            }
        }
        faded
    }
}

impl Thread {
    /// `seated` are all agents that see this conversation: who has not looked at it yet will look at all of it.
    fn fade(&mut self, seated: impl Iterator<Item = AgentIx>) {
        let begins = seated.map(|agent| self.sights.get(&agent).map_or(0, |sight| sight.begins_behind()));
        let until = begins.min().unwrap_or(0).min(self.log.entries.len());
        for entry in self.log.entries.iter_mut().take(until).skip(self.faded).filter(|entry| !entry.pinned) {
            entry.author = Author::Workflow;
            entry.text = String::new();
            (entry.calls, entry.sealed, entry.to) = (Vec::new(), Vec::new(), None);
        }
        self.faded = self.faded.max(until);
    }

    fn has_faded(&self) -> bool {
        self.faded > 0
    }
}
