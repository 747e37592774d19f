//! What a run may use up before it pauses: visits, calls, tokens, money, time.

use serde::{Deserialize, Serialize};

/// Reaching one pauses, it does not lose the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorkflowLimits {
    /// State visits; each branch and each item counts its own.
    pub max_steps: u32,
    /// Visits per state; from `variables.max_iterations` when nothing reads it.
    pub max_visits: u32,
    /// Depth of child workflows and branches.
    pub max_depth: u32,
    /// Model calls of the whole run; transport retries do not count.
    #[serde(default)]
    pub max_model_calls: Option<u32>,
    /// Branches and items that run at once, over the whole run.
    #[serde(default = "default_max_concurrency")]
    pub max_concurrency: u32,
    /// What the file says itself; the rest are defaults. Only the cost estimate reads it.
    #[serde(default, skip_serializing_if = "DeclaredLimits::is_nothing")]
    pub declared: DeclaredLimits,
}

/// Which limits the file sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeclaredLimits {
    pub steps: bool,
    /// Or `variables.max_iterations`, kept for the author.
    pub visits: bool,
}

impl DeclaredLimits {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

fn default_max_concurrency() -> u32 {
    10
}

impl Default for WorkflowLimits {
    fn default() -> Self {
        Self {
            max_steps: 200,
            max_visits: 25,
            max_depth: 8,
            max_model_calls: None,
            max_concurrency: default_max_concurrency(),
            declared: DeclaredLimits::default(),
        }
    }
}

/// A soft and a hard end: the soft one, else four fifths of the hard one, warns once; the hard one pauses before a
/// model call that could pass it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct BudgetCap<T> {
    #[serde(default)]
    pub soft: Option<T>,
    #[serde(default)]
    pub hard: Option<T>,
}

/// What may be spent. Everything absent means no bound.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Prompt and completion tokens together.
    pub tokens: BudgetCap<u64>,
    /// US dollars. A call without a known price counts as nothing and is warned about once.
    pub cost_usd: BudgetCap<f64>,
    /// Milliseconds since the start of the run or the visit, or since the agent's first call; waiting for the user
    /// counts.
    pub duration_ms: BudgetCap<u64>,
}

impl Budget {
    pub fn is_unbounded(&self) -> bool {
        *self == Self::default()
    }
}
