//! Where each command of the program is: the function that performs it, and the page that explains it.

use synthdev::cli::args::build_command;
use synthdev::tui::slash::COMMANDS;

use super::lexer::{PieceKind, pieces};

/// A command, the file that performs it, and the function that begins there.
pub(super) type CommandRow = (&'static str, &'static str, &'static str);

pub(super) const COMMAND_FILES: &[CommandRow] = &[
    ("run", "src/commands/run_command.rs", "run_workflow_command"),
    ("check", "src/commands/check_command.rs", "run_check_command"),
    ("simulate", "src/commands/simulate.rs", "run_simulate_command"),
    ("test", "src/commands/test_command.rs", "run_test_command"),
    ("resume", "src/commands/resume_command.rs", "resume_run"),
    #[cfg(feature = "restate")]
    ("worker", "src/commands/worker_command.rs", "run_worker"),
    #[cfg(feature = "restate")]
    ("backend doctor", "src/commands/backend_doctor.rs", "run_backend_doctor"),
    #[cfg(feature = "restate")]
    ("backend move", "src/commands/backend_command.rs", "run_backend_command"),
    ("runs list", "src/commands/history_commands.rs", "list_runs"),
    ("runs show", "src/commands/runs_command.rs", "show_run"),
    ("runs cost", "src/commands/history_commands/cost_command.rs", "show_costs"),
    ("runs contexts", "src/commands/history_commands.rs", "show_contexts"),
    ("runs steps", "src/commands/time_travel.rs", "show_steps"),
    ("runs search", "src/commands/history_commands.rs", "search_runs"),
    ("runs diff", "src/commands/history_commands.rs", "diff_runs"),
    ("runs fork", "src/commands/time_travel.rs", "fork_run"),
    ("runs rewind", "src/commands/time_travel.rs", "rewind_run"),
    ("runs undo", "src/commands/time_travel.rs", "undo_run"),
    ("runs replay", "src/commands/time_travel.rs", "replay_run"),
    ("runs pause", "src/commands/time_travel.rs", "control_run"),
    ("runs cancel", "src/commands/time_travel.rs", "control_run"),
    ("runs retry", "src/commands/resume_command.rs", "retry_run"),
    ("runs merge", "src/commands/isolation.rs", "merge_worktree"),
    ("runs discard", "src/commands/isolation.rs", "discard_worktree"),
    ("runs export", "src/commands/history_commands/export_command.rs", "export_run"),
    ("runs import", "src/commands/history_commands/export_command.rs", "import_run"),
    ("runs delete", "src/commands/history_commands/gc_and_du.rs", "delete_run"),
    ("runs gc", "src/commands/history_commands/gc_and_du.rs", "collect_garbage"),
    ("runs du", "src/commands/history_commands/gc_and_du.rs", "show_disk_usage"),
    ("runs salvage", "src/commands/salvage.rs", "run_salvage_command"),
    ("why", "src/commands/time_travel.rs", "explain_step"),
    ("sandbox", "src/commands/sandbox_report.rs", "show_sandbox"),
    ("sandbox explain", "src/commands/sandbox_report.rs", "show_sandbox"),
    ("snapshot create", "src/commands/runs_command.rs", "run_snapshot_subcommand"),
    ("snapshot list", "src/commands/runs_command.rs", "run_snapshot_subcommand"),
    ("snapshot stats", "src/commands/runs_command.rs", "run_snapshot_subcommand"),
    ("snapshot show", "src/commands/runs_command.rs", "run_snapshot_subcommand"),
    ("snapshot diff", "src/commands/runs_command.rs", "run_snapshot_subcommand"),
    ("snapshot restore", "src/commands/runs_command.rs", "run_snapshot_subcommand"),
    ("snapshot delete", "src/commands/runs_command.rs", "run_snapshot_subcommand"),
    ("mcp", "src/commands/mcp.rs", "run_mcp_server"),
    ("mcp add", "src/commands/mcp_configuration.rs", "change_servers"),
    ("mcp remove", "src/commands/mcp_configuration.rs", "change_servers"),
    ("mcp list", "src/commands/mcp_command.rs", "print_server_list"),
    ("mcp test", "src/commands/mcp_command.rs", "test_server"),
    ("graph", "src/commands/graph.rs", "show_graph"),
    ("schema", "src/commands/schema.rs", "print_schema"),
    ("new workflow", "src/commands/new.rs", "new"),
    ("new role", "src/commands/new.rs", "new"),
    ("workflows", "src/commands/list_commands.rs", "list_workflows"),
    ("roles", "src/commands/list_commands.rs", "list_roles"),
    ("tools", "src/commands/list_commands.rs", "list_tools"),
    ("tools check", "src/commands/tools_check.rs", "check_own_tools"),
    ("index", "src/commands/index.rs", "run_index"),
    ("config show", "src/commands/list_commands.rs", "show_config"),
    ("config explain", "src/commands/list_commands.rs", "explain_setting"),
    ("models", "src/commands/models.rs", "list_models"),
    ("configure", "src/commands/configure.rs", "run_configure_command"),
    ("doctor", "src/commands/doctor.rs", "run_doctor_command"),
    ("trust", "src/commands/trust_command.rs", "show_trust"),
    ("demo", "src/commands/demo.rs", "run_demo"),
    ("limits", "src/cli/limits.rs", "limits_page"),
    ("completions", "src/cli/args/completions.rs", "completion_script"),
    ("man", "src/commands/lib.rs", "print_manual"),
];

/// Every command that does something by itself, with the commands above it.
pub(super) fn command_paths() -> Vec<String> {
    let mut root = build_command();
    root.build();
    let mut found = Vec::new();
    let mut left: Vec<_> = root.get_subcommands().map(|command| (String::new(), command)).collect();
    while let Some((above, command)) = left.pop() {
        let path = format!("{above}{}", command.get_name());
        if path.ends_with("help") {
            continue;
        }
        left.extend(command.get_subcommands().map(|below| (format!("{path} "), below)));
        if !command.is_subcommand_required_set() {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Takes every text file of the package.
pub(super) fn check_commands(
    paths: &[String],
    rows: &[CommandRow],
    texts: &[(String, String)],
) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths {
        if !rows.iter().any(|(command, _, _)| command == path) {
            found.push(format!("`synthdev {path}` has no row in the table of command files"));
        }
        let pages = texts.iter().filter(|(page, _)| is_user_page(page));
        if !pages.into_iter().any(|(_, text)| is_explained(text, path)) {
            found.push(format!("`synthdev {path}` is on no page of docs/: explain it there"));
        }
    }
    for (command, file, function) in rows {
        if !paths.iter().any(|path| path == command) {
            found.push(format!("{file}: there is no command `synthdev {command}`"));
        }
        let start = format!("fn {function}(");
        if !texts.iter().any(|(path, text)| path == file && text.contains(&start)) {
            found.push(format!("{file}: `{function}` of `synthdev {command}` is not there"));
        }
    }
    found
}

fn is_user_page(path: &str) -> bool {
    path == "README.md" || path.starts_with("docs/") && path.ends_with(".md")
}

/// Whether the page has the command as it is typed, or quoted without the program's name.
fn is_explained(page: &str, path: &str) -> bool {
    [format!("synthdev {path}"), format!("`{path}")].iter().any(|typed| {
        page.match_indices(typed.as_str()).any(|(at, _)| {
            let next = page[at + typed.len()..].chars().next();
            next.is_none_or(|letter| !letter.is_alphanumeric() && !"_-./".contains(letter))
        })
    })
}

/// The slash commands; `docs/commands.md` is compared with the same table elsewhere.
pub(super) fn slash_commands() -> Vec<&'static str> {
    COMMANDS.iter().map(|command| command.name).collect()
}

/// A text search for the name of a slash command finds its file.
pub(super) fn check_slash_commands(names: &[&str], texts: &[(String, String)]) -> Vec<String> {
    let below = |path: &str| path.starts_with("src/tui/slash/") && path.ends_with(".rs");
    let files = texts.iter().filter(|(path, _)| below(path));
    let literals: Vec<&str> = files
        .flat_map(|(_, text)| pieces(text))
        .filter(|piece| piece.kind == PieceKind::Literal)
        .map(|piece| piece.text)
        .collect();
    let lost = names.iter().filter(|name| !literals.contains(name));
    lost.map(|name| format!("no file below src/tui/slash has the name of `/{name}` as a text")).collect()
}
