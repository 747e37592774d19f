//! Files that steer agents: only the user may approve a change of them, whatever the approval settings say. Otherwise
//! an agent that may write files could steer every later run.

use super::Machine;
use crate::run_spec::GUARDS_GUIDANCE_SINCE;
use synthdev_domain::approval::ToolPermission;
use synthdev_domain::system_context::is_guidance;
use synthdev_domain::tool::{ToolInvocation, ToolRisk};

/// Why such a change is refused where the user cannot be asked.
pub(super) const UNASKED: &str = "AGENTS.md steers agents, so a person has to allow each change of it, also with --yes; \
                                  nobody is there to be asked. Say what you would change instead";

/// The argument of the tools that write one file, and of the one that writes several.
const PATH: &str = "file_path";
const PATCH: &str = "patch";

impl Machine {
    /// What holds for a call by the rule of the approvals.
    pub(super) fn guarded_permission(
        &self,
        rule: ToolPermission,
        invocation: &ToolInvocation,
        risk: ToolRisk,
    ) -> ToolPermission {
        let text = |name: &str| invocation.arguments.get(name).and_then(serde_json::Value::as_str);
        let changes_guidance = text(PATH).is_some_and(is_guidance) || text(PATCH).is_some_and(names_guidance);
        let steers = risk == ToolRisk::Write && changes_guidance;
        let counts = steers && self.core.spec.machine_version >= GUARDS_GUIDANCE_SINCE;
        match rule {
            ToolPermission::Allow if counts && self.core.user_present => ToolPermission::Ask,
            ToolPermission::Allow if counts => ToolPermission::Deny,
            ToolPermission::Allow | ToolPermission::Ask | ToolPermission::Deny => rule,
        }
    }
}

/// Whether a line of a patch that can name a file names such a file.
fn names_guidance(patch: &str) -> bool {
    let marks = ["*** ", "--- ", "+++ ", "rename "];
    let headers = patch.lines().filter(|line| marks.iter().any(|mark| line.starts_with(mark)));
    // a date may follow behind a tab, and quotes around
    headers.flat_map(|line| line.split('\t')).any(|name| {
        let name = name.trim_end().trim_end_matches('"');
        name.rsplit(' ').next().is_some_and(is_guidance)
    })
}

#[cfg(test)]
mod tests {
    use super::names_guidance;

    #[test]
    fn a_patch_that_changes_guidance_is_known_by_its_headers() {
        let check = |patch: &str, expected: bool| assert_eq!(names_guidance(patch), expected, "{patch}");
        check("*** Begin Patch\n*** Update File: AGENTS.md\n-a\n+b\n*** End Patch", true);
        check("*** Begin Patch\n*** Update File: a\n*** Move to: sub/agents.md\n*** End Patch", true);
        check("--- a/AGENTS.md\t2026-01-01\n+++ b/AGENTS.md\t2026-01-01\n@@ -1 +1 @@\n-a\n+b\n", true);
        check("--- a/x\n+++ \"b/AGENTS.md\"\n", true);
        check("diff --git a/x b/AGENTS.md\nrename from x\nrename to AGENTS.md\n", true);
        check("*** Begin Patch\n*** Update File: a\n-AGENTS.md\n+b\n*** End Patch", false);
    }
}
