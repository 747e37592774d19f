//! Keys in a dialog, and what each answer means.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::approval::Decision;
use crate::engine::input::Answer;
use crate::runtime::command::Command;
use crate::tui::dialog::{Dialog, Kind};
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

/// Whether a dialog waits for this key; any other letter is the beginning of a text.
pub fn is_meant(dialog: &Dialog, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char(c) if dialog.reason.is_none() => {
            let keys = match dialog.kind {
                Kind::Approval { .. } => "yanr",
                Kind::GoOn { .. } | Kind::Trust | Kind::Confirm(_) => "yncs",
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
    answer(model, false, Decision::Deny { reason: None })
}

fn letter(model: &mut Model, c: char) -> Vec<Cmd> {
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
        Kind::GoOn { run, call } => {
            let answer = if yes { Answer::Continue } else { Answer::Stop };
            vec![Cmd::Send(run, Command::Answer { call, answer })]
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
