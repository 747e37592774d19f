//! The only place that changes the model: one message in, wishes out. Reads no clock, waits for nothing.

use crate::model::UiModel;
use crate::msg::{UiCommand, UiMessage};
use synthdev_service::session::ProjectRequest;

mod active_run;
mod addressee;
mod answer_words;
mod answers;
mod approvals;
mod busy;
mod clipboard;
mod command_availability;
mod commands;
mod completion;
mod conversation;
mod definitions;
mod dialog_keys;
mod display;
mod draft_keys;
mod editing_keys;
mod editor;
mod file_mentions;
mod file_work;
mod graph_pane;
mod graph_steps;
pub mod history;
mod history_browser;
mod index;
mod input_keys;
mod interrupt;
mod key_help;
mod key_press;
mod layer_input;
mod leaving;
mod lookups;
mod mcp_texts;
mod mention;
mod mouse;
mod notifications;
pub mod open_run;
mod pane_layout;
mod panes;
pub mod past_run;
mod project;
mod question_keys;
mod question_replies;
mod resume_picker;
mod resuming;
pub mod run_events;
mod running_commands;
mod runs;
mod session_keys;
mod setup;
mod shell_commands;
pub mod start_facts;
mod starting;
pub mod steering;
mod submit;
mod tasks;
mod timeline;
mod trust_gate;
mod unread_input;
pub mod unused_key;
pub mod verbosity;
pub mod withdrawn_dialog;

pub use leaving::leave_program;

/// Applies one message.
pub fn update_model(model: &mut UiModel, msg: UiMessage) -> Vec<UiCommand> {
    let (before, questions) = (notifications::activity_before(model), model.question_count);
    let early = question_keys::early_answer(model);
    let mut cmds = apply_message(model, msg);
    question_keys::clear_early_answer(model, early);
    session_keys::note_stopped_run(model);
    interrupt::close_stale_confirmation(model);
    cmds.extend(notifications::notify_change(model, before));
    if model.question_count > questions {
        // the question is seen before it is answered
        model.key_help = None;
    }
    cmds.extend(submit::submit_held_lines(model));
    let cmds = trust_gate::hold_until_trusted(model, cmds);
    let mut cmds = resuming::hold_commands(model, cmds);
    command_availability::mark_unavailable(model);
    cmds.extend(panes::request_definition(model));
    if model.composer.take_recall_request() {
        cmds.push(UiCommand::ask(ProjectRequest::Recall));
    }
    // before anything else: leaving may be among it
    let kept = model.composer.take_unsaved_texts().into_iter();
    let kept = kept.map(|text| UiCommand::ask(ProjectRequest::Remember(text)));
    cmds.splice(0..0, kept);
    model.wait_clock.note_wait(model.wait_text(), model.now);
    cmds
}

fn apply_message(model: &mut UiModel, msg: UiMessage) -> Vec<UiCommand> {
    match msg {
        UiMessage::Key(key, at) => {
            let mut cmds = layer_input::handle_key(model, key, at);
            cmds.extend(open_run::request_earlier_items(model));
            cmds
        }
        UiMessage::Paste(text) => layer_input::handle_paste(model, &text),
        UiMessage::Mouse(event) => layer_input::handle_mouse(model, event),
        UiMessage::Resize(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        UiMessage::Focus(has_focus) => {
            model.notifications.is_unfocused = !has_focus;
            Vec::new()
        }
        UiMessage::Background(light) => {
            model.terminal_background.is_light = Some(light);
            model.use_background();
            Vec::new()
        }
        UiMessage::Run(published) => {
            model.now = model.now.max(published.at);
            let cmds = run_events::on_published_event(model, &published.run, published.at, published.event);
            open_run::trim_transcript(model);
            cmds
        }
        UiMessage::Tick(at) => {
            model.now = model.now.max(at);
            history_browser::on_tick(model)
        }
        UiMessage::Stirred(at) => {
            model.now = model.now.max(at);
            history_browser::on_store_change(model)
        }
        UiMessage::Answered(response) => answers::on_response(model, response),
        UiMessage::Displayed(response) => display::on_response(model, response),
    }
}
