//! What agents get beside their roles: where they work, and how this project wants work to be done. Fixed when a run
//! starts and stored with it, so that later requests begin as earlier ones did.

use serde::{Deserialize, Serialize};

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
