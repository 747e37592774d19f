//! All workflow files, parsed when first needed, and which of them defines a name.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use super::super::json::JsonNode;
use super::super::source::{FileDiagnostics, SourceFile};
use super::super::workflow_file::{SpannedText, into_workflow_nodes, workflow_name};
use synthdev_domain::diagnostic::Diagnostic;

/// One definition: file and position in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct DefinitionRef {
    file: usize,
    item: usize,
}

pub(super) struct WorkflowLibrary<'a> {
    files: Vec<(&'a SourceFile, OnceCell<ParsedWorkflowFile>)>,
    /// The first file, the one that the command line names, wins over all layers.
    first_file_wins: bool,
    /// What was looked up before: a large workflow calls the same few thousands of times.
    lookup_cache: RefCell<HashMap<String, Vec<DefinitionRef>>>,
}

struct ParsedWorkflowFile {
    items: Vec<(Option<SpannedText>, JsonNode)>,
    /// Positions of the items of each name.
    index: HashMap<String, Vec<usize>>,
    findings: Vec<Diagnostic>,
}

impl<'a> WorkflowLibrary<'a> {
    pub(super) fn new(files: &'a [SourceFile], first: Option<&'a SourceFile>) -> Self {
        let others = files.iter().filter(|file| first.is_none_or(|first| first.name != file.name));
        let files = first.into_iter().chain(others).map(|file| (file, OnceCell::new())).collect();
        Self { files, first_file_wins: first.is_some(), lookup_cache: RefCell::default() }
    }

    fn parsed_file(&self, file: usize) -> &ParsedWorkflowFile {
        let (source, cell) = &self.files[file];
        cell.get_or_init(|| {
            let mut findings = FileDiagnostics::new(source);
            let root = JsonNode::parse(source, &mut findings);
            let items = root.into_iter().flat_map(into_workflow_nodes);
            let items: Vec<_> = items.map(|node| (workflow_name(&node), node)).collect();
            let mut index: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, name) in
                items.iter().enumerate().filter_map(|(at, (name, _))| Some((at, name.as_ref()?)))
            {
                index.entry(name.value.clone()).or_default().push(at);
            }
            ParsedWorkflowFile { items, index, findings: findings.list }
        })
    }

    /// The definition that counts: of the file named first, else of the highest layer, else the earliest.
    /// Files in which the name does not even occur are not parsed.
    pub(super) fn find_definition(&self, name: &str) -> Option<DefinitionRef> {
        self.candidates(name).into_iter().reduce(|best, next| {
            let layer = |found: DefinitionRef| self.files[found.file].0.layer;
            if !self.is_pinned(best) && layer(next) > layer(best) { next } else { best }
        })
    }

    /// It is of the file that wins over all layers.
    pub(super) fn is_pinned(&self, found: DefinitionRef) -> bool {
        self.first_file_wins && found.file == 0
    }

    /// Other definitions of the same name in the same layer: which one would count is chance.
    pub(super) fn duplicate_definitions(&self, found: DefinitionRef) -> Vec<DefinitionRef> {
        let Some(name) = self.name(found) else { return Vec::new() };
        let pinned = self.is_pinned(found);
        let layer = self.files[found.file].0.layer;
        self.candidates(&name.value)
            .into_iter()
            .filter(|other| *other != found && self.files[other.file].0.layer == layer)
            .filter(|other| !pinned || other.file == 0)
            .collect()
    }

    fn candidates(&self, name: &str) -> Vec<DefinitionRef> {
        if let Some(known) = self.lookup_cache.borrow().get(name) {
            return known.clone();
        }
        let mut found = Vec::new();
        for (file, (source, parsed)) in self.files.iter().enumerate() {
            // a name may be written with escapes; then there is a backslash in the file
            if parsed.get().is_none() && !source.text.contains(name) && !source.text.contains("\\u") {
                continue;
            }
            let items = self.parsed_file(file).index.get(name).into_iter().flatten();
            found.extend(items.map(|item| DefinitionRef { file, item: *item }));
        }
        self.lookup_cache.borrow_mut().insert(name.to_owned(), found.clone());
        found
    }

    pub(super) fn file(&self, found: DefinitionRef) -> &'a SourceFile {
        self.files[found.file].0
    }

    pub(super) fn node(&self, found: DefinitionRef) -> &JsonNode {
        &self.parsed_file(found.file).items[found.item].1
    }

    pub(super) fn name(&self, found: DefinitionRef) -> Option<&SpannedText> {
        self.parsed_file(found.file).items[found.item].0.as_ref()
    }

    /// Every definition of one file.
    pub(super) fn in_file(&self, file: &SourceFile) -> Vec<DefinitionRef> {
        let Some(at) = self.files.iter().position(|(other, _)| other.name == file.name) else {
            return Vec::new();
        };
        (0..self.parsed_file(at).items.len()).map(|item| DefinitionRef { file: at, item }).collect()
    }

    /// Syntax errors of the file that holds a definition.
    pub(super) fn findings_at(&self, found: DefinitionRef) -> &[Diagnostic] {
        &self.parsed_file(found.file).findings
    }

    pub(super) fn findings_of(&self, file: &SourceFile) -> Vec<Diagnostic> {
        let at = self.files.iter().position(|(other, _)| other.name == file.name);
        at.map_or_else(Vec::new, |at| self.parsed_file(at).findings.clone())
    }

    /// Syntax errors of all files: one of them may hide what was looked for.
    pub(super) fn syntax_errors(&self) -> Vec<Diagnostic> {
        (0..self.files.len()).flat_map(|file| self.parsed_file(file).findings.clone()).collect()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let all = (0..self.files.len()).flat_map(|file| &self.parsed_file(file).items);
        let mut names: Vec<String> = all.filter_map(|(name, _)| Some(name.as_ref()?.value.clone())).collect();
        names.sort();
        names.dedup();
        names
    }
}
