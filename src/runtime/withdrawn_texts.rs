//! Texts that the user withdrew after a step, or got back unread when the run ended: a rewind or a fork to the step
//! does not bring them back.

use super::journal_replay::JournaledRun;
use super::steps::RunStep;
use synthdev_engine::effect::Effect;
use synthdev_engine::event::RunEvent;
use synthdev_engine::replay::StepwiseReplay;

/// `before`: the run at the step.
pub(super) fn withdrawn_texts(
    journaled_run: &JournaledRun,
    place: &RunStep,
    before: &StepwiseReplay,
) -> Vec<String> {
    if before.machine.queued_texts().is_empty() {
        return Vec::new();
    }
    let mut later = LaterTexts::default();
    let now = journaled_run.replay_with_events(|index, events| {
        if index >= place.kept {
            events.iter().for_each(|(_, event)| later.add_event(event));
        }
    });
    // a run that can still be answered keeps its texts
    let asks = |effect: &Effect| matches!(effect, Effect::AskPerson { .. });
    if now.machine.status().is_over() && !now.pending().iter().any(|pending| asks(&pending.effect)) {
        now.machine.queued_texts().into_iter().for_each(|text| later.take_back(&text));
    }
    later.withdrawn
}

/// What became of texts after the step. The events say it: a withdrawal of a text that was read already has none.
#[derive(Default)]
struct LaterTexts {
    queued: Vec<String>,
    /// Without those that were queued after the step, too.
    withdrawn: Vec<String>,
}

impl LaterTexts {
    fn add_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Queued { text } => self.queued.push(text.clone()),
            RunEvent::TakenBack { text } => self.take_back(text),
            _ => {}
        }
    }

    /// One that was queued after the step is no earlier one with the same words.
    fn take_back(&mut self, text: &str) {
        match self.queued.iter().position(|queued| queued == text) {
            Some(at) => drop(self.queued.remove(at)),
            None => self.withdrawn.push(text.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_before_the_step_are_told() {
        let said = |text: &str| RunEvent::Queued { text: text.to_owned() };
        let back = |text: &str| RunEvent::TakenBack { text: text.to_owned() };
        let check = |events: &[RunEvent], expected: &[&str]| {
            let mut later = LaterTexts::default();
            events.iter().for_each(|event| later.add_event(event));
            assert_eq!(later.withdrawn, expected);
        };
        check(&[back("a")], &["a"]);
        check(&[said("a"), back("a")], &[]);
        check(&[said("a"), back("a"), back("a"), said("b")], &["a"]);
        // given back at the end
        let mut later = LaterTexts::default();
        later.add_event(&said("a"));
        later.take_back("a");
        assert!(later.withdrawn.is_empty());
    }
}
