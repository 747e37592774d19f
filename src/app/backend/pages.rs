//! What the screen looks up as a text: graphs, models, settings, an exported run; a command of the person; trust.

use std::path::Path;
use std::sync::PoisonError;

use futures_util::future::BoxFuture;

use super::told::of_store;
use super::{Desk, away, user_commands};
use crate::adapters::disk;
use crate::app::survey::{Ask, Survey};
use crate::app::world::World;
use crate::app::{briefing, cassettes, sandboxing, trust, wiring};
use crate::cli::archive::{markdown, moved};
use crate::cli::args::GraphFormat;
use crate::cli::graph::{Look, graphs, show};
use crate::cli::models;
use crate::config::catalog::Catalog;
use crate::config::settings::explain::explain_text;
use crate::config::settings::show_text;
use crate::config::trust::Verdict;
use crate::domain::ids::RunId;
use crate::domain::workflow::Program;
use crate::ports::tool::ToolPort as _;
use crate::runtime::handle::Handle;
use crate::runtime::history::RunRecord;
use crate::tui::backend::{Changed, Page, ShellTold};
use crate::tui::editor::simulated::{Simulated, told};

/// Columns of a drawing in the conversation.
const COLUMNS: usize = 76;

type Told = Result<(String, String), String>;

impl Desk {
    pub(super) fn page(&self, page: Page) -> BoxFuture<'static, Told> {
        let (catalog, handle) = (self.catalog(), self.wired().handle.clone());
        match page {
            Page::Models(provider) => Box::pin(async move { offers(&catalog, provider.as_deref()).await }),
            Page::Graph(name) => away(move || workflow_graph(&catalog, &name)),
            Page::RunGraph(run) => away(move || run_graph(&handle, &run)),
            Page::Config(None) => away(move || Ok(("Settings".to_owned(), settings(&catalog)))),
            Page::Config(Some(key)) => {
                away(move || catalog.explain(&key).map(|found| (key, explain_text(&found))))
            }
            Page::Sandbox(path) => {
                let (project, data) = (self.world.project.clone(), self.world.dirs.data.clone());
                away(move || {
                    let sandbox = sandboxing::sandbox(&project, &data, &catalog);
                    let text = match path {
                        Some(path) => sandboxing::explain(&sandbox, &project, Path::new(&path)).text(),
                        None => sandboxing::describe(&sandbox).text(),
                    };
                    Ok(("Sandbox".to_owned(), text))
                })
            }
            Page::Simulation(name) => {
                let shelf = self.shelf();
                away(move || shelf.simulate(&name).map(|all| simulation(&name, &all)))
            }
            Page::Export { run, file } => {
                let world = self.world.clone();
                away(move || export(&world, &catalog, &handle, &run.unwrap_or_default(), file))
            }
        }
    }

    pub(super) fn shell(&self, command: String, sure: bool) -> BoxFuture<'static, Result<ShellTold, String>> {
        let catalog = self.catalog();
        let along = catalog.settings().adds_output();
        let tools = wiring::users_tools(&self.world.project, &self.world.dirs.data, &catalog);
        Box::pin(async move {
            let call = user_commands::invocation(&command);
            if !sure && let Some(warning) = user_commands::warning(&tools, &call).await {
                return Ok(ShellTold::Risky(warning));
            }
            let done = tools.run(&call).await;
            // the first line is for models
            let text = done.content.split_once('\n').map(|(_, text)| text.to_owned()).unwrap_or_default();
            Ok(ShellTold::Done { ok: done.ok, summary: done.summary, text, along })
        })
    }

    /// What is asked now is what an answer is about.
    pub(super) fn trusts(&self) -> Result<Changed, String> {
        let files = trust::project_files(&self.world.project);
        let verdict = trust::decide(&self.world, &files, false).map_err(|error| format!("{error:#}"))?;
        let names = match verdict {
            Verdict::Trusted if files.is_empty() => {
                return Err("this project has no definitions of its own".to_owned());
            }
            Verdict::Trusted => return Err("this project's own definitions are trusted".to_owned()),
            Verdict::New { files } => files,
            Verdict::Changed { added, changed, .. } => added.into_iter().chain(changed).collect(),
        };
        let changes = trust::shown(&self.world, &files);
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = files;
        Ok(Changed { files: names, changes })
    }
}

async fn offers(catalog: &Catalog, provider: Option<&str>) -> Told {
    let mut servers = catalog.servers();
    if let Some(wanted) = provider {
        servers.retain(|server| server.provider == wanted);
        if servers.is_empty() {
            return Err(format!("there is no provider {wanted}: /models lists them"));
        }
    }
    let seen = Survey::new(catalog).of(servers, Ask::Usable).await;
    let report = models::report(seen, catalog.models());
    Ok(("Models".to_owned(), models::text(&report, provider.is_some())))
}

fn settings(catalog: &Catalog) -> String {
    let mut text = show_text(&catalog.settings().show(), false);
    for level in ["base", "smart", "fast"] {
        text.push_str(&match catalog.choice(level) {
            Ok(choice) => {
                format!("{level:<6} {} at {} — {}\n", choice.model, choice.base_url, choice.provenance)
            }
            Err(missing) => format!("{level:<6} no model: {}\n", missing.message),
        });
    }
    for line in briefing::lines(catalog) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn workflow_graph(catalog: &Catalog, name: &str) -> Told {
    if catalog.workflow(name).is_none() {
        return Err(format!("no workflow {name} — /workflows lists them"));
    }
    let program = catalog.program(name).map_err(|found| {
        super::first_error(catalog, &found).unwrap_or_else(|| format!("{name} cannot be drawn: it is broken"))
    })?;
    drawn(name, &program, None)
}

fn run_graph(handle: &Handle, run: &RunId) -> Told {
    let record = handle.run(run.as_str()).map_err(|error| of_store(&error))?;
    drawn(&record.summary.workflow, &record.program, Some(&record))
}

fn drawn(name: &str, program: &Program, run: Option<&RunRecord>) -> Told {
    let mut text = Vec::new();
    let look = Look { width: COLUMNS, colour: false };
    show(&graphs(program, 0, true, run), run, GraphFormat::Terminal, look, &mut text)
        .map_err(|error| error.to_string())?;
    Ok((format!("Graph of {name}"), String::from_utf8_lossy(&text).into_owned()))
}

/// Into the project's directory unless another one is named. A file that is there is left as it is.
fn export(world: &World, catalog: &Catalog, handle: &Handle, run: &str, file: Option<String>) -> Told {
    let id = handle.summary(run).map_err(|error| of_store(&error))?.id.to_string();
    let file = file.unwrap_or_else(|| format!("{id}.md"));
    let path = world.project.join(&file);
    if cassettes::is_meant(&path) {
        let told = cassettes::of_past(world, catalog, handle, &id, &path);
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
        let record = handle.run(&id).map_err(|error| of_store(&error))?;
        markdown::run(&record, &mut text).map_err(refused)?;
        let text = handle.without_keys(String::from_utf8_lossy(&text).into_owned());
        disk::create_large(&path, |out| out.write_all(text.as_bytes())).map_err(refused)?;
        format!("written to {file}")
    } else {
        let done = disk::create_large(&path, |out| handle.export(&id, env!("CARGO_PKG_VERSION"), out));
        let done = done.map_err(|error| match error {
            crate::runtime::bundle::BundleError::Store(error) => of_store(&error),
            crate::runtime::bundle::BundleError::Io(error) => refused(error),
            crate::runtime::bundle::BundleError::Refused(reason) => reason,
        })?;
        moved::exported(&done, Some(&file)).into_iter().collect::<Vec<String>>().join("\n")
    };
    Ok((format!("Run {id}"), told))
}

fn simulation(name: &str, all: &[Simulated]) -> (String, String) {
    let lines: Vec<String> = told(all).into_iter().map(|(_, text)| text).collect();
    (format!("Simulation of {name}"), lines.join("\n"))
}
