//! The questions for an approval, as replays tell them: the machine has no event for one.

use super::effect::Effect;
use super::event::RunEvent;
use super::input::Input;
use synthdev_domain::tool::ToolInvocation;

/// What is published where the user is asked for an approval, without a preview. `None`: the effect asks for none, or
/// `next`, the input that follows, is the refusal of a call that the user is not asked about.
pub fn asked_approval(effect: &Effect, next: Option<&Input>) -> Option<RunEvent> {
    let Effect::AskApproval { call, state, invocation, risk, deadline, .. } = effect else { return None };
    if matches!(next, Some(Input::ToolChecked { call: refused, refusal: Some(_) }) if refused == call) {
        return None;
    }
    let ToolInvocation { agent, tool, arguments, .. } = invocation.clone();
    let (call, state, risk, until) = (*call, state.clone(), *risk, *deadline);
    Some(RunEvent::ApprovalAsked { call, state, agent, tool, risk, arguments, preview: None, until })
}
