//! What agents get beside their roles: where they work, and how this project wants work to be done. Fixed when a run
//! starts and stored with it, so that later requests begin as earlier ones did.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Follows the prompt of every agent that does not leave it out.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SystemContext {
    /// The environment block as it was rendered; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// The texts of `AGENTS.md` files under a heading each; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guidance: String,
}

/// The parts that a role does not get.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SystemContextExclusions {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub environment: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guidance: bool,
}

impl SystemContext {
    pub fn is_empty(&self) -> bool {
        self.environment.is_empty() && self.guidance.is_empty()
    }

    /// The parts for an agent, in prompt order: what changes least comes first, so that providers can cache it.
    pub fn included_parts(&self, without: SystemContextExclusions) -> impl Iterator<Item = &str> {
        let guidance = (!without.guidance).then_some(self.guidance.as_str());
        let environment = (!without.environment).then_some(self.environment.as_str());
        guidance.into_iter().chain(environment).filter(|part| !part.trim().is_empty())
    }
}

impl SystemContextExclusions {
    /// Nothing is excluded.
    pub fn is_empty(&self) -> bool {
        !self.environment && !self.guidance
    }
}

/// The file that says how agents work in a project.
pub const GUIDANCE: &str = "AGENTS.md";

/// Whether a path names such a file, in whatever directory; case does not count on every disk.
pub fn is_guidance(path: &str) -> bool {
    let name = path.trim_end_matches(['/', '\\', '.', ' ']).rsplit(['/', '\\']).next();
    name.is_some_and(|name| name.eq_ignore_ascii_case(GUIDANCE))
}

/// Whether these arguments of a tool that writes files change such a file: `file_path` of one that writes one file, or
/// `patch` of one that writes several.
pub fn changes_guidance(arguments: &Value) -> bool {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    text("file_path").is_some_and(is_guidance) || text("patch").is_some_and(names_guidance)
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
