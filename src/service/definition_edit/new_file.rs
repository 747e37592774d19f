//! What a new file can begin with, and its text under a name that is free.

use std::path::Path;

use super::templates::{ROLE, WORKFLOWS, check_name, fill_template};
use super::{
    DefinitionChecker, DefinitionEditError, DefinitionEditService, PROJECT_FOLDER, catalog_symbols, refused,
};
use crate::session::{
    EditFile, EditFileKind, NewEditFile, NewFileRequest, NewFileTemplate, NewFileTemplates, OpenedEditFile,
    definition_file_name,
};
use synthdev_language::json::JsonNode;
use synthdev_language::source::{FileDiagnostics, SourceFile};
use synthdev_language::workflow_file::{workflow_name, workflow_nodes};
use synthdev_settings::role_file::read_roles;

impl DefinitionEditService {
    /// Small patterns first, then what there is to copy.
    pub(super) fn patterns(&self, checker: &DefinitionChecker) -> NewFileTemplates {
        let catalog = &checker.catalog;
        let pattern = |what: EditFileKind, name: &str, about: &str, from: Option<&str>| NewFileTemplate {
            file_kind: what,
            name: name.to_owned(),
            description: about.to_owned(),
            copied_from: from.map(str::to_owned),
        };
        let small =
            WORKFLOWS.iter().map(|one| pattern(EditFileKind::Workflow, one.name, one.description, None));
        let role = pattern(EditFileKind::Role, "role", "a role: prompt, tools, and how it decides", None);
        let workflows = catalog.workflows().iter();
        let workflows = workflows.map(|one| {
            pattern(EditFileKind::Workflow, &one.name, &one.description, Some(one.place.file.as_str()))
        });
        let roles = catalog.roles().iter().filter_map(|one| {
            let file = &one.places.last()?.file;
            Some(pattern(EditFileKind::Role, &one.name, &one.description, Some(file.as_str())))
        });
        NewFileTemplates {
            list: small.chain([role]).chain(workflows).chain(roles).collect(),
            project: self.files.exists(&self.files.project_directory().join(PROJECT_FOLDER)),
        }
    }

    /// The text of a new file, not written yet.
    pub(super) fn draft_file(
        &self,
        checker: &DefinitionChecker,
        wish: &NewFileRequest,
    ) -> Result<NewEditFile, DefinitionEditError> {
        let NewFileRequest { pattern, name, layer } = wish;
        let word = kind_word(pattern.file_kind);
        check_name(word, name)?;
        let file = definition_file_name(pattern.file_kind, *layer, name);
        let path = self
            .path(&file)?
            .ok_or_else(|| DefinitionEditError(format!("{file} is not one of your files")))?;
        if self.files.exists(&path) {
            return refused(format!("{file} is already there: choose another name"));
        }
        let files = self.list_files(checker);
        let same =
            |other: &&EditFile| other.file_kind == pattern.file_kind && other.definition_names.contains(name);
        if let Some(other) = files.iter().filter(|other| other.layer == *layer).find(same) {
            return refused(format!(
                "there is already a {word} {name}, in {}: choose another name",
                other.name
            ));
        }
        let other = files.iter().find(same);
        let note = other.map(|other| match other.layer > *layer {
            true => format!("the {word} of that name in {} takes precedence over it", other.name),
            false => format!("it takes precedence over the {word} of that name in {}", other.name),
        });
        let text = self.pattern_text(checker, pattern, name, &path)?;
        let made = EditFile {
            name: file,
            layer: *layer,
            file_kind: pattern.file_kind,
            definition_names: vec![name.clone()],
            problem: None,
        };
        let opened = OpenedEditFile {
            file: made,
            text: text.into(),
            symbols: catalog_symbols(&checker.catalog),
            in_external_editor: false,
        };
        Ok(NewEditFile { file: opened, name_conflict: note })
    }

    fn pattern_text(
        &self,
        checker: &DefinitionChecker,
        pattern: &NewFileTemplate,
        name: &str,
        path: &Path,
    ) -> Result<String, DefinitionEditError> {
        let directory = path.parent().unwrap_or(path);
        let Some(from) = &pattern.copied_from else {
            let text = match pattern.file_kind {
                EditFileKind::Role => Some(ROLE),
                EditFileKind::Workflow => {
                    WORKFLOWS.iter().find(|one| one.name == pattern.name).map(|one| one.text)
                }
            };
            let text =
                text.ok_or_else(|| DefinitionEditError(format!("there is no pattern {}", pattern.name)))?;
            return Ok(fill_template(
                text,
                kind_word(pattern.file_kind),
                name,
                self.has_schema(directory, pattern.file_kind),
            ));
        };
        let catalog = &checker.catalog;
        let files = match pattern.file_kind {
            EditFileKind::Workflow => catalog.workflow_files(),
            EditFileKind::Role => catalog.role_files(),
        };
        let file = files
            .iter()
            .find(|file| file.name == *from)
            .ok_or_else(|| DefinitionEditError(format!("{from} is gone")))?;
        let copied = match pattern.file_kind {
            EditFileKind::Workflow => workflow_text(file, &pattern.name, name),
            EditFileKind::Role => role_text(file, &pattern.name, name),
        };
        copied.ok_or_else(|| DefinitionEditError(format!("{} is no longer in {from}", pattern.name)))
    }

    /// Whether the schema of such files is stored beside their directory.
    fn has_schema(&self, directory: &Path, kind: EditFileKind) -> bool {
        let schema = format!("schema/{}.json", kind_word(kind));
        directory.parent().is_some_and(|above| self.files.exists(&above.join(schema)))
    }
}

pub(super) fn kind_word(what: EditFileKind) -> &'static str {
    match what {
        EditFileKind::Workflow => "workflow",
        EditFileKind::Role => "role",
    }
}

/// One workflow of a file under another name; comments before it stay with a file that holds nothing else.
fn workflow_text(file: &SourceFile, wanted: &str, name: &str) -> Option<String> {
    let root = JsonNode::parse(file, &mut FileDiagnostics::new(file))?;
    let node =
        workflow_nodes(&root).find(|node| workflow_name(node).is_some_and(|found| found.value == wanted))?;
    let span = workflow_name(node)?.span;
    let whole = if node.span == root.span { 0..file.text.len() } else { node.span.clone() };
    let (before, after) = (file.text.get(whole.start..span.start)?, file.text.get(span.end..whole.end)?);
    Some(format!("{before}\"{name}\"{}\n", after.trim_end()))
}

/// One role of a file under another name.
fn role_text(file: &SourceFile, wanted: &str, name: &str) -> Option<String> {
    let part = read_roles(file).0.into_iter().find(|part| part.name == wanted)?;
    let root = JsonNode::parse(file, &mut FileDiagnostics::new(file))?;
    let member = root.members()?.iter().find(|member| member.key_span == part.span)?;
    let text = file.text.get(member.value.span.clone())?;
    Some(format!("{{\n  \"{name}\": {text}\n}}\n"))
}
