//! The model at the first frame, and the commands with which a session begins.

use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::session_options::{FirstAction, TrustQuestion};
use crate::theme::ColorTheme;
use crate::transcript::item::{ItemTone, TranscriptItem};
use crate::update::{history, open_run, start_facts};
use synthdev_service::session::{StartRequest, StatusFacts};

/// The model at the first frame, and its first commands.
pub fn initial_model(
    facts: StatusFacts,
    start: Option<FirstAction>,
    trust: Option<TrustQuestion>,
    banner: &[String],
    theme: ColorTheme,
) -> (UiModel, Vec<UiCommand>) {
    let mut model = UiModel::new(facts, theme);
    for line in banner {
        model.add_item(TranscriptItem::line(ItemTone::Accent, line));
    }
    let start = start.map(|action| first_commands(&mut model, action)).unwrap_or_default();
    match trust {
        // Nothing starts before the answer: it decides which definitions are used.
        Some(question) => {
            model.start_facts_wait = true;
            model.push_question(QuestionDialog::for_trust(&question.files, &question.changes));
            model.start.extend(start);
            (model, Vec::new())
        }
        None => {
            start_facts::say_start_facts(&mut model);
            (model, start)
        }
    }
}

fn first_commands(model: &mut UiModel, action: FirstAction) -> Vec<UiCommand> {
    match action {
        FirstAction::Workflow { name, input } => {
            vec![UiCommand::ask(StartRequest::Workflow { name, input })]
        }
        FirstAction::Conversation(run) => open_run::start_opening(model, run.to_string()),
        FirstAction::ChooseConversation => vec![history::ask_resumable()],
    }
}
