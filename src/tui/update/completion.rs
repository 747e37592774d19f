//! The list that completes the text in the input box: its keys, and what it offers after each change of the text.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::{approvals, history, mention, submit};
use crate::complete::complete_input;
use crate::complete::mention::split_mention;
use crate::keymap::KeyAction;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash::{self, SlashArgument};
use crate::text::one_line;
use synthdev_service::session::{
    DefinitionRequest, LookupRequest, RunListPurpose, RunRequest, SessionRequest,
};

/// Entries that PgUp and PgDn go over.
const PAGE: usize = 5;

/// `None`: the key is not the list's.
pub fn on_key(model: &mut UiModel, key: KeyEvent) -> Option<Vec<UiCommand>> {
    if model.key_action(key).is_some_and(KeyAction::is_anywhere) {
        return None;
    }
    let begins_mention = is_begun_mention(model);
    let popup = model.popup.as_mut()?;
    let count = popup.candidates.len();
    match key.code {
        KeyCode::Esc => model.popup = None,
        KeyCode::Up | KeyCode::Down => {
            let step = if key.code == KeyCode::Down { 1 } else { count - 1 };
            popup.selected = (popup.selected + step) % count;
            popup.moved_by_hand = true;
        }
        KeyCode::PageUp => {
            (popup.selected, popup.moved_by_hand) = (popup.selected.saturating_sub(PAGE), true);
        }
        KeyCode::PageDown => {
            (popup.selected, popup.moved_by_hand) = ((popup.selected + PAGE).min(count - 1), true);
        }
        KeyCode::Tab => return Some(accept_input(model)),
        KeyCode::Enter if begins_mention && !popup.moved_by_hand && key.modifiers.is_empty() => {
            return Some(accept_input(model));
        }
        KeyCode::Enter if popup.moved_by_hand && key.modifiers.is_empty() => {
            // one that promises more to type
            let goes_on =
                popup.candidates.get(popup.selected).is_some_and(|candidate| candidate.line.ends_with(' '));
            let cmds = accept_input(model);
            if goes_on || model.composer.first_line().ends_with(' ') {
                return Some(cmds);
            }
            model.popup = None;
            return Some(submit::submit_input(model));
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// The first entry is a name whose beginning was typed behind `@`, and not all of it.
fn is_begun_mention(model: &UiModel) -> bool {
    let Some((_, typed)) = split_mention(model.composer.word_before_cursor()) else { return false };
    let typed = typed.rsplit(':').next().unwrap_or(typed).to_lowercase();
    let Some(first) = model.popup.as_ref().and_then(|popup| popup.candidates.first()) else { return false };
    let label = first.label.to_lowercase();
    let name = label.rsplit('/').next().unwrap_or(&label);
    let begins = |whole: &str| whole.starts_with(&typed) && whole != typed;
    !typed.is_empty() && label != typed && (begins(&label) || begins(name))
}

fn accept_input(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(candidate) = model.popup.take().and_then(|mut popup| {
        (popup.selected < popup.candidates.len()).then(|| popup.candidates.swap_remove(popup.selected))
    }) else {
        return Vec::new();
    };
    if candidate.word {
        model.composer.complete_word(&candidate.line);
        return Vec::new();
    }
    let typed = model.composer.before_cursor().map_or(0, |typed| typed.chars().count());
    model.composer.complete_prefix(typed, &candidate.line);
    refresh_popup(model)
}

/// Opens, narrows or closes the completion after the text changed.
pub fn refresh_popup(model: &mut UiModel) -> Vec<UiCommand> {
    let agents =
        model.watched_run().map(|run| run.agents.iter().map(|a| (a.name.clone(), a.model.clone())).collect());
    model.names.agents = agents.unwrap_or_default();
    model.names.session_runs =
        model.runs.iter().map(|run| (run.id.to_string(), run.workflow.clone())).collect();
    model.names.questions = model.dialogs.iter().map(|dialog| one_line(&dialog.title)).collect();
    model.names.allowed = model.allowed.iter().map(approvals::allowed_name).collect();
    model.names.commands = model.shell.recent_commands().map(str::to_owned).collect();
    if let Some(mut cmds) = mention::refresh_mentions(model) {
        if !cmds.is_empty() {
            cmds.push(history::run_names_command());
        }
        return cmds;
    }
    let before = model.composer.before_cursor().filter(|before| slash::is_command(before)).map(str::to_owned);
    // a search in what was sent has the line above the input
    let Some(before) = before.filter(|_| !model.composer.is_searching()) else {
        model.popup = None;
        return Vec::new();
    };
    model.popup = complete_input(&before, &model.names);
    // A finished word needs no list of itself.
    let done = model
        .popup
        .as_ref()
        .is_some_and(|popup| popup.candidates.len() == 1 && popup.candidates[0].line.trim_end() == before);
    if done {
        model.popup = None;
    }
    // Names are asked for whenever an argument begins, so that files changed meanwhile are seen.
    match before.as_str() {
        "/" => vec![UiCommand::ask(LookupRequest::McpNames)],
        argument if argument.ends_with(' ') => names_for(argument),
        _ => Vec::new(),
    }
}

/// Such names are asked for anew while an argument is typed.
pub fn asks_for_names(command: &UiCommand) -> bool {
    let UiCommand::Ask(asked) = command else { return false };
    matches!(
        asked,
        SessionRequest::Runs(RunRequest::SnapshotNames | RunRequest::List(_, RunListPurpose::Names))
            | SessionRequest::Definitions(DefinitionRequest::Names)
            | SessionRequest::Lookup(LookupRequest::McpNames)
    )
}

fn names_for(before: &str) -> Vec<UiCommand> {
    let mut words = before.split_whitespace();
    let command = words.next().and_then(|word| slash::find_command(word.trim_start_matches('/')));
    let (argument, next) = (command.map(|command| command.argument), words.next());
    if argument == Some(SlashArgument::Snapshot) && next.is_some() && words.next().is_none() {
        return vec![UiCommand::ask(RunRequest::SnapshotNames)];
    }
    match argument.filter(|_| next.is_none() || argument == Some(SlashArgument::McpServer)) {
        Some(
            SlashArgument::Workflow
            | SlashArgument::Role
            | SlashArgument::RoleGroup
            | SlashArgument::Definition,
        ) => {
            vec![UiCommand::ask(DefinitionRequest::Names)]
        }
        Some(SlashArgument::McpServer) => vec![UiCommand::ask(LookupRequest::McpNames)],
        Some(SlashArgument::Run | SlashArgument::LiveRun) => vec![history::run_names_command()],
        _ => Vec::new(),
    }
}

/// The list of names arrived: show it if it is still wanted.
pub fn names_arrived(model: &mut UiModel) {
    if mention::refresh_mentions(model).is_some() {
        return;
    }
    if let Some(before) = model.composer.before_cursor() {
        model.popup = complete_input(before, &model.names);
    }
}
