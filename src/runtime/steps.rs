//! The steps of a run: every state that it entered, the number of its inputs at that time, and the stored files.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::journal_replay::JournaledRun;
use synthdev_domain::ids::{CallId, SnapshotId, Timestamp};
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::Input;
use synthdev_engine::replay::StepwiseReplay;
use synthdev_ports::run_store::StoreError;

/// Where a step begins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RunStep {
    /// From 1.
    pub step: u32,
    pub at: Timestamp,
    /// Path name.
    pub state: String,
    /// How often the state had been entered, this time included; 0: the run rewound to before it.
    pub visit: u32,
    pub agent: Option<String>,
    /// Inputs up to and with the one that entered it.
    #[serde(skip)]
    pub kept: usize,
    /// The files as they were then, as far as they were stored.
    pub files: Option<SnapshotId>,
    /// `files` is what was there when the step began; else it is older.
    pub exact: bool,
    /// For a step of a branch: the state that forked. Files are stored before and after that, not between.
    pub within: Option<String>,
    /// The step of that state: a run can be rewound to it with its files.
    pub forked: Option<u32>,
}

#[derive(Default)]
struct StepCollector {
    steps: Vec<(RunStep, Option<CallId>)>,
    snapshots_taken: BTreeMap<CallId, SnapshotId>,
    /// The newest snapshot that was asked for.
    pending_snapshot: Option<CallId>,
    /// States whose branches or items run.
    forked_states: Vec<String>,
    /// The position of a rewind, if the run did not continue from there.
    rewound_from: Option<(Timestamp, String, usize)>,
}

impl JournaledRun {
    /// Every state that was entered, in order: the n-th is step n. After those, the state before which a rewind
    /// stopped, if the run did not continue from there.
    pub(super) fn steps(&self) -> Vec<RunStep> {
        let mut replay = StepwiseReplay::new(Arc::clone(&self.spec));
        let mut walk = StepCollector::default();
        for (index, entry) in self.entries.iter().enumerate() {
            match &entry.input {
                Input::SnapshotTaken { call, info } => {
                    walk.snapshots_taken.insert(*call, info.id.clone());
                }
                Input::Rewound(returned) => {
                    let known = replay.machine.pending_snapshot().zip(returned.taken.as_ref());
                    walk.snapshots_taken.extend(known.map(|(call, info)| (call, info.id.clone())));
                }
                _ => {}
            }
            let next = self.entries.get(index + 1).map(|entry| &entry.input);
            let first = walk.steps.len();
            for (at, event) in replay.feed_input(entry.at, entry.input.clone(), next) {
                walk.add_event(*at, event, index + 1);
            }
            walk.pending_snapshot = replay.machine.pending_snapshot().or(walk.pending_snapshot);
            for (_, asked) in walk.steps.iter_mut().skip(first) {
                *asked = walk.pending_snapshot;
            }
        }
        if let Some((at, state, kept)) = walk.rewound_from.take() {
            walk.push(at, state, 0, None, kept, walk.pending_snapshot);
        }
        walk.into_steps()
    }

    /// States that other branches entered after a step of one: going back to it with the files as they are repeats
    /// them.
    pub(super) fn concurrent_states_after(&self, place: &RunStep) -> Vec<String> {
        let Some(owner) = &place.within else { return Vec::new() };
        let own = branch_segment(&place.state, owner);
        let later = self.steps().into_iter().skip(place.step as usize);
        let beside =
            later.filter(|step| step.forked == place.forked && branch_segment(&step.state, owner) != own);
        beside.map(|step| step.state).collect()
    }

    /// # Errors
    /// There are fewer steps.
    pub(super) fn find_step(&self, step: u32) -> Result<RunStep, StoreError> {
        let steps = self.steps();
        let found = step.checked_sub(1).and_then(|at| steps.get(at as usize));
        let all = match steps.len() {
            0 => "it has none yet".to_owned(),
            1 => "it has only step 1".to_owned(),
            last => format!("its steps are 1 to {last}"),
        };
        found.cloned().ok_or_else(|| StoreError {
            message: format!("run {} has no step {step}: {all}", self.header.id),
            hint: Some(format!("`synthdev runs steps {}` lists them", self.header.id)),
        })
    }
}

impl StepCollector {
    fn add_event(&mut self, at: Timestamp, event: &RunEvent, kept: usize) {
        match event {
            RunEvent::StateEntered { state, visit, agent, .. } => {
                self.rewound_from = None;
                self.push(at, state.clone(), *visit, agent.clone(), kept, None);
            }
            RunEvent::Rewound { state, .. } => self.rewound_from = Some((at, state.clone(), kept)),
            RunEvent::Forked { state, .. } | RunEvent::AgentSpawned { state, .. } => {
                self.forked_states.push(state.clone());
            }
            RunEvent::AgentEnded { state, .. } => {
                // several agents of one state may work
                let open = self.forked_states.iter().position(|open| open == state);
                open.map(|at| self.forked_states.remove(at));
            }
            RunEvent::Joined { state, .. } => self.forked_states.retain(|open| open != state),
            _ => {}
        }
    }

    fn push(
        &mut self,
        at: Timestamp,
        state: String,
        visit: u32,
        agent: Option<String>,
        kept: usize,
        asked: Option<CallId>,
    ) {
        let step = u32::try_from(self.steps.len() + 1).unwrap_or(u32::MAX);
        // the outermost one: what its branches change is stored when all of them are done
        let within = self.forked_states.iter().find(|owner| is_within(&state, owner)).cloned();
        // it may have been entered several times: the last one is open
        let owner = |earlier: &&(RunStep, _)| Some(&earlier.0.state) == within.as_ref();
        let forked = self.steps.iter().rev().find(owner).map(|(place, _)| place.step);
        let (files, exact) = (None, false);
        let place = RunStep { step, at, state, visit, agent, kept, files, exact, within, forked };
        self.steps.push((place, asked));
    }

    fn into_steps(self) -> Vec<RunStep> {
        let taken = self.snapshots_taken;
        let filled = |(place, asked): (RunStep, Option<CallId>)| {
            // one that failed leaves the one before it
            let files = match asked {
                Some(asked) => taken.range(..=asked).next_back(),
                // it was deferred: before the first one the run has changed nothing
                None => taken.iter().next(),
            };
            let exact = place.within.is_none()
                && asked.is_none_or(|asked| files.is_some_and(|file| *file.0 == asked));
            let exact = exact && files.is_some();
            RunStep { files: files.map(|(_, id)| id.clone()), exact, ..place }
        };
        let mut steps: Vec<RunStep> = self.steps.into_iter().map(filled).collect();
        // a run that paused inside of branches has stored what some of them had done: that belongs to no step
        for at in 0..steps.len() {
            let owner = steps[at].forked.and_then(|step| steps.get(step as usize - 1));
            if let Some(owner) = owner {
                steps[at].files = owner.files.clone();
            }
        }
        steps
    }
}

/// `.branch` of `owner.branch/state`, `[3]` of `owner[3]/state`.
fn branch_segment<'a>(state: &'a str, owner: &str) -> Option<&'a str> {
    state.strip_prefix(owner)?.split('/').next()
}

/// `owner.branch/state` and `owner[3]/state` are.
fn is_within(state: &str, owner: &str) -> bool {
    state.strip_prefix(owner).is_some_and(|rest| rest.starts_with(['.', '[', '/']))
}
