//! The loop of handlers: runs one handler after the other until the current branch waits.

use super::Machine;
use super::next_handler::NextHandler;

impl Machine {
    /// Runs handlers one after the other until the current branch waits.
    pub(super) fn advance(&mut self, mut next: NextHandler) {
        loop {
            next = match next {
                NextHandler::Wait => return,
                NextHandler::BeginState => self.begin_state(),
                NextHandler::DoWork => self.begin_work(),
                NextHandler::CallModel if self.is_compacting() => self.call_for_compaction(),
                NextHandler::CallModel => self.call_model(),
                NextHandler::ContinueRound => self.next_tool(),
                NextHandler::RunTool(invocation, risk) => self.run_tool(*invocation, risk),
                NextHandler::RunWaitingTool => self.run_waiting_tool(),
                NextHandler::FinishTool(call, outcome) => self.finish_tool(call, *outcome),
                NextHandler::PermitAction => self.permit_action(),
                NextHandler::ActionDenied(reason) => self.action_denied(&reason),
                NextHandler::ActionDone(outcome) => self.on_action_done(*outcome),
                NextHandler::EndTurn(end) => self.end_turn(*end),
                NextHandler::WorkDone(success, value) => self.work_done(success, value),
                NextHandler::StoreResult(value) => self.store_result(value),
                NextHandler::ChooseTransition => self.choose_transition(),
                NextHandler::Follow { guard, target, tried } => self.follow_transition(guard, target, tried),
                NextHandler::JoinBranches => self.join_branches(),
                NextHandler::FinishFrame(output) => self.finish_frame(output),
                NextHandler::Answer(call, answer) => self.on_answered(call, answer),
                NextHandler::ReachLimit(reached) => self.on_limit_reached(*reached),
                NextHandler::Fail(failure) => self.fail_state(*failure),
            }
        }
    }
}
