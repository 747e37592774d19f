//! A call is checked before the user is asked about it: what its tool would answer without doing anything.

use super::effect_executor::{EffectExecutor, refused_for_mark};
use synthdev_domain::ids::CallId;
use synthdev_domain::tool::{ASKED_BY, ToolInvocation, ToolOutcome, ToolRisk};
use synthdev_engine::input::Input;

impl EffectExecutor {
    pub(super) async fn check_tool(&self, call: CallId, invocation: &ToolInvocation, risk: ToolRisk) {
        if !self.refuse_tool(call, invocation, risk).await {
            self.send_input(Input::ToolChecked { call, refusal: None });
        }
    }

    /// Answers a call that its tool refuses. Whether it does.
    pub(super) async fn refuse_tool(
        &self,
        call: CallId,
        invocation: &ToolInvocation,
        risk: ToolRisk,
    ) -> bool {
        let Some(mut outcome) = self.tool_refusal(&self.executed_call(invocation), risk).await else {
            return false;
        };
        outcome.content = self.context.redactor.redact_text(outcome.content);
        outcome.summary = self.context.redactor.redact_text(outcome.summary);
        self.send_input(Input::ToolChecked { call, refusal: Some(Box::new(outcome)) });
        true
    }

    async fn tool_refusal(&self, executed: &ToolInvocation, risk: ToolRisk) -> Option<ToolOutcome> {
        let tools = &self.context.ports.tools;
        if risk != ToolRisk::Read && executed.has_redaction_mark() {
            return Some(refused_for_mark(&executed.tool));
        }
        if let Some(reason) = tools.refusal_reason(executed) {
            // a step of a workflow gets the reason alone
            let is_step = executed.agent == ASKED_BY;
            let content = if is_step { reason.clone() } else { format!("not executed: {reason}") };
            return Some(ToolOutcome { content, summary: reason, ..ToolOutcome::default() });
        }
        tools.check_call(executed).await
    }
}
