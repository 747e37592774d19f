//! Texts that the user withdrew after a step, or got back unread when the run ended: a rewind or a fork to the step
//! does not bring them back.

use super::journal_replay::JournaledRun;
use super::steps::RunStep;
use synthdev_engine::effect::Effect;
use synthdev_engine::input::Input;
use synthdev_engine::replay::StepwiseReplay;
use synthdev_engine::steering::SteeringAction;

/// `before`: the run at the step.
pub(super) fn withdrawn_texts(
    journaled_run: &JournaledRun,
    place: &RunStep,
    before: &StepwiseReplay,
) -> Vec<String> {
    if before.machine.queued_texts().is_empty() {
        return Vec::new();
    }
    let mut withdrawn =
        texts_of_inputs(journaled_run.entries.iter().skip(place.kept).map(|entry| &entry.input));
    let now = journaled_run.replay();
    // a run that can still be answered keeps its texts
    let asks = |effect: &Effect| matches!(effect, Effect::AskPerson { .. });
    if now.machine.status().is_over() && !now.pending().iter().any(|pending| asks(&pending.effect)) {
        withdrawn.extend(now.machine.queued_texts());
    }
    withdrawn
}

/// The texts that were withdrawn in these inputs, but for those that were queued in them, too.
fn texts_of_inputs<'i>(inputs: impl IntoIterator<Item = &'i Input>) -> Vec<String> {
    let (mut queued_later, mut withdrawn) = (Vec::new(), Vec::new());
    for input in inputs {
        if let Input::Said { text } = input {
            queued_later.push(text);
        } else if let Input::Rewound(returned) = input {
            withdrawn.extend(returned.withdrawn.iter().cloned());
        } else if let Input::Steered(steering) = input
            && let SteeringAction::TakeBack { text } = &**steering
        {
            match queued_later.iter().position(|later| *later == text) {
                Some(at) => drop(queued_later.remove(at)),
                None => withdrawn.push(text.clone()),
            }
        }
    }
    withdrawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_before_the_step_are_told() {
        let said = |text: &str| Input::Said { text: text.to_owned() };
        let back = |text: &str| Input::Steered(Box::new(SteeringAction::TakeBack { text: text.to_owned() }));
        let check = |inputs: &[Input], expected: &[&str]| assert_eq!(texts_of_inputs(inputs), expected);
        check(&[back("a")], &["a"]);
        check(&[said("a"), back("a")], &[]);
        check(&[said("a"), back("a"), back("a"), said("b")], &["a"]);
    }
}
