//! Moves a run in progress to a changed definition: `resume --upgrade`, `fork --definition`.
//!
//! Owns: finding everything that a run holds by position again by its name, and asking anew what was asked under the
//! old definition. Refuses: half a move. Everything that prevents the move is found before anything is changed.

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
use super::{Branch, BranchContinuation, Effect, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::agent_turn::SummarizationState;
use crate::effect::UserQuestion;
use crate::parallel::ParallelKind;
use crate::run_spec::RunSpec;
use synthdev_domain::script::ScriptTask;
use synthdev_domain::workflow::WorkflowProgram;

impl Machine {
    /// Moves the run to another definition: `Ok` lists the differences for the user. Messages, stored values, counts
    /// and costs stay. Scripts and model calls under way are given up and started again under new ids; that leaves the
    /// machine with the output of the input at hand.
    ///
    /// # Errors
    /// Every reason why the run cannot continue under this definition; nothing was changed.
    pub fn upgrade_program(&mut self, program: WorkflowProgram) -> Result<Vec<String>, Vec<String>> {
        let old = Arc::clone(&self.core.spec);
        let names = PositionMap::new(&old.program, &program);
        let mut standing = compatibility::CompatibilityCheck::new(&old.program, &program, &names);
        for branch in self.core.branches.sorted() {
            standing.check_branch(branch);
        }
        let mut problems = standing.problems;
        let given = migrate_inputs::migrate_input_values(program.workflows.first(), &old.inputs, "")
            .map_err(|found| problems.extend(found))
            .unwrap_or_default();
        remove_duplicate_lines(&mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut notes = differences::program_differences(&old.program, &program, &names);
        notes.extend(
            self.core
                .branches
                .sorted()
                .into_iter()
                .flat_map(|branch| compatibility::unused_branch_data(branch, &old.program, &program, &names)),
        );
        remove_duplicate_lines(&mut notes);
        let changed = program.hash != old.program.hash || program != old.program;
        let spec = RunSpec { program, inputs: given, ..(*old).clone() };
        self.move_to(&old, Arc::new(spec), &names);
        if changed {
            self.reissue_calls();
        }
        Ok(notes)
    }

    /// The differences between two definitions, in the words of `upgrade_program`, without a run in progress.
    pub fn program_differences(old: &WorkflowProgram, new: &WorkflowProgram) -> Vec<String> {
        let mut notes = differences::program_differences(old, new, &PositionMap::new(old, new));
        remove_duplicate_lines(&mut notes);
        notes
    }

    fn move_to(&mut self, old: &RunSpec, spec: Arc<RunSpec>, names: &PositionMap) {
        let branches: BTreeSet<u64> = self
            .core
            .branches
            .sorted()
            .into_iter()
            .filter(|branch| self.is_branch(branch))
            .map(|branch| branch.id)
            .collect();
        let moving = ProgramMigration { old_program: &old.program, new_program: &spec.program, names };
        let mut added = Map::new();
        for branch in self.core.branches.all_mut() {
            added.extend(moving.migrate_branch(branch, branches.contains(&branch.id)));
        }
        self.core.spec = spec;
        // checkpoints of tasks name states of the old definition
        self.checkpoints.clear();
        if !added.is_empty() {
            let state = self.core.state_name();
            self.core.emit_event(RunEvent::DataChanged { state, set: added, removed: Vec::new() });
        }
    }

    /// Whether it is a branch of a `parallel` state, whose conversations are merged at the join.
    fn is_branch(&self, branch: &Branch) -> bool {
        let forked = self.core.branches.parent_of(branch);
        forked
            .and_then(|branch| branch.fork.as_ref())
            .is_some_and(|fork| matches!(fork.kind, ParallelKind::Branches))
    }

    /// Scripts and model calls under way are those of the old definition: their answers would be taken for answers to
    /// the new one.
    fn reissue_calls(&mut self) {
        let current = self.core.branches.current.id;
        let asks = |branch: &&Branch| {
            let open = matches!(
                branch.wait_state,
                WaitState::Script(_) | WaitState::Values(_) | WaitState::Choice(_) | WaitState::Model(_)
            );
            // a branch that is about to enter a state, or is over, waits for nothing
            open && branch.next_state.is_none() && branch.result.is_none()
        };
        let open: Vec<u64> =
            self.core.branches.sorted().into_iter().filter(asks).map(|branch| branch.id).collect();
        for id in open {
            if self.core.branches.switch_to(id) {
                let next = self.reissue_branch_call();
                self.advance(next);
            }
        }
        self.core.branches.switch_to(current);
    }

    fn reissue_branch_call(&mut self) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let wait_state = std::mem::replace(&mut self.core.branches.current.wait_state, WaitState::New);
        if let Some(call) = wait_state.pending_call() {
            self.core.push_effect(Effect::Abort { call });
        }
        match (wait_state, self.core.branches.current.continuation) {
            (WaitState::Script(_), BranchContinuation::Catch(at)) => {
                match state.recovery.catch.get(at).and_then(|rule| rule.before) {
                    Some(script) => {
                        let call = self.evaluate_script(ScriptTask::Run { script });
                        self.core.branches.current.wait_state = WaitState::Script(call);
                        NextHandler::Wait
                    }
                    None => self.after_catch(at),
                }
            }
            (
                WaitState::Script(_),
                BranchContinuation::Work | BranchContinuation::Done | BranchContinuation::Unanswered,
            ) => NextHandler::BeginState,
            (WaitState::Values(_), _) => NextHandler::DoWork,
            (WaitState::Choice(_), _) => NextHandler::ChooseTransition,
            (WaitState::Model(_), _) => self.reissue_model_call(),
            (other, _) => {
                self.core.branches.current.wait_state = other;
                NextHandler::Wait
            }
        }
    }

    /// The same call, as the agent is now: it was counted already.
    fn reissue_model_call(&mut self) -> NextHandler {
        self.budgets.model_calls = self.budgets.model_calls.saturating_sub(1);
        if let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) {
            turn.summarization = SummarizationState::Free;
        }
        NextHandler::CallModel
    }
}

/// Each line once, in the order of its first.
fn remove_duplicate_lines(lines: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
}
