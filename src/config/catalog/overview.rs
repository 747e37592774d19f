//! The list of workflows: heads only, duplicates reported, no script looked at (CFG-16, A60).

use crate::config::source::{Findings, SourceFile};
use crate::config::workflow_file::{StartCondition, index};
use crate::domain::diagnostic::Diagnostic;
use crate::domain::place::{Layer, Place};
use crate::domain::workflow::Parameter;

/// A workflow as lists show it.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkflowEntry {
    pub name: String,
    pub description: String,
    pub inputs: Vec<Parameter>,
    pub start: StartCondition,
    pub layer: Layer,
    /// Where its name stands.
    pub place: Place,
}

/// Entries sorted by name. A higher layer hides the same name below; the same name twice in one layer is
/// an error that names both files.
pub fn index_workflows(files: &[SourceFile]) -> (Vec<WorkflowEntry>, Vec<Diagnostic>) {
    let mut entries: Vec<WorkflowEntry> = Vec::new();
    let mut diagnostics = Vec::new();
    let mut ordered: Vec<&SourceFile> = files.iter().collect();
    ordered.sort_by(|a, b| a.layer.cmp(&b.layer).then_with(|| a.name.cmp(&b.name)));
    for file in ordered {
        let (heads, mut found) = index(file);
        diagnostics.append(&mut found);
        let mut findings = Findings::new(file);
        for head in heads {
            let entry = WorkflowEntry {
                place: file.place(head.span.start),
                name: head.name,
                description: head.description,
                inputs: head.inputs,
                start: head.start,
                layer: file.layer,
            };
            match entries.iter_mut().find(|known| known.name == entry.name) {
                Some(known) if known.layer == file.layer => {
                    let message = format!(
                        "the workflow `{}` is defined twice: here and in {}",
                        entry.name, known.place
                    );
                    let hint = "rename or remove one of the two".to_owned();
                    findings.error("C16", head.span, message, Some(hint));
                }
                Some(known) => *known = entry,
                None => entries.push(entry),
            }
        }
        diagnostics.append(&mut findings.list);
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    (entries, diagnostics)
}
