//! Keys and answers in the dialog that sets up a model.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::busy::{end_chat, refuse_while_busy};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::setup::{SetupChoice, SetupDialog, SetupReply, SetupRequest, SetupServer, SetupStep};
use crate::text::clean;
use crate::transcript::item::TranscriptItem;
use synthdev_config::setup::{check_url, key};

/// `/configure [LEVEL]`.
pub fn open(model: &mut UiModel, level: String) -> Vec<UiCommand> {
    if refuse_while_busy(model, "set up a model") {
        return Vec::new();
    }
    vec![UiCommand::Setup(0, Box::new(SetupRequest::Open { level, first: false, alone: false }))]
}

/// Closes it; nothing outside has changed. Whether the program ends with it.
pub fn close(model: &mut UiModel) -> bool {
    let alone = model.setup.take().is_some_and(|setup| setup.alone);
    let told = "nothing was changed";
    if alone {
        model.parting = Some(told.to_owned());
    }
    model.hint = Some(format!("{told}; /configure sets up a model"));
    alone
}

pub fn press(setup: &mut SetupDialog, pressed: KeyEvent) -> Vec<UiCommand> {
    if setup.waiting.is_some() {
        return Vec::new();
    }
    setup.problem = None;
    let plain = !pressed.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match pressed.code {
        KeyCode::Enter => return enter(setup),
        KeyCode::Left | KeyCode::BackTab => back(setup),
        KeyCode::Up | KeyCode::Down => {
            let count = setup.choices().len().max(1);
            let step = if pressed.code == KeyCode::Down { 1 } else { count - 1 };
            setup.selected = (setup.selected + step) % count;
        }
        KeyCode::Char('t') if plain && setup.step == SetupStep::Trial => return attempt(setup),
        KeyCode::Char('s') if plain && setup.step == SetupStep::Trial => return save(setup),
        KeyCode::Char('u') if !plain => type_text(setup, String::new()),
        KeyCode::Char(c) if plain && setup.step != SetupStep::Trial => {
            let text = format!("{}{c}", setup.typed);
            type_text(setup, text);
        }
        KeyCode::Backspace => {
            let mut text = setup.typed.clone();
            text.pop();
            type_text(setup, text);
        }
        _ => {}
    }
    Vec::new()
}

/// A paste is one line here: a key or an address.
pub fn paste(setup: &mut SetupDialog, text: &str) {
    if setup.waiting.is_none() && setup.step != SetupStep::Trial {
        setup.problem = None;
        let text =
            if setup.step == SetupStep::Key { text.to_owned() } else { clean(text).replace('\n', " ") };
        let text = format!("{}{}", setup.typed, text.trim());
        type_text(setup, text);
    }
}

/// An answer; one that comes after its dialog was closed is nobody's.
pub fn handle_reply(model: &mut UiModel, number: u64, told: SetupReply) -> Vec<UiCommand> {
    match told {
        SetupReply::Unneeded => return Vec::new(),
        SetupReply::Opened { first: true, .. } if is_begun(model) => return Vec::new(),
        SetupReply::Opened { level, first, alone, places } => {
            model.popup = None;
            model.setups += 1;
            model.setup =
                Some(SetupDialog { number: model.setups, first, ..SetupDialog::new(level, alone, places) });
            return Vec::new();
        }
        SetupReply::Saved(Ok(text)) => return saved(model, number, &text),
        SetupReply::Saved(Err(reason)) if model.setup.is_none() => {
            model.say(TranscriptItem::error("no model was set up", &reason));
            return Vec::new();
        }
        SetupReply::Discovered(_)
        | SetupReply::Offers { .. }
        | SetupReply::Tried(_)
        | SetupReply::Saved(Err(_)) => {}
    }
    let Some(setup) = model.setup.as_mut().filter(|setup| setup.number == number) else { return Vec::new() };
    setup.waiting = None;
    match told {
        SetupReply::Discovered(places) => discovered(setup, places),
        SetupReply::Offers { models, problem } => (setup.models, setup.problem) = (models, problem),
        SetupReply::Tried(outcome) => setup.outcome = Some(outcome),
        SetupReply::Saved(Err(reason)) => setup.problem = Some(reason),
        SetupReply::Unneeded | SetupReply::Opened { .. } | SetupReply::Saved(Ok(_)) => {}
    }
    Vec::new()
}

/// Somebody who has begun with something is not asked unbidden.
fn is_begun(model: &UiModel) -> bool {
    !model.composer.is_fresh() || !model.runs.is_empty() || !model.dialogs.is_empty()
}

/// The dialog came unbidden, and a command is typed into it: it gives way.
pub fn gives_way(setup: &SetupDialog, pressed: KeyEvent) -> bool {
    setup.first
        && setup.step == SetupStep::Place
        && setup.typed.is_empty()
        && pressed.code == KeyCode::Char('/')
}

fn discovered(setup: &mut SetupDialog, places: Vec<SetupServer>) {
    setup.searched = true;
    setup.selected = 0;
    if places.is_empty() {
        setup.problem =
            Some("no model server answers on this machine; type its URL if there is one".to_owned());
    }
    for place in places.into_iter().rev() {
        setup.places.retain(|known| known.base_url != place.base_url);
        setup.places.insert(0, place);
    }
}

/// Saved and in force: the next text is answered by the new model.
fn saved(model: &mut UiModel, number: u64, text: &str) -> Vec<UiCommand> {
    let alone = model.setup.take_if(|setup| setup.number == number).is_some_and(|setup| setup.alone);
    model.say(TranscriptItem::note(text));
    if alone {
        // nothing runs here that would have to be ended
        model.parting = Some(text.to_owned());
        model.leaving = true;
        return vec![UiCommand::Quit];
    }
    let mut cmds = end_chat(model);
    cmds.push(UiCommand::Status);
    cmds
}

fn type_text(setup: &mut SetupDialog, text: String) {
    setup.typed = text;
    setup.selected = 0;
}

fn enter(setup: &mut SetupDialog) -> Vec<UiCommand> {
    match setup.step {
        SetupStep::Key => return take_key(setup),
        SetupStep::Trial if matches!(setup.outcome, Some(Ok(_))) => return save(setup),
        SetupStep::Trial => return Vec::new(),
        SetupStep::Place | SetupStep::Model | SetupStep::Smart | SetupStep::Fast => {}
    }
    let choices = setup.choices();
    let Some(choice) = choices.get(setup.selected).cloned() else {
        setup.problem = Some("type the model's name".to_owned());
        return Vec::new();
    };
    match choice {
        SetupChoice::Discover => {
            setup.waiting = Some("looking for model servers on this machine …");
            vec![wish(setup, SetupRequest::Discover)]
        }
        SetupChoice::Place(at) => {
            let place = setup.places.get(at).cloned();
            take_place(setup, place.unwrap_or_default())
        }
        SetupChoice::Address => take_address(setup),
        SetupChoice::Typed => {
            let name = setup.typed.trim().to_owned();
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
    let base_url = setup.typed.trim().trim_end_matches('/').to_owned();
    if let Err(why) = check_url(&base_url) {
        let looks = base_url.contains(['.', ':', '/']);
        setup.problem =
            Some(if looks { why } else { format!("there is no provider `{base_url}` in the list") });
        return Vec::new();
    }
    take_place(setup, SetupServer { base_url, ..SetupServer::default() })
}

fn take_place(setup: &mut SetupDialog, place: SetupServer) -> Vec<UiCommand> {
    if setup.place.as_ref() != Some(&place) {
        (setup.key, setup.model) = (None, String::new());
        (setup.smart, setup.fast) = (None, None);
    }
    // a server of the catalogue that wants no key is not asked for one; of an address nobody knows
    let asks = place.needs_key || place.provider.is_empty();
    setup.place = Some(place);
    if asks { to(setup, SetupStep::Key) } else { to(setup, SetupStep::Model) }
}

fn take_key(setup: &mut SetupDialog) -> Vec<UiCommand> {
    let place = setup.place.clone().unwrap_or_default();
    if setup.typed.trim().is_empty() {
        if place.needs_key && place.key_from.is_none() && setup.key.is_none() {
            setup.problem = Some(format!("{} wants a key", place.provider));
            return Vec::new();
        }
        return to(setup, SetupStep::Model);
    }
    match key(&setup.typed) {
        Ok(secret) => {
            setup.key = Some(secret);
            to(setup, SetupStep::Model)
        }
        Err(why) => {
            type_text(setup, String::new());
            setup.problem = Some(why);
            Vec::new()
        }
    }
}

fn take_model(setup: &mut SetupDialog, name: Option<String>) -> Vec<UiCommand> {
    match setup.step {
        SetupStep::Model => setup.model = name.unwrap_or_default(),
        SetupStep::Smart => setup.smart = name,
        SetupStep::Fast => setup.fast = name,
        SetupStep::Place | SetupStep::Key | SetupStep::Trial => {}
    }
    let steps = setup.steps();
    let next = steps.iter().skip_while(|step| **step != setup.step).nth(1);
    to(setup, next.copied().unwrap_or(SetupStep::Trial))
}

/// The step begins, with what it asks.
fn to(setup: &mut SetupDialog, step: SetupStep) -> Vec<UiCommand> {
    type_text(setup, String::new());
    setup.step = step;
    match step {
        SetupStep::Model => {
            setup.waiting = Some("asking the server for its models …");
            vec![wish(setup, SetupRequest::Offers(setup.own()))]
        }
        SetupStep::Trial => attempt(setup),
        SetupStep::Place | SetupStep::Key | SetupStep::Smart | SetupStep::Fast => Vec::new(),
    }
}

fn attempt(setup: &mut SetupDialog) -> Vec<UiCommand> {
    setup.outcome = None;
    setup.waiting = Some("asking the model for a word …");
    vec![wish(setup, SetupRequest::Try(setup.all()))]
}

fn save(setup: &mut SetupDialog) -> Vec<UiCommand> {
    setup.waiting = Some("saving …");
    vec![wish(setup, SetupRequest::Save(setup.all()))]
}

fn back(setup: &mut SetupDialog) {
    let keyless = setup.place.as_ref().is_some_and(|place| !place.needs_key && !place.provider.is_empty());
    let steps = setup.steps().iter().filter(|step| **step != SetupStep::Key || !keyless);
    let before = steps.take_while(|step| **step != setup.step).last();
    if let Some(step) = before.copied() {
        type_text(setup, String::new());
        setup.step = step;
        setup.outcome = None;
    }
}

fn wish(setup: &SetupDialog, asked: SetupRequest) -> UiCommand {
    UiCommand::Setup(setup.number, Box::new(asked))
}
