//! Hints of the command line, as a client can follow them: with a tool where one does the same, else by its user.
//!
//! Refuses to change other words: what is no command of the program stays as it is written.

/// Stands before what only the user can do. What follows it in a hint was written for clients and stays.
pub(super) const IN_A_TERMINAL: &str = "in a terminal: ";

/// Between the parts of a hint.
const PART_END: &str = "; ";

/// Commands about a run, and the tools that do the same with its id.
const RUN_COMMANDS: [(&str, &str); 5] = [
    ("synthdev runs pause", "pause_workflow"),
    ("synthdev runs cancel", "cancel_workflow"),
    ("synthdev runs show", "get_workflow_status"),
    ("synthdev runs retry", "continue_workflow"),
    ("synthdev resume", "continue_workflow"),
];

/// Lists, the longer command first.
const LIST_COMMANDS: [(&str, &str); 3] = [
    ("`synthdev runs list --status paused`", "list_runs with \"status\": \"paused\""),
    ("`synthdev runs list`", "list_runs"),
    ("`synthdev workflows`", "list_workflows"),
];

/// What follows the program's name in a command, besides options, and in no sentence about the program.
const COMMAND_STARTS: [&str; 13] = [
    "check",
    "config",
    "configure",
    "demo",
    "graph",
    "mcp",
    "resume",
    "roles",
    "run",
    "runs",
    "snapshot",
    "tools",
    "workflows",
];

/// Rewrites a hint for the command line as one for clients.
pub(super) fn to_tool_calls(hint: &str) -> String {
    let (head, kept) = hint.find(IN_A_TERMINAL).map_or((hint, ""), |at| hint.split_at(at));
    let parts: Vec<String> = head.split(PART_END).map(translate_part).collect();
    parts.join(PART_END) + kept
}

fn translate_part(part: &str) -> String {
    let text =
        LIST_COMMANDS.iter().fold(part.to_owned(), |text, (command, tool)| text.replace(command, tool));
    let text = RUN_COMMANDS.iter().fold(text, |text, (command, tool)| name_tool(&text, command, tool));
    if has_command(&text) { format!("{IN_A_TERMINAL}{text}") } else { text }
}

/// Puts the tool in place of the command. One with options stays: the tool has none.
fn name_tool(text: &str, command: &str, tool: &str) -> String {
    let mut told = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(command) {
        let Some((run, after)) = split_run(after) else {
            told.push_str(before);
            told.push_str(command);
            rest = after;
            continue;
        };
        let unquoted = before.strip_suffix('`').zip(after.strip_prefix('`'));
        let (before, after) = unquoted.unwrap_or((before, after));
        told.push_str(before);
        told.push_str(tool);
        if !run.is_empty() {
            told.push_str(" with workflowId ");
            told.push_str(run);
        }
        rest = after;
    }
    told + rest
}

/// The id behind a command, empty if there is none, and what follows. `None`: the command says more than that.
fn split_run(after: &str) -> Option<(&str, &str)> {
    if after.is_empty() || after.starts_with('`') {
        return Some(("", after));
    }
    let words = after.strip_prefix(' ')?;
    let is_of_id = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let end = words.find(|c| !is_of_id(c)).unwrap_or(words.len());
    let (run, after) = words.split_at(end);
    let has_options = run.starts_with('-') || after.starts_with(" --");
    (!run.is_empty() && !has_options).then_some((run, after))
}

fn has_command(text: &str) -> bool {
    let is_command = |words: &str| {
        let word = words.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        words.starts_with('-') || COMMAND_STARTS.contains(&word)
    };
    text.split("synthdev ").skip(1).any(is_command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_tool_that_does_it_or_the_terminal() {
        let rows = [
            (
                "`synthdev runs list --status paused` shows what waits",
                "list_runs with \"status\": \"paused\" shows what waits",
            ),
            ("`synthdev runs list` shows the runs that wait", "list_runs shows the runs that wait"),
            (
                "synthdev runs pause r-1 pauses it there; then synthdev resume r-1 takes it up here",
                "pause_workflow with workflowId r-1 pauses it there; then continue_workflow with workflowId r-1 takes it up here",
            ),
            (
                "pause it there (`synthdev runs pause`), then take it up here",
                "pause it there (pause_workflow), then take it up here",
            ),
            (
                "start it again; `synthdev runs show r1` shows what it did, `synthdev runs cancel r1` ends it",
                "start it again; get_workflow_status with workflowId r1 shows what it did, cancel_workflow with workflowId r1 ends it",
            ),
            ("synthdev runs retry r1", "continue_workflow with workflowId r1"),
            // no tool does it
            ("synthdev --resume r1", "in a terminal: synthdev --resume r1"),
            ("synthdev -C /other resume r1", "in a terminal: synthdev -C /other resume r1"),
            ("`synthdev check` lists its errors", "in a terminal: `synthdev check` lists its errors"),
            ("synthdev resume r1 --yes", "in a terminal: synthdev resume r1 --yes"),
            (
                "go back to one of its steps: synthdev runs rewind r1 --to STEP, or fork it",
                "in a terminal: go back to one of its steps: synthdev runs rewind r1 --to STEP, or fork it",
            ),
            (
                "nothing was lost; `synthdev runs salvage` ends it",
                "nothing was lost; in a terminal: `synthdev runs salvage` ends it",
            ),
            // written for clients, or no command
            ("wait; in a terminal: synthdev resume r1", "wait; in a terminal: synthdev resume r1"),
            (
                "in a terminal: `synthdev resume` answers it; or wait",
                "in a terminal: `synthdev resume` answers it; or wait",
            ),
            ("update synthdev to look inside it", "update synthdev to look inside it"),
            ("get_workflow_status shows what it needs", "get_workflow_status shows what it needs"),
            ("", ""),
        ];
        for (hint, expected) in rows {
            assert_eq!(to_tool_calls(hint), expected);
            assert_eq!(to_tool_calls(expected), expected, "a second time");
        }
    }
}
