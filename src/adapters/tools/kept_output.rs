//! Answers that are longer than what a model is shown are kept whole, for `read_output`.

use std::io::{Cursor, Read};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::background_commands::{CommandEnd, CommandRecord};
use super::held_output::HeldOutput;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use synthdev_domain::ids::RunId;
use synthdev_domain::tool::ToolInvocation;

/// What an answer calls the output that is kept of it.
pub(super) const OUTPUT_ID: &str = "output_id";

/// What the answer of a call is kept as, and for which run.
#[derive(Clone)]
pub(super) struct KeptFor<'a> {
    pub(super) run: &'a RunId,
    pub(super) record: CommandRecord,
}

/// The answer, which names what is kept of it if it is longer than a model is shown.
pub(super) async fn keep_long_answer(
    project: &ToolContext,
    invocation: &ToolInvocation,
    answer: ToolAnswer,
) -> ToolAnswer {
    let Some((run, text)) = invocation.run.as_ref().zip(answer.long_body(project.cap)) else { return answer };
    let kept_for = KeptFor { run, record: CommandRecord::new(&invocation.tool, ".", false) };
    let (text, seen) = (Cursor::new(text.to_owned()), project.cap as u64 / 2);
    match keep_output(project, &kept_for, text, seen, CommandEnd::new("ended", None)).await {
        Some(id) => answer.with_fact(OUTPUT_ID, id),
        None => answer,
    }
}

/// Keeps all of `output`, of which the model was shown the beginning up to `seen` and the end. Returns what `read_output` calls
/// it; `None`: it cannot be kept, and the model has what it was shown.
pub(super) async fn keep_output(
    project: &ToolContext,
    kept_for: &KeptFor<'_>,
    mut output: impl Read + Send + 'static,
    seen: u64,
    end: CommandEnd,
) -> Option<String> {
    let commands = &project.background_commands;
    let command = match commands.add_ended(kept_for.run, kept_for.record.clone(), seen) {
        Ok(command) => command,
        Err(problem) => {
            tracing::debug!("a long answer was not kept: {problem}");
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
