//! Keys and answers in the dialog that sets up a model.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::busy::{leave_chat, refuse_while_busy};
use super::key_press::KeyPress;
use super::leaving::leave_program;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::setup::{SetupChoice, SetupDialog, SetupStep};
use crate::text::clean_text;
use crate::transcript::item::TranscriptItem;
use crate::view;
use synthdev_service::session::{ProjectRequest, SessionRequest, SetupRequest, SetupResponse, SetupServer};
use synthdev_service::setting_values::setup::{check_url, parse_key};

/// `/configure [LEVEL]`.
pub fn open_setup(model: &mut UiModel, level: String) -> Vec<UiCommand> {
    if refuse_while_busy(model, "set up a model") {
        return Vec::new();
    }
    vec![UiCommand::Ask(SessionRequest::Setup(
        0,
        Box::new(SetupRequest::Open { level, at_first_start: false, exits_after: false }),
    ))]
}

/// Closes it; nothing outside has changed. Whether the program ends with it.
fn close_setup(model: &mut UiModel) -> bool {
    let alone = model.setup.take().is_some_and(|setup| setup.exits_after);
    let told = "nothing was changed";
    if alone {
        model.exit_line = Some(told.to_owned());
    }
    model.hint = Some(format!("{told}; /configure sets up a model"));
    alone
}

/// It takes every key, unless it gives way to a command.
pub fn on_key(model: &mut UiModel, press: KeyPress) -> Option<Vec<UiCommand>> {
    if gives_way(model, press.key.code == KeyCode::Char('/')) {
        return None;
    }
    if press.is_control('l') {
        model.needs_repaint = true;
        return Some(Vec::new());
    }
    if press.is_control('c') {
        model.last_interrupt = Some(press.at);
    } else if press.key.code != KeyCode::Esc {
        if !view::shows_setup(model) {
            // what is not seen is not typed into
            return Some(Vec::new());
        }
        return model.setup.as_mut().map(|setup| on_step_key(setup, press.key));
    }
    Some(if close_setup(model) { leave_program(model) } else { Vec::new() })
}

/// It came unbidden, and a command is typed or pasted into it: it closes.
fn gives_way(model: &mut UiModel, is_command: bool) -> bool {
    let untouched = |setup: &SetupDialog| {
        setup.at_first_start && setup.step == SetupStep::Place && setup.typed_text.is_empty()
    };
    model.setup.take_if(|setup| is_command && untouched(setup)).is_some()
}

fn on_step_key(setup: &mut SetupDialog, pressed: KeyEvent) -> Vec<UiCommand> {
    if setup.waiting_for.is_some() {
        return Vec::new();
    }
    (setup.problem, setup.assumption) = (None, None);
    let plain = !pressed.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match pressed.code {
        KeyCode::Enter => return on_enter(setup),
        KeyCode::BackTab => go_back(setup),
        KeyCode::Left if setup.typed_text.is_empty() => go_back(setup),
        KeyCode::Left => setup.cursor = setup.cursor.saturating_sub(1),
        KeyCode::Right => setup.cursor = (setup.cursor + 1).min(setup.typed_text.chars().count()),
        KeyCode::PageUp | KeyCode::PageDown => go_over_choices(setup, pressed.code == KeyCode::PageDown),
        KeyCode::Home if setup.typed_text.is_empty() => setup.selected = 0,
        KeyCode::End if setup.typed_text.is_empty() => {
            setup.selected = setup.choices().len().saturating_sub(1);
        }
        KeyCode::Home => setup.cursor = 0,
        KeyCode::End => setup.cursor = setup.typed_text.chars().count(),
        KeyCode::Delete => setup.delete_at(setup.cursor),
        KeyCode::Up | KeyCode::Down => {
            let count = setup.choices().len().max(1);
            let step = if pressed.code == KeyCode::Down { 1 } else { count - 1 };
            setup.selected = (setup.selected + step) % count;
        }
        KeyCode::Char('t') if plain && setup.step == SetupStep::Trial => return try_model(setup),
        KeyCode::Char('s') if plain && setup.step == SetupStep::Trial => return save_setup(setup),
        KeyCode::Char('u') if !plain => setup.set_text(String::new()),
        KeyCode::Char(c) if plain && setup.step != SetupStep::Trial => {
            setup.insert_text(c.encode_utf8(&mut [0; 4]))
        }
        KeyCode::Backspace if setup.cursor > 0 => setup.delete_at(setup.cursor - 1),
        _ => {}
    }
    Vec::new()
}

fn go_over_choices(setup: &mut SetupDialog, down: bool) {
    const PAGE: usize = 10;
    let last = setup.choices().len().saturating_sub(1);
    let to = if down { setup.selected.saturating_add(PAGE) } else { setup.selected.saturating_sub(PAGE) };
    setup.selected = to.min(last);
}

/// A paste is one line in this dialog: a key or an address.
pub fn on_paste(model: &mut UiModel, text: &str) -> Option<Vec<UiCommand>> {
    if gives_way(model, text.starts_with('/')) {
        return None;
    }
    if !view::shows_setup(model) {
        return Some(Vec::new());
    }
    let setup = model.setup.as_mut()?;
    if setup.waiting_for.is_none() && setup.step != SetupStep::Trial {
        setup.problem = None;
        let text =
            if setup.step == SetupStep::Key { text.to_owned() } else { clean_text(text).replace('\n', " ") };
        setup.insert_text(text.trim());
    }
    Some(Vec::new())
}

/// A reply; one to a closed dialog is dropped.
pub fn on_response(model: &mut UiModel, number: u64, told: SetupResponse) -> Vec<UiCommand> {
    match told {
        SetupResponse::Unneeded => return Vec::new(),
        SetupResponse::Opened { at_first_start: true, .. } if has_unsent_input(model) => return Vec::new(),
        SetupResponse::Opened { level, at_first_start: first, exits_after: alone, servers: places } => {
            model.popup = None;
            model.setups += 1;
            model.setup = Some(SetupDialog {
                number: model.setups,
                at_first_start: first,
                ..SetupDialog::new(level, alone, places)
            });
            return Vec::new();
        }
        SetupResponse::Saved(Ok(text)) => return on_setup_saved(model, number, &text),
        SetupResponse::Saved(Err(reason)) if model.setup.is_none() => {
            model.add_item(TranscriptItem::error("no model was set up", &reason));
            return Vec::new();
        }
        SetupResponse::Discovered(_)
        | SetupResponse::Offers { .. }
        | SetupResponse::Tried(_)
        | SetupResponse::Saved(Err(_)) => {}
    }
    let Some(setup) = model.setup.as_mut().filter(|setup| setup.number == number) else { return Vec::new() };
    setup.waiting_for = None;
    match told {
        SetupResponse::Discovered(places) => on_servers_discovered(setup, places),
        SetupResponse::Offers { models, problem } => (setup.models, setup.problem) = (models, problem),
        SetupResponse::Tried(outcome) => setup.outcome = Some(outcome),
        SetupResponse::Saved(Err(reason)) => setup.problem = Some(reason),
        SetupResponse::Unneeded | SetupResponse::Opened { .. } | SetupResponse::Saved(Ok(_)) => {}
    }
    Vec::new()
}

/// A user who has begun to work is not interrupted by the setup.
fn has_unsent_input(model: &UiModel) -> bool {
    !model.composer.is_fresh() || !model.runs.is_empty() || !model.dialogs.is_empty()
}

fn on_servers_discovered(setup: &mut SetupDialog, places: Vec<SetupServer>) {
    setup.discovery_done = true;
    setup.selected = 0;
    if places.is_empty() {
        setup.problem =
            Some("none answers on the usual ports of this machine; type its URL if there is one".to_owned());
    }
    for place in places.into_iter().rev() {
        setup.servers.retain(|known| known.base_url != place.base_url);
        setup.servers.insert(0, place);
    }
}

/// Saved and in force: the next text is answered by the new model.
fn on_setup_saved(model: &mut UiModel, number: u64, text: &str) -> Vec<UiCommand> {
    let alone = model.setup.take_if(|setup| setup.number == number).is_some_and(|setup| setup.exits_after);
    model.add_item(TranscriptItem::note_item(text));
    if alone {
        // no run is active that would have to end
        model.exit_line = Some(text.to_owned());
        model.is_leaving = true;
        return vec![UiCommand::Quit];
    }
    let mut cmds = leave_chat(model);
    cmds.push(UiCommand::ask(ProjectRequest::Status));
    cmds
}

fn on_enter(setup: &mut SetupDialog) -> Vec<UiCommand> {
    match setup.step {
        SetupStep::Key => return take_key(setup),
        SetupStep::Trial if matches!(setup.outcome, Some(Ok(_))) => return save_setup(setup),
        SetupStep::Trial => {
            setup.problem =
                Some("it has not answered: t tests it again, s saves it as it is, ← changes it".to_owned());
            return Vec::new();
        }
        SetupStep::Place | SetupStep::Model | SetupStep::Smart | SetupStep::Fast => {}
    }
    let choices = setup.choices();
    let Some(choice) = choices.get(setup.selected).cloned() else {
        setup.problem = Some("type the model's name".to_owned());
        return Vec::new();
    };
    match choice {
        SetupChoice::Discover => {
            setup.waiting_for = Some("looking for model servers on this machine …");
            vec![setup_command(setup, SetupRequest::Discover)]
        }
        SetupChoice::Place(at) => {
            let place = setup.servers.get(at).cloned();
            take_place(setup, place.unwrap_or_default())
        }
        SetupChoice::Address => take_address(setup),
        SetupChoice::Typed => {
            let name = setup.typed_text.trim().to_owned();
            take_model(setup, Some(name))
        }
        SetupChoice::Model(at) => {
            let name = setup.models.get(at).map(|model| model.name.clone());
            take_model(setup, name)
        }
        SetupChoice::AsBase => take_model(setup, None),
    }
}

fn take_address(setup: &mut SetupDialog) -> Vec<UiCommand> {
    let base_url = setup.typed_address();
    let scheme = base_url.strip_suffix(setup.typed_text.trim().trim_end_matches('/')).unwrap_or_default();
    let assumed = (!scheme.is_empty()).then(|| format!("{scheme} was assumed: the server is {base_url}"));
    if let Err(why) = check_url(&base_url) {
        let looks = base_url.contains(['.', ':', '/']);
        setup.problem =
            Some(if looks { why } else { format!("there is no provider `{base_url}` in the list") });
        return Vec::new();
    }
    let cmds = take_place(setup, SetupServer { base_url, ..SetupServer::default() });
    setup.assumption = assumed;
    cmds
}

fn take_place(setup: &mut SetupDialog, place: SetupServer) -> Vec<UiCommand> {
    if setup.chosen_server.as_ref() != Some(&place) {
        (setup.key, setup.model) = (None, String::new());
        (setup.smart_model, setup.fast_model) = (None, None);
    }
    // a server of the catalogue without keys needs no key step; an unknown address might need one
    let asks = place.needs_key || place.provider.is_empty();
    setup.chosen_server = Some(place);
    if asks { go_to_step(setup, SetupStep::Key) } else { go_to_step(setup, SetupStep::Model) }
}

fn take_key(setup: &mut SetupDialog) -> Vec<UiCommand> {
    let place = setup.chosen_server.clone().unwrap_or_default();
    if setup.typed_text.trim().is_empty() {
        if place.needs_key && place.key_source.is_none() && setup.key.is_none() {
            setup.problem = Some(format!("{} wants a key", place.provider));
            return Vec::new();
        }
        return go_to_step(setup, SetupStep::Model);
    }
    match parse_key(&setup.typed_text) {
        Ok(secret) => {
            setup.key = Some(secret);
            go_to_step(setup, SetupStep::Model)
        }
        Err(why) => {
            setup.set_text(String::new());
            setup.problem = Some(why);
            Vec::new()
        }
    }
}

fn take_model(setup: &mut SetupDialog, name: Option<String>) -> Vec<UiCommand> {
    match setup.step {
        SetupStep::Model => setup.model = name.unwrap_or_default(),
        SetupStep::Smart => setup.smart_model = name,
        SetupStep::Fast => setup.fast_model = name,
        SetupStep::Place | SetupStep::Key | SetupStep::Trial => {}
    }
    let steps = setup.steps();
    let next = steps.iter().skip_while(|step| **step != setup.step).nth(1);
    go_to_step(setup, next.copied().unwrap_or(SetupStep::Trial))
}

/// The step begins, with what it asks.
fn go_to_step(setup: &mut SetupDialog, step: SetupStep) -> Vec<UiCommand> {
    setup.set_text(String::new());
    setup.step = step;
    match step {
        SetupStep::Model => {
            setup.waiting_for = Some("asking the server for its models …");
            vec![setup_command(setup, SetupRequest::Offers(setup.own_setup()))]
        }
        SetupStep::Trial => try_model(setup),
        SetupStep::Place | SetupStep::Key | SetupStep::Smart | SetupStep::Fast => Vec::new(),
    }
}

fn try_model(setup: &mut SetupDialog) -> Vec<UiCommand> {
    setup.outcome = None;
    setup.waiting_for = Some("testing the model …");
    vec![setup_command(setup, SetupRequest::Try(setup.all_setups()))]
}

fn save_setup(setup: &mut SetupDialog) -> Vec<UiCommand> {
    setup.waiting_for = Some("saving …");
    vec![setup_command(setup, SetupRequest::Save(setup.all_setups()))]
}

fn go_back(setup: &mut SetupDialog) {
    let keyless =
        setup.chosen_server.as_ref().is_some_and(|place| !place.needs_key && !place.provider.is_empty());
    let steps = setup.steps().iter().filter(|step| **step != SetupStep::Key || !keyless);
    let before = steps.take_while(|step| **step != setup.step).last();
    if let Some(step) = before.copied() {
        // an address that was typed is still there
        let typed = setup
            .chosen_server
            .as_ref()
            .filter(|server| step == SetupStep::Place && !setup.servers.contains(server));
        let typed = typed.map(|server| server.base_url.clone()).unwrap_or_default();
        setup.set_text(typed);
        setup.step = step;
        setup.outcome = None;
    }
}

fn setup_command(setup: &SetupDialog, asked: SetupRequest) -> UiCommand {
    UiCommand::Ask(SessionRequest::Setup(setup.number, Box::new(asked)))
}
