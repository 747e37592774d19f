//! The terminal interface's way to everything else: catalogue, runtime, snapshots, trust.

mod archive;
mod demo;
mod earlier;
mod editor;
mod facts;
mod history;
mod index;
mod indexing;
pub(super) mod isolated;
mod next_stops;
mod opening;
mod pages;
mod playing;
mod reload;
mod screen;
mod setup;
pub(super) mod shelf;
mod steering;
mod stopper;
mod stored_files;
mod suggest;
mod tasks;
mod told;
mod travel;
mod typed;
mod user_commands;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Map;

use self::facts::{first_error, mended_by, missing_models, parameters, unread};
use self::isolated::Elsewhere;
use self::next_stops::NextStops;
pub(super) use self::opening::{Opening, interactive};
use self::shelf::Checker;
use self::stopper::Stopper;
use self::told::{HOW_TO_SET, no_model};
use super::briefing;
use super::findings::rendered;
use super::logs;
use super::runs::spec;
use super::trust::{self, ProjectFiles};
use super::windows;
use super::wiring::{self, Wired};
use super::world::World;
use crate::adapters::disk::Stamp;
use crate::adapters::stirs;
use crate::config::catalog::Catalog;
use crate::config::models::wish::Wish;
use crate::config::roles::tools_for;
use crate::config::settings::layers::Overrides;
use crate::config::settings::project_may::NOT_TAKEN;
use crate::config::trust::Verdict;
use crate::config::workflow_file::StartCondition;
use crate::domain::cost::Price;
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::ids::RunId;
use crate::domain::journal::RunSummary;
use crate::domain::task_list::{Task, TaskDeed, TaskList};
use crate::engine::spec::RunSpec;
use crate::engine::steering::Stops;
use crate::runtime::command::{Command, Control};
use crate::runtime::handle::Handle;
use crate::tui::archive::{Asked as PastAsked, Told as PastTold};
use crate::tui::backend::{
    Backend, Beside, Changed, FoundLine, IndexAsked, IndexTold, Page, Plan, Preparation, Recalled, Reload,
    RoleLine, RunFilter, ShellTold, SnapshotCommand, StandingPermission, Start, StatusFacts, Steps,
    Suggested, ToolLine, Travel, Travelled, WorkflowLine,
};
use crate::tui::editor::{Asked as EditAsked, Told as EditTold};
use crate::tui::past::Past;
use crate::tui::run_view::drawing::Definition;
use crate::tui::setup::{Asked, Told};
use crate::tui::theme::Theme;
use crate::tui::transcript::item::Item;

/// Files that can be mentioned with `@`: more nobody looks for by a few letters.
const FILES: usize = 20_000;

/// What is wrong with settings, roles and workflow files, and what of a project is not taken, a line each: nothing is hidden, nothing stops.
fn problems(catalog: &Catalog) -> Vec<String> {
    let told = |finding: &&Diagnostic| finding.severity == Severity::Error || finding.code == NOT_TAKEN;
    catalog.diagnostics().iter().filter(told).map(crate::config::render::compact).collect()
}

/// Everything behind the screen.
struct Desk {
    world: World,
    overrides: Overrides,
    /// The workflow that the demo's script plays, if this is the demo.
    demo: Option<String>,
    /// Replaced as a whole when the project becomes trusted; running runs keep what they started with.
    catalog: RwLock<Arc<Catalog>>,
    wired: RwLock<Arc<Wired>>,
    /// The project's files as the trust question showed them.
    asked: Mutex<ProjectFiles>,
    branch: Mutex<Option<Option<String>>>,
    stops: NextStops,
    /// A model was set up in this session.
    saved: Arc<AtomicBool>,
    /// It was told that what is typed is not kept.
    unkept: AtomicBool,
    /// The files as they were when they were read last.
    read: Mutex<Vec<Stamp>>,
    /// What texts are checked with, until files change.
    checker: Arc<Mutex<Option<Arc<Checker>>>>,
    /// Entries of the long run that was scrolled back in last.
    entries: Arc<Mutex<Option<earlier::Entries>>>,
    /// Ends what models are asked beside the runs.
    stopper: Stopper,
    indexing: Arc<indexing::Indexing>,
}

impl Desk {
    fn project(&self) -> String {
        self.world.project.display().to_string()
    }

    fn wired(&self) -> Arc<Wired> {
        Arc::clone(&self.wired.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn elsewhere(&self) -> Elsewhere {
        Elsewhere::new(&self.world, self.catalog(), self.wired())
    }

    /// Starts a run on this handle: at once, or when the servers of its models have told how much they take. `begun` is
    /// called when it runs.
    fn start(
        &self,
        handle: Handle,
        mut spec: RunSpec,
        begun: impl FnOnce() + Send + 'static,
    ) -> Result<Start, String> {
        let providers = Arc::clone(&self.wired().providers);
        let go = move |spec: RunSpec| {
            let run = handle.start(spec).map_err(|error| told::here(&history::of_store(&error)))?;
            begun();
            Ok(run)
        };
        if windows::are_known(&providers, &spec.program) {
            windows::recall(&providers, &mut spec.program);
            return go(spec).map(Start::Running);
        }
        Ok(Start::Later(
            Preparation::Windows,
            Box::pin(async move {
                windows::learn(&providers, &mut spec.program).await;
                Ok((go(spec)?, None))
            }),
        ))
    }

    /// Why something cannot start. A missing model is told once, not for every agent that needs it.
    fn told(&self, found: &[Diagnostic]) -> String {
        let catalog = self.catalog();
        let errors: Vec<Diagnostic> =
            found.iter().filter(|finding| finding.severity == Severity::Error).cloned().collect();
        match missing_models(&catalog, &errors) {
            Some(missing) => format!("{missing}\n{HOW_TO_SET}"),
            None => mended_by(&catalog, &errors, rendered(&catalog, &errors, false)),
        }
    }
}

impl Backend for Desk {
    fn stirs(&self) -> BoxStream<'static, ()> {
        stirs::of(&wiring::history(&self.world.dirs.data))
    }

    fn workflows(&self) -> Vec<WorkflowLine> {
        let catalog = self.catalog();
        let line = |entry: &crate::config::catalog::overview::WorkflowEntry| WorkflowLine {
            name: entry.name.clone(),
            description: entry.description.clone(),
            input: entry.inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>().join(", "),
            waits_for_input: entry.start == StartCondition::OnUserInput,
            needs_input: entry.inputs.iter().any(|input| input.required),
            layer: entry.layer,
            broken: catalog.program(&entry.name).err().and_then(|found| first_error(&catalog, &found)),
        };
        catalog.workflows().iter().map(line).chain(unread(&catalog)).collect()
    }

    fn roles(&self) -> Vec<RoleLine> {
        let catalog = self.catalog();
        let models: BTreeMap<&str, String> = ["base", "smart", "fast"]
            .into_iter()
            .map(|level| {
                (level, catalog.choice(level).map_or_else(|_| "not set".to_owned(), |choice| choice.model))
            })
            .collect();
        catalog
            .roles()
            .iter()
            .map(|role| RoleLine {
                group: role.group.clone(),
                name: role.name.clone(),
                level: role.level.clone(),
                model: match &role.provider {
                    Some(_) => catalog
                        .choice_for(&Wish::role(role))
                        .map_or_else(|_| "not set".to_owned(), |choice| choice.model),
                    None => models.get(role.level.as_str()).cloned().unwrap_or_default(),
                },
                tools: tools_for(role, catalog.tools()).0.len(),
                description: role.description.clone(),
                layer: role.layer,
            })
            .collect()
    }

    fn tools(&self, role: &str) -> Vec<ToolLine> {
        let catalog = self.catalog();
        let policy = catalog.settings().approvals();
        let tools = catalog
            .roles()
            .find(role)
            .map_or_else(|_| catalog.tools().to_vec(), |role| tools_for(role, catalog.tools()).0);
        tools
            .into_iter()
            .map(|tool| ToolLine {
                approval: policy.of(&tool.name, tool.risk),
                parameters: parameters(&tool.parameters),
                name: tool.name,
                risk: tool.risk,
                description: tool.description,
            })
            .collect()
    }

    fn price(&self, model: &str) -> Option<Price> {
        let catalog = self.catalog();
        let choices = ["base", "smart", "fast"].into_iter().filter_map(|level| catalog.choice(level).ok());
        choices.into_iter().find(|choice| choice.model == model).and_then(|choice| choice.price)
    }

    fn start_workflow(&self, name: &str, input: &str) -> Result<Start, String> {
        self.begin(name, input, None)
    }

    fn start_beside(&self, name: &str, input: &str, beside: Beside) -> Result<Start, String> {
        self.begin(name, input, Some(beside))
    }

    fn stop_at(&self, stops: Stops) {
        self.stops.set(stops);
    }

    fn allow_always(&self, permission: StandingPermission) -> BoxFuture<'static, Result<String, String>> {
        self.save_allowed(permission)
    }

    fn start_chat(&self, role: &str) -> Result<Start, String> {
        if let Some(played) = &self.demo {
            let again = format!("See the workflow once more: /workflow {played} \"any task\"");
            return Err(format!(
                "the demo has nobody to talk to: its words are scripted\n{again}\n{HOW_TO_SET}"
            ));
        }
        let program = self.catalog().chat_program(role).map_err(|found| self.told(&found))?;
        let spec = spec((&self.catalog(), &self.world.project), program, Map::new(), false, true);
        self.start(self.wired().handle.clone(), spec, || {})
    }

    fn send(&self, run: &RunId, command: Command) {
        self.wired().handle.send(run, command);
    }

    fn runs(&self, filter: RunFilter) -> BoxFuture<'static, Result<Vec<RunSummary>, String>> {
        let (handle, here) = (self.wired().handle.clone(), self.project());
        away(move || history::list(&handle, &here, filter))
    }

    fn search(&self, words: String) -> BoxFuture<'static, Result<Vec<FoundLine>, String>> {
        let handle = self.wired().handle.clone();
        away(move || history::search(&handle, &words))
    }

    fn past(&self, run: String) -> BoxFuture<'static, Result<Past, String>> {
        // it may have gone back since
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (wired, here, demo) = (self.wired(), self.project(), self.demo.clone());
        away(move || history::past(&wired, &here, &run, demo.as_deref()))
    }

    fn glance(&self, run: String) -> BoxFuture<'static, Option<Past>> {
        let (wired, here, demo) = (self.wired(), self.project(), self.demo.clone());
        let glance = away(move || Ok(history::glance(&wired, &here, &run, demo.as_deref())));
        Box::pin(async move { glance.await.ok().flatten() })
    }

    fn earlier(&self, run: RunId, before: usize) -> BoxFuture<'static, Result<Vec<Item>, String>> {
        let (handle, data) = (self.wired().handle.clone(), self.world.dirs.data.clone());
        let entries = Arc::clone(&self.entries);
        away(move || {
            let known = &mut entries.lock().unwrap_or_else(PoisonError::into_inner);
            earlier::earlier(&handle, &data, known, &run, before)
        })
    }

    fn recall(&self) -> BoxFuture<'static, Result<Recalled, String>> {
        self.recalled()
    }

    fn remember(&self, text: &str) -> Result<(), String> {
        self.keep_typed(text)
    }

    fn resume(&self, run: RunId) -> BoxFuture<'static, Result<(), String>> {
        let elsewhere = self.elsewhere();
        away(move || history::resume(&elsewhere, &run, false))
    }

    fn retry(&self, run: RunId) -> BoxFuture<'static, Result<(), String>> {
        let elsewhere = self.elsewhere();
        away(move || history::resume(&elsewhere, &run, true))
    }

    fn control(&self, run: String, control: Control) -> BoxFuture<'static, Result<String, String>> {
        let handle = self.wired().handle.clone();
        Box::pin(async move { history::control(&handle, &run, control).await })
    }

    fn archive(&self, asked: PastAsked) -> BoxFuture<'static, PastTold> {
        let (world, catalog, project) = (self.world.clone(), self.catalog(), self.project());
        let reader = archive::Reader { handle: self.wired().handle.clone(), world, catalog, project };
        let work = away(move || Ok(reader.answer(asked)));
        Box::pin(async move { work.await.unwrap_or_else(|error| PastTold::Text(Err(error))) })
    }

    fn review(&self, run: RunId, agent: Option<String>) -> BoxFuture<'static, Result<String, String>> {
        let handle = self.wired().handle.clone();
        away(move || history::review(&handle, &run, agent))
    }

    fn definition(&self, run: RunId) -> BoxFuture<'static, Result<Definition, String>> {
        let handle = self.wired().handle.clone();
        away(move || screen::definition(&handle, &run))
    }

    fn theme(&self, name: &str) -> Result<Theme, String> {
        screen::named(&self.world, name)
    }

    fn verbosity(&self, wanted: Option<u8>) -> (u8, String) {
        let level = wanted.map_or_else(logs::level, logs::set);
        (level, logs::file(&self.world.dirs.data).display().to_string())
    }

    fn files(&self) -> BoxFuture<'static, Result<Vec<String>, String>> {
        let project = self.world.project.clone();
        away(move || Ok(briefing::files(&project, FILES).0))
    }

    fn page(&self, page: Page) -> BoxFuture<'static, Result<(String, String), String>> {
        self.page(page)
    }

    fn shell(&self, command: String, sure: bool) -> BoxFuture<'static, Result<ShellTold, String>> {
        self.shell(command, sure)
    }

    fn suggest(&self, words: String) -> BoxFuture<'static, Suggested> {
        self.suggest(words)
    }

    fn task(&self, deed: TaskDeed) -> BoxFuture<'static, Result<(TaskList, Option<Task>), String>> {
        self.task(deed)
    }

    fn index(&self, asked: IndexAsked) -> BoxFuture<'static, IndexTold> {
        self.index(asked)
    }

    fn stop_aside(&self) {
        self.stopper.stop();
    }

    fn trusts(&self) -> Result<Changed, String> {
        self.trusts()
    }

    fn steps(&self, run: Option<String>) -> BoxFuture<'static, Result<Steps, String>> {
        let (handle, here) = (self.wired().handle.clone(), self.project());
        away(move || travel::steps(&handle, &here, run))
    }

    fn plan(&self, travel: Travel) -> BoxFuture<'static, Result<Plan, String>> {
        let (handle, here) = (self.wired().handle.clone(), self.project());
        away(move || travel::plan(&handle, &here, travel))
    }

    fn travel(&self, travel: Travel) -> BoxFuture<'static, Result<Travelled, String>> {
        let (handle, here) = (self.wired().handle.clone(), self.project());
        away(move || travel::travel(&handle, &here, travel))
    }

    fn snapshot(&self, command: SnapshotCommand) -> BoxFuture<'static, Result<String, String>> {
        let handle = self.wired().handle.clone();
        away(move || {
            stored_files::perform(&handle, command)
                .map_err(|error| history::told(&error.message, error.hint.as_deref()))
        })
    }

    fn trust(&self, yes: bool) -> Result<Vec<String>, String> {
        if !yes {
            self.leave_out();
            return Ok(Vec::new());
        }
        let told = |error: anyhow::Error| format!("{error:#}");
        let changed =
            || "the files changed while you were asked: leave and start again to see them".to_owned();
        let files = trust::project_files(&self.world.project);
        if !files.same_as(&self.asked.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Err(changed());
        }
        trust::decide(&self.world, &files, true).map_err(told)?;
        let gathered = super::sources::gather(&self.world, self.overrides.clone(), false).map_err(told)?;
        if gathered.verdict != Verdict::Trusted {
            return Err(changed());
        }
        let catalog = Catalog::load(gathered.sources, wiring::specs(&self.world.project));
        let known = problems(&self.catalog());
        let new = problems(&catalog).into_iter().filter(|line| !known.contains(line)).collect();
        self.take_up(catalog);
        Ok(new)
    }

    fn set_up(&self, asked: Asked) -> BoxFuture<'static, Told> {
        self.set_up(asked)
    }

    fn edit(&self, asked: EditAsked) -> BoxFuture<'static, EditTold> {
        self.edit(asked)
    }

    fn external(&self, name: &str, text: &str) -> Result<String, String> {
        self.external(name, text)
    }

    fn reload(&self, asks: bool) -> Option<Reload> {
        self.reload(asks)
    }

    fn status_line(&self) -> StatusFacts {
        let catalog = self.catalog();
        let role = catalog.settings().default_role().to_owned();
        let found = catalog.roles().find(&role).ok();
        let choice = found.map(|role| catalog.choice_for(&Wish::role(role)));
        let notice = match &choice {
            Some(Err(missing)) => Some(no_model(&missing.message)),
            _ => None,
        };
        let mut branch = self.branch.lock().unwrap_or_else(PoisonError::into_inner);
        StatusFacts {
            tools_available: found.map_or(0, |role| tools_for(role, catalog.tools()).0.len()),
            tools_total: catalog.tools().len(),
            model: choice.and_then(Result::ok).map_or_else(|| "no model".to_owned(), |choice| choice.model),
            environment: catalog.environment_files().map(str::to_owned).collect(),
            branch: branch.get_or_insert_with(|| screen::branch_of(&self.world.project)).clone(),
            notice,
            role,
        }
    }
}

/// Work that takes a while, on a thread of its own.
fn away<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> BoxFuture<'static, Result<T, String>> {
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(format!("this was broken off: {error}")))
    })
}
