//! What a worker and the Restate server exchange: the request of a run, its journaled steps, and what others ask of it.
//!
//! These names are on the wire and in the journals of the server: fields are added with a default, never renamed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::CallId;
use synthdev_domain::journal::{JournalRow, RunHeader, RunProgress};
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::UserAnswer;
use synthdev_engine::run_spec::RunSpec;

/// Beginning of the name of each workflow at the server, one for each host; the key is the id of the run.
pub const SERVICE: &str = "SynthdevRun";

/// A project as hosts compare it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProjectPlace {
    /// The same for every copy of the repository.
    pub identity: String,
    /// Canonical path.
    pub path: String,
    /// Distinguishes the directory from those of other machines, and of other places on this one.
    pub directory: String,
}

/// What a run begins with. The client has checked it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSubmission {
    /// A worker takes the runs of its own project only.
    pub project: ProjectPlace,
    pub spec: RunSpec,
    /// The text of a file of scripted replies that answer in place of models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<String>,
    /// The services that have had it and handed it over: it does not come back to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed_over_by: Vec<String>,
}

/// How the workflow of a run ends at the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunEnd {
    /// The run waited for a slot, and another host had one: the service of that host has it now.
    HandedOver {
        handed_over_to: String,
    },
    Ended(Box<RunProgress>),
}

/// One step of the workflow at the server. The steps of a run, in order, are what a new worker begins with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum JournaledStep {
    /// Rows that the driver appended in one transaction.
    Rows {
        /// With the first rows of a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        header: Option<Box<RunHeader>>,
        rows: Vec<JournalRow>,
        /// The worker that wrote them.
        host: String,
        /// The session of that worker: steps of another one are not its own, whatever their number.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        session: String,
        /// The directory whose files are those of the run then.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        files_at: String,
        /// Where other hosts find the files, if they may have changed since the step before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<SharedFiles>,
        /// Bodies that are in parts before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        long_bodies: Vec<LongBody>,
    },
    /// A part of a body of later rows.
    Part {
        hash: String,
        text: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        session: String,
    },
    /// The run has ended or is suspended.
    Ended {
        progress: Box<RunProgress>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        session: String,
    },
    /// The run has not begun here, and begins at another host.
    HandedOver { service: String },
    /// What was asked for cannot be done; the run is as it was.
    Refused {
        #[serde(flatten)]
        refusal: StepRefusal,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        session: String,
    },
}

/// The files of a run in the git repository that the hosts share, as commits there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SharedFiles {
    /// Those with which the run began; `None`: they were not shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// Those of the moment.
    pub present: String,
}

/// The parts of the body of a row, by their hashes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LongBody {
    /// Which of the rows of the step.
    pub row: usize,
    pub parts: Vec<String>,
}

impl JournaledStep {
    /// Whether the driver goes on after it.
    pub(crate) fn is_of_driver(&self) -> bool {
        matches!(self, Self::Rows { .. } | Self::Part { .. })
    }

    /// Without a driver.
    pub(crate) fn refuse(refusal: StepRefusal) -> Self {
        Self::Refused { refusal, session: String::new() }
    }

    /// The session that wrote it; empty: it was written without one.
    pub(crate) fn session(&self) -> &str {
        match self {
            Self::Rows { session, .. }
            | Self::Part { session, .. }
            | Self::Ended { session, .. }
            | Self::Refused { session, .. } => session,
            Self::HandedOver { .. } => "",
        }
    }
}

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct StepRefusal {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What a suspended run gets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum RunAnswer {
    Resume(ResumeAnswer),
    Cancel,
    /// The run goes on to wait; the host that answers for it now has its rows then.
    Load,
}

/// As typed for `resume`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ResumeAnswer {
    /// The state whose question is answered, if several are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Value>,
    /// Every call is approved from now on.
    #[serde(default)]
    pub approves_all: bool,
    /// Answers as the run records them, by the calls that ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(CallId, UserAnswer)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<(CallId, ApprovalDecision)>,
}

/// Asks what happened since.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FollowRequest {
    /// So many rows are known.
    #[serde(default)]
    pub rows: u64,
    /// As the last answer said: nothing is read again while it stays the same.
    #[serde(default)]
    pub version: Option<u64>,
    /// So many of the events that are in no journal are known; `None`: they are not wanted.
    #[serde(default)]
    pub transient: Option<u64>,
    /// Answered at once.
    #[serde(default)]
    pub looks_only: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FollowAnswer {
    /// With the first rows. `None`: the run has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<Box<RunHeader>>,
    #[serde(default)]
    pub rows: Vec<JournalRow>,
    /// There are further rows.
    #[serde(default)]
    pub has_more: bool,
    /// `None`: no worker drives the run.
    #[serde(default)]
    pub version: Option<u64>,
    #[serde(default)]
    pub progress: Option<RunProgress>,
    /// Events that are in no journal, and how many are known with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transient: Vec<RunEvent>,
    #[serde(default)]
    pub transient_seen: u64,
    /// Distinguishes the history of the worker from others.
    #[serde(default)]
    pub history: String,
    /// The identity of its project.
    #[serde(default)]
    pub project: String,
    /// The last answer that the run did not take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedAnswer>,
}

/// An answer that the run did not take; it waits for another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusedAnswer {
    /// As the server counts the answers of a run.
    pub number: u64,
    pub refusal: StepRefusal,
}

/// Whether the run waits for an answer: its workflow at the server goes on with it.
pub fn awaits_answer(progress: &RunProgress) -> bool {
    progress.awaits_answer()
}
