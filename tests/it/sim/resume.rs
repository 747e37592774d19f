//! A run that is paused, or whose process dies in the middle, continues later.

use std::collections::BTreeSet;

use synthdev::domain::agent_team::may_give_budget;
use synthdev::domain::approval::ApprovalDecision;
use synthdev::domain::ids::CallId;
use synthdev::domain::journal::{PauseReason, RunProgress};
use synthdev::engine::effect::Effect;
use synthdev::engine::event::RunEvent;
use synthdev::engine::input::{Input, ResumeInput};
use synthdev::engine::replay::{ReplayResult, StepwiseReplay, replay_inputs};
use synthdev::engine::streaming_replay::StreamingReplay;
use synthdev::runtime::preview::RecentEvents;
use synthdev::runtime::state_snapshot::StateSnapshot;

use super::{Arc, Weather, answers};

/// Inputs between two stored states.
const STORED_EVERY: usize = 5;

/// The state of a run after so many inputs and events.
pub struct StoredState {
    text: String,
    inputs: usize,
    events: usize,
}

fn gives_budget(input: &Input) -> bool {
    let Input::Replied { reply, .. } = input else { return false };
    reply.tool_calls.iter().any(|call| may_give_budget(&call.name, &call.arguments))
}

impl Weather {
    /// What a new process makes of the journal: the same machine, and the same things still to be done.
    pub fn rebuild_machine(&mut self) {
        let rebuilt = replay_inputs(Arc::clone(&self.spec), self.inputs.clone());
        assert!(rebuilt.events == self.events, "the machine that was rebuilt tells another story");
        self.check_requests(&rebuilt);
        self.check_streaming(&self.machine.progress());
        let from_state = self.replay_from_state();
        let ReplayResult { machine, pending_requests, .. } = from_state.unwrap_or(rebuilt);
        self.machine = machine;
        self.requests = pending_requests;
        // as in a long run: scripts, branches and other definitions must not notice
        self.machine.pack_old();
    }

    fn check_requests(&self, rebuilt: &ReplayResult) {
        let pending = rebuilt.pending();
        let rebuilt: BTreeSet<CallId> = pending.iter().filter_map(|one| one.effect.call()).collect();
        let own: BTreeSet<CallId> =
            self.pending.iter().filter_map(answers::effect_call).chain(self.snapshot).collect();
        assert_eq!(rebuilt, own, "what a reopened run would do again");
    }

    /// Stores the state as a driver does, at some of the moments where it can.
    pub fn store_state(&mut self) {
        if self.inputs.len().is_multiple_of(STORED_EVERY) {
            let recent = RecentEvents::default();
            let state = StateSnapshot::encode(&self.machine, &self.requests, &recent);
            let (inputs, events) = (self.inputs.len(), self.events.len());
            self.stored = state.map(|text| StoredState { text, inputs, events }).or(self.stored.take());
        }
    }

    /// What a new process makes of the last stored state and the inputs since: the same as of the whole journal.
    fn replay_from_state(&self) -> Option<ReplayResult> {
        let stored = self.stored.as_ref()?;
        let StateSnapshot { machine, requests, .. } =
            StateSnapshot::decode(&stored.text).expect("a stored state can be read");
        let since = &self.inputs[stored.inputs..];
        let mut replay = StepwiseReplay::from_state(machine, requests, since.iter().map(|(_, input)| input));
        for (at, input) in since {
            replay.feed_input(*at, input.clone(), None);
        }
        let replayed = replay.finish();
        assert!(replayed.events == self.events[stored.events..], "a stored state goes on otherwise");
        assert_eq!(replayed.machine.progress(), self.machine.progress());
        assert_eq!(replayed.machine.ledger(), self.machine.ledger());
        self.check_requests(&replayed);
        Some(replayed)
    }

    /// Who only looks sees the same, without knowing what comes next.
    pub fn check_streaming(&self, progress: &RunProgress) {
        let (mut look, mut events) = (StreamingReplay::new(Arc::clone(&self.spec)), Vec::new());
        for (at, input) in &self.inputs {
            let fed = look.feed_input(*at, input.clone(), &mut |at, event| events.push((at, event)));
            if fed.is_err() {
                // what was asked before counts for a budget that begins: the journal is read as a whole
                assert!(gives_budget(input), "only a budget needs the whole journal: {input:?}");
                return;
            }
        }
        let machine = look.finish(&mut |at, event| events.push((at, event)));
        assert!(events == self.events, "who only looks is told another story");
        let is_empty_notice = |event: &RunEvent| matches!(event, RunEvent::Warning { text, .. } if text.contains("oldest 0 entries"));
        assert!(!events.iter().any(|(_, event)| is_empty_notice(event)), "a warning that nothing is hidden");
        assert_eq!(machine.progress(), *progress);
        assert_eq!(machine.ledger(), self.machine.ledger());
        for call in self.pending.iter().filter_map(answers::effect_call).chain(self.snapshot) {
            assert!(machine.awaits_call(call), "{call} is waited for");
        }
        self.check_compacting();
    }

    /// The same where old texts are let go of at once; a script that rewrites a conversation may need them.
    fn check_compacting(&self) {
        let (mut look, mut events) =
            (StreamingReplay::new(Arc::clone(&self.spec)).with_compaction(1), Vec::new());
        for (at, input) in &self.inputs {
            if look.feed_input(*at, input.clone(), &mut |at, event| events.push((at, event))).is_err() {
                return;
            }
        }
        look.finish(&mut |at, event| events.push((at, event)));
        assert!(events == self.events, "who has let go of old texts is told another story");
    }

    pub fn resume_input(&mut self) -> Input {
        self.rebuild_machine();
        let parked = self.machine.is_over_or_suspended();
        let present = if parked { self.luck.random_chance(70) } else { self.user_present };
        let mut resumed = ResumeInput { present, ..ResumeInput::default() };
        for pause in self.machine.open_pauses() {
            if pause.reason == PauseReason::Approval {
                if self.luck.random_chance(50) {
                    resumed.decisions.push((pause.call, ApprovalDecision::Deny { reason: None }));
                }
            } else if self.luck.random_chance(60) {
                resumed.answers.push((pause.call, answers::random_answer(&mut self.luck)));
            }
        }
        let given = resumed.answers.iter().map(|(call, _)| *call);
        self.past_calls.extend(given.chain(resumed.decisions.iter().map(|(call, _)| *call)));
        // a resume asks the open questions anew
        self.pending.retain(|one| !matches!(one, Effect::AskPerson { .. } | Effect::AskApproval { .. }));
        for effect in std::mem::take(&mut self.pending) {
            match &effect {
                Effect::RunTool { call, invocation, .. } if self.luck.random_chance(30) => {
                    resumed.unclear.push((*call, "who knows".to_owned()));
                    self.past_calls.push(*call);
                    self.approved.push(invocation.clone());
                }
                _ => self.pending.push(effect),
            }
        }
        self.user_present = present;
        self.resume_count += usize::from(parked);
        Input::Resumed(Box::new(resumed))
    }
}
