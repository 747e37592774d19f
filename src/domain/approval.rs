//! Approval rules: which tools may run without a question.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// A rule of the settings that allows calls without a question, as the user writes it:
/// `approvals.tools.execute_terminal = allow`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AllowRule {
    /// Every call of this tool.
    Tool(String),
    /// Every call of every tool with this risk.
    Risk(ToolRisk),
}

impl AllowRule {
    pub fn covers(&self, tool: &str, risk: ToolRisk) -> bool {
        match self {
            Self::Tool(name) => name == tool,
            Self::Risk(level) => *level == risk,
        }
    }

    /// The keys of the setting, from the outermost.
    pub fn setting_path(&self) -> Vec<String> {
        let keys: Vec<&str> = match self {
            Self::Tool(tool) => vec!["approvals", "tools", tool],
            Self::Risk(risk) => vec!["approvals", risk_word(*risk)],
        };
        keys.into_iter().map(str::to_owned).collect()
    }

    /// Reads a rule as it is written.
    ///
    /// # Errors
    /// It is no such rule: what one looks like, in one line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            "a rule is approvals.tools.NAME = allow, approvals.write = allow or approvals.execute = allow"
                .to_owned()
        };
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        if value.trim().trim_matches('"') != "allow" {
            return Err(wrong());
        }
        let name = key.trim().strip_prefix("approvals.").ok_or_else(wrong)?;
        match (name, name.strip_prefix("tools.").map(str::trim)) {
            ("read", _) => Ok(Self::Risk(ToolRisk::Read)),
            ("write", _) => Ok(Self::Risk(ToolRisk::Write)),
            ("execute", _) => Ok(Self::Risk(ToolRisk::Execute)),
            (_, Some(tool)) if !tool.is_empty() => Ok(Self::Tool(tool.to_owned())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for AllowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = allow", self.setting_path().join("."))
    }
}

fn risk_word(risk: ToolRisk) -> &'static str {
    match risk {
        ToolRisk::Read => "read",
        ToolRisk::Write => "write",
        ToolRisk::Execute => "execute",
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
    /// This call only, with arguments that the user has changed. The model is told what ran in the place of its call.
    AllowEdited { arguments: Value },
    /// The call is denied; the model gets the reason, if there is one, and may continue.
    Deny { reason: Option<String> },
    /// No answer allows this call: the user is not asked, the model gets the reason and may continue.
    Refuse { reason: String },
    /// There is no user to ask: the state fails with `tool.denied`. Only in older journals: without a user, a run waits now.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_as_it_is_written() {
        let check = |text: &str, expected: Option<&str>| {
            let rule = AllowRule::parse(text).ok().map(|rule| rule.to_string());
            assert_eq!(rule.as_deref(), expected, "{text}");
        };
        check("approvals.tools.execute_terminal = allow", Some("approvals.tools.execute_terminal = allow"));
        check(" approvals.tools.mcp.a=\"allow\" ", Some("approvals.tools.mcp.a = allow"));
        check("approvals.execute = allow", Some("approvals.execute = allow"));
        check("approvals.write = deny", None);
        check("approvals.tools. = allow", None);
        check("approvals.other = allow", None);
        check("sandbox.network = allow", None);
        check("execute_terminal", None);
        let rule = AllowRule::Risk(ToolRisk::Write);
        assert!(rule.covers("any", ToolRisk::Write) && !rule.covers("any", ToolRisk::Execute));
        let rule = AllowRule::Tool("one".to_owned());
        assert!(rule.covers("one", ToolRisk::Execute) && !rule.covers("two", ToolRisk::Execute));
    }
}
