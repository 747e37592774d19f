//! Small facts for lists and the status line.

use std::path::Path;

use crate::adapters::disk;

/// `path, start_line?`: names of a tool's parameters, optional ones marked.
pub(super) fn parameters(schema: &serde_json::Value) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
    let names = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
    names
        .map(|name| if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") })
        .collect::<Vec<_>>()
        .join(", ")
}

/// The branch from `.git/HEAD`; no git process for one word.
pub(super) fn branch_of(project: &Path) -> Option<String> {
    let head = project.ancestors().find_map(|directory| disk::read(&directory.join(".git/HEAD")).ok())?;
    let head = head.trim();
    Some(head.strip_prefix("ref: refs/heads/").map_or_else(|| head.chars().take(8).collect(), str::to_owned))
}
