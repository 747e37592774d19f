//! `runs export` and `runs import`, and the same from the screen: a run as a file.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Result, anyhow, bail};

use crate::file_progress::{CountedReader, with_lines};
use crate::load_config::load_catalog;
use crate::read_only::{open_reader, store_error};
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime};
use synthdev_cli::args::ExportFormat;
use synthdev_cli::exit;
use synthdev_cli::history::{import_export, markdown};
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name};
use synthdev_service::run_export::{
    BundleError, LARGEST, RunExportError, RunFileFormat, export_bundle, export_text, import_bundle,
};
use synthdev_session::hinted_error::export_error;
use synthdev_session::run_exporter::RunExporter;

pub(crate) fn export_run(
    context: &StartContext,
    run: &str,
    to: Option<&Path>,
    format: Option<ExportFormat>,
) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, RunModels::default());
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
        None => print_run(&wired, run, format.unwrap_or_default())?,
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

pub(crate) fn import_run(context: &StartContext, file: &Path) -> Result<u8> {
    let handle = open_reader(context)?.handle;
    let shown = safe_name(&file.display().to_string());
    let refused = |reason: &str| anyhow!("{shown} was not imported: {reason}\nhint: nothing was changed");
    let inner = file_io::open_large(file, LARGEST).map_err(|error| refused(&error.to_string()))?;
    let size = inner.get_ref().metadata().map_or(0, |found| found.len());
    let taken = Arc::new(AtomicU64::new(0));
    let mut from = CountedReader { inner, taken: Arc::clone(&taken) };
    let since = Instant::now();
    let line = || {
        let elapsed = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        format!("{shown}: {}", import_export::import_progress(taken.load(Ordering::Relaxed), size, elapsed))
    };
    let done = with_lines(line, || import_bundle(&handle, &mut from)).map_err(|error| match error {
        BundleError::Store(error) => store_error(error),
        BundleError::Io(error) => refused(&error.to_string()),
        BundleError::Refused(reason) => refused(&reason),
    })?;
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{}", import_export::import_line(&done))?;
    Ok(exit::COMPLETED)
}
