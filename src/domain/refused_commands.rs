//! Command lines that no policy, approval or `--yes` allows, because no user means them, and warnings that are shown
//! before a line runs. Decides on the parsed line, never on its text.
//!
//! Owns: looking through quotes, wrappers, nested shells, functions, variables set on the line and `cd`. Refuses to
//! guess: a part that is known only when the line runs, or that does not parse, is no reason to refuse. The sandbox is
//! the real protection; this check only catches mistakes early, and it is pure: it reads nothing from disk.

mod command_line_walker;
mod fork_bombs;
mod input;
mod options;
mod pipe_content;
mod placeholders;
mod program_rules;
mod protected_paths;
mod risks;
mod shell_state;
mod syntax_tree;
#[cfg(test)]
mod tests;
mod word_expansion;
mod wrappers;

use command_line_walker::CommandLineWalker;
pub use input::{CommandText, RefusedCommandInput};
use risks::CommandFindings;

/// A longer line is not read.
const LONGEST: usize = 128 * 1024;

/// Why this command is never run. The model gets this text as the tool's result.
pub fn refusal_reason(command: &RefusedCommandInput<'_>) -> Option<String> {
    let what = analyze_command(command).refusal?;
    Some(format!("[sandbox] refused: {what}. No setting allows this; the user can run it with /cmd"))
}

/// A warning for the approval prompt, if the command can destroy more than a snapshot brings back.
pub fn risk_warning(command: CommandText<'_>) -> Option<String> {
    // what a command risks does not depend on where it is
    let place = std::path::Path::new("/project");
    let input = RefusedCommandInput { command, directory: place, project: place, home: None, network: true };
    let risks = analyze_command(&input).risks;
    let reasons: Vec<&str> = risks.iter().map(|risk| risk.words()).collect();
    (!reasons.is_empty()).then(|| format!("This command {}.", reasons.join(" and ")))
}

fn analyze_command(command: &RefusedCommandInput<'_>) -> CommandFindings {
    let mut walker = CommandLineWalker::new(command);
    match command.command {
        CommandText::Line(line) if line.len() <= LONGEST => walker.walk_line(line),
        CommandText::Line(_) => {}
        CommandText::Program(program, arguments) => walker.walk_program(program, arguments),
    }
    walker.findings
}
