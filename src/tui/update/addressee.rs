//! Whom the user talks to: a border in the transcript where that changes.

use crate::model::UiModel;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;

/// Another role is chosen: a conversation with it begins below the border.
pub(super) fn on_role_chosen(model: &mut UiModel) {
    let role = model.facts.role.clone();
    let before = model.last_addressed.replace(role.clone()).filter(|before| *before != role);
    if before.is_some() {
        model.names_addressee = true;
        add_border(model, &format!("{role} · a new conversation"));
    }
}

/// A conversation with the chosen role is open again, below a border of its own.
pub(super) fn on_reopened(model: &mut UiModel) {
    let role = model.facts.role.clone();
    let before = model.last_addressed.replace(role.clone());
    model.names_addressee |= before.is_some_and(|before| before != role);
}

/// A text of the user is shown as part of this run.
pub(super) fn on_text_shown(model: &mut UiModel, run: &RunId) {
    let Some(view) = model.find_run(run) else { return };
    let name = if view.chat { model.facts.role.clone() } else { view.workflow.clone() };
    let before = model.last_addressed.replace(name.clone());
    if before.is_some_and(|before| before != name) {
        add_border(model, &name);
    }
}

/// Where lines come and go, the prompt names whom each of them is for.
fn add_border(model: &mut UiModel, text: &str) {
    if !model.line_mode {
        model.add_item(TranscriptItem::rule(text));
    }
}

/// The input of a workflow is shown under its name.
pub(super) fn on_workflow_shown(model: &mut UiModel, workflow: &str) {
    model.last_addressed = Some(workflow.to_owned());
}
