//! Responses about runs: lists, hits, steps, what was done with a run, stored files.

use super::{
    completion, file_work, history, history_browser, resume_picker, resuming, running_commands, steering,
};
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::report::history as report;
use crate::transcript::item::{BlockBodyStyle, ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_service::session::{ActionPreview, FileWorkKind, RunResponse, SnapshotOperation};

/// The title where nothing was done.
const UNCHANGED: &str = "Nothing was changed";

pub(super) fn on_response(model: &mut UiModel, response: RunResponse) -> Vec<UiCommand> {
    let Some(response) = history_browser::take_time_travel_response(model, response) else {
        return Vec::new();
    };
    match response {
        RunResponse::List { list_purpose, list, at } => {
            return history::on_list(model, list_purpose, list, at);
        }
        RunResponse::Resumable { list, at } => return resume_picker::on_resumable(model, list, at),
        RunResponse::Found { search_words: words, hits: Ok(hits), at } => {
            let title = format!("Found: {words}");
            model.add_item(TranscriptItem::report_item(&title, &report::search_hits_text(&hits, at)));
        }
        RunResponse::Found { hits: Err(reason), .. } => {
            show_error(model, "Nothing could be searched", &reason);
        }
        RunResponse::Resumed { run, result: Ok(()) } => return resuming::on_resumed(model, &run),
        RunResponse::Resumed { run, result: Err(reason) } => history::not_resumed(model, &run, &reason),
        RunResponse::Controlled(control, report) => steering::on_run_controlled(model, control, report),
        RunResponse::Reviewed(Ok(text)) => model.show_answer("Last request", &text),
        RunResponse::Reviewed(Err(reason)) => show_error(model, "There is no request", &reason),
        RunResponse::Explained(Ok(text)) => model.show_answer("Why", &text),
        RunResponse::Explained(Err(reason)) => show_error(model, "Nothing to explain", &reason),
        RunResponse::Steps(Ok(steps)) => {
            let title = format!("Steps of {} {}", steps.workflow, steps.run);
            let is_front = history::is_default_run(model, &steps.run);
            model.add_item(TranscriptItem::report_item(&title, &report::steps_text(&steps, is_front)));
        }
        RunResponse::Planned { preview: Ok(preview), .. } => confirm_action(model, preview),
        RunResponse::Travelled(Ok(done)) => history::on_travelled(model, done),
        RunResponse::Steps(Err(reason)) => show_error(model, "There are no steps to show", &reason),
        RunResponse::Planned { preview: Err(reason), .. } | RunResponse::Travelled(Err(reason)) => {
            show_error(model, UNCHANGED, &reason);
        }
        RunResponse::SnapshotNames { list, at } => {
            model.now = model.now.max(at);
            model.names.snapshots = list.iter().map(|info| report::snapshot_name(info, model.now)).collect();
            completion::names_arrived(model);
        }
        RunResponse::Snapshot { command, text } => on_snapshot_done(model, command, text),
        RunResponse::RunningCommands { run, after_end, commands, at } => {
            return running_commands::on_listed(model, &run, after_end, commands, at);
        }
        RunResponse::CommandStopped(result) => running_commands::on_stopped(model, result),
        RunResponse::FileProgress { watch, progress, at } => {
            return file_work::on_progress(model, watch, progress, at);
        }
        // the loop around the screen listens to it
        RunResponse::Written => {}
    }
    Vec::new()
}

fn on_snapshot_done(model: &mut UiModel, command: SnapshotOperation, text: Result<String, String>) {
    if matches!(command, SnapshotOperation::Create { .. }) {
        file_work::end_work(model, FileWorkKind::Snapshot);
    }
    match (command, text) {
        (_, Err(reason)) => show_error(model, "Snapshot", &reason),
        (SnapshotOperation::Diff { id, other }, Ok(text)) => {
            let title = match other {
                Some(other) => format!("From snapshot {id} to {other}"),
                None => format!("Since snapshot {id}"),
            };
            let block = TranscriptBlock::new(ItemTone::Accent, &title, &text).style(BlockBodyStyle::Diff);
            model.add_item(TranscriptItem::Block(block));
        }
        (_, Ok(text)) => model.show_answer("Snapshot", &text),
    }
}

/// The question for what a command would do, if there is something to do.
fn confirm_action(model: &mut UiModel, preview: ActionPreview) {
    let ActionPreview { title, body, request } = preview;
    match request {
        Some(request) => {
            model.push_question(QuestionDialog::for_confirmation(&title, &body, UiCommand::ask(request)));
        }
        None => model.show_answer(UNCHANGED, &body),
    }
}

fn show_error(model: &mut UiModel, title: &str, reason: &str) {
    model.add_item(TranscriptItem::error(title, reason));
}
