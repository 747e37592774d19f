//! A run as a file: a bundle, a text or a recording.

use std::path::Path;

use anyhow::Result;

use crate::hinted_error::export_error;
use crate::record_past_run::write_recording;
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_cli::history::{import_export, markdown};
use synthdev_cli::output::safe_name;
use synthdev_service::run_export::{BundleError, RunExportError, RunFileFormat, export_bundle, export_text};
use synthdev_settings::catalog::ConfigCatalog;

/// What a run is written with.
pub struct RunExporter<'w> {
    pub context: &'w StartContext,
    pub catalog: &'w ConfigCatalog,
    pub wired: &'w WiredRuntime,
}

impl RunExporter<'_> {
    /// Writes a run into a new file; returns notes about it, a line each. Without a format the file's name tells it. `shown`
    /// names the file in these notes.
    ///
    /// # Errors
    /// There is no such run, the file exists or cannot be written.
    pub fn write_file(
        &self,
        run: &str,
        path: &Path,
        shown: &str,
        format: Option<RunFileFormat>,
    ) -> Result<Vec<String>> {
        let handle = &self.wired.handle;
        let refused = |error: BundleError| export_error(RunExportError::of_file(error, &safe_name(shown)));
        match format.unwrap_or_else(|| RunFileFormat::of_file(path)) {
            RunFileFormat::Recording => write_recording(self.context, self.catalog, self.wired, run, path),
            RunFileFormat::Markdown => {
                let text = export_text(handle, run, markdown::write_run_markdown).map_err(refused)?;
                let written = file_io::create_large(path, |out| out.write_all(text.as_bytes()));
                written.map_err(|error| refused(error.into()))?;
                Ok(vec![format!("written to {}", safe_name(shown))])
            }
            RunFileFormat::Bundle => {
                let version = env!("CARGO_PKG_VERSION");
                let done = file_io::create_large(path, |out| export_bundle(handle, run, version, out));
                Ok(import_export::export_lines(&done.map_err(refused)?, Some(shown)))
            }
        }
    }
}
