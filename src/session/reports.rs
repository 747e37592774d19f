//! What the user asks beside the runs, and texts for it: graphs, models, settings, an exported run; a command of the user; trust.

use std::path::Path;
use std::sync::PoisonError;

use futures_util::future::BoxFuture;

use super::error_text::{screen_error_text, store_error_text, to_slash_commands};
use super::{TuiBackend, run_blocking, user_commands};
use crate::probe_servers::{ProbeScope, ServerProbe};
use crate::run_exporter::RunExporter;
use crate::{sandbox_answers, system_context, trust_report};
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::{sandbox_setup, trust, wiring};
use synthdev_cli::args::GraphFormat;
use synthdev_cli::graph::{GraphTerminalOptions, program_graphs, write_graphs};
use synthdev_cli::history::contexts::contexts_text;
use synthdev_cli::history::costs::write_costs;
use synthdev_cli::models;
use synthdev_cli::simulation_report::write_simulation;
use synthdev_domain::ids::RunId;
use synthdev_domain::model::DecisionMemory;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::source::SourceFile;
use synthdev_ports::tool::ToolPort as _;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::history::RunRecord;
use synthdev_service::definition_check::find_workflow;
use synthdev_service::model_setup::servers_of_provider;
use synthdev_service::run_costs::cost_of_run;
use synthdev_service::run_export::default_file_name;
use synthdev_service::run_reports::measure_contexts;
use synthdev_service::session::{
    EditorSimulatedRun, LookupPage, LookupRequest, LookupResponse, ServiceAnswer, ShellOutcome,
    UntrustedDefinitions,
};
use synthdev_service::workflow_tests::SimulationVerdict;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::explain::explain_text;
use synthdev_settings::layers::show_text;
use synthdev_settings::trust::TrustVerdict;
use synthdev_tui::editor::simulation_result::result_lines;

/// Columns of a drawing in the conversation.
const COLUMNS: usize = 76;

type TextPageResult = Result<(String, String), String>;

impl TuiBackend {
    pub(crate) fn answer_lookup_request(&self, request: LookupRequest) -> ServiceAnswer<LookupResponse> {
        let clock = self.current_runtime().handle.clone();
        match request {
            LookupRequest::Page(page) => {
                let is_mcp = matches!(page, LookupPage::McpServers(_) | LookupPage::McpChange(_));
                let respond = if is_mcp { LookupResponse::McpPage } else { LookupResponse::Page };
                let page = self.load_page(page);
                ServiceAnswer::later(async move { respond(page.await) })
            }
            LookupRequest::McpServersAsked => {
                let asked = self.wait_for_servers();
                ServiceAnswer::later(async move {
                    asked.await;
                    LookupResponse::McpServersAsked
                })
            }
            LookupRequest::Shell(command, sure) => {
                let outcome = self.run_shell(command.clone(), sure);
                ServiceAnswer::later(async move { LookupResponse::Shell { command, outcome: outcome.await } })
            }
            LookupRequest::Suggest(number, words) => {
                let reply = self.suggest_command(words);
                ServiceAnswer::later(
                    async move { LookupResponse::Suggested(number, reply.await, clock.now()) },
                )
            }
            LookupRequest::Task(command) => {
                let outcome = self.run_task_command(command.clone());
                ServiceAnswer::later(async move { LookupResponse::Tasks { command, outcome: outcome.await } })
            }
            LookupRequest::Index(number, request) => {
                let reply = self.handle_indexing(request);
                ServiceAnswer::later(async move { LookupResponse::Index(number, reply.await, clock.now()) })
            }
            LookupRequest::WithResources(text) => {
                let expanded = self.text_with_resources(text.clone());
                ServiceAnswer::later(async move {
                    let (expanded, missing_files) = match expanded.await {
                        Ok(found) => (Ok(found.text), found.missing),
                        Err(reason) => (Err(reason), Vec::new()),
                    };
                    LookupResponse::Message { text: expanded, typed: text, missing_files }
                })
            }
            LookupRequest::McpPrompt { name, words } => {
                let typed = format!("/{name} {words}").trim_end().to_owned();
                let message = self.message_of_prompt(name, words);
                ServiceAnswer::later(async move {
                    let missing_files = Vec::new();
                    LookupResponse::Message { typed, text: message.await, missing_files }
                })
            }
            LookupRequest::McpNames => {
                let names = self.mcp_names();
                ServiceAnswer::later(async move { LookupResponse::McpNames(names.await) })
            }
            LookupRequest::StopSideQuery => {
                self.canceller.stop_all();
                ServiceAnswer::nothing()
            }
        }
    }

    fn load_page(&self, page: LookupPage) -> BoxFuture<'static, TextPageResult> {
        let (catalog, wired) = (self.current_catalog(), self.current_runtime());
        match page {
            LookupPage::Models(provider) => {
                let decisions = wired.handle.decision_memory();
                Box::pin(async move { offered_models(&catalog, provider.as_deref(), decisions).await })
            }
            LookupPage::Graph(name) => run_blocking(move || workflow_graph(&catalog, &name)),
            LookupPage::RunGraph(run) => run_blocking(move || run_graph(&wired.handle, &run)),
            LookupPage::Contexts(run) => run_blocking(move || {
                let found = measure_contexts(&wired.handle, &run.unwrap_or_default());
                let (run, found) = found.map_err(|error| store_error_text(&error))?;
                Ok(("Conversations".to_owned(), contexts_text(&run, &found)))
            }),
            LookupPage::Costs(run) => run_blocking(move || run_costs_page(&wired.handle, &run)),
            LookupPage::Config(None) => {
                run_blocking(move || Ok(("Settings".to_owned(), settings_text(&catalog))))
            }
            LookupPage::Config(Some(key)) => {
                run_blocking(move || catalog.explain_setting(&key).map(|found| (key, explain_text(&found))))
            }
            LookupPage::Sandbox(path) => {
                let (project, data) = (self.context.project.clone(), self.context.dirs.data.clone());
                run_blocking(move || {
                    let sandbox = sandbox_setup::command_sandbox(&project, &data, &catalog);
                    let text = match path {
                        Some(path) => {
                            sandbox_answers::explain_path_access(&sandbox, &project, Path::new(&path)).text()
                        }
                        None => sandbox_answers::sandbox_report(&sandbox, &catalog).text(),
                    };
                    Ok(("Sandbox".to_owned(), text))
                })
            }
            LookupPage::McpServers(tested) => self.mcp_page(tested),
            LookupPage::McpChange(change) => self.change_mcp_servers(change),
            LookupPage::Simulation { workflow: name, replies: None, .. } => {
                let editor = self.definition_editor();
                run_blocking(move || editor.simulate_workflow(&name).map(|all| simulation_text(&name, &all)))
            }
            LookupPage::Simulation { workflow: name, replies: Some(file), input } => {
                let (editor, project) = (self.definition_editor(), self.context.project.clone());
                run_blocking(move || {
                    let script = read_replies(&project, &file)?;
                    let judged = editor.simulate_replies(&name, &script, input.as_deref());
                    judged_text(&name, &judged.map_err(|error| to_slash_commands(&error))?)
                })
            }
            LookupPage::Export { run, file } => {
                let context = self.context.clone();
                run_blocking(move || {
                    let exporter = RunExporter { context: &context, catalog: &catalog, wired: &wired };
                    export_run(&exporter, &run.unwrap_or_default(), file)
                })
            }
        }
    }

    fn run_shell(&self, command: String, sure: bool) -> BoxFuture<'static, Result<ShellOutcome, String>> {
        let catalog = self.current_catalog();
        let along = catalog.settings().adds_output();
        let tools = wiring::users_tools(&self.context.project, &self.context.dirs.data, &catalog);
        Box::pin(async move {
            let call = user_commands::command_invocation(&command);
            if !sure && let Some(warning) = user_commands::command_warning(&tools, &call).await {
                return Ok(ShellOutcome::Risky(warning));
            }
            let done = tools.run(&call).await;
            // the first line is for models
            let text = done.content.split_once('\n').map(|(_, text)| text.to_owned()).unwrap_or_default();
            Ok(ShellOutcome::Done {
                succeeded: done.ok,
                summary: done.summary,
                text,
                goes_with_next_text: along,
            })
        })
    }

    /// What is asked now is what an answer is about.
    pub(crate) fn untrusted_definitions(&self) -> Result<UntrustedDefinitions, String> {
        let files = trust::project_files(&self.context.project);
        let verdict =
            trust::decide_trust(&self.context, &files, false).map_err(|error| format!("{error:#}"))?;
        let names = match verdict {
            TrustVerdict::Trusted if files.is_empty() => {
                return Err("this project has no definitions of its own".to_owned());
            }
            TrustVerdict::Trusted => return Err("this project's own definitions are trusted".to_owned()),
            TrustVerdict::New { files } => files,
            TrustVerdict::Changed { added, changed, .. } => added.into_iter().chain(changed).collect(),
        };
        let changes = trust_report::shown(&self.context, &files);
        *self.shown_files.lock().unwrap_or_else(PoisonError::into_inner) = files;
        Ok(UntrustedDefinitions { files: names, changes })
    }
}

async fn offered_models(
    catalog: &ConfigCatalog,
    provider: Option<&str>,
    decisions: DecisionMemory,
) -> TextPageResult {
    let servers = servers_of_provider(catalog, provider).map_err(|error| error.to_string())?;
    let seen = ServerProbe::new(catalog).probe_all(servers, ProbeScope::Usable).await;
    let report = models::models_report(seen, catalog.models(), &decisions);
    Ok(("Models".to_owned(), models::report_text(&report, provider.is_some())))
}

fn settings_text(catalog: &ConfigCatalog) -> String {
    let mut text = show_text(&catalog.settings().setting_rows(), false);
    for level in ["base", "smart", "fast"] {
        text.push_str(&match catalog.model_for_level(level) {
            Ok(choice) => {
                format!("{level:<6} {} at {} — {}\n", choice.model, choice.base_url, choice.provenance)
            }
            Err(missing) => format!("{level:<6} no model: {}\n", missing.message),
        });
    }
    for line in system_context::guidance_lines(catalog) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn workflow_graph(catalog: &ConfigCatalog, name: &str) -> TextPageResult {
    find_workflow(catalog, name).map_err(|unknown| unknown.screen_line())?;
    let program = catalog.program(name).map_err(|found| {
        super::first_error(catalog, &found).unwrap_or_else(|| format!("{name} cannot be drawn: it is broken"))
    })?;
    drawn_graph(name, &program, None)
}

fn run_graph(handle: &RuntimeHandle, run: &RunId) -> TextPageResult {
    let record = handle.load_record(run.as_str()).map_err(|error| store_error_text(&error))?;
    drawn_graph(&record.summary.workflow, &record.program, Some(&record))
}

/// As `runs cost RUN` prints it.
fn run_costs_page(handle: &RuntimeHandle, run: &str) -> TextPageResult {
    let spent = cost_of_run(handle, run).map_err(|error| store_error_text(&error))?;
    let mut text = Vec::new();
    write_costs(&spent, None, false, &mut text).map_err(|error| error.to_string())?;
    Ok(("Costs".to_owned(), String::from_utf8_lossy(&text).trim_end().to_owned()))
}

fn drawn_graph(name: &str, program: &WorkflowProgram, run: Option<&RunRecord>) -> TextPageResult {
    let mut text = Vec::new();
    let look = GraphTerminalOptions { width: COLUMNS, colour: false, names_only: false };
    write_graphs(&program_graphs(program, 0, true, run), run, GraphFormat::Terminal, look, &mut text)
        .map_err(|error| error.to_string())?;
    Ok((format!("Graph of {name}"), String::from_utf8_lossy(&text).into_owned()))
}

/// Into the project's directory unless another one is named. A file that is there is left as it is.
fn export_run(exporter: &RunExporter<'_>, run: &str, file: Option<String>) -> TextPageResult {
    let found = exporter.wired.handle.summary(run).map_err(|error| store_error_text(&error))?;
    let id = found.id.to_string();
    let file = file.unwrap_or_else(|| default_file_name(&found.id));
    let told = exporter.write_file(&id, &exporter.context.project.join(&file), &file, None);
    let told = told.map_err(|error| screen_error_text(&error))?;
    Ok((format!("Run {id}"), told.join("\n")))
}

fn simulation_text(name: &str, all: &[EditorSimulatedRun]) -> (String, String) {
    (format!("Simulation of {name}"), simulated_runs_text(all))
}

/// A path counts from the project.
fn read_replies(project: &Path, file: &str) -> Result<SourceFile, String> {
    let text = file_io::read_text_file(&project.join(file))
        .map_err(|error| format!("the replies file {file} cannot be read: {error}"))?;
    Ok(SourceFile::new(ConfigLayer::CommandLine, file, text))
}

/// As `simulate` of the command line prints it.
fn judged_text(name: &str, judged: &SimulationVerdict) -> TextPageResult {
    let mut text = Vec::new();
    write_simulation(judged, false, &mut text).map_err(|error| error.to_string())?;
    Ok((format!("Simulation of {name}"), String::from_utf8_lossy(&text).trim_end().to_owned()))
}

/// What a workflow did without models, in the words of the screen.
pub fn simulated_runs_text(all: &[EditorSimulatedRun]) -> String {
    let lines: Vec<String> = result_lines(all).into_iter().map(|(_, text)| text).collect();
    lines.join("\n")
}
