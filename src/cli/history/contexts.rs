//! `runs contexts`: how much is in the conversations of a run, and who said it.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::json;

use super::columns::count_text;
use crate::json_output;
use crate::output::{TerminalSafeWriter, safe_name};
use synthdev_domain::context::statistics::{AuthorStatistics, ContextStatistics};
use synthdev_domain::journal::RunSummary;

/// # Errors
/// stdout cannot be written.
pub fn write_contexts(
    run: &RunSummary,
    contexts: &[ContextStatistics],
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if json {
        let all = json!({"run": run.id, "workflow": run.workflow, "contexts": contexts});
        return json_output::write_pretty_json(&all, out);
    }
    writeln!(TerminalSafeWriter(out), "{}", contexts_text(run, contexts))
}

/// A paragraph for each conversation, a line for each of its authors.
pub fn contexts_text(run: &RunSummary, contexts: &[ContextStatistics]) -> String {
    let mut text = format!("run {} of {}", run.id, safe_name(&run.workflow));
    if contexts.is_empty() {
        text.push_str("\nit has no conversation");
    }
    for context in contexts {
        let ContextStatistics { messages, characters, tokens, calls, left_out, summarized, .. } = context;
        let sums = sums_text(*messages, *calls, *characters, *tokens);
        let _ = write!(text, "\n\n{}: {sums}", safe_name(&context.context));
        for author in &context.authors {
            let AuthorStatistics { messages, characters, tokens, calls, .. } = author;
            let sums = sums_text(*messages, *calls, *characters, *tokens);
            let _ = write!(text, "\n  {:<24} {sums}", author_text(author));
        }
        if *left_out > 0 {
            let _ = write!(
                text,
                "\n  the first {} of them are only in the history",
                count_text(*left_out, "message")
            );
        }
        if *summarized > 0 {
            let _ = write!(text, "\n  models are shown a summary of {}", count_text(*summarized, "message"));
        }
    }
    text
}

/// `writer (docs.writer)`; an agent that is named as its role is named once.
fn author_text(author: &AuthorStatistics) -> String {
    let name = safe_name(&author.author);
    match author.role.as_deref().filter(|role| !role.is_empty() && *role != author.author) {
        Some(role) => format!("{name} ({})", safe_name(role)),
        None => name,
    }
}

fn sums_text(messages: usize, calls: usize, characters: usize, tokens: usize) -> String {
    let calls = if calls > 0 { format!(", {}", count_text(calls, "call")) } else { String::new() };
    format!(
        "{}{calls}, {}, about {}",
        count_text(messages, "message"),
        count_text(characters, "character"),
        count_text(tokens, "token")
    )
}
