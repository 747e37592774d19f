//! What a role or an agent asks of a model: a role its level, an agent of a workflow possibly more.

use synthdev_domain::role::Role;

/// The three levels.
pub const LEVELS: [&str; 3] = ["base", "smart", "fast"];

/// `None` is as the level's settings and the catalogue have it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModelSelector {
    /// base, smart or fast.
    pub level: String,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u32>,
}

impl ModelSelector {
    /// As the role has it, without the overrides of an agent.
    pub fn for_role(role: &Role) -> Self {
        Self { provider: role.provider.clone(), ..Self::for_level(&role.level) }
    }

    /// Nothing but a level.
    pub fn for_level(level: &str) -> Self {
        Self { level: level.to_owned(), ..Self::default() }
    }
}
