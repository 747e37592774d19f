//! How the screen looks and which keys it has, from settings, the environment and keyboard.json; and what its panes show
//! of a run's definition, and the branch that the status line names.

use std::path::Path;

use super::error_text::store_error_text;
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_domain::ids::RunId;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::graph::WorkflowGraph;
use synthdev_language::render::compact_line;
use synthdev_language::source::SourceFile;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_tui::keymap::{self, KeyBindings};
use synthdev_tui::notification::NotificationFormat;
use synthdev_tui::run_view::run_graph::RunDefinitionView;
use synthdev_tui::theme::{self, ColorTheme, NAMES, OWN, TerminalEnvironment};
use synthdev_tui::update::verbosity::details_at;

/// What the screen begins with.
pub(crate) struct UiSettings {
    pub(crate) theme: ColorTheme,
    pub(crate) keymap: KeyBindings,
    pub(crate) hyperlinks: bool,
    pub(crate) mouse: bool,
    /// How a user who looks at another window is told; `None`: not at all.
    pub(crate) notifications: Option<NotificationFormat>,
    pub(crate) reduced_motion: bool,
    pub(crate) details: bool,
    pub(crate) vim: bool,
    /// What stands before the text in the input box.
    pub(crate) input_prefix: String,
    /// The theme depends on the background, and only the terminal knows it.
    pub(crate) asks_background: bool,
    /// Diagnostics of the theme or the keys, one line each.
    pub(crate) findings: Vec<String>,
}

pub(crate) fn load_ui_settings(context: &StartContext, catalog: &ConfigCatalog) -> UiSettings {
    let settings = catalog.settings();
    let mut findings = Vec::new();
    let theme = load_theme(context, settings.theme_name()).unwrap_or_else(|why| {
        findings.push(format!("settings: theme: {why}; auto is used"));
        load_theme(context, "auto").unwrap_or_default()
    });
    let keymap = load_key_bindings(context, &mut findings);
    UiSettings {
        theme,
        keymap,
        hyperlinks: knows_hyperlinks(&|name| context.environment.get(name).map(ToString::to_string)),
        mouse: settings.is_mouse_enabled(),
        notifications: settings.is_notification_enabled().then(|| notification_format(context)),
        reduced_motion: settings.reduced_motion(),
        details: details_at(settings.verbosity()),
        vim: settings.is_vim_enabled(),
        input_prefix: settings.input_prefix().to_owned(),
        asks_background: unknown_ground(context, settings.theme_name()),
        findings,
    }
}

/// These terminals know OSC 777, others OSC 9.
fn notification_format(context: &StartContext) -> NotificationFormat {
    let set = |name: &str| context.environment.get(name).filter(|value| !value.is_empty());
    let by_name = set("TERM").is_some_and(|term| term.starts_with("rxvt") || term.starts_with("foot"));
    NotificationFormat {
        uses_osc_777: by_name || set("VTE_VERSION").is_some(),
        in_tmux: set("TMUX").is_some(),
    }
}

/// The terminal's background is unknown, and the theme depends on it.
fn unknown_ground(context: &StartContext, theme: &str) -> bool {
    let set = |name: &str| context.environment.get(name).filter(|value| !value.is_empty());
    // these terminals show what they do not understand
    let mute = set("TERM").is_none_or(|term| matches!(term.as_str(), "linux" | "dumb" | "vt100" | "ansi"));
    theme::follows_background(theme) && set("NO_COLOR").is_none() && set("COLORFGBG").is_none() && !mute
}

/// The terminal knows links (OSC 8), or ignores them, as far as the variables that it sets say so.
fn knows_hyperlinks(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let term = set("TERM").unwrap_or_default();
    // these show what they do not understand
    if matches!(term.as_str(), "" | "linux" | "dumb" | "vt100" | "ansi") || term.starts_with("screen") {
        return false;
    }
    let is_recent = ["256", "direct", "kitty", "alacritty", "foot", "ghostty", "wezterm"];
    is_recent.iter().any(|part| term.contains(part))
        || ["COLORTERM", "VTE_VERSION", "WT_SESSION", "KONSOLE_VERSION"]
            .iter()
            .any(|name| set(name).is_some())
}

/// A theme in this terminal.
pub(crate) fn load_theme(context: &StartContext, name: &str) -> Result<ColorTheme, String> {
    let variable =
        |name: &str| context.environment.get(name).filter(|value| !value.is_empty()).map(ToString::to_string);
    let terminal = TerminalEnvironment {
        no_color: variable("NO_COLOR").is_some(),
        colorfgbg: variable("COLORFGBG"),
        term: variable("TERM"),
        colorterm: variable("COLORTERM"),
    };
    if name == OWN {
        return load_own_theme(context, &terminal);
    }
    let unknown = || format!("there is no theme {name}: it is one of {}", NAMES.join(", "));
    ColorTheme::find_theme(name, &terminal).ok_or_else(unknown)
}

/// Of the user's own file only, as the keys.
fn load_own_theme(context: &StartContext, terminal: &TerminalEnvironment) -> Result<ColorTheme, String> {
    let path = context.dirs.config.join(theme::FILE);
    let text = file_io::read_text_file(&path)
        .map_err(|error| format!("no theme is read from {}: {error}", path.display()))?;
    let file = SourceFile::new(ConfigLayer::User, format!("user:{}", theme::FILE), text);
    let palette = theme::read_theme_file(&file)
        .map_err(|found| found.iter().map(compact_line).collect::<Vec<_>>().join("\n"))?;
    Ok(ColorTheme::own_theme(palette, terminal))
}

/// Only the user's own file, in the demo as well: a project must not change the user's keys.
fn load_key_bindings(context: &StartContext, findings: &mut Vec<String>) -> KeyBindings {
    let path = context.dirs.config.join(keymap::FILE);
    if !path.exists() {
        return KeyBindings::default();
    }
    match file_io::read_text_file(&path) {
        Ok(text) => {
            let (keymap, found) = keymap::read_keyboard_file(&SourceFile::new(
                ConfigLayer::User,
                format!("user:{}", keymap::FILE),
                text,
            ));
            findings.extend(found.iter().map(compact_line));
            keymap
        }
        Err(error) => {
            findings.push(format!("not read: {}: {error}", path.display()));
            KeyBindings::default()
        }
    }
}

pub(crate) fn load_definition(handle: &RuntimeHandle, run: &RunId) -> Result<RunDefinitionView, String> {
    let spec = handle.definition(run).map_err(|error| store_error_text(&error))?;
    let graphs =
        WorkflowGraph::with_children(&spec.program, 0, true).into_iter().map(|(_, graph)| graph).collect();
    let root = spec.program.workflows.first();
    let variables = root.map(|root| root.variables.clone()).unwrap_or_default();
    Ok(RunDefinitionView { graphs, variables, agents: declared_agents(&spec.program) })
}

/// Agents in the order in which the workflow and those that it calls declare them: it decides what they look like.
pub(crate) fn declared_agents(program: &WorkflowProgram) -> Vec<String> {
    let agents = program.workflows.iter().flat_map(|workflow| &workflow.agents);
    agents.map(|agent| agent.id.clone()).collect()
}

/// The same of a stored run; empty: it cannot be read.
pub(crate) fn run_agents(handle: &RuntimeHandle, run: &RunId) -> Vec<String> {
    handle.definition(run).map(|spec| declared_agents(&spec.program)).unwrap_or_default()
}

/// The branch from `.git/HEAD`; no git process for one word.
pub(crate) fn current_branch(project: &Path) -> Option<String> {
    let head = project.ancestors().find_map(|directory| file_io::read_unlinked(directory, ".git/HEAD"))?;
    let head = head.trim();
    Some(head.strip_prefix("ref: refs/heads/").map_or_else(|| head.chars().take(8).collect(), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_written_where_the_terminal_knows_or_ignores_them() {
        let check = |variables: &[(&str, &str)], expected: bool| {
            let value = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(knows_hyperlinks(&value), expected, "{variables:?}");
        };
        check(&[("TERM", "xterm-256color")], true);
        check(&[("TERM", "xterm"), ("VTE_VERSION", "7000")], true);
        check(&[("TERM", "xterm-kitty")], true);
        check(&[("TERM", "xterm")], false);
        check(&[("TERM", "linux"), ("COLORTERM", "truecolor")], false);
        check(&[("TERM", "screen-256color")], false);
        check(&[("TERM", "dumb")], false);
        check(&[], false);
    }
}
