//! What was said long ago is let go of: a view never goes back, so what no agent of a conversation is shown any more is
//! needed by nobody, unless a script may read it or another definition may come.
//!
//! Owns when that is so. The length of what is gone stays in every sight, and the journal has all of it.

use super::Machine;
use crate::domain::context::{ContextSpec, Trim};
use crate::domain::ids::{AgentIx, ContextIx};
use crate::engine::thread::Thread;

/// Inputs from one look for what can be let go of to the next.
const APART: u32 = 512;

impl Machine {
    /// From now on it lets go of what it will not need, if no script can ask for it. Not for a machine that is to take up
    /// another definition.
    pub fn forgets(&mut self) {
        self.forgets = self.spec.program.workflows.iter().all(|workflow| workflow.scripts.is_empty());
    }

    /// Another input was taken.
    pub(super) fn forget_sometimes(&mut self) {
        if self.forgets {
            self.since_forgot += 1;
            if self.since_forgot >= APART {
                self.since_forgot = 0;
                self.forget_old();
            }
        }
    }

    /// Lets go of what no view shows any more. Whether anything is gone: then nothing may look at the whole of a
    /// conversation again.
    pub fn forget_old(&mut self) -> bool {
        let program = &self.spec.program;
        let lanes = std::iter::once(&mut self.lane).chain(self.lanes.values_mut());
        let mut gone = false;
        // what a branch says comes to its parent, whose agents have not seen it yet
        for frame in lanes.filter(|lane| lane.parent.is_none()).flat_map(|lane| &mut lane.frames) {
            let Some(workflow) = program.workflows.get(frame.workflow.0) else { continue };
            for (at, (thread, spec)) in frame.threads.iter_mut().zip(&workflow.contexts).enumerate() {
                let agents = workflow.agents.iter().enumerate();
                let seated = agents.filter(|(_, agent)| agent.context == ContextIx(at));
                if spec.trim == Trim::DropOldest && thread.base.is_none() {
                    thread.forget(spec, seated.map(|(agent, _)| AgentIx(agent)));
                }
                gone |= thread.gone > 0;
            }
        }
        gone
    }
}

impl Thread {
    /// `seated` are all agents that see this conversation: who has not looked at it yet will look at all of it.
    fn forget(&mut self, spec: &ContextSpec, seated: impl Iterator<Item = AgentIx>) {
        let begins = seated.map(|agent| self.sights.get(&agent).map_or(0, |sight| sight.begins_behind()));
        let until = begins.min().unwrap_or(0).min(self.length());
        let mut first =
            spec.pin_first.saturating_sub(self.kept.iter().filter(|(_, entry)| !entry.pinned).count());
        let old = self.log.entries.drain(..until.saturating_sub(self.gone));
        for (at, entry) in (self.gone..).zip(old) {
            if entry.pinned {
                self.kept.push((at, entry));
            } else if first > 0 {
                first -= 1;
                self.kept.push((at, entry));
            }
        }
        self.gone = self.gone.max(until);
        // the room of what was read at once stays with nobody
        if self.log.entries.capacity() > 4 * self.log.entries.len().max(64) {
            self.log.entries.shrink_to_fit();
        }
    }
}
