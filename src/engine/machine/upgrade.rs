//! A run that stands somewhere moves to a changed definition: `resume --upgrade`, `fork --definition`.
//!
//! Owns: finding everything that a run holds by position again by its name, and asking anew what was asked under the
//! old definition. Refuses: half a move. What stands in the way is found before anything is changed.

mod agent_differences;
mod compatibility;
mod describe;
mod differences;
mod migrate;
mod migrate_inputs;
mod position_map;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Map;

use self::migrate::ProgramMigration;
use self::position_map::PositionMap;
use super::{Branch, BranchContinuation, Effect, Machine, PendingQuestion, RunEvent, WaitState};
use crate::agent_turn::SummarizationState;
use crate::effect::UserQuestion;
use crate::parallel::ParallelKind;
use crate::run_spec::RunSpec;
use synthdev_domain::script::ScriptTask;
use synthdev_domain::workflow::WorkflowProgram;

impl Machine {
    /// Moves the run to another definition: `Ok` tells what is different, for people. What was said, stored, counted
    /// and spent stays. Scripts and model calls under way are given up and asked for anew, under new ids; that leaves
    /// the machine with the output of the input at hand.
    ///
    /// # Errors
    /// Every reason why the run cannot go on under this definition; nothing was changed.
    pub fn upgrade(&mut self, program: WorkflowProgram) -> Result<Vec<String>, Vec<String>> {
        let old = Arc::clone(&self.spec);
        let names = PositionMap::new(&old.program, &program);
        let mut standing = compatibility::CompatibilityCheck::new(&old.program, &program, &names);
        for lane in self.all_lanes() {
            standing.lane(lane);
        }
        let mut problems = standing.problems;
        let given = migrate_inputs::carried(program.workflows.first(), &old.inputs, "")
            .map_err(|found| problems.extend(found))
            .unwrap_or_default();
        once(&mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut notes = differences::between(&old.program, &program, &names);
        notes.extend(
            self.all_lanes()
                .into_iter()
                .flat_map(|lane| compatibility::left_behind(lane, &old.program, &program, &names)),
        );
        once(&mut notes);
        let changed = program.hash != old.program.hash || program != old.program;
        let spec = RunSpec { program, inputs: given, ..(*old).clone() };
        self.move_to(&old, Arc::new(spec), &names);
        if changed {
            self.ask_anew();
        }
        Ok(notes)
    }

    /// What is different between two definitions, in the words of `upgrade`; no run stands anywhere.
    pub fn differences(old: &WorkflowProgram, new: &WorkflowProgram) -> Vec<String> {
        let mut notes = differences::between(old, new, &PositionMap::new(old, new));
        once(&mut notes);
        notes
    }

    fn move_to(&mut self, old: &RunSpec, spec: Arc<RunSpec>, names: &PositionMap) {
        let branches: BTreeSet<u64> =
            self.all_lanes().into_iter().filter(|lane| self.is_branch(lane)).map(|lane| lane.id).collect();
        let moving = ProgramMigration { old: &old.program, new: &spec.program, names };
        let mut added = Map::new();
        for lane in std::iter::once(&mut self.lane).chain(self.lanes.values_mut()) {
            added.extend(moving.lane(lane, branches.contains(&lane.id)));
        }
        self.spec = spec;
        // points of errands name states of the old one
        self.kept.clear();
        if !added.is_empty() {
            let state = self.state_name();
            self.emit(RunEvent::DataChanged { state, set: added, removed: Vec::new() });
        }
    }

    /// In the order in which they began.
    fn all_lanes(&self) -> Vec<&Branch> {
        let mut all: Vec<&Branch> = std::iter::once(&self.lane).chain(self.lanes.values()).collect();
        all.sort_by_key(|lane| lane.id);
        all
    }

    /// Whether it is a branch of a `parallel` state, whose conversations are merged at the join.
    fn is_branch(&self, lane: &Branch) -> bool {
        let forked = lane.parent.and_then(|(id, _)| self.lane_of(id));
        forked
            .and_then(|lane| lane.fork.as_ref())
            .is_some_and(|fork| matches!(fork.kind, ParallelKind::Branches))
    }

    /// Scripts and model calls under way are those of the old definition: their answers would be taken for answers to
    /// the new one.
    fn ask_anew(&mut self) {
        let current = self.lane.id;
        let asks = |lane: &&Branch| {
            let open = matches!(
                lane.phase,
                WaitState::Script(_) | WaitState::Values(_) | WaitState::Choice(_) | WaitState::Model(_)
            );
            // a lane that is about to enter a state, or is over, waits for nothing
            open && lane.jump.is_none() && lane.ended.is_none()
        };
        let open: Vec<u64> = self.all_lanes().into_iter().filter(asks).map(|lane| lane.id).collect();
        for id in open {
            if self.switch(id) {
                self.ask_lane_anew();
            }
        }
        self.switch(current);
    }

    fn ask_lane_anew(&mut self) {
        let Some((_, state)) = self.current_state() else { return };
        let phase = std::mem::replace(&mut self.lane.phase, WaitState::New);
        if let Some(call) = phase.pending() {
            self.effect(Effect::Abort { call });
        }
        match (phase, self.lane.then) {
            (WaitState::Script(_), BranchContinuation::Catch(at)) => {
                match state.recovery.catch.get(at).and_then(|rule| rule.before) {
                    Some(script) => {
                        let call = self.evaluate(ScriptTask::Run { script });
                        self.lane.phase = WaitState::Script(call);
                    }
                    None => self.after_catch(at),
                }
            }
            (
                WaitState::Script(_),
                BranchContinuation::Work | BranchContinuation::Done | BranchContinuation::Unanswered,
            ) => self.begin_state(&state),
            (WaitState::Values(_), _) => self.after_script(),
            (WaitState::Choice(_), _) => self.choose(),
            (WaitState::Model(_), _) => self.call_anew(),
            (other, _) => self.lane.phase = other,
        }
    }

    /// The same call, as the agent is now: it was counted already.
    fn call_anew(&mut self) {
        self.model_calls = self.model_calls.saturating_sub(1);
        if let Some(turn) = self.frame_mut().and_then(|frame| frame.turn.as_mut()) {
            turn.summing = SummarizationState::Free;
        }
        self.call_model();
    }
}

/// Each line once, in the order of its first.
fn once(lines: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
}
