//! The list of workflows: heads only, duplicates reported, no script looked at.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_domain::workflow::WorkflowParameter;
use synthdev_language::source::{FileDiagnostics, SourceFile};
use synthdev_language::workflow_file::{StartCondition, read_heads};

/// A workflow as lists show it.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkflowEntry {
    pub name: String,
    pub description: String,
    pub inputs: Vec<WorkflowParameter>,
    pub start: StartCondition,
    pub layer: ConfigLayer,
    /// Position of the name.
    pub place: SourceLocation,
}

/// Entries sorted by name. A higher layer hides the same name below; the same name twice in one layer is
/// an error that names both files.
pub fn index_workflows(files: &[SourceFile]) -> (Vec<WorkflowEntry>, Vec<Diagnostic>) {
    let mut entries: BTreeMap<String, WorkflowEntry> = BTreeMap::new();
    let mut diagnostics = Vec::new();
    let mut ordered: Vec<&SourceFile> = files.iter().collect();
    ordered.sort_by(|a, b| a.layer.cmp(&b.layer).then_with(|| a.name.cmp(&b.name)));
    for file in ordered {
        let (heads, mut found) = read_heads(file);
        diagnostics.append(&mut found);
        let mut findings = FileDiagnostics::new(file);
        for head in heads {
            let entry = WorkflowEntry {
                place: findings.location_at(head.span.start),
                name: head.name,
                description: head.description,
                inputs: head.inputs,
                start: head.start,
                layer: file.layer,
            };
            match entries.entry(entry.name.clone()) {
                Entry::Occupied(known) if known.get().layer == file.layer => {
                    let message = format!(
                        "the workflow `{}` is defined twice: here and in {}",
                        entry.name,
                        known.get().place
                    );
                    let hint = "rename or remove one of the two".to_owned();
                    findings.add_error("C16", head.span, message, Some(hint));
                }
                Entry::Occupied(mut known) => drop(known.insert(entry)),
                Entry::Vacant(open) => drop(open.insert(entry)),
            }
        }
        diagnostics.append(&mut findings.list);
    }
    (entries.into_values().collect(), diagnostics)
}
