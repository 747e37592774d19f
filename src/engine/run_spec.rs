//! What a run is started with. Stored with the run, so that it can be replayed as it was.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::steering::BreakpointSet;
use synthdev_domain::approval::ApprovalPolicy;
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::workflow::WorkflowProgram;

/// Grows when the machine would answer an old journal differently.
pub const MACHINE_VERSION: u32 = 10;

/// Runs since this version go on as they began: where the machine has changed since, it asks for the version.
pub const CONTINUED_SINCE: u32 = 4;

/// Since this version a call that might pass a budget is not made; before, a budget was looked at when it was used up.
pub const FORESEES_SINCE: u32 = 4;

/// Since this version an end that `on_limit` or `catch` moves is moved once for each workflow, however many items or
/// children reach it, and a model that answers in another's place is charged for at its own price.
pub const COUNTS_ALL_SINCE: u32 = 5;
/// Since this version no view is longer than its model's window.
pub const WINDOWED_SINCE: u32 = 4;

/// Since this version sealed thoughts count in views and budgets, a hard budget limits the answers of unknown models,
/// what sums up is given no more than its own window takes, and small views are cut in larger steps.
pub const MEASURES_SINCE: u32 = 5;

/// Since this version a stand before a step is not taken for one before the state that follows, an approval that was
/// left open has its time anew for whoever takes the run up, and a text that was said is offered to one script at a
/// time.
pub const OFFERS_SINCE: u32 = 6;

/// Since this version a default of several values is stored under their names, as an answer is.
pub const KEEPS_SINCE: u32 = 7;

/// Since this version time limits of states rest while their lane stands still, a question whose time is up frees nobody
/// who stands elsewhere, an errand that goes back has all its time limits again and keeps what its states have spent, and
/// sealed thoughts are counted anew when a server with another protocol takes over.
pub const RESTS_SINCE: u32 = 8;

/// Since this version a tool that was allowed and held is judged again where those are gone who were to run it, or where
/// the run has arrived from elsewhere.
pub const JUDGES_HELD_SINCE: u32 = 9;

/// Since this version a tool that writes AGENTS.md is asked about whatever approvals say, and refused where the user
/// cannot be asked.
pub const GUARDS_GUIDANCE_SINCE: u32 = 10;

/// Since this version an agent is told of a call that was interrupted whether it had begun.
pub const TELLS_BEGUN_SINCE: u32 = 10;

/// Since this version a run whose failure nothing deals with does not wait for steps that sub-agents have not handed in.
pub const WITHDRAWS_SINCE: u32 = 10;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunSpec {
    pub machine_version: u32,
    pub program: WorkflowProgram,
    /// Checked and converted input values by parameter name.
    pub inputs: Map<String, Value>,
    pub approvals: ApprovalPolicy,
    /// What agents are told beside their roles, as it was when the run started.
    #[serde(default, skip_serializing_if = "SystemContext::is_empty")]
    pub brief: SystemContext,
    /// Where it stands still from its start.
    #[serde(default, skip_serializing_if = "BreakpointSet::is_empty")]
    pub stops: BreakpointSet,
    /// A person can be asked (REPL). Otherwise a limit ends the run and a question fails it.
    pub interactive: bool,
}
