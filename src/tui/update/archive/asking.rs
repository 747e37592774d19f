//! Questions of the history to the backend, numbered so that an answer finds whoever still waits for it.

use crate::tui::archive::{Asked, Opened, Wait, Waiting};
use crate::tui::model::Model;
use crate::tui::msg::Cmd;

/// A number for the next question.
pub(super) fn number(model: &mut Model) -> u64 {
    model.archives += 1;
    model.archives
}

pub(super) fn ask(number: u64, asked: Asked) -> Cmd {
    Cmd::Archive(number, Box::new(asked))
}

/// Asks something that other keys wait for.
pub(super) fn wait_for(model: &mut Model, asked: Asked, about: &str) -> Vec<Cmd> {
    let number = number(model);
    if let Some(archive) = &mut model.archive {
        archive.wait = Some(Wait { what: Waiting::Answer(number), about: about.to_owned() });
    }
    vec![ask(number, asked)]
}

/// Opens the run under the cursor of the list.
pub(super) fn enter(model: &mut Model) -> Vec<Cmd> {
    let Some(row) = model.archive.as_ref().and_then(|archive| archive.list.chosen()).cloned() else {
        return Vec::new();
    };
    let number = number(model);
    let Some(archive) = &mut model.archive else { return Vec::new() };
    let run = row.id.clone();
    archive.run = Some(Box::new(Opened::new(row, number)));
    vec![ask(number, Asked::Open { run, known: None })]
}
