//! `/index`: the person sees what it will cost, agrees, and sees how far it is.

use super::shell_commands;
use crate::backend::{IndexingReply, IndexingRequest};
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::text::thousands;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::project_index::SizeLimit;
use synthdev_domain::project_index::report::{IndexOutcome, IndexReport};

pub fn propose_indexing(model: &mut UiModel, limit: SizeLimit) -> Vec<UiCommand> {
    begin(model, "the project is looked at", IndexingRequest::Look(limit))
}

/// What a person agreed to is done; making the index has a number from now on.
pub fn agreed(model: &mut UiModel, cmd: UiCommand) -> Vec<UiCommand> {
    match cmd {
        UiCommand::Index(_, asked) => begin(model, "the index is made", asked),
        other => vec![other],
    }
}

fn begin(model: &mut UiModel, what: &str, asked: IndexingRequest) -> Vec<UiCommand> {
    if let Some(aside) = &model.aside {
        let why = format!("not now: {} · Esc stops that", aside.what);
        model.say(TranscriptItem::warning(&why));
        return Vec::new();
    }
    vec![UiCommand::Index(model.start_side_query(what), asked)]
}

pub fn handle_reply(model: &mut UiModel, number: u64, told: IndexingReply, at: Timestamp) -> Vec<UiCommand> {
    model.now = model.now.max(at);
    match told {
        IndexingReply::At(progress) => {
            if let Some(aside) = model.aside.as_mut().filter(|aside| aside.number == number) {
                let (done, of) = (thousands(progress.done as u64), thousands(progress.of as u64));
                aside.what = format!("the index is made: {done} of {of}");
            }
            // also for who has stopped it: the end says what it came to
            return vec![UiCommand::Index(number, IndexingRequest::More)];
        }
        IndexingReply::Proposal(lines) if model.finish_side_query(number) => {
            let go = UiCommand::Index(0, IndexingRequest::Go);
            model.dialogs.push_back(QuestionDialog::confirm(
                "Make the index of this project?",
                &lines.join("\n"),
                go,
            ));
        }
        IndexingReply::Proposal(_) => {}
        IndexingReply::Refused(why) => {
            model.finish_side_query(number);
            model.say(TranscriptItem::line(ItemTone::Bad, &why));
        }
        IndexingReply::Done(report) => {
            model.finish_side_query(number);
            done(model, &report);
        }
    }
    Vec::new()
}

fn done(model: &mut UiModel, report: &IndexReport) {
    shell_commands::record_costs(model, &report.spent);
    model.say(TranscriptItem::note(&report.line()));
    let tone =
        if matches!(report.ending, IndexOutcome::Broken(_)) { ItemTone::Bad } else { ItemTone::Warning };
    for note in report.notes() {
        model.say(TranscriptItem::line(tone, &note));
    }
}
