//! The keys of the history, as F1 lists them.

use super::acting_keys::acts_in_front;
use crate::history_browser::HistoryPrompt;
use crate::history_browser::run_comparison::{DIFFERENCE_BEFORE, NEXT_DIFFERENCE};
use crate::key_help::KeyHelp;
use crate::keymap::KeyAction;
use crate::model::UiModel;

/// `None`: it is not open.
pub fn key_list(model: &UiModel) -> Option<KeyHelp> {
    let browser = model.history_browser.as_ref()?;
    let (keymap, now) = (&model.keymap, model.key_focus_state());
    let leave = ("Ctrl+C".to_owned(), "leave the history; twice: the program".to_owned());
    if let Some(question) = &browser.question {
        let is_chosen = matches!(question, HistoryPrompt::Agree { .. } | HistoryPrompt::Cancel { .. });
        let give =
            if is_chosen { ("y or n, then Enter", "answers") } else { ("Enter", "takes what was typed") };
        let keys = [give, ("Esc", "cancels: nothing is changed")];
        let rows = keys.map(|(keys, about)| (keys.to_owned(), about.to_owned()));
        let rows = rows.into_iter().chain([leave]).collect();
        return Some(KeyHelp::new("Keys of this question".to_owned(), rows));
    }
    let mut rows = keymap.rows_that_act(now, |action| acts_in_front(model, action));
    let is_inside = browser.page.is_some() || browser.run.is_some() || browser.comparison.is_some();
    let back = keymap.key(KeyAction::Back).map(|key| key.to_string());
    if let Some((_, about)) = rows.iter_mut().find(|(keys, _)| Some(keys) == back.as_ref()) {
        *about = if is_inside { "back" } else { "leave the history" }.to_owned();
    }
    if browser.comparison.is_some() && browser.page.is_none() {
        for (action, word) in
            [(KeyAction::NextHit, NEXT_DIFFERENCE), (KeyAction::PreviousHit, DIFFERENCE_BEFORE)]
        {
            let key = keymap.key(action).map(|key| key.to_string());
            let row = rows.iter_mut().find(|(keys, _)| Some(keys) == key.as_ref());
            row.into_iter().for_each(|(_, about)| *about = word.to_owned());
        }
    }
    rows.push(leave);
    Some(KeyHelp::new("Keys of the history".to_owned(), rows))
}
