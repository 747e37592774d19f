//! The last row: whose keys they are, the model and its cost, what works and for how long, and keys on the right.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::escape_hint;
use super::draw_helpers::put_line;
use super::pane::pane_keys;
use crate::file_work::PendingFileWork;
use crate::layers::ScreenLayer;
use crate::model::UiModel;
use crate::run_view::RunView;
use crate::text::{display_width, format_count, format_dollars, short_number, window_fill_text};
use crate::wait_clock::with_spinner;

/// Mode, model, tokens, cost, elapsed time; keys on the right.
pub fn draw_status(model: &UiModel, area: Rect, frame: &mut Frame<'_>) {
    if area.height == 0 {
        return;
    }
    let theme = model.theme;
    let mut keys = keys_hint(model);
    let columns = usize::from(area.width);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    if let Some(sign) = model.mode_sign() {
        spans.push(Span::styled(format!(" {sign} "), theme.selected_style()));
        spans.push(Span::raw(" "));
        used += display_width(sign) + 3;
    }
    let last_key = keys.rsplit(" · ").next().unwrap_or_default();
    let room = |keys: &str| columns.saturating_sub(display_width(keys) + 3 + used);
    let parts = status_parts(model, room(&keys), room(last_key));
    for (at, (text, style)) in parts.into_iter().enumerate() {
        let gap = if at > 0 { " · " } else { "" };
        used += display_width(gap) + display_width(&text);
        spans.push(Span::styled(gap, theme.dim_style()));
        spans.push(Span::styled(text, style));
    }
    put_line(frame, area.x, area.y, &Line::from(spans), area.width);
    // the last ones matter most
    while used + display_width(&keys) + 2 >= columns
        && let Some((_, rest)) = keys.split_once(" · ")
    {
        keys = rest.to_owned();
    }
    if used + display_width(&keys) + 2 < columns {
        let x = u16::try_from(columns - display_width(&keys) - 1).unwrap_or(0);
        put_line(frame, x, area.y, &Line::styled(keys, theme.dim_style()), area.width - x);
    }
}

/// Percent of a window from which on it is nearly full.
const NEARLY_FULL: u64 = 80;

/// How full the model's window is.
fn window_text(model: &UiModel) -> Option<(String, ratatui::style::Style)> {
    let (used, window) = model.watched_run()?.window_fill()?;
    let nearly_full = used.saturating_mul(100) / window >= NEARLY_FULL;
    let style = if nearly_full { model.theme.warning_style() } else { model.theme.text() };
    Some((window_fill_text(used, window), style))
}

/// Commands that agents have left running, in all runs of this session: each of them can be stopped from here.
fn background_text(model: &UiModel) -> Option<String> {
    let count: usize = model.runs.iter().map(|run| run.pane_data.running_commands.len()).sum();
    (count > 0).then(|| format!("{} in background", format_count(count as u64, "command")))
}

/// What fits in `columns`, in reading order: where room is short, cost and tokens go first, then the model's name, then
/// words of the activity. What works goes only where the activity would cover the last key: it leaves `least` columns.
fn status_parts(model: &UiModel, columns: usize, least: usize) -> Vec<(String, ratatui::style::Style)> {
    let theme = model.theme;
    let name =
        model.watched_run().and_then(|run| run.speaker.as_ref()).map_or(&model.facts.model, |s| &s.model);
    let usage = model.usage();
    let used = usage.total() > 0;
    let activity = activity_forms(model);
    let mut parts = vec![
        Some((model.mode(), theme.accent_style().patch(theme.bold_style()))),
        (!name.is_empty()).then(|| (name.clone(), theme.text())),
        window_text(model),
        used.then(|| (format!("session {} tok", short_number(usage.total())), theme.text())),
        used.then(|| (format_dollars(model.cost_usd()), theme.text())),
        activity.first().map(|text| (text.clone(), theme.warning_style())),
        (model.questions() > 1).then(|| (format!("{} questions", model.questions()), theme.user_attention())),
        background_text(model).map(|text| (text, theme.warning_style())),
    ];
    let total = |parts: &[Option<(String, ratatui::style::Style)>]| -> usize {
        parts.iter().flatten().map(|(text, _)| display_width(text) + 3).sum()
    };
    for part in [4, 3, 1] {
        if total(&parts) > columns {
            parts[part] = None;
        }
    }
    shorten_activity(&mut parts, &activity, |parts| total(parts) <= columns);
    if parts[5].is_some() && total(&parts) > least + 3 {
        parts[0] = None;
        shorten_activity(&mut parts, &activity, |parts| total(parts) <= least + 3);
    }
    parts.into_iter().flatten().collect()
}

/// The longest form of the activity with which everything fits, else the shortest.
fn shorten_activity(
    parts: &mut [Option<(String, ratatui::style::Style)>],
    forms: &[String],
    fits: impl Fn(&[Option<(String, ratatui::style::Style)>]) -> bool,
) {
    for form in forms {
        if let Some((text, _)) = &mut parts[5] {
            text.clone_from(form);
        }
        if fits(parts) {
            break;
        }
    }
}

/// The current activity, and its duration; of one that says how far it is the shorter forms, too.
fn activity_forms(model: &UiModel) -> Vec<String> {
    match (model.busy_run(), &model.side_query) {
        (Some(run), _) => match &run.snapshot_facts.progress_forms {
            forms if forms.is_empty() || is_halted(model, run) => {
                run_activity(model, run).into_iter().collect()
            }
            forms => forms.clone(),
        },
        (None, Some(aside)) if aside.progress_forms.is_empty() => {
            let ms = u64::try_from(model.now.0 - aside.since.0).unwrap_or(0);
            vec![with_elapsed_time(&aside.activity_text, ms, model.reduced_motion)]
        }
        (None, Some(aside)) => aside.progress_forms.clone(),
        (None, None) => match model.preparation_text() {
            Some(text) => vec![model.with_wait_time(&text)],
            None => model.file_work.as_ref().map(PendingFileWork::activity_forms).unwrap_or_default(),
        },
    }
}

/// Nothing of the run goes on until the user acts.
fn is_halted(model: &UiModel, run: &RunView) -> bool {
    !run.stopped_at.is_empty() || model.dialogs.iter().any(|dialog| dialog.run_id() == Some(&run.id))
}

/// While a question is open, the program waits for the user.
fn run_activity(model: &UiModel, run: &RunView) -> Option<String> {
    if model.dialogs.iter().any(|dialog| dialog.run_id() == Some(&run.id)) {
        return Some("waits for you".to_owned());
    }
    if let Some(stand) = run.stopped_at.first() {
        return Some(format!("stopped: {}", stand.stop_location()));
    }
    if let Some(wait) = run.describe_timed_wait(model.now, model.reduced_motion) {
        return Some(wait);
    }
    let at_once = run.concurrency_label();
    let what = match &at_once {
        Some(at_once) => at_once.as_str(),
        None if run.activity.is_empty() => "working",
        None => &run.activity,
    };
    let ms = run.times.activity_ms(model.now).or_else(|| run.elapsed_ms(model.now))?;
    Some(with_elapsed_time(what, ms, model.reduced_motion))
}

/// Something runs, and for how long, where it may move.
fn with_elapsed_time(what: &str, ms: u64, calm: bool) -> String {
    if calm { what.to_owned() } else { with_spinner(what, ms, 1_000) }
}

/// The key that leads to the newest message: beside a text in the input line that one moves in the text.
fn to_newest(model: &UiModel) -> &'static str {
    if model.composer.is_empty() { "End: newest" } else { "PgDn: newer" }
}

fn keys_hint(model: &UiModel) -> String {
    let focused = model.focused_layer();
    if let Some(pane) = model.keyed_pane().filter(|_| focused == ScreenLayer::FocusedPane) {
        return pane_keys(model, pane);
    }
    if focused == ScreenLayer::KeyHelp {
        return "Esc closes the keys".to_owned();
    }
    let is_read = matches!(focused, ScreenLayer::Conversation | ScreenLayer::FocusedPane);
    if let Some(position) = model.transcript.scroll_position().filter(|_| is_read) {
        return format!("{} · {}", position.to_text(), to_newest(model));
    }
    let hint = match escape_hint(model) {
        _ if focused == ScreenLayer::ModelSetup => "Esc cancels",
        Some(hint) => hint,
        None if model.is_workflow_stopped() => "/step · /continue",
        None if model.side_query.is_some() || model.busy_run().is_some() => "Esc stops",
        None => "/help",
    };
    hint.to_owned()
}
