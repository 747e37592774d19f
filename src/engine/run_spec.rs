//! What a run is started with. Stored with the run, so that it can be replayed as it was.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::steering::BreakpointSet;
use synthdev_domain::approval::ApprovalPolicy;
use synthdev_domain::run_error::RunError;
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::workflow::{SnapshotPolicy, Workflow, WorkflowProgram};

/// Grows when the machine would answer an old journal differently.
pub const MACHINE_VERSION: u32 = 21;

/// Runs since this version continue as they began: the machine checks the version wherever its behaviour has changed.
pub const CONTINUED_SINCE: u32 = 4;

/// Since this version a call that might pass a budget is not made; before, a budget was looked at when it was used up.
pub const FORESEES_SINCE: u32 = 4;

/// Since this version an end that `on_limit` or `catch` moves is moved once for each workflow, however many items or
/// children reach it, and a model that answers in another's place is charged for at its own price.
pub const COUNTS_ALL_SINCE: u32 = 5;
/// Since this version no prompt is longer than its model's window.
pub const WINDOWED_SINCE: u32 = 4;

/// Since this version opaque reasoning blocks count in prompts and budgets, a hard budget limits the answers of unknown
/// models, the input of a summary fits into the summarizing model's window, and small prompts are truncated in larger
/// steps.
pub const MEASURES_SINCE: u32 = 5;

/// Since this version a stop before a step is distinct from one before the state that follows, an open approval gets
/// its full time again when the run is resumed, and a queued message is offered to one script at a time.
pub const OFFERS_SINCE: u32 = 6;

/// Since this version a default of several values is stored under their names, as an answer is.
pub const KEEPS_SINCE: u32 = 7;

/// Since this version time limits of states are suspended while their branch is stopped, a question that times out
/// continues no branch that is stopped elsewhere, a task that is restored to a checkpoint has all its time limits again
/// and keeps the spending of its states, and opaque reasoning blocks are counted again when a server with another
/// protocol takes over.
pub const RESTS_SINCE: u32 = 8;

/// Since this version a tool that was allowed and held is judged again if its executors are gone, or if the run was
/// imported from elsewhere.
pub const JUDGES_HELD_SINCE: u32 = 9;

/// Since this version a tool that writes AGENTS.md needs the user's approval whatever the policy says, and is refused
/// where the user cannot be asked.
pub const GUARDS_GUIDANCE_SINCE: u32 = 10;

/// Since this version the answer to an interrupted call says whether the call had begun.
pub const TELLS_BEGUN_SINCE: u32 = 10;

/// Since this version a run whose failure nothing deals with does not wait for steps that sub-agents have not handed
/// in.
pub const WITHDRAWS_SINCE: u32 = 10;

/// Since this version an agent's message names the model call that said it, and a script that read some of the queued
/// messages that it was offered takes exactly these, even if the user has taken others back meanwhile.
pub const NAMES_CALLS_SINCE: u32 = 11;

/// Since this version an agent that has not given its one decision as a call is asked for it as structured output.
pub const ASKS_STRUCTURED_SINCE: u32 = 12;

/// Since this version the way in which a model gave its decision is where its next one begins, and one of several
/// decisions can be asked for as structured output.
pub const REMEMBERS_DECISIONS_SINCE: u32 = 13;

/// Since this version a run in whose definition nothing can change files takes its first snapshot only when something
/// is about to change files after all.
pub const DEFERS_SNAPSHOT_SINCE: u32 = 14;

/// Since this version the reading calls of a `multicall` run side by side, and so do agents that one reply starts in the
/// foreground.
pub const SIDE_BY_SIDE_SINCE: u32 = 15;

/// Since this version every error names its workflow, and where its state is defined.
pub const PLACES_ERRORS_SINCE: u32 = 16;

/// Since this version a decision that was cut at the output limit is asked for once more, with the required members
/// alone, and an error after a reminder says what was wrong with structured output.
pub const SHORTENS_DECISIONS_SINCE: u32 = 17;

/// Since this version every error of a value that does not fit has a hint, and the reason of a pause says whether the user
/// or the client is asked.
pub const NAMES_ASKED_SINCE: u32 = 18;

/// Since this version a question that was answered before the step to which a run is rewound is not asked again.
pub const CLOSES_ANSWERED_SINCE: u32 = 18;

/// Since this version a call that the user would have to allow is checked first: the user is not asked about one that
/// its tool refuses.
pub const CHECKS_CALLS_SINCE: u32 = 19;

/// Since this version a call is checked by the effect that asks about it, where a user is present: a call that passes
/// has no row of its own in the journal.
pub const CHECKS_WHERE_ASKED_SINCE: u32 = 20;

/// Since this version a call is checked only where a user is asked about it: without a user, no call has a row of its own
/// for that either.
pub const CHECKS_ONLY_WHERE_ASKED_SINCE: u32 = 21;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    pub machine_version: u32,
    pub program: WorkflowProgram,
    /// Checked and converted input values by parameter name.
    pub inputs: Map<String, Value>,
    pub approvals: ApprovalPolicy,
    /// The system context of agents, as it was when the run started.
    #[serde(default, skip_serializing_if = "SystemContext::is_empty")]
    pub brief: SystemContext,
    /// Where the run stops, from its start.
    #[serde(default, skip_serializing_if = "BreakpointSet::is_empty")]
    pub stops: BreakpointSet,
    /// A user can be asked (REPL). Otherwise a limit ends the run and a question fails it.
    pub interactive: bool,
}

impl RunSpec {
    /// See [`ASKS_STRUCTURED_SINCE`].
    pub fn asks_structured(&self) -> bool {
        self.machine_version >= ASKS_STRUCTURED_SINCE
    }

    /// See [`CHECKS_CALLS_SINCE`].
    pub(crate) fn checks_calls(&self) -> bool {
        self.machine_version >= CHECKS_CALLS_SINCE
    }

    /// See [`CHECKS_WHERE_ASKED_SINCE`].
    pub(crate) fn checks_where_asked(&self) -> bool {
        self.machine_version >= CHECKS_WHERE_ASKED_SINCE
    }

    /// See [`CHECKS_ONLY_WHERE_ASKED_SINCE`].
    pub(crate) fn checks_only_where_asked(&self) -> bool {
        self.machine_version >= CHECKS_ONLY_WHERE_ASKED_SINCE
    }

    /// See [`CLOSES_ANSWERED_SINCE`].
    pub(crate) fn closes_answered(&self) -> bool {
        self.machine_version >= CLOSES_ANSWERED_SINCE
    }

    /// See [`COUNTS_ALL_SINCE`].
    pub fn charges_every_attempt(&self) -> bool {
        self.machine_version >= COUNTS_ALL_SINCE
    }

    /// Whether nothing that the definition declares can change files, so that no snapshot is taken before something is
    /// about to. See [`DEFERS_SNAPSHOT_SINCE`].
    pub fn defers_snapshot(&self) -> bool {
        let computes = |root: &Arc<Workflow>| root.snapshot == SnapshotPolicy::Auto && !root.conversational;
        self.machine_version >= DEFERS_SNAPSHOT_SINCE
            && self.program.workflows.first().is_some_and(computes)
            && !self.program.changes_files()
    }

    /// See [`FORESEES_SINCE`].
    pub fn checks_budgets_ahead(&self) -> bool {
        self.machine_version >= FORESEES_SINCE
    }

    /// See [`MEASURES_SINCE`].
    pub fn measures_requests(&self) -> bool {
        self.machine_version >= MEASURES_SINCE
    }

    /// See [`OFFERS_SINCE`].
    pub fn offers_messages_once(&self) -> bool {
        self.machine_version >= OFFERS_SINCE
    }

    /// See [`NAMES_ASKED_SINCE`].
    pub(crate) fn names_asked(&self) -> bool {
        self.machine_version >= NAMES_ASKED_SINCE
    }

    /// An error whose hint runs of earlier versions do not have. See [`NAMES_ASKED_SINCE`].
    pub(crate) fn with_later_hint(&self, error: RunError, hint: impl Into<String>) -> RunError {
        if self.names_asked() { error.with_hint(hint) } else { error }
    }

    /// See [`NAMES_CALLS_SINCE`].
    pub fn names_calls_of_messages(&self) -> bool {
        self.machine_version >= NAMES_CALLS_SINCE
    }

    /// See [`NAMES_CALLS_SINCE`].
    pub fn takes_read_messages(&self) -> bool {
        self.machine_version >= NAMES_CALLS_SINCE
    }

    /// See [`SIDE_BY_SIDE_SINCE`].
    pub fn runs_calls_side_by_side(&self) -> bool {
        self.machine_version >= SIDE_BY_SIDE_SINCE
    }

    /// See [`PLACES_ERRORS_SINCE`].
    pub fn places_errors(&self) -> bool {
        self.machine_version >= PLACES_ERRORS_SINCE
    }

    /// See [`RESTS_SINCE`].
    pub fn suspends_timeouts(&self) -> bool {
        self.machine_version >= RESTS_SINCE
    }
}
