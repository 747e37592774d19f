//! `runs export` and `runs import`, and the same from the screen: a run as a file.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, anyhow, bail};

use crate::bootstrap::{self, WiredRuntime};
use crate::cli_context::CliContext;
use crate::load_config::load_catalog;
use crate::read_only::{error_with_hint, open_reader, store_error};
use crate::recordings::write_recording;
use synthdev_adapters::file_io;
use synthdev_cli::args::ExportFormat;
use synthdev_cli::exit;
use synthdev_cli::history::{import_export, markdown};
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name};
use synthdev_service::run_export::{
    BundleError, LARGEST, RunExportError, RunFileFormat, export_bundle, export_text, import_bundle,
};
use synthdev_settings::catalog::ConfigCatalog;

/// What a run is written with.
pub(crate) struct RunExporter<'w> {
    pub(crate) context: &'w CliContext,
    pub(crate) catalog: &'w ConfigCatalog,
    pub(crate) wired: &'w WiredRuntime,
}

pub(crate) fn export_run(
    context: &CliContext,
    run: &str,
    to: Option<&Path>,
    format: Option<ExportFormat>,
) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let wired = bootstrap::wire_runtime(&context.project, &context.dirs.data, &catalog, None);
    let format = format.map(|format| match format {
        ExportFormat::Bundle => RunFileFormat::Bundle,
        ExportFormat::Markdown => RunFileFormat::Markdown,
        ExportFormat::Recording => RunFileFormat::Recording,
    });
    let lines = match to {
        Some(path) => {
            let shown = path.display().to_string();
            let exporter = RunExporter { context, catalog: &catalog, wired: &wired };
            exporter.write_file(run, path, &shown, format)?
        }
        None => print_run(&wired, run, format.unwrap_or(RunFileFormat::Bundle))?,
    };
    lines.iter().for_each(print_stderr);
    Ok(exit::COMPLETED)
}

fn print_run(wired: &WiredRuntime, run: &str, format: RunFileFormat) -> Result<Vec<String>> {
    match format {
        RunFileFormat::Recording => bail!("a recording is written to a file: name it with --to FILE"),
        RunFileFormat::Markdown => {
            let text = export_text(&wired.handle, run, markdown::write_run_markdown).map_err(not_printed)?;
            TerminalSafeWriter(&mut std::io::stdout().lock()).write_all(text.as_bytes())?;
            Ok(Vec::new())
        }
        RunFileFormat::Bundle => {
            let out = &mut std::io::BufWriter::new(std::io::stdout().lock());
            let done = export_bundle(&wired.handle, run, env!("CARGO_PKG_VERSION"), out);
            Ok(import_export::export_lines(&done.map_err(not_printed)?, None))
        }
    }
}

/// A reader of stdout that has seen enough is no error.
fn not_printed(error: BundleError) -> anyhow::Error {
    match error {
        BundleError::Io(error) => error.into(),
        error @ (BundleError::Store(_) | BundleError::Refused(_)) => {
            export_error(RunExportError::of_file(error, "stdout"))
        }
    }
}

fn export_error(error: RunExportError) -> anyhow::Error {
    error_with_hint(&error.to_string(), error.hint())
}

impl RunExporter<'_> {
    /// Writes a run into a new file; returns notes about it, a line each. Without a format the file's name tells it. `shown`
    /// names the file in these notes.
    ///
    /// # Errors
    /// There is no such run, the file exists or cannot be written.
    pub(crate) fn write_file(
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

pub(crate) fn import_run(context: &CliContext, file: &Path) -> Result<u8> {
    let handle = open_reader(context)?.handle;
    let shown = safe_name(&file.display().to_string());
    let refused = |reason: &str| anyhow!("{shown} was not imported: {reason}\nhint: nothing was changed");
    let mut from = file_io::open_large(file, LARGEST).map_err(|error| refused(&error.to_string()))?;
    let done = import_bundle(&handle, &mut from).map_err(|error| match error {
        BundleError::Store(error) => store_error(error),
        BundleError::Io(error) => refused(&error.to_string()),
        BundleError::Refused(reason) => refused(&reason),
    })?;
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{}", import_export::import_line(&done))?;
    Ok(exit::COMPLETED)
}
