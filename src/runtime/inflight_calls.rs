//! Calls that other branches had in flight when a step of one began: a run that rewinds to the step keeps them.
//!
//! A rewind does not start a command again that had already started: its recorded result is used again, and if there is
//! none, the user is asked, as after a crash. Calls that other branches began after the step are dropped.

use super::journal_replay::JournaledRun;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::CallId;
use synthdev_domain::journal::{JournalRow, JournalRowKind};
use synthdev_engine::effect::Effect;
use synthdev_engine::input::Input;
use synthdev_engine::replay::StepwiseReplay;
use synthdev_ports::run_store::StoreError;

#[derive(Default)]
pub(super) struct InflightCalls {
    /// Calls of models and tools.
    pub(super) open_calls: Vec<CallId>,
    /// Those of them that were answered later.
    pub(super) answers: Vec<Input>,
}

/// The calls in flight at the position of a replay that has consumed the first `kept` inputs.
pub(super) fn inflight_calls_at(
    journaled_run: &JournaledRun,
    kept: usize,
    replay: &StepwiseReplay,
) -> InflightCalls {
    let asked = replay.open_effects().filter(|effect| is_carried(effect));
    let mut open: Vec<CallId> = asked.filter_map(Effect::call).collect();
    // the answer that led to the step counts as taken, although its branch is still in the middle of the step
    let answered = journaled_run.entries.iter().take(kept).filter_map(|entry| entry.input.answered_call());
    answered.for_each(|answered| open.retain(|call| *call != answered));
    let answers = open.iter().filter_map(|call| recorded_answer(journaled_run, *call).cloned()).collect();
    InflightCalls { open_calls: open, answers }
}

impl InflightCalls {
    /// What they had cost is entered elsewhere.
    pub(super) fn without_costs(mut self) -> Self {
        for answer in &mut self.answers {
            if let Input::Replied { reply, .. } = answer {
                reply.usage = TokenUsage::default();
                reply.failed.clear();
            }
        }
        self
    }

    /// The rows that say what is known of them, for the journal of a fork.
    ///
    /// # Errors
    /// A value that has no JSON form.
    pub(super) fn to_rows(&self, journaled_run: &JournaledRun) -> Result<Vec<JournalRow>, StoreError> {
        let at = journaled_run.entries.last().map(|entry| entry.at).unwrap_or_default();
        let of_open = journaled_run.intents.iter().filter(|(call, _)| self.open_calls.contains(call));
        let mut rows: Vec<JournalRow> = of_open
            .map(|(call, body)| JournalRow::new(JournalRowKind::Intent, at, Some(*call), body.clone()))
            .collect();
        for (call, planned) in
            journaled_run.begun_effects.iter().filter(|(call, _)| self.open_calls.contains(call))
        {
            let body = serde_json::to_string(planned).map_err(|error| StoreError {
                message: format!("what had begun cannot be written: {error}"),
                hint: None,
            })?;
            rows.push(JournalRow::new(JournalRowKind::Begun, at, Some(*call), body));
        }
        Ok(rows)
    }
}

impl JournaledRun {
    /// The answer to a call before a rewind discarded it.
    pub(super) fn answer_before_rewind(&self, call: CallId) -> Option<&Input> {
        let returned = self.entries.iter().filter_map(|entry| match &entry.input {
            Input::Rewound(returned) => Some(&returned.answers),
            _ => None,
        });
        returned.flatten().find(|input| input.answered_call() == Some(call))
    }
}

fn is_carried(effect: &Effect) -> bool {
    matches!(effect, Effect::CallModel { .. } | Effect::RunTool { .. })
}

/// A model that could not answer is asked again.
fn recorded_answer(journaled_run: &JournaledRun, call: CallId) -> Option<&Input> {
    let own = journaled_run.entries.iter().map(|entry| &entry.input).find(|input| {
        matches!(input, Input::Replied { .. } | Input::ToolDone { .. }) && input.answered_call() == Some(call)
    });
    own.or_else(|| journaled_run.answer_before_rewind(call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::cost::AttemptUsage;
    use synthdev_domain::model::ModelReply;

    #[test]
    fn what_an_answer_had_cost_is_not_charged_twice() {
        let usage = TokenUsage { prompt: 10, ..TokenUsage::default() };
        let failed = vec![AttemptUsage { usage, ..AttemptUsage::default() }];
        let reply = ModelReply { usage, failed, ..ModelReply::default() };
        let answers = vec![Input::Replied { call: CallId(1), reply }];
        let carried = InflightCalls { open_calls: vec![CallId(1)], answers }.without_costs();
        let [Input::Replied { reply, .. }] = &carried.answers[..] else { panic!("{:?}", carried.answers) };
        assert_eq!((reply.usage, reply.failed.len()), (TokenUsage::default(), 0));
    }
}
