//! Texts that no run has read and none will. Refuses to send them by itself.

use std::collections::BTreeSet;

use crate::model::UiModel;
use crate::run_view::RunView;
use crate::run_view::pane_data::RunDefinitionState;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;

/// The state to which a workflow goes with a text that it has not asked for.
const RESUME: &str = "resume";

/// What becomes of a text that is queued for a workflow. No agent reads it by itself.
pub fn reading_text(run: &RunView, line_mode: bool) -> String {
    let has_resume = match &run.pane_data.definition {
        RunDefinitionState::Known(drawing) => {
            drawing.graph(0).is_some_and(|graph| graph.nodes.iter().any(|node| node.name == RESUME))
        }
        _ => false,
    };
    let stopped = if run.stopped_at.is_empty() {
        ""
    } else {
        "the stopped run does not read it: /continue goes on, and "
    };
    if has_resume {
        return format!("{stopped}the workflow goes to its state {RESUME} with it after the present state");
    }
    let read = "the workflow reads it when it asks for a text, or gives it back at its end";
    let agents: BTreeSet<&str> = run.speakers.values().map(|speaker| speaker.agent.as_str()).collect();
    // by then another one may be at work
    let agent = match agents.len() {
        0 => return format!("{stopped}{read}"),
        1 => "the agent at work",
        _ => "the agents at work",
    };
    let now = if line_mode {
        format!("After /esc, what you type goes to {agent}")
    } else {
        format!("Esc, then Enter, gives it to {agent}")
    };
    format!("{stopped}{read}. {now}")
}

/// A workflow has ended and read none of what waits to be read.
pub fn report_unread(model: &mut UiModel, run: &RunId) {
    let Some(name) = model.find_run(run).map(|view| view.workflow.clone()).filter(|_| !model.line_mode)
    else {
        return;
    };
    let place = if model.composer.is_empty() { "it is in the input line again" } else { "Up brings it back" };
    let told = format!("{name} has not read what you typed: {place}");
    model.add_item(TranscriptItem::warning_item(&told));
}

/// They come back to the input box, or to its history if something is being typed.
pub fn return_to_input(model: &mut UiModel) {
    if model.queued.is_empty() {
        return;
    }
    let text = std::mem::take(&mut model.queued).join("\n");
    let reader = model.text_reader();
    if model.line_mode {
        // the next line takes the place of what stands in the input box
        let told = format!("this was not read; type it again to send it to {reader}:\n{text}");
        model.add_item(TranscriptItem::warning_item(&told));
    } else if model.composer.is_empty() {
        model.composer.paste_text(&text);
        model.returned_text = Some(model.composer.text());
        // beside a run that works, or a question, these keys do something else first
        let is_free = model.busy_run().is_none() && model.dialogs.is_empty();
        let away = if is_free { ", Ctrl+C puts it away" } else { "" };
        model.hint = Some(format!("not read: Enter sends it to {reader}{away}"));
    } else {
        model.composer.remember_text(&text);
        model.hint = Some("what you typed meanwhile is in the history: Up".to_owned());
    }
}

/// A command that is begun behind a text that came back is no part of it: the text goes into the history.
pub fn make_way_for_command(model: &mut UiModel) {
    let is_untouched = model.returned_text.take().is_some_and(|text| text == model.composer.text());
    if is_untouched && !model.composer.is_empty() {
        model.composer.clear_into_history();
        model.hint = Some("what was not read is in the history: Up".to_owned());
    }
}
