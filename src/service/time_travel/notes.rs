//! What a user should know before a run is rewound or forked.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use synthdev_domain::ids::SnapshotId;
use synthdev_domain::snapshot::{ChangedFile, join_first_paths};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_language::did_you_mean::{closest_word, suggestion_hint};
use synthdev_runtime::time_travel::RunStep;

/// Before a name that is new although it is nearly one that the run has.
pub(super) const NEW_SIGN: char = '+';

/// A sentence without a final stop.
#[derive(Clone, PartialEq, Debug)]
pub enum TimeTravelNote {
    /// The step is in a branch: with files the run goes back to before all branches, to `step`.
    AllBranchesRepeated {
        asked: u32,
        owner: String,
        step: RunStep,
    },
    /// The step is in a branch: other branches repeat these states.
    OtherBranchesRepeated {
        asked: u32,
        owner: String,
        states: Vec<String>,
    },
    /// No snapshot was taken right before the step.
    OlderFiles {
        step: u32,
    },
    /// The run worked in a worktree of its own.
    ForkLeavesWorktree,
    KeptFilesUnknown {
        step: u32,
    },
    KeptFilesDiffer {
        step: u32,
        snapshot: SnapshotId,
        changes: Vec<ChangedFile>,
    },
    /// A key of `common_data` that the run does not have at that step.
    NewKey {
        key: String,
        hint: Option<String>,
    },
}

impl fmt::Display for TimeTravelNote {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllBranchesRepeated { asked, owner, step } => write!(
                to,
                "step {asked} is in a branch of `{}`, whose branches changed the files at the same time: with files the \
                 run goes back to before all of them, step {} ({}), and they are done again",
                escape_name(owner),
                step.step,
                escape_name(&step.state)
            ),
            Self::OtherBranchesRepeated { asked, owner, states } => {
                let states: Vec<_> = states.iter().map(|state| escape_name(state)).collect();
                let (owner, states) = (escape_name(owner), states.join(", "));
                write!(
                    to,
                    "step {asked} is in a branch of `{owner}`: what other branches began after it is done again: {states}"
                )
            }
            Self::OlderFiles { step } => {
                write!(
                    to,
                    "the snapshot of step {step} could not be taken: the files go back to an earlier one"
                )
            }
            Self::ForkLeavesWorktree => {
                write!(to, "the run worked in a worktree, the fork works on the project's own files")
            }
            Self::KeptFilesUnknown { step } => {
                write!(
                    to,
                    "the fork begins with the files as they are now: those of step {step} were not stored"
                )
            }
            Self::KeptFilesDiffer { step, snapshot, changes } => {
                let paths: Vec<String> = changes.iter().map(|file| file.path.clone()).collect();
                write!(
                    to,
                    "not as at step {step} (snapshot {snapshot}): {}; the fork begins with the files as they are now",
                    join_first_paths(&paths)
                )
            }
            Self::NewKey { key, hint } => {
                write!(to, "common_data had no `{}` at that step: it is new", escape_name(key))?;
                hint.iter().try_for_each(|hint| write!(to, "; {hint}"))
            }
        }
    }
}

/// A key that is not `known` and nearly one that is, with that one. A short name has too many neighbours; numbers and a
/// longer end, as of a plural, tell names apart.
pub(super) fn misspelled_key(key: &str, known: &Map<String, Value>) -> Option<(String, String)> {
    const SHORTEST: usize = 4;
    let letters = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    if known.contains_key(key) {
        return None;
    }
    let near = closest_word(key, known.keys().map(String::as_str))?;
    let (typed, meant) = (letters(key), letters(near));
    let is_longer = typed.starts_with(&meant) || meant.starts_with(&typed);
    let is_slip = key.len().min(near.len()) >= SHORTEST && !is_longer;
    is_slip.then(|| (key.to_owned(), near.to_owned()))
}

/// The keys that the user says are new: `+NAME`. The sign is taken off, unless it belongs to a name that the run has.
pub(super) fn take_new_signs(
    set: &mut [(Vec<String>, Value)],
    known: &Map<String, Value>,
) -> BTreeSet<String> {
    let mut new = BTreeSet::new();
    for key in set.iter_mut().filter_map(|(path, _)| path.first_mut()) {
        if let Some(name) = key.strip_prefix(NEW_SIGN).filter(|name| !name.is_empty())
            && !known.contains_key(key.as_str())
        {
            *key = name.to_owned();
            new.insert(key.clone());
        }
    }
    new
}

/// A note for each key that is not `known`. Of those that the user says are new, no other is suggested.
pub(super) fn new_key_notes<'k>(
    keys: impl Iterator<Item = &'k String>,
    known: &Map<String, Value>,
    said_new: &BTreeSet<String>,
) -> Vec<TimeTravelNote> {
    let new = keys.filter(|key| !known.contains_key(*key));
    new.map(|key| TimeTravelNote::NewKey {
        key: key.clone(),
        hint: suggestion_hint(key, known.keys().map(String::as_str)).filter(|_| !said_new.contains(key)),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_no_new_key() {
        let known = json!({"result": 1, "plan1": 2, "b": 3}).as_object().cloned().unwrap();
        for (key, expected) in [
            ("result", None),
            ("resutl", Some("result")),
            ("reslut", Some("result")),
            ("results", None),
            ("plan2", None),
            ("plna1", Some("plan1")),
            ("a", None),
            ("zebra", None),
        ] {
            let found = misspelled_key(key, &known);
            assert_eq!(found.as_ref().map(|(_, near)| near.as_str()), expected, "{key}");
        }
    }

    #[test]
    fn a_key_that_is_said_to_be_new_is_taken() {
        let known = json!({"result": 1, "+odd": 1}).as_object().cloned().unwrap();
        for (key, expected, said) in [
            ("+resutl", "resutl", true),
            ("+result", "result", true),
            ("resutl", "resutl", false),
            ("+odd", "+odd", false),
            ("+", "+", false),
        ] {
            let mut set = [(vec![key.to_owned(), "x".to_owned()], json!(1))];
            let new = take_new_signs(&mut set, &known);
            assert_eq!((set[0].0[0].as_str(), new.contains(expected)), (expected, said), "{key}");
        }
    }

    #[test]
    fn a_new_key_is_noted_with_the_one_that_may_be_meant() {
        let known = json!({"result": 1}).as_object().cloned().unwrap();
        let rows: [(&str, bool, &[&str]); 4] = [
            ("result", false, &[]),
            (
                "resutl",
                false,
                &["common_data had no `resutl` at that step: it is new; did you mean `result`?"],
            ),
            ("resutl", true, &["common_data had no `resutl` at that step: it is new"]),
            ("zebra", false, &["common_data had no `zebra` at that step: it is new"]),
        ];
        for (key, said, expected) in rows {
            let said = said.then(|| key.to_owned()).into_iter().collect();
            let notes = new_key_notes(std::iter::once(&key.to_owned()), &known, &said);
            assert_eq!(notes.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{key}");
        }
    }
}
