//! The list of workflows: heads only, duplicates reported, no script looked at.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_domain::workflow::WorkflowParameter;
use synthdev_language::source::{FileDiagnostics, SourceFile};
use synthdev_language::workflow_file::{StartCondition, UnreadableFile, read_heads};

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
    /// A file of a higher layer means to define this name and cannot be read: its error. The workflow cannot be used.
    pub unreadable_rival: Option<Diagnostic>,
}

/// Entries sorted by name. A higher layer hides the same name below; the same name twice in one layer is
/// an error that names both files.
pub fn index_workflows(files: &[SourceFile]) -> (Vec<WorkflowEntry>, Vec<Diagnostic>) {
    let mut entries: BTreeMap<String, WorkflowEntry> = BTreeMap::new();
    let mut diagnostics = Vec::new();
    let mut ordered: Vec<&SourceFile> = files.iter().collect();
    let mut unreadable = Vec::new();
    ordered.sort_by(|a, b| a.layer.cmp(&b.layer).then_with(|| a.name.cmp(&b.name)));
    for file in ordered {
        let (heads, mut found) = read_heads(file);
        // which workflow a file of the command line means is known from its heads alone
        if file.layer < ConfigLayer::CommandLine {
            unreadable
                .extend(UnreadableFile::from_heads(file, &heads, &found).map(|read| (file.layer, read)));
        }
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
                unreadable_rival: None,
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
    note_unreadable_rivals(unreadable, &mut entries, &mut diagnostics);
    (entries.into_values().collect(), diagnostics)
}

/// What is of a lower layer than a file that cannot be read is not used in the place of what that file means to define.
fn note_unreadable_rivals(
    unreadable: Vec<(ConfigLayer, UnreadableFile)>,
    entries: &mut BTreeMap<String, WorkflowEntry>,
    diagnostics: &mut [Diagnostic],
) {
    for (layer, UnreadableFile { names, error }) in unreadable {
        let is_hidden = |name: &&String| entries.get(*name).is_some_and(|entry| entry.layer < layer);
        let hidden: Vec<String> = names.iter().filter(is_hidden).cloned().collect();
        let Some(unused) = unused_definitions(&hidden, entries) else { continue };
        let hint = error.hint.as_ref().map_or_else(|| unused.clone(), |hint| format!("{hint}; {unused}"));
        let told = Diagnostic { hint: Some(hint), ..error.clone() };
        diagnostics.iter_mut().filter(|known| **known == error).for_each(|known| known.clone_from(&told));
        for name in hidden {
            if let Some(entry) = entries.get_mut(&name) {
                entry.unreadable_rival = Some(told.clone());
            }
        }
    }
}

/// `None`: there are none.
fn unused_definitions(names: &[String], entries: &BTreeMap<String, WorkflowEntry>) -> Option<String> {
    let named = |name: &String| Some(format!("`{name}` of {}", entries.get(name)?.place.file));
    let list: Vec<String> = names.iter().filter_map(named).collect();
    let verb = if list.len() == 1 { "is" } else { "are" };
    (!list.is_empty())
        .then(|| format!("{} {verb} not used in its place: mend this file, or remove it", list.join(" and ")))
}
