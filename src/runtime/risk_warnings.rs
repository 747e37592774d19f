//! The warning of a question, for a risky command that runs without one: under `--yes`, by the settings, by an answer for the whole
//! run. Only those who watch the run get it; no journal has it. Refuses to hold a command back.

use super::effect_executor::EffectExecutor;
use synthdev_domain::terminal_safe;
use synthdev_domain::tool::{ToolInvocation, ToolPreview, ToolRisk};
use synthdev_engine::event::RunEvent;

/// The code of the warning.
const CODE: &str = "risky_command";

/// Letters of the command in the warning.
const LONGEST_COMMAND: usize = 200;

impl EffectExecutor {
    /// The user is asked about this call: its warning stands in the question.
    pub(super) async fn note_risky_question(&self, executed: &ToolInvocation, risk: ToolRisk) {
        if self.risky_command(executed, risk).await.is_some() {
            self.context.asked_commands.remember(&self.run, executed);
        }
    }

    /// The call is about to run.
    pub(super) async fn warn_of_unasked_risk(&self, executed: &ToolInvocation, risk: ToolRisk) {
        let Some(found) = self.risky_command(executed, risk).await else { return };
        if self.context.asked_commands.consume(&self.run, executed) {
            return;
        }
        let command = terminal_safe::first_line(&found.command, LONGEST_COMMAND);
        let text = format!(
            "`{command}` runs without a question. {} To be asked first, leave out --yes and set `{}` to \"ask\" in the settings \
             (`approvals`)",
            found.warning, executed.tool
        );
        let code = CODE.to_owned();
        self.publish_event(RunEvent::Warning { code, text: self.context.redactor.redact_text(text) });
    }

    /// What a question would warn of. A refused call does not run, and is told as refused.
    async fn risky_command(&self, executed: &ToolInvocation, risk: ToolRisk) -> Option<RiskyCommand> {
        let tools = &self.context.ports.tools;
        if risk != ToolRisk::Execute || tools.refusal_reason(executed).is_some() {
            return None;
        }
        match tools.preview_call(executed).await? {
            ToolPreview::Command { command, warning, .. } => {
                Some(RiskyCommand { command, warning: warning? })
            }
            ToolPreview::Diff { .. } | ToolPreview::Text { .. } => None,
        }
    }
}

struct RiskyCommand {
    command: String,
    warning: String,
}
