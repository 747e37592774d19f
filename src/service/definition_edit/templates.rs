//! The texts that a new workflow or role begins with, and which names one may have.
//!
//! Refuses to write anything: `new` and the editor do that, each in its own way.

use synthdev_domain::terminal_safe::escape_name;

use super::{DefinitionEditError, refused};

/// A shipped pattern.
pub struct DefinitionTemplate {
    pub name: &'static str,
    pub description: &'static str,
    pub text: &'static str,
}

pub const ROLE: &str = include_str!("../../../config/templates/role.json");

pub const MINIMAL: DefinitionTemplate = DefinitionTemplate {
    name: "minimal",
    description: "one agent, one task",
    text: include_str!("../../../config/templates/workflow/minimal.json"),
};
pub const CHAIN: DefinitionTemplate = DefinitionTemplate {
    name: "chain",
    description: "agents one after the other: one plans, the next one builds",
    text: include_str!("../../../config/templates/workflow/chain.json"),
};
pub const REVIEW: DefinitionTemplate = DefinitionTemplate {
    name: "review",
    description: "a review loop: a coder works, a reviewer sends it back until it is done",
    text: include_str!("../../../config/templates/workflow/review.json"),
};
pub const PARALLEL: DefinitionTemplate = DefinitionTemplate {
    name: "parallel",
    description: "two agents in parallel, a third one summarizes",
    text: include_str!("../../../config/templates/workflow/parallel.json"),
};
pub const APPROVAL: DefinitionTemplate = DefinitionTemplate {
    name: "approval",
    description: "a plan that you approve before it is carried out",
    text: include_str!("../../../config/templates/workflow/approval.json"),
};
pub const GATED: DefinitionTemplate = DefinitionTemplate {
    name: "gated",
    description: "a coder works until a command succeeds",
    text: include_str!("../../../config/templates/workflow/gated.json"),
};
pub const STEPS: DefinitionTemplate = DefinitionTemplate {
    name: "steps",
    description: "steps one after the other, an agent where one is needed",
    text: include_str!("../../../config/templates/workflow/steps.json"),
};

/// Those of workflows, in the order in which they are offered.
pub const WORKFLOWS: &[DefinitionTemplate] = &[MINIMAL, CHAIN, REVIEW, PARALLEL, APPROVAL, GATED, STEPS];

/// The name becomes a file's name and is typed in commands. `word`: workflow or role.
///
/// # Errors
/// Why it cannot be one.
pub fn check_name(word: &str, name: &str) -> Result<(), DefinitionEditError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) || name.starts_with('-') {
        let name = escape_name(name);
        return refused(format!(
            "`{name}` cannot be the name of a {word}\nhint: up to 64 letters, digits, _ and -"
        ));
    }
    Ok(())
}

/// The template with the name, and with a reference to the schema if that is stored beside it.
pub fn fill_template(text: &str, word: &str, name: &str, has_schema: bool) -> String {
    let reference =
        if has_schema { format!("  \"$schema\": \"../schema/{word}.json\",\n") } else { String::new() };
    text.replace("  __SCHEMA__\n", &reference).replace("__NAME__", name)
}
