//! A step of a run as a user names it: by its number, or by its state, whose last step is meant.
//!
//! Refuses: guessing. A state that the run never entered is answered with those that it did.

use std::fmt;
use std::str::FromStr;

use synthdev_domain::ids::RunId;
use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::RunStep;

/// States that an error names.
const MOST_NAMED: usize = 20;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamedStep {
    /// From 1.
    Number(u32),
    /// The last step in this state; of a state inside of another one the end of its path will do.
    State(String),
}

impl NamedStep {
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Number(step) => Some(*step),
            Self::State(_) => None,
        }
    }

    /// # Errors
    /// The run is unknown or unreadable, or never entered the state. That there are fewer steps is told where one is used.
    pub fn find(&self, handle: &RuntimeHandle, run: &RunId) -> Result<u32, StoreError> {
        match self {
            Self::Number(step) => Ok(*step),
            Self::State(state) => {
                let steps = handle.steps(run)?;
                last_step_in(&steps, state).ok_or_else(|| unknown_state_error(run, state, &steps))
            }
        }
    }
}

impl FromStr for NamedStep {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        match typed.parse() {
            Ok(step) => Ok(Self::Number(step)),
            Err(_) if typed.trim().is_empty() => Err("expected the number of a step, or a state".to_owned()),
            Err(_) => Ok(Self::State(typed.to_owned())),
        }
    }
}

impl From<u32> for NamedStep {
    fn from(step: u32) -> Self {
        Self::Number(step)
    }
}

impl fmt::Display for NamedStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(step) => write!(out, "{step}"),
            Self::State(state) => out.write_str(state),
        }
    }
}

/// One that was entered comes before the one before which a run that was rewound stands.
fn last_step_in(steps: &[RunStep], state: &str) -> Option<u32> {
    let end = format!("/{state}");
    let whole = |step: &RunStep| step.state == state;
    let inner = |step: &RunStep| step.state.ends_with(&end);
    let last = |matches: &dyn Fn(&RunStep) -> bool| {
        let found = || steps.iter().rev().filter(|step| matches(step));
        found().find(|step| step.visit > 0).or_else(|| found().next()).map(|step| step.step)
    };
    last(&whole).or_else(|| last(&inner))
}

fn unknown_state_error(run: &RunId, state: &str, steps: &[RunStep]) -> StoreError {
    let mut names: Vec<String> = Vec::new();
    for step in steps {
        let name = escape_name(&step.state).into_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    let all = match (names.len(), more) {
        (0, _) => "it has entered none yet".to_owned(),
        (_, 0) => format!("it has entered {}", names.join(", ")),
        _ => format!("it has entered {} and {more} more", names.join(", ")),
    };
    StoreError {
        message: format!("run {run} has no step in a state `{}`: {all}", escape_name(state)),
        hint: Some(format!("`synthdev runs steps {run}` lists its steps")),
    }
}
