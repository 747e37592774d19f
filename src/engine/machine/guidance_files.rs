//! Files that steer agents: only the user may approve a change of them, whatever the approval settings say. Otherwise
//! an agent that may write files could steer every later run.

use super::Machine;
use crate::run_spec::GUARDS_GUIDANCE_SINCE;
use synthdev_domain::approval::ToolPermission;
use synthdev_domain::system_context::changes_guidance;
use synthdev_domain::tool::{ToolInvocation, ToolRisk};

/// Why such a change is refused where the user cannot be asked.
pub(super) const UNASKED: &str = "AGENTS.md steers agents, so a person has to allow each change of it, also with --yes; \
                                  nobody is there to be asked. Say what you would change instead";

impl Machine {
    /// What holds for a call by the rule of the approvals.
    pub(super) fn guarded_permission(
        &self,
        rule: ToolPermission,
        invocation: &ToolInvocation,
        risk: ToolRisk,
    ) -> ToolPermission {
        let steers = risk == ToolRisk::Write && changes_guidance(&invocation.arguments);
        let counts = steers && self.core.spec.machine_version >= GUARDS_GUIDANCE_SINCE;
        match rule {
            ToolPermission::Allow if counts && self.core.user_present => ToolPermission::Ask,
            ToolPermission::Allow if counts => ToolPermission::Deny,
            ToolPermission::Allow | ToolPermission::Ask | ToolPermission::Deny => rule,
        }
    }
}
