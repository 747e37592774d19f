//! A run read back from its rows: the machine as it stood, and what was asked for and never answered (§1.7).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::digest;
use crate::domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use crate::domain::journal::{Row, RowKind, RunHeader};
use crate::domain::tool::Foreseen;
use crate::engine::event::RunEvent;
use crate::engine::input::Input;
use crate::engine::replay::{Pending, Tape, effective};
use crate::engine::spec::{MACHINE_VERSION, RunSpec};
use crate::ports::run_store::{RunStore, StoreError};

/// An input with its row's digest.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) at: Timestamp,
    pub(super) input: Input,
    pub(super) digest: Option<u64>,
}

/// The rows of a run, understood.
pub(super) struct Story {
    pub(super) header: RunHeader,
    pub(super) spec: Arc<RunSpec>,
    /// Without what the run went back behind.
    pub(super) entries: Vec<Entry>,
    /// How often each call was asked for.
    pub(super) attempts: BTreeMap<CallId, u32>,
    /// Effects with consequences that had begun.
    pub(super) begun: BTreeMap<CallId, Option<Foreseen>>,
    /// Intents as they were written, for people.
    pub(super) intents: Vec<(CallId, String)>,
}

/// The machine at the end of a story.
pub(super) struct Standing {
    pub(super) machine: crate::engine::machine::Machine,
    pub(super) events: Vec<(Timestamp, RunEvent)>,
    pub(super) pending: Vec<Pending>,
}

/// Where a step begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepPlace {
    pub step: u32,
    pub state: String,
    /// Inputs up to and with the one that entered it.
    pub kept: usize,
    /// The files as they were then, as far as they were stored.
    pub files: Option<SnapshotId>,
}

/// # Errors
/// Unknown id, unreadable rows, or a run of a newer program.
pub(super) fn read(store: &dyn RunStore, run: &RunId) -> Result<Story, StoreError> {
    let (header, rows) = store.load(run)?;
    understand(header, rows)
}

/// # Errors
/// Unreadable rows, or a run of a newer program.
pub(super) fn understand(header: RunHeader, rows: Vec<Row>) -> Result<Story, StoreError> {
    let spec: RunSpec = parse("definition", &header.spec)?;
    if spec.machine_version > MACHINE_VERSION {
        return Err(StoreError {
            message: format!("run {} was made by a newer version of the program", header.id),
            hint: Some("update synthdev to look inside it".to_owned()),
        });
    }
    let mut story = Story {
        header,
        spec: Arc::new(spec),
        entries: Vec::with_capacity(rows.len()),
        attempts: BTreeMap::new(),
        begun: BTreeMap::new(),
        intents: Vec::new(),
    };
    for row in rows {
        match (row.kind, row.call) {
            (RowKind::Intent, Some(call)) => {
                *story.attempts.entry(call).or_insert(0) += 1;
                story.intents.push((call, row.body));
            }
            (RowKind::Begun, Some(call)) => {
                story.begun.insert(call, parse("journal", &row.body)?);
            }
            (RowKind::Input, _) => {
                let input = parse("journal", &row.body)?;
                story.entries.push(Entry { at: row.at, input, digest: row.digest });
            }
            (RowKind::Intent | RowKind::Begun, None) => {}
        }
    }
    story.entries = effective(story.entries, |entry| &entry.input);
    Ok(story)
}

impl Story {
    /// Feeds all of it to a new machine.
    pub(super) fn play(&self) -> Standing {
        self.play_until(self.entries.len(), |_, _, _| true)
    }

    /// Feeds the first inputs; `told` sees each with the events that it led to, and may stop it.
    pub(super) fn play_until(
        &self,
        end: usize,
        mut told: impl FnMut(usize, &Entry, &[(Timestamp, RunEvent)]) -> bool,
    ) -> Standing {
        let mut tape = Tape::new(Arc::clone(&self.spec));
        for (at, entry) in self.entries.iter().take(end).enumerate() {
            let next = self.entries.get(at + 1).map(|entry| &entry.input);
            let events = tape.feed(entry.at, entry.input.clone(), next);
            if !told(at, entry, events) {
                break;
            }
        }
        let ended = tape.end();
        Standing { machine: ended.machine, events: ended.events, pending: ended.pending }
    }

    /// Every state that was entered, in order: the n-th is step n.
    pub(super) fn steps(&self) -> Vec<StepPlace> {
        let mut tape = Tape::new(Arc::clone(&self.spec));
        let mut steps: Vec<(StepPlace, Option<CallId>)> = Vec::new();
        let mut taken: BTreeMap<CallId, SnapshotId> = BTreeMap::new();
        let mut asked = None;
        for (at, entry) in self.entries.iter().enumerate() {
            if let Input::SnapshotTaken { call, info } = &entry.input {
                taken.insert(*call, info.id.clone());
            }
            let next = self.entries.get(at + 1).map(|entry| &entry.input);
            let entered: Vec<String> = tape
                .feed(entry.at, entry.input.clone(), next)
                .iter()
                .filter_map(|(_, event)| match event {
                    RunEvent::StateEntered { state, .. } => Some(state.clone()),
                    _ => None,
                })
                .collect();
            asked = tape.machine.snapshot_asked().or(asked);
            for state in entered {
                let step = u32::try_from(steps.len() + 1).unwrap_or(u32::MAX);
                steps.push((StepPlace { step, state, kept: at + 1, files: None }, asked));
            }
        }
        // the newest one that was asked for by then and was taken, if a little later
        let files = |asked: Option<CallId>| taken.range(..=asked?).next_back().map(|(_, id)| id.clone());
        steps.into_iter().map(|(step, asked)| StepPlace { files: files(asked), ..step }).collect()
    }

    /// # Errors
    /// There are fewer steps.
    pub(super) fn step(&self, step: u32) -> Result<StepPlace, StoreError> {
        let steps = self.steps();
        let found = step.checked_sub(1).and_then(|at| steps.get(at as usize));
        found.cloned().ok_or_else(|| StoreError {
            message: format!("run {} has no step {step}: its steps are 1 to {}", self.header.id, steps.len()),
            hint: Some(format!("`synthdev runs show {}` numbers them", self.header.id)),
        })
    }

    /// The first input whose events are not those that were recorded.
    pub(super) fn divergence(&self) -> Option<(usize, Vec<RunEvent>)> {
        let mut found = None;
        self.play_until(self.entries.len(), |at, entry, events| {
            // a run that went back stands still in the middle of the input before
            let cut = matches!(self.entries.get(at + 1).map(|next| &next.input), Some(Input::Returned(_)));
            let now: Vec<RunEvent> = events.iter().map(|(_, event)| event.clone()).collect();
            if !cut && entry.digest.is_some_and(|recorded| recorded != digest::of(&now)) {
                found = Some((at, now));
            }
            found.is_none()
        });
        found
    }
}

fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError {
        message: format!("the run's {what} cannot be read: {error}"),
        hint: None,
    })
}
