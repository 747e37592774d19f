//! Answers that are longer than what a model is shown are retained whole, for `read_output`.

use std::io::{Cursor, Read};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::background_commands::{BackgroundCommands, CommandEnd, CommandRecord, OutputOwner};
use super::held_output::HeldOutput;
use super::mcp_call;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use synthdev_domain::tool::ToolInvocation;

/// The answer, which names what is retained of it if it is longer than its reader gets.
pub(super) async fn retain_long_answer(
    project: &ToolContext,
    invocation: &ToolInvocation,
    answer: ToolAnswer,
) -> ToolAnswer {
    // a script has more of a result than a model is shown
    let cap = if invocation.tool == mcp_call::NAME { mcp_call::DATA_BYTES } else { project.cap };
    let Some((run, long)) = invocation.run.as_ref().zip(answer.long_text(cap)) else { return answer };
    let owner = OutputOwner { run, record: CommandRecord::new(&invocation.tool, ".", false) };
    let (text, seen) = (Cursor::new(long.text.to_owned()), long.beginning);
    match retain_output(&project.background_commands, &owner, text, seen, CommandEnd::new("ended", None))
        .await
    {
        Some(id) => answer.with_output_id(id),
        None => answer,
    }
}

/// Retains all of `output`, of which the model was shown the beginning up to `seen` and the end. Returns what `read_output` calls
/// it; `None`: it cannot be retained, and the model has what it was shown.
pub(super) async fn retain_output(
    commands: &BackgroundCommands,
    owner: &OutputOwner<'_>,
    mut output: impl Read + Send + 'static,
    seen: u64,
    end: CommandEnd,
) -> Option<String> {
    let command = match commands.add_ended(owner.run, owner.record.clone(), seen) {
        Ok(command) => command,
        Err(problem) => {
            tracing::debug!("a long answer was not retained: {problem}");
            return None;
        }
    };
    let (redaction, id) = (commands.redaction(), command.id());
    let kept = Arc::clone(&command);
    let copying = spawn_blocking(move || {
        let mut held = HeldOutput::new(kept.record().terminal);
        let mut piece = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = output.read(&mut piece) {
            kept.append(&redaction(held.push(&piece[..length])));
        }
        kept.append(&redaction(held.take_all()));
        kept.finish(end);
    });
    copying.await.ok().map(|()| id)
}
