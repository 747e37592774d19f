//! Files that steer agents: a change of them is a person's decision, whatever approvals say. An agent that may write
//! would else steer every later run.

use super::Machine;
use crate::domain::approval::Permission;
use crate::domain::brief::is_guidance;
use crate::domain::tool::{ToolInvocation, ToolRisk};
use crate::engine::spec::GUARDS_GUIDANCE_SINCE;

/// Why such a change is refused where the user cannot be asked.
pub(super) const UNASKED: &str = "AGENTS.md steers agents, so a person has to allow each change of it, also with --yes; \
                                  nobody is there to be asked. Say what you would change instead";

/// The argument of the tools that write one file.
const PATH: &str = "file_path";

impl Machine {
    /// What holds for a call by the rule of the approvals.
    pub(super) fn guarded(
        &self,
        rule: Permission,
        invocation: &ToolInvocation,
        risk: ToolRisk,
    ) -> Permission {
        let path = invocation.arguments.get(PATH).and_then(serde_json::Value::as_str);
        let steers = risk == ToolRisk::Write && path.is_some_and(is_guidance);
        let counts = steers && self.spec.machine_version >= GUARDS_GUIDANCE_SINCE;
        match rule {
            Permission::Allow if counts && self.present => Permission::Ask,
            Permission::Allow if counts => Permission::Deny,
            Permission::Allow | Permission::Ask | Permission::Deny => rule,
        }
    }
}
