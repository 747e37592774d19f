//! Approval rules: which tools may run without a question.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::tool::ToolRisk;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPermission {
    Allow,
    Ask,
    Deny,
}

/// The policy of one run: a rule per tool name wins over the rule per risk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ApprovalPolicy {
    pub read: ToolPermission,
    pub write: ToolPermission,
    pub execute: ToolPermission,
    #[serde(default)]
    pub tools: BTreeMap<String, ToolPermission>,
    /// Seconds after which an unanswered question counts as a no; 0: it waits without limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deadline_s: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Default for ApprovalPolicy {
    fn default() -> Self {
        Self {
            read: ToolPermission::Allow,
            write: ToolPermission::Ask,
            execute: ToolPermission::Ask,
            tools: BTreeMap::new(),
            deadline_s: 0,
        }
    }
}

impl ApprovalPolicy {
    /// `--yes`: allows every call that would otherwise need an approval; denied calls stay denied.
    #[must_use]
    pub fn approving_all(mut self) -> Self {
        let yes =
            |rule: ToolPermission| if rule == ToolPermission::Ask { ToolPermission::Allow } else { rule };
        self.read = yes(self.read);
        self.write = yes(self.write);
        self.execute = yes(self.execute);
        for rule in self.tools.values_mut() {
            *rule = yes(*rule);
        }
        self
    }

    pub fn permission_for(&self, tool: &str, risk: ToolRisk) -> ToolPermission {
        self.tools.get(tool).copied().unwrap_or(match risk {
            ToolRisk::Read => self.read,
            ToolRisk::Write => self.write,
            ToolRisk::Execute => self.execute,
        })
    }
}

/// The answer to an approval question.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum ApprovalDecision {
    /// This call only.
    Allow,
    /// This and every later call of the same tool in this run.
    AllowTool,
    /// The call is denied; the model gets the reason, if there is one, and may continue.
    Deny { reason: Option<String> },
    /// No answer allows this call: the user is not asked, the model gets the reason and may continue.
    Refuse { reason: String },
    /// There is no user to ask: the run stops with `tool.denied` (headless without `--yes`).
    Stop,
}
