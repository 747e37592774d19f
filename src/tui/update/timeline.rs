//! Keys of the timeline: choosing a bar of its chart, and opening the call that it is.

use super::history_browser;
use crate::keymap::KeyAction;
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::pane::timeline::{list_index, row_index};
use crate::run_view::timeline::bar_choice::BarStep;
use crate::view;

/// What a key chooses in the chart.
pub(super) fn bar_step(action: KeyAction) -> Option<BarStep> {
    match action {
        KeyAction::ChooseLeft => Some(BarStep::Before),
        KeyAction::ChooseRight => Some(BarStep::Next),
        KeyAction::PreviousItem => Some(BarStep::TrackAbove),
        KeyAction::NextItem => Some(BarStep::TrackBelow),
        _ => None,
    }
}

pub(super) fn choose_bar(model: &mut UiModel, step: BarStep) {
    let cursor = model.panes.state(PaneKind::Timeline).cursor;
    let timeline = model.watched_run().map(|run| &run.pane_data.timeline);
    let found = timeline.and_then(|timeline| {
        let row = row_index(timeline, cursor).unwrap_or_default();
        timeline.bar_after_step(row, step).map(|found| list_index(timeline, found))
    });
    let Some(at) = found else {
        model.hint = Some("there is no bar on that side".to_owned());
        return;
    };
    let len = view::pane_body(model, PaneKind::Timeline).map_or(0, |body| body.len());
    model.panes.state_mut(PaneKind::Timeline).go_to(at, len);
}

/// Shows all of the chosen call, what it was given and what it gave back, or the step that the chosen state is.
pub(super) fn open_chosen_row(model: &mut UiModel) -> Vec<UiCommand> {
    let cursor = model.panes.state(PaneKind::Timeline).cursor;
    let chosen = model.watched_run().and_then(|run| {
        let timeline = &run.pane_data.timeline;
        let row = row_index(timeline, cursor)?;
        let call = timeline.bar(row).and_then(|bar| bar.call);
        Some((run.id.clone(), call, timeline.row(row).and_then(|row| row.step)))
    });
    match chosen {
        Some((run, Some(call), _)) => history_browser::open_call_page(model, run, call),
        Some((run, None, Some(step))) => history_browser::open_step_page(model, run, step),
        Some((_, None, None)) | None => {
            model.hint = Some("only calls, questions and states can be opened".to_owned());
            Vec::new()
        }
    }
}
