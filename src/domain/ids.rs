//! Names that never mix: a run is not a snapshot, a state index is not an agent index.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub usize);
    };
}

text_id!(
    /// One run of one workflow; drawn by the driver, sorts by start time.
    RunId
);
text_id!(
    /// One stored state of the project's files (a git commit in our own namespace).
    SnapshotId
);
index!(
    /// Position in `WorkflowProgram::workflows`; 0 is the root.
    WorkflowIx
);
index!(
    /// Position in `Workflow::states`.
    StateIx
);
index!(
    /// Position in `Workflow::agents`.
    AgentIx
);
index!(
    /// Position in `Workflow::contexts`.
    ContextIx
);
index!(
    /// Position in `Workflow::scripts`.
    ScriptIx
);

/// Names one effect of one run. Counted by the machine, so it is the same in every replay;
/// with the run id it is the idempotency key of the effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u64);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Milliseconds since 1970-01-01 UTC. Time is an input: only the driver reads a clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// For display, in UTC to the second: `2026-01-31 12:00:00`. A value that is no time is shown as its number.
    pub fn format_utc(self) -> String {
        jiff::Timestamp::from_millisecond(self.0)
            .map_or_else(|_| self.0.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }

    /// The same beside `now`: the day is left out where it is that of `now`.
    pub fn format_utc_beside(self, now: Self) -> String {
        let (then, today) = (self.format_utc(), now.format_utc());
        match (then.split_once(' '), today.split_once(' ')) {
            (Some((day, time)), Some((this_day, _))) if day == this_day => format!("{time} UTC"),
            _ => format!("{then} UTC"),
        }
    }
}
