//! What the screen looks up as a text: graphs, models, settings, an exported run; a command of the person; trust.

use std::path::Path;
use std::sync::PoisonError;

use futures_util::future::BoxFuture;

use super::error_text::store_error_text;
use super::{TuiBackend, away, user_commands};
use crate::cli_context::CliContext;
use crate::probe_servers::{ProbeScope, ServerProbe};
use crate::{bootstrap, recordings, sandbox_setup, system_context, trust, trust_report};
use synthdev_adapters::file_io;
use synthdev_cli::args::GraphFormat;
use synthdev_cli::graph::{GraphTerminalOptions, graphs, show};
use synthdev_cli::history::{import_export, markdown};
use synthdev_cli::models;
use synthdev_config::catalog::ConfigCatalog;
use synthdev_config::settings::explain::explain_text;
use synthdev_config::settings::show_text;
use synthdev_config::trust::TrustVerdict;
use synthdev_domain::ids::RunId;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_ports::tool::ToolPort as _;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::history::RunRecord;
use synthdev_tui::backend::{LookupPage, ShellOutcome, UntrustedDefinitions};
use synthdev_tui::editor::simulation_result::{EditorSimulatedRun, result_lines};

/// Columns of a drawing in the conversation.
const COLUMNS: usize = 76;

type TextPageResult = Result<(String, String), String>;

impl TuiBackend {
    pub(super) fn page(&self, page: LookupPage) -> BoxFuture<'static, TextPageResult> {
        let (catalog, handle) = (self.catalog(), self.wired().handle.clone());
        match page {
            LookupPage::Models(provider) => {
                Box::pin(async move { offers(&catalog, provider.as_deref()).await })
            }
            LookupPage::Graph(name) => away(move || workflow_graph(&catalog, &name)),
            LookupPage::RunGraph(run) => away(move || run_graph(&handle, &run)),
            LookupPage::Config(None) => away(move || Ok(("Settings".to_owned(), settings(&catalog)))),
            LookupPage::Config(Some(key)) => {
                away(move || catalog.explain(&key).map(|found| (key, explain_text(&found))))
            }
            LookupPage::Sandbox(path) => {
                let (project, data) = (self.world.project.clone(), self.world.dirs.data.clone());
                away(move || {
                    let sandbox = sandbox_setup::sandbox(&project, &data, &catalog);
                    let text = match path {
                        Some(path) => sandbox_setup::explain(&sandbox, &project, Path::new(&path)).text(),
                        None => sandbox_setup::describe(&sandbox, &catalog).text(),
                    };
                    Ok(("Sandbox".to_owned(), text))
                })
            }
            LookupPage::Simulation(name) => {
                let shelf = self.shelf();
                away(move || shelf.simulate(&name).map(|all| simulation(&name, &all)))
            }
            LookupPage::Export { run, file } => {
                let world = self.world.clone();
                away(move || export(&world, &catalog, &handle, &run.unwrap_or_default(), file))
            }
        }
    }

    pub(super) fn shell(
        &self,
        command: String,
        sure: bool,
    ) -> BoxFuture<'static, Result<ShellOutcome, String>> {
        let catalog = self.catalog();
        let along = catalog.settings().adds_output();
        let tools = bootstrap::users_tools(&self.world.project, &self.world.dirs.data, &catalog);
        Box::pin(async move {
            let call = user_commands::invocation(&command);
            if !sure && let Some(warning) = user_commands::warning(&tools, &call).await {
                return Ok(ShellOutcome::Risky(warning));
            }
            let done = tools.run(&call).await;
            // the first line is for models
            let text = done.content.split_once('\n').map(|(_, text)| text.to_owned()).unwrap_or_default();
            Ok(ShellOutcome::Done { ok: done.ok, summary: done.summary, text, along })
        })
    }

    /// What is asked now is what an answer is about.
    pub(super) fn trusts(&self) -> Result<UntrustedDefinitions, String> {
        let files = trust::project_files(&self.world.project);
        let verdict = trust::decide(&self.world, &files, false).map_err(|error| format!("{error:#}"))?;
        let names = match verdict {
            TrustVerdict::Trusted if files.is_empty() => {
                return Err("this project has no definitions of its own".to_owned());
            }
            TrustVerdict::Trusted => return Err("this project's own definitions are trusted".to_owned()),
            TrustVerdict::New { files } => files,
            TrustVerdict::Changed { added, changed, .. } => added.into_iter().chain(changed).collect(),
        };
        let changes = trust_report::shown(&self.world, &files);
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = files;
        Ok(UntrustedDefinitions { files: names, changes })
    }
}

async fn offers(catalog: &ConfigCatalog, provider: Option<&str>) -> TextPageResult {
    let mut servers = catalog.servers();
    if let Some(wanted) = provider {
        servers.retain(|server| server.provider == wanted);
        if servers.is_empty() {
            return Err(format!("there is no provider {wanted}: /models lists them"));
        }
    }
    let seen = ServerProbe::new(catalog).probe_all(servers, ProbeScope::Usable).await;
    let report = models::report(seen, catalog.models());
    Ok(("Models".to_owned(), models::text(&report, provider.is_some())))
}

fn settings(catalog: &ConfigCatalog) -> String {
    let mut text = show_text(&catalog.settings().show(), false);
    for level in ["base", "smart", "fast"] {
        text.push_str(&match catalog.model_for_level(level) {
            Ok(choice) => {
                format!("{level:<6} {} at {} — {}\n", choice.model, choice.base_url, choice.provenance)
            }
            Err(missing) => format!("{level:<6} no model: {}\n", missing.message),
        });
    }
    for line in system_context::lines(catalog) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn workflow_graph(catalog: &ConfigCatalog, name: &str) -> TextPageResult {
    if catalog.workflow(name).is_none() {
        return Err(format!("no workflow {name} — /workflows lists them"));
    }
    let program = catalog.program(name).map_err(|found| {
        super::first_error(catalog, &found).unwrap_or_else(|| format!("{name} cannot be drawn: it is broken"))
    })?;
    drawn(name, &program, None)
}

fn run_graph(handle: &RuntimeHandle, run: &RunId) -> TextPageResult {
    let record = handle.load_record(run.as_str()).map_err(|error| store_error_text(&error))?;
    drawn(&record.summary.workflow, &record.program, Some(&record))
}

fn drawn(name: &str, program: &WorkflowProgram, run: Option<&RunRecord>) -> TextPageResult {
    let mut text = Vec::new();
    let look = GraphTerminalOptions { width: COLUMNS, colour: false };
    show(&graphs(program, 0, true, run), run, GraphFormat::Terminal, look, &mut text)
        .map_err(|error| error.to_string())?;
    Ok((format!("Graph of {name}"), String::from_utf8_lossy(&text).into_owned()))
}

/// Into the project's directory unless another one is named. A file that is there is left as it is.
fn export(
    world: &CliContext,
    catalog: &ConfigCatalog,
    handle: &RuntimeHandle,
    run: &str,
    file: Option<String>,
) -> TextPageResult {
    let id = handle.summary(run).map_err(|error| store_error_text(&error))?.id.to_string();
    let file = file.unwrap_or_else(|| format!("{id}.md"));
    let path = world.project.join(&file);
    if recordings::is_meant(&path) {
        let told = recordings::write_recording(world, catalog, handle, &id, &path);
        let told = told.map_err(|error| format!("{error:#}"))?;
        return Ok((format!("Run {id}"), told.join("\n")));
    }
    let refused = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{file} exists: it was left as it is; name another file")
        }
        _ => format!("{file} cannot be written: {error}"),
    };
    let is_text = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    let told = if is_text {
        let mut text = Vec::new();
        let record = handle.load_record(&id).map_err(|error| store_error_text(&error))?;
        markdown::run(&record, &mut text).map_err(refused)?;
        let text = handle.without_keys(String::from_utf8_lossy(&text).into_owned());
        file_io::create_large(&path, |out| out.write_all(text.as_bytes())).map_err(refused)?;
        format!("written to {file}")
    } else {
        let done = file_io::create_large(&path, |out| handle.export(&id, env!("CARGO_PKG_VERSION"), out));
        let done = done.map_err(|error| match error {
            synthdev_runtime::export_import::BundleError::Store(error) => store_error_text(&error),
            synthdev_runtime::export_import::BundleError::Io(error) => refused(error),
            synthdev_runtime::export_import::BundleError::Refused(reason) => reason,
        })?;
        import_export::exported(&done, Some(&file)).into_iter().collect::<Vec<String>>().join("\n")
    };
    Ok((format!("Run {id}"), told))
}

fn simulation(name: &str, all: &[EditorSimulatedRun]) -> (String, String) {
    let lines: Vec<String> = result_lines(all).into_iter().map(|(_, text)| text).collect();
    (format!("Simulation of {name}"), lines.join("\n"))
}
