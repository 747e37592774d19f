//! What hosts of a Restate server know of a project, to tell whose runs they can drive.

use std::path::Path;

use synthdev_bootstrap::local_files::repository_identity::{directory_identity, repository_identity};
use synthdev_restate::journaled_step::ProjectPlace;

/// The project of a run, as hosts compare it.
pub(crate) fn project_place(project: &Path) -> ProjectPlace {
    let path = project.display().to_string();
    let identity = repository_identity(project).unwrap_or_else(|| format!("path:{path}"));
    ProjectPlace { identity, path, directory: directory_identity(project) }
}
