//! Branches and items end: counted, and when enough of them are there, merged in their order.

use serde_json::{Map, Value};

use super::spawn_branches::branch_name;
use super::{Branch, Machine, NextHandler, RunEvent};
use crate::branch::BranchResult;
use crate::merge::{self, BranchConflict};
use crate::parallel::{BranchWrites, ParallelProgress, failed_output};
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{BranchErrors, ForEachSpec, JoinPolicy, ParallelSpec, StateBody, StateSpec};

/// What to do after a branch or item has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JoinDecision {
    GoOn,
    /// Enough have succeeded: the others are stopped.
    Enough,
    /// Too many have failed: the others are stopped and the state fails.
    Failed,
}

impl Machine {
    /// The current branch is over: returns to the one that forked.
    pub(super) fn on_branch_ended(&mut self, ended: BranchResult) -> NextHandler {
        if let Some(agent) = &self.core.branches.current.spawned {
            return self.on_agent_ended(agent.number, ended);
        }
        let Some((parent, at)) = self.core.branches.current.parent else { return NextHandler::Wait };
        let Some(finished) = self.core.branches.replace_current(parent) else { return NextHandler::Wait };
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        self.emit_branch_finished(&state, at, &ended);
        let Some((parent, fork)) =
            self.core.branches.current.frames.last().zip(self.core.branches.current.fork.as_mut())
        else {
            return NextHandler::Wait;
        };
        let inherited = parent.child_result.as_ref().filter(|_| matches!(state.work, StateBody::Parallel(_)));
        fork.running_branches.remove(&at);
        let frame = finished.frames.into_iter().next();
        fork.files_touched |= frame.as_ref().is_some_and(|frame| frame.files_touched);
        match ended {
            Ok(output) => {
                fork.succeeded_count += 1;
                fork.record_child_output(at, inherited, frame.as_ref());
                fork.outputs[at] = Some(output.unwrap_or(Value::Null));
                if let (StateBody::Parallel(_), Some(frame)) = (&state.work, frame) {
                    fork.branch_writes.insert(at, BranchWrites::from_frame(frame));
                }
            }
            Err(failure) => {
                fork.failed_count += 1;
                fork.outputs[at] = Some(failed_output(&failure));
                fork.first_failure.get_or_insert((at, failure));
            }
        }
        match join_decision(&state, fork) {
            JoinDecision::GoOn => self.fill_places(),
            JoinDecision::Enough => {
                self.stop_branches();
                self.join_branches()
            }
            JoinDecision::Failed => {
                self.stop_branches();
                self.fail_fork(&state)
            }
        }
    }

    /// Whether the state that forked can continue although this branch, one more than so far, has failed.
    pub(super) fn tolerates_another(&self, branch: &Branch) -> bool {
        if branch.spawned.is_some() {
            // the agent that started it hears of it
            return true;
        }
        let forked = self.core.branches.parent_of(branch);
        let tolerates = forked.and_then(|branch| {
            let (frame, fork) = branch.frames.last().zip(branch.fork.as_ref())?;
            let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
            Some(tolerates_failures(&workflow.state(frame.state)?.work, fork, fork.failed_count + 1))
        });
        tolerates.unwrap_or(false)
    }

    fn emit_branch_finished(&mut self, state: &StateSpec, at: usize, ended: &BranchResult) {
        let (output, error) = match ended {
            Ok(output) => (output.clone(), None),
            Err(failure) => (None, Some(failure.clone())),
        };
        let owner = self.core.state_name();
        let branch = branch_name(&state.work, at);
        self.core.emit_event(RunEvent::BranchFinished { state: owner, branch, index: at, output, error });
    }

    fn fail_fork(&mut self, state: &StateSpec) -> NextHandler {
        let Some(fork) = self.core.branches.current.fork.take() else { return NextHandler::Wait };
        self.core.record_files_touched(fork.files_touched);
        self.core.emit_joined(&fork);
        let Some((at, cause)) = fork.first_failure else { return NextHandler::Wait };
        let branch = branch_name(&state.work, at);
        let failure = branch_failure(cause, &state.work, &branch, &self.core.state_name());
        NextHandler::fail(failure)
    }

    /// All that counts is there: what the branches wrote becomes the parent's, and the state has its result.
    pub(super) fn join_branches(&mut self) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        let Some(mut fork) = self.core.branches.current.fork.take() else { return NextHandler::Wait };
        self.core.record_files_touched(fork.files_touched);
        let left = std::mem::take(&mut fork.branch_writes);
        let merged = if let StateBody::Parallel(spec) = &state.work {
            self.merge_branches(spec, left)
        } else {
            Ok(())
        };
        self.core.emit_joined(&fork);
        if let Err(conflict) = merged {
            return NextHandler::fail(*conflict);
        }
        if let Some((frame, (_, output))) = self.core.frame_mut().zip(fork.child.take()) {
            frame.child_result = Some(output);
        }
        let success = fork.failed_count == 0;
        let value = if let StateBody::Parallel(spec) = &state.work {
            let named = spec.branches.iter().zip(fork.outputs);
            let named = named.filter_map(|(branch, output)| Some((branch.name.clone(), output?)));
            Value::Object(named.collect::<Map<_, _>>())
        } else {
            Value::Array(fork.outputs.into_iter().map(Option::unwrap_or_default).collect())
        };
        NextHandler::WorkDone(success, value)
    }

    fn merge_branches(
        &mut self,
        spec: &ParallelSpec,
        left: std::collections::BTreeMap<usize, BranchWrites>,
    ) -> Result<(), Box<RunError>> {
        let state = self.core.state_name();
        let Some(workflow) = self.core.workflow() else { return Ok(()) };
        let Some(frame) = self.core.frame_mut() else { return Ok(()) };
        let branches: Vec<(&str, &BranchWrites)> = left
            .iter()
            .filter_map(|(at, leaving)| Some((spec.branches.get(*at)?.name.as_str(), leaving)))
            .collect();
        let changes = merge::merge_data(&frame.data, &branches, &spec.merge).map_err(|conflict| {
            let BranchConflict { subject: what, first_branch: first, second_branch: second } = conflict;
            merge_conflict_error(
                "Two branches wrote the same data",
                format!("`common_data.{what}` was written by the branches `{first}` and `{second}` of state `{state}`"),
                format!("say what counts: \"merge\": {{\"{what}\": \"last\"}} (or first, append, sum, object)"),
            )
        })?;
        let names: Vec<&str> = workflow.contexts.iter().map(|context| context.name.as_str()).collect();
        let conversations = merge::merge_conversations(&frame.conversations, &names, &branches).map_err(|conflict| {
            let BranchConflict { subject: what, first_branch: first, second_branch: second } = conflict;
            merge_conflict_error(
                "Two branches rewrote the same conversation",
                format!("the context `{what}` was rewritten by the branch `{first}` and changed by `{second}` of state `{state}`"),
                "clear or rewrite a shared context before or after the parallel state, not inside".to_owned(),
            )
        })?;
        frame.conversations = conversations;
        frame.agents = merge::merge_memories(&frame.agents, &branches);
        if let Some(last) = branches.iter().rev().find_map(|(_, leaving)| leaving.last_answer.clone()) {
            frame.agent_replied = true;
            frame.last_response = last.response;
            frame.last_tool_calls = last.calls;
            frame.last_parsing_calls = last.parsing;
        }
        let (set, removed) = changes;
        frame.set_data(&set, &removed);
        if !set.is_empty() || !removed.is_empty() {
            self.core.emit_event(RunEvent::DataChanged { state, set, removed });
        }
        Ok(())
    }
}

/// The error of a branch or item as the state sees it that forked.
pub(super) fn branch_failure(cause: Box<RunError>, work: &StateBody, branch: &str, owner: &str) -> RunError {
    let what = if matches!(work, StateBody::ForEach(_)) { "Item" } else { "Branch" };
    let place = cause.state.as_ref().map_or_else(String::new, |state| format!(" in state `{state}`"));
    let detail = format!("{}{place}: {}", cause.title, cause.detail);
    let mut failure =
        RunError::new("sub_workflow_failed", format!("{what} `{branch}` of `{owner}` failed"), detail);
    failure.hint.clone_from(&cause.hint);
    failure.place.clone_from(&cause.place);
    failure.state = Some(owner.to_owned());
    failure.cause = Some(cause);
    failure
}

fn merge_conflict_error(title: &str, detail: String, hint: String) -> Box<RunError> {
    Box::new(RunError::new("merge_conflict", title, detail).with_hint(hint))
}

fn join_decision(state: &StateSpec, fork: &ParallelProgress) -> JoinDecision {
    match &state.work {
        StateBody::Parallel(spec) => branches_decision(spec, fork),
        StateBody::ForEach(spec) => items_decision(spec, fork),
        StateBody::None
        | StateBody::Agent { .. }
        | StateBody::Child { .. }
        | StateBody::Action(_)
        | StateBody::Pause(_)
        | StateBody::Wait(_)
        | StateBody::Fail { .. } => JoinDecision::GoOn,
    }
}

fn tolerates_failures(work: &StateBody, fork: &ParallelProgress, failed: usize) -> bool {
    match work {
        StateBody::Parallel(spec) => {
            let collects = spec.on_error == BranchErrors::Collect && spec.join == JoinPolicy::All;
            collects || fork.total - failed >= required_successes(spec, fork.total)
        }
        StateBody::ForEach(spec) => failed <= tolerated_failures(spec, fork.total),
        StateBody::None
        | StateBody::Agent { .. }
        | StateBody::Child { .. }
        | StateBody::Action(_)
        | StateBody::Pause(_)
        | StateBody::Wait(_)
        | StateBody::Fail { .. } => false,
    }
}

fn required_successes(spec: &ParallelSpec, total: usize) -> usize {
    match spec.join {
        JoinPolicy::All => total,
        JoinPolicy::Any => 1,
        JoinPolicy::Count(count) => (count as usize).min(total),
    }
}

fn branches_decision(spec: &ParallelSpec, fork: &ParallelProgress) -> JoinDecision {
    let needed = required_successes(spec, fork.total);
    let all = spec.join == JoinPolicy::All;
    if !all && fork.succeeded_count >= needed {
        return JoinDecision::Enough;
    }
    let hopeless = fork.total - fork.failed_count < needed;
    match spec.on_error {
        BranchErrors::FailFast if hopeless => JoinDecision::Failed,
        // collecting forgives failures only while the join can still be had, or waits for all anyway
        BranchErrors::Collect if hopeless && !all && fork.is_done() => JoinDecision::Failed,
        BranchErrors::FailFast | BranchErrors::Collect => JoinDecision::GoOn,
    }
}

fn items_decision(spec: &ForEachSpec, fork: &ParallelProgress) -> JoinDecision {
    if fork.failed_count > tolerated_failures(spec, fork.total) {
        JoinDecision::Failed
    } else {
        JoinDecision::GoOn
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "a share of a number of items"
)]
fn tolerated_failures(spec: &ForEachSpec, total: usize) -> usize {
    let share = (total as f64 * spec.tolerated_percent / 100.0).floor() as usize;
    share.max(spec.tolerated_failures as usize)
}
