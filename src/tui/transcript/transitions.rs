//! Steps from state to state: one line for those with nothing shown between them.

use super::TranscriptList;
use super::item::{TranscriptItem, TransitionPath};
use crate::text::one_line;

/// States of one line of steps; of a longer way the last ones.
const STATES_KEPT: usize = 8;

impl TranscriptList {
    /// Appends a step from state to state. One that follows another with nothing shown between them takes its states
    /// over. `from_script`: the state that is left ran a script, and nothing else.
    pub fn push_transition(&mut self, from: &str, to: &str, from_script: bool) {
        let (mut states, mut has_other_states) = (vec![one_line(from)], false);
        let last = self.entries.iter().rposition(|entry| !entry.item.is_hidden());
        if let Some(at) = last
            && let TranscriptItem::Transition(before) = &self.entries[at].item
            && before.states.last() == states.first()
        {
            states.clone_from(&before.states);
            has_other_states = !from_script || before.has_other_states;
            self.edit_item(at, |item| *item = TranscriptItem::Transition(TransitionPath::default()));
        }
        states.push(one_line(to));
        if states.len() > STATES_KEPT {
            // a loop can take thousands
            states.drain(..states.len() - (STATES_KEPT - 1));
            states.insert(0, "…".to_owned());
        }
        self.push(TranscriptItem::Transition(TransitionPath { states, has_other_states }));
    }
}
