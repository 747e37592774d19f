//! `/index`: shows the user the cost, asks for consent, and shows the progress.

use super::shell_commands;
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::progress_text::{progress_text, short_progress_texts};
use synthdev_domain::project_index::SizeLimit;
use synthdev_domain::project_index::report::{IndexOutcome, IndexReport};
use synthdev_service::session::{IndexingRequest, IndexingResponse, LookupRequest, SessionRequest};

pub fn propose_indexing(model: &mut UiModel, limit: SizeLimit) -> Vec<UiCommand> {
    start_indexing(model, "examining the project", IndexingRequest::Look(limit))
}

/// Runs what the user agreed to; making the index gets a number from now on.
pub fn start_agreed_indexing(model: &mut UiModel, cmd: UiCommand) -> Vec<UiCommand> {
    match cmd {
        UiCommand::Ask(SessionRequest::Lookup(LookupRequest::Index(_, asked))) => {
            start_indexing(model, "building the index", asked)
        }
        other => vec![other],
    }
}

fn start_indexing(model: &mut UiModel, what: &str, asked: IndexingRequest) -> Vec<UiCommand> {
    if let Some(aside) = &model.side_query {
        let why = format!("not now: {} · Esc stops that", aside.activity_text);
        model.add_item(TranscriptItem::warning_item(&why));
        return Vec::new();
    }
    vec![UiCommand::ask(LookupRequest::Index(model.start_side_query(what), asked))]
}

pub fn on_response(
    model: &mut UiModel,
    number: u64,
    told: IndexingResponse,
    at: Timestamp,
) -> Vec<UiCommand> {
    model.now = model.now.max(at);
    match told {
        IndexingResponse::At(progress) => {
            if let Some(aside) = model.side_query.as_mut().filter(|aside| aside.number == number) {
                let elapsed = u64::try_from(at.0 - aside.since.0).unwrap_or(0);
                let (done, total) = (progress.done_count as u64, progress.total_count as u64);
                let [with_bar, counts] = short_progress_texts(done, total, elapsed);
                let forms = [progress_text(done, total, elapsed), with_bar, counts.clone()];
                let named = forms.map(|far| format!("building the index: {far}"));
                aside.activity_text.clone_from(&named[0]);
                aside.progress_forms = named.into_iter().chain([counts]).collect();
            }
            // also after a stop: the last reply has the cost
            return vec![UiCommand::ask(LookupRequest::Index(number, IndexingRequest::More))];
        }
        IndexingResponse::Proposal(lines) if model.finish_side_query(number) => {
            let go = UiCommand::ask(LookupRequest::Index(0, IndexingRequest::Go));
            model.push_question(QuestionDialog::for_confirmation(
                "Build the index of this project?",
                &lines.join("\n"),
                go,
            ));
        }
        IndexingResponse::Proposal(_) => {}
        IndexingResponse::Refused(why) => {
            model.finish_side_query(number);
            model.add_item(TranscriptItem::line(ItemTone::Bad, &why));
        }
        IndexingResponse::Done(report) => {
            model.finish_side_query(number);
            on_index_done(model, &report);
        }
    }
    Vec::new()
}

fn on_index_done(model: &mut UiModel, report: &IndexReport) {
    shell_commands::record_costs(model, &report.costs);
    model.add_item(TranscriptItem::note_item(&report.line()));
    let tone =
        if matches!(report.outcome, IndexOutcome::Broken(_)) { ItemTone::Bad } else { ItemTone::Warning };
    for note in report.notes() {
        model.add_item(TranscriptItem::line(tone, &note));
    }
}
