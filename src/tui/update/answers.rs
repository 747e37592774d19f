//! Keys in a dialog, and what each answer means.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::index;
use crate::domain::approval::Decision;
use crate::domain::ids::{CallId, RunId};
use crate::engine::input::Answer;
use crate::runtime::command::Command;
use crate::runtime::network_access::NetworkAnswer;
use crate::tui::backend::StandingPermission;
use crate::tui::dialog::{Dialog, Kind, REPEAT};
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::slash;
use crate::tui::text::{fit, one_line};

/// Whether a dialog waits for this key; any other letter is the beginning of a text.
pub fn is_meant(dialog: &Dialog, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char(' ') if dialog.reason.is_none() => turns_page(dialog, key),
        KeyCode::Char(c) if dialog.reason.is_none() => {
            let keys = match dialog.kind {
                Kind::Approval { .. } if dialog.is_step() => "yanr",
                Kind::Approval { .. } => "yanr34",
                Kind::Network { .. } => "yan4",
                Kind::Unsandboxed { .. } => "yn",
                Kind::GoOn { .. } | Kind::Decide { .. } | Kind::Trust | Kind::Confirm(_) => "yncs",
                Kind::Choose { .. } | Kind::Look { .. } => "123456789",
                Kind::Write { .. } => "",
            };
            key.modifiers.contains(KeyModifiers::CONTROL) || keys.contains(c.to_ascii_lowercase())
        }
        _ => true,
    }
}

/// Space shows more of a long text.
pub fn turns_page(dialog: &Dialog, key: KeyEvent) -> bool {
    key.code == KeyCode::Char(' ') && dialog.overflows() && dialog.reason.is_none() && !dialog.is_written()
}

/// Whether the key allows, trusts, goes on: what is asked must have been seen to its end.
pub fn says_yes(dialog: &Dialog, key: KeyEvent) -> bool {
    let KeyCode::Char(c) = key.code else {
        let yes = matches!(
            dialog.kind,
            Kind::Decide { default: Some(true), .. }
                | Kind::Choose { .. }
                | Kind::Look { selected: REPEAT, .. }
        );
        return key.code == KeyCode::Enter && yes;
    };
    let yes = match dialog.kind {
        Kind::Approval { .. } | Kind::Network { .. } => "ya34",
        Kind::GoOn { .. } | Kind::Trust | Kind::Confirm(_) => "yc",
        Kind::Decide { .. } | Kind::Unsandboxed { .. } => "y",
        Kind::Choose { .. } => "123456789",
        Kind::Look { .. } => "1",
        Kind::Write { .. } => "",
    };
    let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    plain && dialog.reason.is_none() && yes.contains(c.to_ascii_lowercase())
}

pub fn press(model: &mut Model, key: KeyEvent) -> Vec<Cmd> {
    let Some(dialog) = model.dialogs.front_mut() else { return Vec::new() };
    if dialog.reason.is_some() {
        return type_reason(model, key);
    }
    match key.code {
        KeyCode::Up | KeyCode::Down if dialog.choices().is_some() => {
            choose(dialog, key.code == KeyCode::Down);
        }
        KeyCode::Enter => return confirm(model),
        KeyCode::Up => dialog.scroll = dialog.scroll.saturating_sub(1),
        KeyCode::Down => dialog.scroll = dialog.scroll.saturating_add(1),
        KeyCode::PageUp => dialog.turn_page(false),
        KeyCode::PageDown => dialog.turn_page(true),
        KeyCode::Char(' ') if turns_page(dialog, key) => dialog.turn_page(true),
        KeyCode::Home => dialog.scroll = 0,
        KeyCode::End => dialog.scroll = usize::MAX,
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
        Some(Kind::Decide { .. } | Kind::Choose { .. } | Kind::Look { .. } | Kind::Write { .. }) => {
            reply(model, Answer::Stop)
        }
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
    // what a workflow asks for may be for nobody else's eyes
    model.composer.keep_here();
    match form.take(&text) {
        Ok(Some(value)) => Some(reply(model, Answer::Value { value })),
        Ok(None) => {
            if let Some(dialog) = model.dialogs.front_mut() {
                (dialog.problem, dialog.scroll) = (None, usize::MAX);
            }
            Some(Vec::new())
        }
        Err(problem) => {
            if !text.trim().is_empty() {
                model.hint = Some("Up brings back what you typed".to_owned());
            }
            if let Some(dialog) = model.dialogs.front_mut() {
                dialog.problem = Some(one_line(&problem));
            }
            Some(Vec::new())
        }
    }
}

/// A text that was sent while a key was wanted answers nothing, and waits for no other question either.
pub fn refuse_words(model: &mut Model) -> bool {
    let text = model.composer.text();
    let Some(dialog) = model.dialogs.front_mut() else { return false };
    let wants_key = matches!(
        dialog.kind,
        Kind::GoOn { .. } | Kind::Decide { .. } | Kind::Choose { .. } | Kind::Look { .. }
    );
    if !wants_key || text.trim().is_empty() || slash::is_command(&text) {
        return false;
    }
    let word = one_line(text.trim());
    dialog.problem = Some(format!("`{}` is no answer: press one of the keys below", fit(&word, 24)));
    model.composer.put_aside();
    model.popup = None;
    true
}

/// Enter: what was chosen, or the default.
fn confirm(model: &mut Model) -> Vec<Cmd> {
    let Some(dialog) = model.dialogs.front() else { return Vec::new() };
    if let Some((_, selected)) = dialog.choices() {
        return pick(model, selected);
    }
    match dialog.kind {
        Kind::Decide { default: Some(yes), .. } => reply(model, Answer::Value { value: yes.into() }),
        _ => Vec::new(),
    }
}

fn choose(dialog: &mut Dialog, down: bool) {
    let count = dialog.choices().map_or(1, |(choices, _)| choices.len().max(1));
    if let Kind::Choose { selected, .. } | Kind::Look { selected, .. } = &mut dialog.kind {
        *selected = (*selected + if down { 1 } else { count - 1 }) % count;
    }
}

/// One of the choices; that a tool is done may be told with its result.
fn pick(model: &mut Model, at: usize) -> Vec<Cmd> {
    let Some(dialog) = model.dialogs.front() else { return Vec::new() };
    let picked = dialog.choices().and_then(|(choices, _)| choices.get(at).map(|choice| (*choice).to_owned()));
    let Some(picked) = picked else { return Vec::new() };
    if picked == "done" && matches!(dialog.kind, Kind::Look { .. }) {
        if let Some(dialog) = model.dialogs.pop_front() {
            model.dialogs.push_front(dialog.result_of());
        }
        return Vec::new();
    }
    reply(model, Answer::Value { value: picked.into() })
}

/// Answers the question on screen and takes it off.
fn reply(model: &mut Model, answer: Answer) -> Vec<Cmd> {
    match model.dialogs.pop_front().map(|dialog| dialog.kind) {
        Some(
            Kind::Decide { run, call, .. }
            | Kind::Choose { run, call, .. }
            | Kind::Look { run, call, .. }
            | Kind::Write { run, call, .. },
        ) => send(model, run, call, answer),
        _ => Vec::new(),
    }
}

fn send(model: &mut Model, run: RunId, call: CallId, answer: Answer) -> Vec<Cmd> {
    if let Some(view) = model.run_mut(&run) {
        view.left_open = answer == Answer::Stop;
    }
    vec![Cmd::Send(run, Command::Answer { call, answer })]
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
        Some(Kind::Network { .. }) => {
            return match c {
                'y' => network(model, NetworkAnswer::Call),
                'a' => network(model, NetworkAnswer::Run),
                '4' => network_always(model),
                'n' => refuse(model),
                _ => Vec::new(),
            };
        }
        Some(Kind::Unsandboxed { .. }) => {
            return match c {
                'y' => answer(model, true, Decision::Allow),
                'n' => refuse(model),
                _ => Vec::new(),
            };
        }
        Some(Kind::Choose { .. } | Kind::Look { .. }) => {
            let at = c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
            return at.map_or_else(Vec::new, |at| pick(model, at));
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

fn network(model: &mut Model, answer: NetworkAnswer) -> Vec<Cmd> {
    match model.dialogs.pop_front().map(|dialog| dialog.kind) {
        Some(Kind::Network { run, call }) => vec![Cmd::Send(run, Command::AllowNetwork { call, answer })],
        _ => Vec::new(),
    }
}

/// For this run, and from the settings for every later one.
fn network_always(model: &mut Model) -> Vec<Cmd> {
    let mut cmds = network(model, NetworkAnswer::Run);
    cmds.push(Cmd::AllowAlways(StandingPermission::Network));
    cmds
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
/// Yes to the tool that waits in front.
pub fn allow(model: &mut Model, decision: Decision) -> Vec<Cmd> {
    answer(model, true, decision)
}

fn answer(model: &mut Model, yes: bool, decision: Decision) -> Vec<Cmd> {
    let Some(dialog) = model.dialogs.pop_front() else { return Vec::new() };
    match dialog.kind {
        Kind::Approval { run, call } => vec![Cmd::Send(run, Command::Approve { call, decision })],
        Kind::GoOn { run, call, parks, .. } => {
            let cmds = send(model, run.clone(), call, if yes { Answer::Continue } else { Answer::Stop });
            if let Some(view) = model.run_mut(&run) {
                view.left_open &= parks;
            }
            cmds
        }
        Kind::Decide { run, call, .. }
        | Kind::Choose { run, call, .. }
        | Kind::Look { run, call, .. }
        | Kind::Write { run, call, .. } => send(model, run, call, Answer::Stop),
        Kind::Network { run, call } => {
            vec![Cmd::Send(run, Command::AllowNetwork { call, answer: NetworkAnswer::Deny })]
        }
        Kind::Unsandboxed { run, call } => {
            vec![Cmd::Send(run, Command::AllowUnsandboxed { call, allowed: yes })]
        }
        Kind::Trust => vec![Cmd::Trust(yes)],
        Kind::Confirm(cmd) => {
            if yes {
                index::agreed(model, cmd)
            } else {
                model.hint = Some("nothing was changed".to_owned());
                Vec::new()
            }
        }
    }
}
