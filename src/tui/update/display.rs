//! Answers that are shown as they are: the past of a run, its definition, a theme, the history in front.

use super::{history, history_browser, open_run};
use crate::display::DisplayResponse;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::run_view::pane_data::RunDefinitionState;
use crate::theme::ColorTheme;
use crate::transcript::item::{ItemTone, TranscriptItem};

pub(super) fn on_response(model: &mut UiModel, response: DisplayResponse) -> Vec<UiCommand> {
    match response {
        DisplayResponse::Preview(past) => {
            history_browser::close_for_opening(model);
            return open_run::show_preview(model, *past);
        }
        DisplayResponse::Past { run, past_run } => {
            return history::on_past_run(model, &run, past_run.map(|past| *past));
        }
        DisplayResponse::Earlier { run, before_entry, items } => {
            open_run::insert_earlier_items(model, &run, before_entry, items);
        }
        DisplayResponse::Definition { run, definition } => {
            if let Some(view) = model.run_mut(&run) {
                let agents = definition.iter().flat_map(|found| &found.agents);
                view.roster.add_all(agents.map(String::as_str));
                view.pane_data.set_definition(definition.map(|found| *found));
                if let RunDefinitionState::Known(drawing) = &view.pane_data.definition {
                    view.roster.add_all(drawing.agents().iter().map(String::as_str));
                }
            }
        }
        DisplayResponse::Theme(found) => on_theme_loaded(model, found),
        DisplayResponse::History(number, response) => {
            return history_browser::on_response(model, number, *response);
        }
    }
    Vec::new()
}

fn on_theme_loaded(model: &mut UiModel, found: Result<ColorTheme, String>) {
    let item = match found {
        Ok(theme) => {
            model.theme = theme;
            model.use_background();
            let theme = model.theme;
            TranscriptItem::note_item(&format!("theme {}", theme.name()))
        }
        Err(reason) => TranscriptItem::line(ItemTone::Bad, &reason),
    };
    model.add_item(item);
}
