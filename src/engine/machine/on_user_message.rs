//! `Input::Said`: a message of the user that no dialog asked for.

use super::{CallId, Effect, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::effect::UserQuestion;
use crate::input::UserAnswer;
use synthdev_domain::workflow::PauseKind;

impl Machine {
    /// A message of the user answers the first branch that waits for text; else it is queued.
    pub(super) fn on_user_message(&mut self, text: String) -> NextHandler {
        if let Some((branch, call)) = self.branch_awaiting_text()
            && self.core.branches.switch_to(branch)
        {
            if self.core.branches.current.was_shown {
                self.core.push_effect(Effect::Abort { call });
            }
            return self.on_answered(call, UserAnswer::Text { text });
        }
        self.core.emit_event(RunEvent::Queued { text: text.clone() });
        self.messages.push(text);
        NextHandler::Wait
    }

    fn branch_awaiting_text(&self) -> Option<(u64, CallId)> {
        let mut branches: Vec<_> = self.core.branches.all().collect();
        branches.sort_by_key(|branch| branch.id);
        branches.into_iter().find_map(|branch| {
            let WaitState::Person(call, asked) = branch.wait_state else { return None };
            let words = matches!(branch.question, Some(UserQuestion::Pause { kind: PauseKind::Text, .. }));
            let open = matches!(asked, PendingQuestion::Pause | PendingQuestion::Request);
            (asked == PendingQuestion::Message || open && words).then_some((branch.id, call))
        })
    }
}
