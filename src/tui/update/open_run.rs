//! A past run comes on the screen: its end at once, if that was stored, and all of it when it is read.

use super::active_run::active_run;
use super::{busy, resuming};
use crate::display::DisplayRequest;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::past_run::{OpeningRun, PastRun};
use crate::run_view::{EarlierEntries, RunView};
use crate::slash::steering::SteerAction;
use crate::slash::{self, SlashAction};
use crate::text::{format_count, one_line};
use crate::transcript::item::TranscriptItem;
use synthdev_domain::ids::RunId;

/// What entries may weigh, in bytes: as much again is needed around them.
const KEPT_BYTES: usize = 8 << 20;

/// Shown below a preview that lacks the end of the run.
const LATER: &str = "… what came later is being read …";

/// Starts to read a run that is to be resumed. `name` may be the beginning of its id.
pub fn start_opening(model: &mut UiModel, name: String) -> Vec<UiCommand> {
    if !busy::is_busy(model) {
        model.finished_run = None;
        // the user sees what the run does, not what they have read before
        model.transcript.follow_end();
        model.opening_run = Some(OpeningRun {
            run: RunId::from(name.as_str()),
            preview_range: None,
            view_from_preview: false,
            lines: Vec::new(),
        });
    }
    vec![UiCommand::Display(DisplayRequest::Past(name))]
}

/// Shows the stored preview of a run, unless the run is shown already, and requests all of it.
pub fn show_preview(model: &mut UiModel, past: PastRun) -> Vec<UiCommand> {
    let PastRun { mut view, items, is_outdated: behind, .. } = past;
    let run = view.id.clone();
    let asked = take_opening(model, &run);
    let lines = asked.as_ref().map(|asked| asked.lines.clone()).unwrap_or_default();
    // if the session is busy by now, the user learns it once the run is read
    if model.find_run(&run).is_none() && !busy::is_busy(model) {
        announce_run(model, &view);
        let first = model.add_item(TranscriptItem::note_item("… earlier messages are being read …"));
        model.add_items(items);
        if behind {
            model.add_item(TranscriptItem::note_item(LATER));
        }
        let shown = Some(first..model.transcript.len());
        // no entry grows before the run is resumed
        view.remap_positions(|_| None);
        model.runs.push(view);
        resuming::start_resuming(model, &run);
        model.opening_run =
            Some(OpeningRun { run: run.clone(), preview_range: shown, view_from_preview: true, lines });
    } else if asked.is_some() {
        model.opening_run =
            Some(OpeningRun { run: run.clone(), preview_range: None, view_from_preview: false, lines });
    }
    vec![UiCommand::Display(DisplayRequest::Whole(run))]
}

/// The run is read, or cannot be: it is being opened no longer.
pub fn take_opening(model: &mut UiModel, run: &RunId) -> Option<OpeningRun> {
    model.opening_run.take_if(|opening| run.as_str().starts_with(opening.run.as_str()))
}

/// Keeps a line that means a run of which too little is known yet. `false`: it means none.
pub fn hold_line(model: &mut UiModel, line: &str) -> bool {
    let early = match slash::is_command(line).then(|| slash::parse_command_line(line)) {
        None => model.opening_run.is_some(),
        Some(Ok(SlashAction::Steer(steer))) => is_too_early(model, &steer),
        Some(_) => false,
    };
    let Some(opening) = model.opening_run.as_mut().filter(|_| early) else { return false };
    opening.lines.push(line.to_owned());
    model.hint = Some(format!("waits until run {} is read: {}", opening.run, one_line(line)));
    true
}

/// It is meant for a run of which too little is known yet.
fn is_too_early(model: &UiModel, steer: &SteerAction) -> bool {
    match steer {
        SteerAction::Status
        | SteerAction::Control(..)
        | SteerAction::Breaks
        | SteerAction::Pending(_)
        | SteerAction::Approvals(_)
        | SteerAction::RevokeApproval(_) => false,
        // its position and its data may have changed since the preview
        SteerAction::Pause | SteerAction::Set { .. } => true,
        _ => active_run(model).is_none(),
    }
}

/// The run is not resumed: the screen keeps what is known of it. Typed texts come back.
pub fn abort_opening(model: &mut UiModel, opening: OpeningRun) {
    model.hint = None;
    model.queued.extend(opening.lines.into_iter().filter(|line| !slash::is_command(line)));
    if let Some(shown) = opening.preview_range {
        model.transcript.edit_item(shown.start, |item| {
            *item = TranscriptItem::note_item("… earlier messages were not read")
        });
        model.transcript.edit_item(shown.end - 1, |item| {
            if *item == TranscriptItem::note_item(LATER) {
                *item = TranscriptItem::note_item("… what came later was not read");
            }
        });
    }
    resuming::abort_resuming(model, &opening.run);
    if opening.view_from_preview {
        model.runs.retain(|known| known.id != opening.run);
    }
}

/// Shows a run's past, unless it is shown already; returns its facts with their positions on the screen.
pub fn show_past_run(model: &mut UiModel, past: PastRun, opening: Option<OpeningRun>) -> RunView {
    let PastRun { mut view, items, left_out_count: left_out, .. } = past;
    let run = view.id.clone();
    if let Some(known) = model.find_run(&run) {
        view.session_costs.clone_from(&known.session_costs);
        (view.is_cancelling, view.is_interrupting) = (known.is_cancelling, known.is_interrupting);
    }
    let all = |items| left_out_item(&run, left_out).into_iter().chain(items).collect::<Vec<TranscriptItem>>();
    let before = usize::from(left_out > 0);
    // where its past begins on screen
    let base = match opening {
        Some(OpeningRun { preview_range: Some(shown), .. }) => {
            let items = all(items);
            let (base, end) = (shown.start + before, shown.start + items.len());
            for other in &mut model.runs {
                other.remap_positions(|at| {
                    at.checked_sub(shown.end).map(|behind| end + behind).or((at < shown.start).then_some(at))
                });
            }
            let first = shown.start;
            model.transcript.replace_items(shown, items);
            view.remap_positions(|at| Some(base + at));
            Some(first)
        }
        // the screen was cleared
        Some(OpeningRun { view_from_preview: true, .. }) => {
            view.remap_positions(|_| None);
            None
        }
        _ if model.find_run(&run).is_none_or(|known| known.was_cleared) => {
            announce_run(model, &view);
            let first = model.transcript.len();
            model.add_items(all(items));
            view.remap_positions(|at| Some(first + before + at));
            Some(first)
        }
        _ => {
            view.remap_positions(|_| None);
            None
        }
    };
    view.earlier_entries = (left_out > 0)
        .then(|| {
            base.map(|base| EarlierEntries { position: base, left_out_count: left_out, is_requested: false })
        })
        .flatten();
    view
}

/// What is asked for when the screen comes to where a run's past was left out: the entries before.
pub fn request_earlier_items(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(shown) = model.transcript.reading_range() else { return Vec::new() };
    let reached = model.runs.iter_mut().find_map(|view| {
        let earlier = view
            .earlier_entries
            .as_mut()
            .filter(|earlier| !earlier.is_requested && shown.contains(&earlier.position))?;
        earlier.is_requested = true;
        Some(UiCommand::Display(DisplayRequest::Earlier(view.id.clone(), earlier.left_out_count)))
    });
    reached.into_iter().collect()
}

/// Entries of before were read: they take the place of the line about them.
pub fn insert_earlier_items(
    model: &mut UiModel,
    run: &RunId,
    before: usize,
    items: Result<Vec<TranscriptItem>, String>,
) {
    let Some(view) = model.runs.iter_mut().find(|view| view.id == *run) else { return };
    let Some(place) =
        view.earlier_entries.take_if(|earlier| earlier.is_requested && earlier.left_out_count == before)
    else {
        return;
    };
    let items = match items {
        Ok(items) if !items.is_empty() => items,
        answer => {
            let why = answer.err().map_or(String::new(), |why| format!(" ({})", one_line(&why)));
            let text = format!("… earlier entries cannot be read{why}; synthdev runs show {run} has all");
            model.transcript.edit_item(place.position, |item| *item = TranscriptItem::note_item(&text));
            return;
        }
    };
    let left_out = before.saturating_sub(items.len());
    let items: Vec<TranscriptItem> = left_out_item(run, left_out).into_iter().chain(items).collect();
    let more = items.len() - 1;
    let after = |at: usize| Some(if at > place.position { at + more } else { at });
    model.runs.iter_mut().for_each(|view| view.remap_positions(after));
    if let Some(shown) = model.opening_run.as_mut().and_then(|opening| opening.preview_range.as_mut())
        && shown.start > place.position
    {
        *shown = shown.start + more..shown.end + more;
    }
    model.transcript.replace_items(place.position..place.position + 1, items);
    if let Some(view) = model.run_mut(run).filter(|_| left_out > 0) {
        view.earlier_entries =
            Some(EarlierEntries { position: place.position, left_out_count: left_out, is_requested: false });
    }
}

/// Forgets the first entries of a session that has become too long to keep: the store has them.
pub fn trim_transcript(model: &mut UiModel) {
    let first = model.transcript.trim_to_weight(KEPT_BYTES);
    if first == 0 {
        return;
    }
    for view in &mut model.runs {
        // the first that is left makes room for the line about the others
        view.remap_positions(|at| at.checked_sub(first).filter(|at| *at > 0));
    }
    if let Some(opening) = &mut model.opening_run {
        let shown = opening.preview_range.take();
        opening.preview_range = shown.filter(|shown| shown.start > first);
        opening.preview_range =
            opening.preview_range.take().map(|shown| shown.start - first..shown.end - first);
    }
}

fn announce_run(model: &mut UiModel, view: &RunView) {
    model.add_item(TranscriptItem::rule(&format!("{} {}", view.workflow, view.id)));
}

fn left_out_item(run: &RunId, left_out: usize) -> Option<TranscriptItem> {
    let text = format_count(left_out as u64, "earlier entry").replace("entrys", "entries");
    (left_out > 0).then(|| {
        TranscriptItem::note_item(&format!(
            "… {text}: scrolling up reads them; synthdev runs show {run} has all"
        ))
    })
}
