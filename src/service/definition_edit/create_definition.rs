//! `new`: a workflow or role in a file of its own, from a template.
//!
//! Owns where the file goes, which layer reads it there, and what it hides. Refuses a name that its layer has already, to
//! replace a file unless that is wanted, and to write one that would not be read.

use std::path::{Path, PathBuf};

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_language::source::SourceFile;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::role_file::read_roles;

use super::new_file::kind_word;
use super::templates::{check_name, fill_template};
use super::{DefinitionEditError, PROJECT_FOLDER};
use crate::session::EditFileKind;

/// What is to be created.
#[derive(Clone, Copy, Debug)]
pub struct NewDefinitionRequest<'r> {
    pub file_kind: EditFileKind,
    pub name: &'r str,
    /// The template's text.
    pub template: &'static str,
    /// Where the user wants it; `None`: in the project if it has definitions, else among the user's own.
    pub directory: Option<&'r Path>,
    /// A file that is there may be replaced.
    pub replaces: bool,
}

/// The files of the user and of the project, for new ones.
pub trait NewDefinitionPort {
    fn project(&self) -> &Path;

    /// The user's own configuration.
    fn user_directory(&self) -> &Path;

    fn is_directory(&self, path: &Path) -> bool;

    fn is_file(&self, path: &Path) -> bool;

    /// Writes a new file, with the directories that it needs; one that is there is replaced only if `replaces`.
    ///
    /// # Errors
    /// The system's.
    fn write_file(&self, path: &Path, text: &str, replaces: bool) -> std::io::Result<()>;

    /// Whether the project's own files count, now that this one is among them.
    ///
    /// # Errors
    /// The decision cannot be read or stored.
    fn keep_trust(&self, path: &Path) -> Result<bool, String>;
}

/// Nothing was written, except that `Untrusted` comes after the file was.
#[derive(Debug, thiserror::Error)]
pub enum CreateDefinitionError {
    #[error("{0}")]
    Name(DefinitionEditError),
    #[error("there is already a workflow `{name}`: {place}")]
    Taken { name: String, place: SourceLocation, path: PathBuf },
    #[error("nothing was written: with your configuration this {0} would not work")]
    Unusable(&'static str),
    #[error("{} is already there", .0.display())]
    Exists(PathBuf),
    #[error("{} cannot be written: {error}", path.display())]
    NotWritten { path: PathBuf, error: std::io::Error },
    #[error("{} was written; whether the project is trusted cannot be stored: {reason}", path.display())]
    Untrusted { path: PathBuf, reason: String },
}

impl CreateDefinitionError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Taken { path, .. } => {
                Some(format!("choose another name; {} was not written", path.display()))
            }
            Self::Exists(_) => Some("choose another name, or replace it with --force".to_owned()),
            Self::Untrusted { .. } => Some("synthdev trust".to_owned()),
            Self::Name(_) | Self::Unusable(_) | Self::NotWritten { .. } => None,
        }
    }
}

/// A file that is to be written.
#[derive(Debug)]
pub struct DefinitionDraft {
    pub file_kind: EditFileKind,
    pub name: String,
    pub path: PathBuf,
    /// The layer that reads it there; the command line's for a directory that no layer reads.
    pub layer: ConfigLayer,
    /// A weaker definition of the same name, which does not count from then on.
    pub hidden: Option<SourceLocation>,
    /// What `check` will say of it.
    pub findings: Vec<Diagnostic>,
    text: String,
    replaces: bool,
}

/// What would be written; changes nothing.
///
/// # Errors
/// No file can have this name, or its layer has a workflow of this name in another file.
pub fn draft_definition(
    catalog: &ConfigCatalog,
    files: &dyn NewDefinitionPort,
    asked: &NewDefinitionRequest<'_>,
) -> Result<DefinitionDraft, CreateDefinitionError> {
    let word = kind_word(asked.file_kind);
    check_name(word, asked.name).map_err(CreateDefinitionError::Name)?;
    let (directory, layer) = target_directory(files, asked);
    let path = directory.join(format!("{}.json", asked.name));
    let hidden = find_hidden(catalog, asked, layer, &path)?;
    let schema = format!("schema/{word}.json");
    let has_schema = directory.parent().is_some_and(|above| files.is_file(&above.join(schema)));
    let text = fill_template(asked.template, word, asked.name, has_schema);
    let file = SourceFile::new(layer, path.display().to_string(), text.clone());
    let findings = match asked.file_kind {
        EditFileKind::Role => read_roles(&file).1,
        EditFileKind::Workflow => catalog.check_file(&file).map_or_else(|found| found, |(_, notes)| notes),
    };
    Ok(DefinitionDraft {
        file_kind: asked.file_kind,
        name: asked.name.to_owned(),
        path,
        layer,
        hidden,
        findings,
        text,
        replaces: asked.replaces,
    })
}

impl DefinitionDraft {
    /// Writes the file; returns whether it counts from now on.
    ///
    /// # Errors
    /// It would not work, it is there already, or it cannot be written.
    pub fn write(&self, files: &dyn NewDefinitionPort) -> Result<bool, CreateDefinitionError> {
        if self.findings.iter().any(|finding| finding.severity == DiagnosticSeverity::Error) {
            return Err(CreateDefinitionError::Unusable(kind_word(self.file_kind)));
        }
        let path = || self.path.clone();
        files.write_file(&self.path, &self.text, self.replaces).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => CreateDefinitionError::Exists(path()),
            _ => CreateDefinitionError::NotWritten { path: path(), error },
        })?;
        if self.layer != ConfigLayer::Project {
            return Ok(true);
        }
        files
            .keep_trust(&self.path)
            .map_err(|reason| CreateDefinitionError::Untrusted { path: path(), reason })
    }
}

/// Where it goes, and which layer will read it from there.
fn target_directory(
    files: &dyn NewDefinitionPort,
    asked: &NewDefinitionRequest<'_>,
) -> (PathBuf, ConfigLayer) {
    let folder = format!("{}s", kind_word(asked.file_kind));
    let (project, user) = (files.project().join(PROJECT_FOLDER), files.user_directory().join(&folder));
    let of_project = project.join(&folder);
    match asked.directory {
        Some(directory) if files.project().join(directory).starts_with(&of_project) => {
            (directory.to_owned(), ConfigLayer::Project)
        }
        Some(directory) if files.project().join(directory).starts_with(&user) => {
            (directory.to_owned(), ConfigLayer::User)
        }
        Some(directory) => (directory.to_owned(), ConfigLayer::CommandLine),
        None if files.is_directory(&project) => (of_project, ConfigLayer::Project),
        None => (user, ConfigLayer::User),
    }
}

/// The place of a weaker definition that will be hidden. A workflow of the same layer is an error: neither would be
/// used.
fn find_hidden(
    catalog: &ConfigCatalog,
    asked: &NewDefinitionRequest<'_>,
    layer: ConfigLayer,
    path: &Path,
) -> Result<Option<SourceLocation>, CreateDefinitionError> {
    let is_same_file = |place: &SourceLocation| place.file.ends_with(&format!("/{}.json", asked.name));
    let known = match asked.file_kind {
        EditFileKind::Workflow => {
            catalog.workflow(asked.name).map(|entry| (entry.layer, entry.place.clone()))
        }
        EditFileKind::Role => catalog
            .roles()
            .iter()
            .find(|role| role.name == asked.name && role.group.is_empty())
            .and_then(|role| Some((role.layer, role.places.last()?.clone()))),
    };
    match known {
        Some((known, place))
            if known == layer && asked.file_kind == EditFileKind::Workflow && !is_same_file(&place) =>
        {
            let (name, path) = (asked.name.to_owned(), path.to_owned());
            Err(CreateDefinitionError::Taken { name, place, path })
        }
        Some((known, place)) if known < layer => Ok(Some(place)),
        _ => Ok(None),
    }
}
