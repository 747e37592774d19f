//! The texts that a new workflow or role begins with, and which names one may have.
//!
//! Refuses to write anything: `new` and the editor do that, each in its own way.

use std::path::Path;

use anyhow::{Result, bail};

use synthdev_cli::output::safe_name as shown;

/// A shipped pattern.
pub(super) struct DefinitionTemplate {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) text: &'static str,
}

pub(super) const ROLE: &str = include_str!("../../config/templates/role.json");

pub(super) const MINIMAL: DefinitionTemplate = DefinitionTemplate {
    name: "minimal",
    description: "one agent, one task",
    text: include_str!("../../config/templates/workflow/minimal.json"),
};
pub(super) const CHAIN: DefinitionTemplate = DefinitionTemplate {
    name: "chain",
    description: "agents one after the other: one plans, the next one builds",
    text: include_str!("../../config/templates/workflow/chain.json"),
};
pub(super) const REVIEW: DefinitionTemplate = DefinitionTemplate {
    name: "review",
    description: "a review loop: a coder works, a reviewer sends it back until it is done",
    text: include_str!("../../config/templates/workflow/review.json"),
};
pub(super) const PARALLEL: DefinitionTemplate = DefinitionTemplate {
    name: "parallel",
    description: "two agents in parallel, a third one summarizes",
    text: include_str!("../../config/templates/workflow/parallel.json"),
};
pub(super) const APPROVAL: DefinitionTemplate = DefinitionTemplate {
    name: "approval",
    description: "a plan that you approve before it is carried out",
    text: include_str!("../../config/templates/workflow/approval.json"),
};
pub(super) const GATED: DefinitionTemplate = DefinitionTemplate {
    name: "gated",
    description: "a coder works until a command succeeds",
    text: include_str!("../../config/templates/workflow/gated.json"),
};
pub(super) const STEPS: DefinitionTemplate = DefinitionTemplate {
    name: "steps",
    description: "steps one after the other, an agent where one is needed",
    text: include_str!("../../config/templates/workflow/steps.json"),
};

/// Those of workflows, in the order in which they are offered.
pub(super) const WORKFLOWS: &[DefinitionTemplate] =
    &[MINIMAL, CHAIN, REVIEW, PARALLEL, APPROVAL, GATED, STEPS];

/// The name becomes a file's name and is typed in commands. `word`: workflow or role.
///
/// # Errors
/// Why it cannot be one.
pub(super) fn check_name(word: &str, name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) || name.starts_with('-') {
        bail!("`{}` cannot be the name of a {word}\nhint: up to 64 letters, digits, _ and -", shown(name));
    }
    Ok(())
}

/// The template with the name, and with a reference to the schema if one is there. `directory`: where the file will be.
pub(super) fn fill_template(text: &str, word: &str, name: &str, directory: &Path) -> String {
    let schema = directory.parent().map(|above| above.join("schema").join(format!("{word}.json")));
    let reference = match schema.is_some_and(|path| path.is_file()) {
        true => format!("  \"$schema\": \"../schema/{word}.json\",\n"),
        false => String::new(),
    };
    text.replace("  __SCHEMA__\n", &reference).replace("__NAME__", name)
}
