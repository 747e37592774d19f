//! Whether a process drives the run, and whether the user or another process asks it to stop.

use serde::{Deserialize, Serialize};
/// Whether a process drives the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum RunPhase {
    /// Inputs continue it.
    Driven,
    /// It waits and no process drives it; its state stays unchanged.
    Suspended,
    /// A replay stopped it before a step.
    Halted,
    /// It was rewound: it stays before a step until it is resumed.
    Rewound,
}

impl RunPhase {
    /// It waits until a process resumes it.
    pub(super) fn is_suspended(self) -> bool {
        matches!(self, Self::Suspended | Self::Rewound)
    }

    /// It stays before a step.
    pub(super) fn is_halted(self) -> bool {
        matches!(self, Self::Halted | Self::Rewound)
    }
}

/// A request to stop the run. Effects that have begun complete, none begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum StopRequest {
    None,
    /// The user pauses it.
    Pause,
    /// Another process wants to resume it: in addition, it does not wait for timers.
    Handover,
}
