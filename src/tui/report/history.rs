//! Past runs in lines: lists, what waits, steps, words that were found.

use std::fmt::Write as _;

use super::align_table;
use crate::answer_fields::AnswerFields;
use crate::history_browser::RunRow;
use crate::history_browser::run_list::WAITS;
use crate::text::{display_width, fit_to_columns, format_dollars, format_thousands, one_line};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{OpenPause, PauseReason, RunStatus, RunSummary};
use synthdev_domain::snapshot::SnapshotInfo;
use synthdev_service::run_list::NOTHING_FOUND;
use synthdev_service::run_place::RunPlace;
use synthdev_service::session::{RunStepList, SearchHitLine, SearchHitPage};

/// `just now`, `5 min ago`, `3 h ago`, `2 days ago`. A clock that was set back counts as no time.
pub fn format_age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(then.0).max(0) / 1_000;
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Columns of a report on the narrowest usual terminal, and how many of them an input gets at least.
const COLUMNS: usize = 76;
const LEAST: usize = 8;

/// What a run has cost, for a list: `?` if a price is not known, and `–` as long as nothing was paid for, because whether
/// its model has a price shows with the first answer.
pub fn listed_cost(status: RunStatus, tokens: u64, cost_usd: Option<f64>) -> String {
    match cost_usd {
        None => "?".to_owned(),
        Some(usd) if usd <= 0.0 && tokens == 0 && status == RunStatus::Running => "–".to_owned(),
        known => format_dollars(known),
    }
}

/// The newest runs of `/runs`. `awaits_message`: a conversation of this session in which the next words are the user's.
pub fn runs_text(list: &[RunSummary], now: Timestamp, awaits_message: impl Fn(&RunId) -> bool) -> String {
    if list.is_empty() {
        return "none found".to_owned();
    }
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|run| {
            vec![
                run.id.to_string(),
                status_word(run, awaits_message(&run.id)).to_owned(),
                fit_to_columns(&one_line(&run.workflow), 16).into_owned(),
                format_age(run.started, now).trim_end_matches(" ago").to_owned(),
                format_thousands(run.progress.usage.total()),
                listed_cost(run.progress.status, run.progress.usage.total(), run.progress.cost_usd),
            ]
        })
        .collect();
    let beside = align_table(&rows);
    let used = beside.lines().map(display_width).max().unwrap_or(0) + 2;
    let room = COLUMNS.saturating_sub(used).max(LEAST);
    let mut text = String::new();
    for (line, run) in beside.lines().zip(list) {
        let gap = " ".repeat(used - display_width(line));
        let input = one_line(&run.input);
        let _ = writeln!(text, "{}", format!("{line}{gap}{}", fit_to_columns(&input, room)).trim_end());
    }
    let unknown =
        if list.iter().any(|run| run.progress.cost_usd.is_none()) { " (? no price is known)" } else { "" };
    text + &format!("run, status, workflow, age, tokens, cost{unknown}, input")
}

/// One line a run: id, workflow, how long ago it stopped, its status.
pub fn waiting_runs_text(list: &[RunSummary], now: Timestamp) -> String {
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|run| {
            vec![
                run.id.to_string(),
                fit_to_columns(&one_line(&run.workflow), 24).into_owned(),
                format_age(run.progress.updated, now),
                status_text(run),
            ]
        })
        .collect();
    align_table(&rows)
}

/// Everything that waits for an answer: what is `asked` on screen, then each question of paused runs, with its request.
/// `None`: nothing waits.
pub fn pending_text<'a>(
    asked: impl Iterator<Item = &'a str>,
    list: &[RunSummary],
    now: Timestamp,
) -> Option<String> {
    /// Characters that are shown of a question.
    const SHOWN: usize = 72;
    let mut text: String = asked.map(|title| format!("▸ {} — asked here now\n", one_line(title))).collect();
    for run in list {
        for pause in &run.progress.pauses {
            let (workflow, state) = (one_line(&run.workflow), one_line(&pause.state));
            let since = format_age(pause.since, now);
            let place =
                if run.progress.status == RunStatus::Running { ", asked in another process" } else { "" };
            let _ =
                writeln!(text, "{} {workflow}, {state}: {}, {since}{place}", run.id, expected_answer(pause));
            let _ = writeln!(text, "   {}", fit_to_columns(&one_line(&pause.message), SHOWN));
            if !pause.required_outputs.is_empty() {
                let fields = AnswerFields::from_schema(&pause.required_outputs, pause.schema.as_ref());
                let wanted: Vec<String> = fields.words().collect();
                let _ = writeln!(text, "   wanted: {}", wanted.join(", "));
            }
        }
    }
    let any =
        |of: RunStatus| list.iter().any(|run| run.progress.status == of && !run.progress.pauses.is_empty());
    match (any(RunStatus::Paused), any(RunStatus::Running)) {
        (true, false) => text.push_str("→ /resume RUN asks again"),
        (true, true) => {
            text.push_str("→ /resume RUN asks again; for those of another process first /pause RUN")
        }
        (false, true) => text.push_str("→ /pause RUN, then /resume RUN asks it here"),
        (false, false) => {}
    }
    (!text.is_empty()).then_some(text)
}

/// For the completion of ids.
pub fn name_and_state(run: &RunSummary, now: Timestamp) -> (String, String) {
    let about = format!(
        "{} · {} · {}",
        one_line(&run.workflow),
        format_age(run.progress.updated, now),
        status_text(run)
    );
    (run.id.to_string(), about)
}

/// The same of a snapshot: its age and what it is of.
pub fn snapshot_name(info: &SnapshotInfo, now: Timestamp) -> (String, String) {
    let about = format!("{} · {}", format_age(info.created, now), one_line(&info.label));
    (info.id.to_string(), about)
}

/// What a run that can be resumed waits for.
pub fn resume_state_text(run: &RunSummary) -> String {
    status_text(run)
}

fn status_word(run: &RunSummary, awaits_message: bool) -> &'static str {
    let asks = awaits_message || !run.progress.pauses.is_empty();
    if run.progress.status == RunStatus::Running && asks { WAITS } else { run.progress.status_word() }
}

/// `interrupted in code`, `waits in gate: an answer`, `left`.
fn status_text(run: &RunSummary) -> String {
    let progress = &run.progress;
    if progress.is_left() {
        return progress.status_word().to_owned();
    }
    let state = progress.path.last().map(|state| format!(" in {}", one_line(state))).unwrap_or_default();
    match (progress.status, progress.pauses.as_slice()) {
        (RunStatus::Paused | RunStatus::Failed | RunStatus::Running, [first, more @ ..]) => {
            let more = if more.is_empty() { String::new() } else { format!(" (+{} more)", more.len()) };
            format!("waits in {}: {}{more}", one_line(&first.state), expected_answer(first))
        }
        (status, _) => format!("{}{state}", status.as_str()),
    }
}

/// A run for the list of the history. `here` is this project; `text` replaces the input.
pub fn history_run_row(run: RunSummary, here: &str, text: Option<String>) -> RunRow {
    /// Characters that are kept of a text.
    const KEPT: usize = 240;
    let short = |text: &str| one_line(&text.chars().take(KEPT).collect::<String>());
    let stands = match &run.progress.error {
        Some(error) if run.progress.status == RunStatus::Failed => {
            let state = error.state.as_ref().map(|state| format!(" in {}", one_line(state)));
            format!("failed{}: {}", state.unwrap_or_default(), short(&error.title))
        }
        _ => status_text(&run),
    };
    let place = RunPlace::of_run(&run, here);
    let is_left = run.progress.is_left();
    let progress = run.progress;
    RunRow {
        text: text.map_or_else(|| short(&run.input), |text| short(&text)),
        status_text: stands,
        workflow: short(&run.workflow),
        status: progress.status,
        is_left,
        is_asking: progress.status == RunStatus::Running && !progress.pauses.is_empty(),
        started: run.started,
        updated: progress.updated,
        tokens: progress.usage.total(),
        cost_usd: progress.cost_usd,
        origin: run.origin.map(|origin| origin.run),
        can_retry: !progress.pauses.is_empty(),
        is_open_elsewhere: false,
        is_at_server: false,
        place,
        can_undo: progress.snapshot.is_some(),
        id: run.id,
    }
}

fn expected_answer(pause: &OpenPause) -> &'static str {
    match pause.reason {
        PauseReason::Input if pause.kind.as_deref() == Some("approval") => "your approval",
        PauseReason::Approval => "your approval",
        PauseReason::Input => "your answer",
        PauseReason::Delegate => "another client",
        PauseReason::Error => "to be tried again",
        PauseReason::Limit => "more of a limit",
        PauseReason::Budget => "more of a budget",
        PauseReason::User => "to go on",
        PauseReason::UncertainEffect => "whether a tool took effect",
    }
}

/// Two lines a hit: its position, and its text.
pub fn search_hits_text(hits: &SearchHitPage, now: Timestamp) -> String {
    let SearchHitPage { lines, has_more } = hits;
    if lines.is_empty() {
        return NOTHING_FOUND.to_owned();
    }
    let line = |hit: &SearchHitLine| {
        let when = format_age(hit.at, now);
        let place = format!("{}  {}  {when}  {}", hit.run, one_line(&hit.workflow), one_line(&hit.location));
        format!("{place}\n    {}", one_line(&hit.text))
    };
    let more = format!(
        "the newest {}, there are more: add words, or `synthdev runs search WORDS --limit 0` lists all",
        lines.len()
    );
    lines.iter().map(line).chain(has_more.then_some(more)).collect::<Vec<_>>().join("\n")
}

/// The steps of a run, and how to rewind to one. Commands without an id mean the run in front.
pub fn steps_text(steps: &RunStepList, is_front: bool) -> String {
    if steps.steps.is_empty() {
        return "it has entered no state yet".to_owned();
    }
    let rows: Vec<Vec<String>> = steps
        .steps
        .iter()
        .map(|(step, state, files)| {
            let files = if *files { "files stored" } else { "" };
            vec![format!("{step:>4}"), one_line(state), files.to_owned()]
        })
        .collect();
    let step = if is_front { "STEP".to_owned() } else { format!("{} STEP", steps.run) };
    format!(
        "{}→ /why {step} says why it was taken, /rewind {step} goes back before it, /fork {step} makes a new run from there",
        align_table(&rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_ago() {
        let check = |seconds: i64, expected: &str| {
            assert_eq!(format_age(Timestamp(0), Timestamp(seconds * 1_000)), expected, "{seconds}");
        };
        check(-5, "just now");
        check(59, "just now");
        check(60, "1 min ago");
        check(3_599, "59 min ago");
        check(3_600, "1 h ago");
        check(172_799, "47 h ago");
        check(172_800, "2 days ago");
    }
}
