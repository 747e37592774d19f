//! The last line of the history: the keys that do something now.

use crate::editor::prompt_guard::{NEW_QUESTION, PromptChoice};
use crate::history_browser::run_comparison::{DIFFERENCE_BEFORE, NEXT_DIFFERENCE};
use crate::history_browser::{HistoryBrowser, HistoryPrompt, HistoryWaitKind, RunAction};
use crate::keymap::KeyAction;
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::pane::shown_graph::ShownGraph;
use crate::text::display_width;
use synthdev_domain::ids::Timestamp;

/// A letter chooses, Enter gives the answer.
fn prompt_keys(question: &HistoryPrompt, now: Timestamp) -> &'static str {
    if question.key_guard().is_some_and(|guard| guard.ms_left(now) > 0) {
        return NEW_QUESTION;
    }
    let (HistoryPrompt::Agree { choice, .. } | HistoryPrompt::Cancel { choice, .. }) = question else {
        return if matches!(question, HistoryPrompt::Fork { .. }) {
            "Enter confirms · Tab a variable of the step · Esc cancels"
        } else {
            "Enter confirms · Esc cancels"
        };
    };
    match choice {
        PromptChoice::Letter('y') => "▸ y confirm · Enter does it · Esc cancels",
        PromptChoice::Text => "words answer nothing: Backspace, then y or n · Esc cancels",
        PromptChoice::Missing => "press y or n first, then Enter · Esc cancels",
        PromptChoice::Letter(_) => "▸ n cancel · Enter leaves everything as it is",
        PromptChoice::None if matches!(question, HistoryPrompt::Agree { .. }) => {
            "y and Enter confirm · n, Esc cancel · ↑↓ scroll"
        }
        PromptChoice::None => "y and Enter confirm · n, Esc cancel",
    }
}

/// The keys while something is asked, typed or waited for.
fn prompt_line(model: &UiModel, archive: &HistoryBrowser) -> Option<String> {
    if let Some(wait) = &archive.pending_wait {
        let line =
            if matches!(wait.wait_kind, HistoryWaitKind::Answer(_)) { "Esc stops waiting" } else { "" };
        return Some(line.to_owned());
    }
    if let Some(question) = &archive.question {
        return Some(prompt_keys(question, model.now).to_owned());
    }
    if archive.list.is_typing {
        return Some("Enter keeps the words · Esc all runs · ↑↓ choose".to_owned());
    }
    if archive.search.as_ref().is_some_and(|search| search.is_typing) {
        return Some("Enter finds · Esc ends".to_owned());
    }
    if archive.search.as_ref()?.not_found {
        return model.keymap.key(KeyAction::Back).map(|key| format!("{key} ends the search"));
    }
    let parts = [(KeyAction::NextHit, "next"), (KeyAction::PreviousHit, "before"), (KeyAction::Back, "ends")];
    let key = |(action, about)| model.keymap.key(action).map(|key| format!("{key} {about}"));
    Some(parts.into_iter().filter_map(key).collect::<Vec<_>>().join(" · "))
}

/// What is possible now: in one row, or in two and behind those what fits one.
pub fn browser_keys(model: &UiModel, archive: Option<&HistoryBrowser>, columns: usize) -> Vec<String> {
    let Some(archive) = archive else { return vec![String::new()] };
    let key = |action: KeyAction, about: &str| model.keymap.key(action).map(|key| format!("{key} {about}"));
    if let Some(line) = prompt_line(model, archive) {
        return vec![line];
    }
    let (page, run) = (archive.page.as_ref(), archive.run.as_ref());
    if archive.comparison.is_some() && page.is_none() {
        return vec![comparison_keys(model)];
    }
    let mut parts = Vec::new();
    if page.is_none() && archive.target_run().is_some() {
        parts.extend(key(KeyAction::Open, "opens"));
    }
    if let Some(shown) = run.filter(|_| page.is_none()).and_then(|run| run.shown_graph()) {
        return vec![graph_keys(model, &shown, columns)];
    }
    if page.is_none() && run.is_some() {
        parts.extend(key(KeyAction::ChooseRight, "chart"));
        parts.extend(key(KeyAction::Show(PaneKind::Graph), "graph"));
    }
    if page.is_some_and(|page| page.resumable_run.is_some()) {
        parts.extend(key(KeyAction::Open, "resumes it"));
    }
    let is_step = page.is_some_and(|page| page.step.or(page.explained_step).is_some());
    if is_step && run.is_some() {
        parts.extend(key(KeyAction::NextItem, "next step"));
        parts.extend(key(KeyAction::PreviousItem, "step before"));
    }
    let (row, step) = (archive.target_run(), archive.selected_step());
    let is_told =
        |deed: &RunAction| *deed == RunAction::Why && page.is_some_and(|page| page.explained_step.is_some());
    for deed in RunAction::ALL.into_iter().filter(|deed| page.is_none() || is_step && !is_told(deed)) {
        if row.is_some_and(|row| deed.unavailable_reason(row, step).is_none()) {
            parts.extend(key(KeyAction::Deed(deed), deed.word()));
        }
    }
    parts.extend(key(KeyAction::Search, "finds"));
    if page.is_none() && run.is_none() {
        parts.extend(key(KeyAction::ByStatus, "status"));
        parts.extend(key(KeyAction::ByWorkflow, "workflow"));
        parts.extend(key(KeyAction::ByProject, "project"));
    }
    let last = key(KeyAction::Back, if page.is_some() || run.is_some() { "back" } else { "leaves" });
    fit_hints(&parts, &last.unwrap_or_default(), columns)
}

fn graph_keys(model: &UiModel, shown: &ShownGraph<'_>, columns: usize) -> String {
    let key = |action: KeyAction, about: &str| model.keymap.key(action).map(|key| format!("{key} {about}"));
    let open = if shown.state.card_open { "closes" } else { "opens" };
    let names = if shown.state.names_only { "conditions" } else { "names only" };
    let last_state = if shown.is_over { "where it ended" } else { "where it is" };
    let parts = [
        Some("arrows choose".to_owned()),
        key(KeyAction::Open, open),
        key(KeyAction::Deed(RunAction::Why), RunAction::Why.word()),
        shown.is_wide().then(|| key(KeyAction::GraphRight, "moves it")).flatten(),
        key(KeyAction::GraphNames, names),
        key(KeyAction::Last, last_state),
        key(KeyAction::Search, "finds"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let last = key(KeyAction::Back, "back").unwrap_or_default();
    fit_hints(&parts, &last, columns).pop().unwrap_or_default()
}

fn comparison_keys(model: &UiModel) -> String {
    let wanted = [
        (KeyAction::NextHit, NEXT_DIFFERENCE),
        (KeyAction::PreviousHit, DIFFERENCE_BEFORE),
        (KeyAction::CopyAll, "copies"),
        (KeyAction::Back, "back"),
    ];
    let hint =
        |(action, about): (KeyAction, &str)| model.keymap.key(action).map(|key| format!("{key} {about}"));
    wanted.into_iter().filter_map(hint).collect::<Vec<_>>().join(" · ")
}

/// All hints in one row; or two rows, and a third version for a screen with room for one row only. The key to leave is
/// always shown.
fn fit_hints(parts: &[String], last: &str, columns: usize) -> Vec<String> {
    let row = |from: usize, last: &str| {
        let (mut text, mut at) = (String::new(), from);
        let behind = if last.is_empty() { 0 } else { display_width(last) + 3 };
        while let Some(part) = parts.get(at) {
            if display_width(&text) + display_width(part) + behind > columns {
                break;
            }
            text += &format!("{part} · ");
            at += 1;
        }
        (text + last, at)
    };
    let (one, fits) = row(0, last);
    if fits == parts.len() {
        return vec![one];
    }
    let (first, next) = row(0, "");
    let (second, _) = row(next, last);
    vec![first.trim_end_matches(" · ").to_owned(), second, one]
}
