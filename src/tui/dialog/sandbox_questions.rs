//! Questions about commands that the sandbox keeps from the network, or that nothing would hold.

use super::{AskedToolCall, DialogKind, QuestionDialog};
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::question_text::{QuestionLine, approval_lines, program_lines};
use synthdev_domain::terminal_safe::escape_invisible_name;

impl QuestionDialog {
    /// The command has failed without the network.
    pub fn for_network(run: RunId, call: CallId, asked: AskedToolCall<'_>) -> Self {
        let (agent, tool) = (escape_invisible_name(asked.agent), escape_invisible_name(asked.tool));
        let mut body =
            program_lines("The sandbox keeps the network off. With it, the command is executed once more.");
        body.extend(approval_lines(asked.tool, asked.arguments, None));
        Self::from_lines(
            DialogKind::Network { run, call },
            format!("Allow {agent} the network for {tool}?"),
            body,
        )
    }

    /// No sandbox works here: each command is a question of its own.
    pub fn for_unsandboxed_command(run: RunId, call: CallId, asked: AskedToolCall<'_>, reason: &str) -> Self {
        let (agent, tool) = (escape_invisible_name(asked.agent), escape_invisible_name(asked.tool));
        let mut body = vec![QuestionLine::Danger(
            "this command runs WITHOUT A SANDBOX: it can access all your files and the network".to_owned(),
        )];
        body.extend(program_lines(reason));
        body.extend(approval_lines(asked.tool, asked.arguments, asked.preview));
        let title = format!("Execute {tool} for {agent} without a sandbox?");
        Self::from_lines(DialogKind::Unsandboxed { run, call }, title, body)
    }
}
