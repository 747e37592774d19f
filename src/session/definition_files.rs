//! The files of workflows and roles on the disk: the user's and the project's.

use std::io;
use std::path::{Path, PathBuf};

use synthdev_bootstrap::local_files::external_editor;
use synthdev_bootstrap::local_files::file_io::{self, FileStamp};
use synthdev_bootstrap::mcp_servers::StoredMcpTools;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::trust::{self, FOLDER};
use synthdev_bootstrap::wiring::load_quietly;
use synthdev_service::definition_edit::{DefinitionChecker, DefinitionEditError, DefinitionFilesPort};
use synthdev_service::session::FilePosition;
use synthdev_settings::mcp_servers::MCP_FILE;
use synthdev_settings::own_tools::TOOLS_FOLDER;
use synthdev_settings::setup::KEYS_FILE;
use synthdev_settings::system_context::{GUIDANCE, TEMPLATE};
use synthdev_settings::trust::TrustVerdict;

/// Those that this process may read and write.
pub(crate) struct LocalDefinitionFiles(pub(crate) StartContext);

/// Stamps that show whether one of the files has changed.
pub fn definition_stamps(context: &StartContext) -> Vec<FileStamp> {
    if context.shipped_only {
        return Vec::new();
    }
    let names = ["settings.json", "models.json", TEMPLATE, "roles", TOOLS_FOLDER, "workflows"];
    let (user, project) = (&context.dirs.config, &context.project);
    // another process may change what is trusted
    let trusted = context.dirs.data.join("trust.json");
    // a server may list other tools than before
    let stored = StoredMcpTools::new(&context.dirs.data).change_mark();
    let more = [user.join(KEYS_FILE), user.join(GUIDANCE), user.join(".env"), trusted, stored];
    let paths: Vec<PathBuf> = names.iter().map(|name| user.join(name)).chain(more).collect();
    let inside: Vec<String> = names.iter().map(|name| format!("{FOLDER}/{name}")).collect();
    let inside: Vec<&str> = inside.iter().map(String::as_str).chain([".env", GUIDANCE, MCP_FILE]).collect();
    let mut stamps = file_io::file_stamps(&paths);
    stamps.extend(file_io::project_stamps(project, &inside));
    stamps
}

fn with_path(path: &Path, what: &str, error: &dyn std::fmt::Display) -> DefinitionEditError {
    DefinitionEditError(format!("{} cannot be {what}: {error}", path.display()))
}

fn plain_error(error: &anyhow::Error) -> DefinitionEditError {
    DefinitionEditError(format!("{error:#}"))
}

impl DefinitionFilesPort for LocalDefinitionFiles {
    fn load_definitions(&self) -> Result<DefinitionChecker, DefinitionEditError> {
        let overrides = self.0.scripted_overrides("edit");
        let (catalog, gathered) = load_quietly(&self.0, overrides).map_err(|error| plain_error(&error))?;
        let project = gathered.trust == TrustVerdict::Trusted;
        Ok(DefinitionChecker { catalog, tests: gathered.tests, project })
    }

    fn untrusted_files(&self) -> Vec<(String, String)> {
        trust::project_files(&self.0.project).readable_files.into_iter().collect()
    }

    fn is_read_only(&self) -> bool {
        self.0.shipped_only
    }

    fn user_directory(&self) -> &Path {
        &self.0.dirs.config
    }

    fn project_directory(&self) -> &Path {
        &self.0.project
    }

    fn read_file(&self, path: &Path) -> Result<Option<String>, DefinitionEditError> {
        file_io::read_file_if_exists(path).map_err(|error| with_path(path, "read", &error))
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn write_file(
        &self,
        path: &Path,
        text: &str,
        of_project: Option<&Path>,
    ) -> Result<bool, DefinitionEditError> {
        let write = || file_io::write_atomic(path, text).map_err(|error| with_path(path, "written", &error));
        let Some(name) = of_project else {
            write()?;
            return Ok(true);
        };
        let before = trust::project_files(&self.0.project);
        let verdict = trust::decide_trust(&self.0, &before, false).map_err(|error| plain_error(&error))?;
        write()?;
        // the user wrote it in this session, which counts as consent
        Ok(verdict == TrustVerdict::Trusted
            && trust::extend_trust(&self.0, &before, name).map_err(|error| plain_error(&error))?)
    }

    fn edit_outside(&self, name: &str, text: &str) -> Result<String, String> {
        let command = self.editor_command();
        let runtime = self.0.environment.get("XDG_RUNTIME_DIR").map(Path::new);
        external_editor::edit_text(command, name, text, runtime)
            .map_err(|error| editor_error(command, &error))
    }

    fn open_file(&self, position: &FilePosition) -> Result<(), String> {
        let command = self.editor_command();
        let file = external_editor::find_project_file(&self.0.project, &position.path)?;
        external_editor::open_file(command, &file, position.line)
            .map_err(|error| editor_error(command, &error))
    }
}

impl LocalDefinitionFiles {
    fn editor_command(&self) -> &str {
        let variables = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| self.0.environment.get(name));
        variables.map(|value| value.trim()).find(|value| !value.is_empty()).unwrap_or("vi")
    }
}

fn editor_error(command: &str, error: &io::Error) -> String {
    format!("your editor ({command}) could not be used: {error}; set VISUAL or EDITOR")
}
