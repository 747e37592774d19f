//! What a user should know before a run is rewound or forked.

use std::fmt;

use serde_json::{Map, Value};

use synthdev_domain::ids::SnapshotId;
use synthdev_domain::snapshot::{ChangedFile, join_first_paths};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_language::did_you_mean::{closest_word, suggestion_hint};
use synthdev_runtime::time_travel::RunStep;

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

/// A note for each key that is not `known`.
pub(super) fn new_key_notes<'k>(
    keys: impl Iterator<Item = &'k String>,
    known: &Map<String, Value>,
) -> Vec<TimeTravelNote> {
    let new = keys.filter(|key| !known.contains_key(*key));
    new.map(|key| TimeTravelNote::NewKey {
        key: key.clone(),
        hint: suggestion_hint(key, known.keys().map(String::as_str)),
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
    fn a_new_key_is_noted_with_the_one_that_may_be_meant() {
        let known = json!({"result": 1}).as_object().cloned().unwrap();
        let rows: [(&str, &[&str]); 3] = [
            ("result", &[]),
            ("resutl", &["common_data had no `resutl` at that step: it is new; did you mean `result`?"]),
            ("zebra", &["common_data had no `zebra` at that step: it is new"]),
        ];
        for (key, expected) in rows {
            let notes = new_key_notes(std::iter::once(&key.to_owned()), &known);
            assert_eq!(notes.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{key}");
        }
    }
}
