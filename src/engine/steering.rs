//! How a user steers a run: where it stops, and what is different when it continues.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use synthdev_domain::ids::CallId;

/// One millionth of a dollar, by which amounts are compared.
const MICRO: f64 = 1_000_000.0;

/// Where a run stops.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "at")]
pub enum Breakpoint {
    /// Before a state is entered: its path name, or the end of it (`review` is also `child/review`).
    State { state: String },
    /// Before a tool is used.
    Tool { tool: String },
    /// When so much was spent, before the next state or model call; once.
    Spend { micro_usd: u64 },
    /// The user interrupted it ([`SteeringAction::Interrupt`]): before the model is called again. Never set beforehand.
    Now,
}

impl Breakpoint {
    pub fn before_state(state: &str) -> Self {
        Self::State { state: state.to_owned() }
    }

    pub fn before_tool(tool: &str) -> Self {
        Self::Tool { tool: tool.to_owned() }
    }

    /// `None`: no amount above zero.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and bounded")]
    pub fn after_spending(usd: f64) -> Option<Self> {
        let sound = usd.is_finite() && usd > 0.0 && usd < 1_000_000_000.0;
        sound.then_some(Self::Spend { micro_usd: (usd * MICRO).round() as u64 })
    }

    /// Whether so much is enough.
    #[expect(clippy::cast_precision_loss, reason = "dollars of a person")]
    pub fn is_spent(&self, usd: f64) -> bool {
        matches!(self, Self::Spend { micro_usd } if usd * MICRO >= *micro_usd as f64)
    }
}

/// `state review`, `tool execute_terminal`, `spend $0.50`
impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State { state } => write!(f, "state {state}"),
            Self::Tool { tool } => write!(f, "tool {tool}"),
            Self::Now => f.write_str("interrupted"),
            Self::Spend { micro_usd } => {
                let (dollars, rest) = (micro_usd / 1_000_000, format!("{:06}", micro_usd % 1_000_000));
                let cents = rest.trim_end_matches('0');
                write!(f, "spend ${dollars}.{cents:0<2}")
            }
        }
    }
}

/// Where a run stops, from its start.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BreakpointSet {
    /// Before every state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub step: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Breakpoint>,
}

impl BreakpointSet {
    pub fn is_empty(&self) -> bool {
        !self.step && self.points.is_empty()
    }
}

/// An action of the user on a run that is driven, or of a sub-agent on its task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "steering")]
pub enum SteeringAction {
    /// Work in progress completes; then the run stops before the next state.
    Pause,
    /// Work in progress completes and nothing new begins; then the run is suspended, so that another process can resume
    /// it. A conversation continues.
    Park,
    /// Stops model calls in progress and keeps their partial replies; the run stops there. Other work in progress
    /// completes, and its branch stops before the next model call or state.
    Interrupt {
        /// The text that had streamed by then, per call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        partial: Vec<(CallId, String)>,
    },
    /// The user leaves a conversation: its answer in progress ends, and the run is suspended until it is reopened.
    Leave {
        /// The text that had streamed by then, per call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        partial: Vec<(CallId, String)>,
    },
    /// Gives a conversation a name, which lists show in place of its first words.
    Rename {
        name: String,
    },
    /// Sums up a conversation that waits for its next message: prompts show the summary in place of what was said.
    Compact {
        /// What the summary must keep, in the user's words; may be empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        keep: String,
    },
    /// Continues, and stops before the next state.
    Step,
    /// Continues, and leaves step mode.
    Continue,
    Break {
        point: Breakpoint,
    },
    Unbreak {
        point: Breakpoint,
    },
    /// Withdraws queued messages that no state or script has read yet.
    TakeBack {
        text: String,
    },
    /// Keeps a checkpoint of a task while it waits for its sub-agent.
    Keep {
        /// The id of the task's branch.
        lane: u64,
        name: String,
    },
    /// Restores a task to its checkpoint.
    GoBack {
        /// The id of the task's branch.
        lane: u64,
        name: String,
    },
    /// Changes `common_data` by path, of the workflow whose state comes next where `call` waits; without one, where
    /// the run waits first. Taken only while something waits there.
    Set {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        set: Vec<(Vec<String>, Value)>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_told_as_dollars() {
        let told = |usd: f64| Breakpoint::after_spending(usd).map(|point| point.to_string());
        assert_eq!(told(0.5).as_deref(), Some("spend $0.50"));
        assert_eq!(told(12.0).as_deref(), Some("spend $12.00"));
        assert_eq!(told(0.0125).as_deref(), Some("spend $0.0125"));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert_eq!(told(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_amount_is_reached() {
        let point = Breakpoint::after_spending(0.3).unwrap();
        assert!(point.is_spent(0.1 + 0.2) && point.is_spent(0.3) && !point.is_spent(0.299_999));
        assert!(!Breakpoint::before_state("a").is_spent(1.0));
    }
}
