//! Keys in a dialog, and what each answer means.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use crate::domain::approval::Decision;
use crate::engine::input::Answer;
use crate::runtime::command::Command;
use crate::tui::dialog::{Dialog, Kind};
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::slash;
use crate::tui::text::one_line;

/// Whether a dialog waits for this key; any other letter is the beginning of a text.
pub fn is_meant(dialog: &Dialog, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char(c) if dialog.reason.is_none() => {
            let keys = match dialog.kind {
                Kind::Approval { .. } => "yanr",
                Kind::GoOn { .. } | Kind::Decide { .. } | Kind::Trust | Kind::Confirm(_) => "yncs",
                Kind::Choose { .. } => "123456789",
                Kind::Write { .. } => "",
            };
            key.modifiers.contains(KeyModifiers::CONTROL) || keys.contains(c.to_ascii_lowercase())
        }
        _ => true,
    }
}

pub fn press(model: &mut Model, key: KeyEvent) -> Vec<Cmd> {
    let page = usize::from(model.size.1 / 2).max(1);
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    if dialog.reason.is_some() {
        return type_reason(model, key);
    }
    match key.code {
        KeyCode::Up | KeyCode::Down if matches!(dialog.kind, Kind::Choose { .. }) => {
            choose(dialog, key.code == KeyCode::Down);
        }
        KeyCode::Enter => return confirm(model),
        KeyCode::Up => dialog.scroll = dialog.scroll.saturating_sub(1),
        KeyCode::Down => dialog.scroll += 1,
        KeyCode::PageUp => dialog.scroll = dialog.scroll.saturating_sub(page),
        KeyCode::PageDown => dialog.scroll += page,
        KeyCode::Home => dialog.scroll = 0,
        KeyCode::End => dialog.scroll = dialog.body.len(),
        KeyCode::Esc => return refuse(model),
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            return letter(model, c.to_ascii_lowercase());
        }
        _ => {}
    }
    Vec::new()
}

/// No, stop, leave it: what Esc means in the dialog on screen.
pub fn refuse(model: &mut Model) -> Vec<Cmd> {
    match model.dialogs.front().map(|dialog| &dialog.kind) {
        // no answer at all is neither yes nor no
        Some(Kind::Decide { .. } | Kind::Choose { .. } | Kind::Write { .. }) => reply(model, Answer::Stop),
        _ => answer(model, false, Decision::Deny { reason: None }),
    }
}

/// Enter in the input box while a question wants a text. `None`: it is a command.
pub fn write(model: &mut Model) -> Option<Vec<Cmd>> {
    let Some(Kind::Write { form, .. }) = model.dialogs.front_mut().map(|dialog| &mut dialog.kind) else {
        return None;
    };
    if form.draft == Some(true) {
        form.draft = Some(false);
        model.composer.put_aside();
        model.hint = Some("kept in the history: Up brings it back".to_owned());
        return Some(Vec::new());
    }
    if slash::is_command(&model.composer.text()) {
        return None;
    }
    let text = model.composer.take().unwrap_or_default();
    match form.read(&text) {
        Ok(value) => Some(reply(model, Answer::Value { value })),
        Err(problem) => {
            model.composer.paste(&text);
            if let Some(dialog) = model.dialogs.front_mut() {
                dialog.problem = Some(one_line(&problem));
            }
            Some(Vec::new())
        }
    }
}

/// Enter: what was chosen, or the default.
fn confirm(model: &mut Model) -> Vec<Cmd> {
    let value = match model.dialogs.front().map(|dialog| &dialog.kind) {
        Some(Kind::Choose { choices, selected, .. }) => {
            choices.get(*selected).map(|choice| choice.as_str().into())
        }
        Some(Kind::Decide { default, .. }) => default.map(Value::Bool),
        _ => None,
    };
    value.map_or_else(Vec::new, |value| reply(model, Answer::Value { value }))
}

fn choose(dialog: &mut Dialog, down: bool) {
    if let Kind::Choose { choices, selected, .. } = &mut dialog.kind {
        let count = choices.len().max(1);
        *selected = (*selected + if down { 1 } else { count - 1 }) % count;
    }
}

/// Answers the question on screen and takes it off.
fn reply(model: &mut Model, answer: Answer) -> Vec<Cmd> {
    match model.dialogs.pop_front().map(|dialog| dialog.kind) {
        Some(
            Kind::Decide { run, call, .. } | Kind::Choose { run, call, .. } | Kind::Write { run, call, .. },
        ) => vec![Cmd::Send(run, Command::Answer { call, answer })],
        _ => Vec::new(),
    }
}

fn letter(model: &mut Model, c: char) -> Vec<Cmd> {
    match model.dialogs.front().map(|dialog| &dialog.kind) {
        Some(Kind::Decide { .. }) => {
            return match c {
                'y' => reply(model, Answer::Value { value: true.into() }),
                'n' => reply(model, Answer::Value { value: false.into() }),
                _ => Vec::new(),
            };
        }
        Some(Kind::Choose { choices, .. }) => {
            let at = c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
            let value = at.and_then(|at| choices.get(at)).map(|choice| choice.as_str().into());
            return value.map_or_else(Vec::new, |value| reply(model, Answer::Value { value }));
        }
        _ => {}
    }
    let approval = matches!(model.dialogs.front().map(|d| &d.kind), Some(Kind::Approval { .. }));
    match c {
        'y' => answer(model, true, Decision::Allow),
        'a' if approval => answer(model, true, Decision::AllowTool),
        'c' if !approval => answer(model, true, Decision::Allow),
        'n' => refuse(model),
        's' if !approval => refuse(model),
        'r' if approval => {
            if let Some(dialog) = model.dialogs.front_mut() {
                dialog.reason = Some(String::new());
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn type_reason(model: &mut Model, key: KeyEvent) -> Vec<Cmd> {
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    let Some(reason) = dialog.reason.as_mut() else { return Vec::new() };
    match key.code {
        KeyCode::Enter => {
            let reason = Some(reason.trim().to_owned()).filter(|text| !text.is_empty());
            return answer(model, false, Decision::Deny { reason });
        }
        KeyCode::Esc => dialog.reason = None,
        KeyCode::Backspace => {
            reason.pop();
        }
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => reason.push(c),
        _ => {}
    }
    Vec::new()
}

/// Takes the dialog off the screen and sends what was decided.
fn answer(model: &mut Model, yes: bool, decision: Decision) -> Vec<Cmd> {
    let Some(dialog) = model.dialogs.pop_front() else { return Vec::new() };
    match dialog.kind {
        Kind::Approval { run, call } => vec![Cmd::Send(run, Command::Approve { call, decision })],
        Kind::GoOn { run, call, .. } => {
            let answer = if yes { Answer::Continue } else { Answer::Stop };
            vec![Cmd::Send(run, Command::Answer { call, answer })]
        }
        Kind::Decide { run, call, .. } | Kind::Choose { run, call, .. } | Kind::Write { run, call, .. } => {
            vec![Cmd::Send(run, Command::Answer { call, answer: Answer::Stop })]
        }
        Kind::Trust => vec![Cmd::Trust(yes)],
        Kind::Confirm(cmd) => {
            if yes {
                vec![cmd]
            } else {
                model.hint = Some("nothing was changed".to_owned());
                Vec::new()
            }
        }
    }
}
