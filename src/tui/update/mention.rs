//! `@` in the input box: the list of what can be mentioned, and asking for what is in it.

use crate::complete::mention::{complete_mention, file_description, split_mention};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::pane_data::RunDefinitionState;
use crate::slash;
use crate::text::one_line;
use crate::transcript::item::TranscriptItem;
use synthdev_service::session::{DefinitionRequest, LookupRequest, ProjectRequest};

/// Shows what fits the word before the cursor. `None`: it mentions nothing.
pub fn refresh_mentions(model: &mut UiModel) -> Option<Vec<UiCommand>> {
    let word = model.composer.word_before_cursor().to_owned();
    let (_, wanted) = split_mention(&word)?;
    let command = slash::is_command(model.composer.first_line());
    let facts = &model.facts;
    // a workflow in front has agents of its own
    let cannot_read = model.workflow.is_none() && !facts.reads_files && !facts.role.is_empty();
    let about_files = file_description(cannot_read.then_some(facts.role.as_str()));
    model.popup = complete_mention(&word, &model.names, &known_states(model), command, &about_files);
    // asked for whenever a mention begins, so that files changed meanwhile are seen
    Some(if wanted.is_empty() {
        vec![
            UiCommand::ask(ProjectRequest::Files),
            UiCommand::ask(DefinitionRequest::Names),
            UiCommand::ask(LookupRequest::McpNames),
        ]
    } else {
        Vec::new()
    })
}

/// Names that are shown of those that no file of the project has.
const SHOWN_NAMES: usize = 3;

/// Says which names of a text are of no file, and which file may be meant.
pub(super) fn report_missing_files(model: &mut UiModel, typed: &str, mut missing: Vec<String>) {
    for (name, file) in unfinished_mentions(model, typed) {
        missing.retain(|known| *known != name);
        let told = format!("no file {name} in this project: sent as text. Did you mean @{file}?");
        model.add_item(TranscriptItem::warning_item(&told));
    }
    if missing.is_empty() {
        return;
    }
    let hidden = missing.len().saturating_sub(SHOWN_NAMES);
    let more = if hidden > 0 { format!(" and {hidden} more") } else { String::new() };
    let shown: Vec<String> = missing.iter().take(SHOWN_NAMES).map(|name| one_line(name)).collect();
    let told = format!("no file {}{more} in this project: sent as text", shown.join(", "));
    model.add_item(TranscriptItem::warning_item(&told));
}

/// The first words that begin the name of a file and were sent without the rest of it, each with the first such file.
fn unfinished_mentions(model: &UiModel, text: &str) -> Vec<(String, String)> {
    // each looks through all files, and code that was pasted is full of such words
    const MOST_WORDS: usize = 5;
    let files = &model.names.files;
    let unfinished = |word: &str| {
        let begun = word.strip_prefix('@')?.trim_end_matches(['.', ',', ';', '!', '?', ')']);
        let is_known = |file: &String| {
            file.strip_prefix(begun).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if begun.is_empty() || files.iter().any(is_known) {
            return None;
        }
        let begins = |file: &&String| {
            file.starts_with(begun) || file.rsplit('/').next().is_some_and(|name| name.starts_with(begun))
        };
        files.iter().find(begins).map(|file| (one_line(begun), one_line(file)))
    };
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_whitespace().filter(|word| word.starts_with('@')) {
        if !words.contains(&word) && words.len() < MOST_WORDS {
            words.push(word);
        }
    }
    words.into_iter().filter_map(unfinished).collect()
}

/// The files are listed.
pub fn on_files_listed(model: &mut UiModel, files: Result<Vec<String>, String>) {
    match files {
        Ok(files) => model.names.files = files,
        Err(reason) => model.hint = Some(reason),
    }
    refresh_mentions(model);
}

/// Of the run that the panes show: those of its definition, else those it has visited.
fn known_states(model: &UiModel) -> Vec<String> {
    let Some(run) = model.watched_run() else { return Vec::new() };
    let mut states: Vec<String> = match &run.pane_data.definition {
        RunDefinitionState::Known(drawing) => drawing.states().map(str::to_owned).collect(),
        _ => run.path.clone(),
    };
    states.sort();
    states.dedup();
    states
}
