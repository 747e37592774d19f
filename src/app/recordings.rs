//! Recordings of model calls: from a workflow to what is written down of it, and back.
//!
//! What a recording must not depend on is taken from a catalogue in which every level is answered from a script: there
//! an agent's parameters are what its role and the settings say, whatever provider is configured on this machine.

mod record_past_run;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Value, json};

use super::active_recording::ActiveRecording;
use super::bootstrap::{self, WiredRuntime};
use super::cli_context::CliContext;
use super::config_sources;
use super::read_only::store_error;
use synthdev_adapters::providers::recording::{
    FORMAT, ModelCallPlayer, ModelCallRecorder, ModelRecording, PlayedRecording, RecordedAgent,
    RecordedModelSettings, RecordedOutcome, RecordingError, RecordingHeader, RedactValueFn,
    RequestNormalizer, RolesByAgent, UnfinishedRecording,
};
use synthdev_cli::args::{ResumeArgs, RunArgs};
use synthdev_cli::headless::{FinalReport, HeadlessOutput};
use synthdev_cli::output::print_stderr;
use synthdev_config::catalog::{ConfigCatalog, ConfigSources};
use synthdev_config::models::models_file::PARAMETERS;
use synthdev_config::settings::layers::SettingOverrides;
use synthdev_config::source::SourceFile;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::model::{ModelChoice, ModelParameters, RECORDING};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::{Workflow, WorkflowProgram};
use synthdev_runtime::model_exchanges::ModelCallEnd;
use synthdev_runtime::redact::SecretRedactor;

pub(super) use record_past_run::{is_meant, write_recording};

/// What `--record` and `--replay` asked for; nothing is opened before the run is.
pub(super) enum RecordingMode {
    None,
    Record { file: String, header: RecordingHeader, roles: RolesByAgent },
    Play { cassette: ModelRecording, playing: PlayedRecording, roles: RolesByAgent },
}

/// The recording that `--replay` names.
pub(super) fn open_replayed(replay: Option<&Path>) -> Result<Option<ModelRecording>> {
    let Some(path) = replay else { return Ok(None) };
    let cassette = ModelRecording::open(path).map_err(refused)?;
    if cassette.torn {
        print_stderr(format_args!(
            "warning: {} ends in the middle of a call: that one is left out",
            path.display()
        ));
    }
    Ok(Some(cassette))
}

/// The program as it is run, and what answers it.
pub(super) fn prepare(
    world: &CliContext,
    (args, more): (&RunArgs, Option<&SourceFile>),
    played: Option<ModelRecording>,
    program: WorkflowProgram,
) -> Result<(WorkflowProgram, RecordingMode)> {
    let workflow = root(&program).map_or_else(String::new, |root| root.name.clone());
    if let (Some(cassette), Some(path)) = (played, &args.replay) {
        let file = path.display().to_string();
        of_workflow(&cassette, &file, &workflow)?;
        let record = format!("synthdev run {} … --record {file}", again(args, &workflow));
        let (program, playing) = playing(&cassette.header, file, record, &program);
        let roles = roles(&program);
        return Ok((program, RecordingMode::Play { cassette, playing, roles }));
    }
    let Some(path) = &args.record else { return Ok((program, RecordingMode::None)) };
    let mut gathered = config_sources::gather(world, SettingOverrides::default(), world.trust)?;
    gathered.sources.workflows.extend(more.cloned());
    let plain = plain(world, gathered.sources).check(&workflow);
    let (plain, _) =
        plain.map_err(|_| anyhow!("the workflow `{workflow}` has changed just now: start again"))?;
    let tape = RecordingMode::Record {
        file: path.display().to_string(),
        header: header(&plain, &program),
        roles: roles(&program),
    };
    Ok((program, tape))
}

/// The recording that the models of a program are those of.
fn recorded_in(program: &WorkflowProgram) -> Option<&str> {
    let mut agents = program.workflows.iter().flat_map(|workflow| &workflow.agents);
    agents.find_map(|agent| agent.choice.base_url.strip_prefix(RECORDING))
}

fn of_workflow(cassette: &ModelRecording, file: &str, workflow: &str) -> Result<()> {
    let recorded = &cassette.header.workflow;
    if recorded != workflow {
        bail!("{file} is a recording of the workflow `{recorded}`, not of `{workflow}`");
    }
    Ok(())
}

/// What stands between a run that is taken up and its models. What was asked before is written down first, or passed
/// over: a recording is of a whole run.
pub(super) fn attach_to_resumed(
    world: &CliContext,
    args: &ResumeArgs,
    (catalog, sources): (&ConfigCatalog, ConfigSources),
    played: Option<ModelRecording>,
    (wired, summary): (WiredRuntime, &RunSummary),
) -> Result<WiredRuntime> {
    let run = &summary.id;
    let spec = wired.handle.definition(run).map_err(store_error)?;
    let program = spec.program.clone();
    let workflow = root(&program).map_or_else(String::new, |root| root.name.clone());
    if let Some(name) = recorded_in(&program)
        && args.replay.is_none()
        && args.replies.is_none()
    {
        bail!(
            "run {run} was played from the recording {name}: no model was asked, and none is now\nhint: play on: \
             synthdev resume {run} --replay {name}"
        );
    }
    let Some(path) = args.record.as_ref().or(args.replay.as_ref()) else { return Ok(wired) };
    let file = path.display().to_string();
    if args.record.is_some() && !spec.brief.is_empty() {
        bail!(
            "run {run} was begun without --record: its agents were told where they work, so a recording of it could \
             not be played elsewhere\nhint: record a new run: synthdev run {workflow} … --record {file}"
        );
    }
    let tree = summary.worktree.as_ref().map(|tree| Path::new(&tree.path));
    let project: Vec<&Path> = tree.into_iter().chain([world.project.as_path()]).collect();
    let roles = roles(&program);
    let tape = if let Some(cassette) = played {
        of_workflow(&cassette, &file, &workflow)?;
        let record = format!("synthdev run {workflow} … --record {file}");
        let playing = PlayedRecording { name: file, record, changed: false };
        RecordingMode::Play { cassette, playing, roles }
    } else {
        let plain =
            plain(world, sources).check(&workflow).map_or_else(|_| program.clone(), |(plain, _)| plain);
        RecordingMode::Record { file, header: header(&plain, &program), roles }
    };
    let before = wired.handle.clone();
    let wired = tape.around(wired, catalog, &project)?;
    let told = before.visit_model_calls(run, &mut |request, over, used| match &wired.deck {
        Some(ActiveRecording::Recorder(recorder)) => {
            recorder.record_earlier_call(&request, outcome(over), used)
        }
        Some(ActiveRecording::Player(player)) => player.skip_earlier_call(&request),
        None => {}
    });
    told.map_err(store_error)?;
    Ok(wired)
}

fn outcome(over: ModelCallEnd) -> RecordedOutcome {
    match over {
        ModelCallEnd::Replied(reply) => RecordedOutcome::Reply(reply),
        ModelCallEnd::Failed(error) => RecordedOutcome::Error(error),
        ModelCallEnd::Stopped { after_ms } => RecordedOutcome::Stopped { after_ms },
    }
}

/// A catalogue in which no level has a model of its own: the same on every machine.
pub(super) fn plain(world: &CliContext, mut sources: ConfigSources) -> ConfigCatalog {
    const SCRIPTED: &str = "scripted";
    sources.command_line = world.scripted("a recording");
    for level in ["base", "smart", "fast"] {
        sources.command_line.set(&format!("levels.{level}.model"), SCRIPTED, "a recording");
    }
    // the script takes no parameters; here everything counts that roles and settings ask for
    let models = json!({"providers": {SCRIPTED: {"accepts": PARAMETERS}}});
    sources.models.push(SourceFile::new(ConfigLayer::CommandLine, "a recording", models.to_string()));
    ConfigCatalog::load(sources, bootstrap::specs(&world.project))
}

fn again(args: &RunArgs, workflow: &str) -> String {
    match &args.workflow_file {
        Some(file) => format!("--workflow-file {}", file.display()),
        None => workflow.to_owned(),
    }
}

impl RecordingMode {
    /// Puts it between the run and its models. `project`: where the run works, then other directories of its project.
    pub(super) fn around(
        self,
        wired: WiredRuntime,
        catalog: &ConfigCatalog,
        project: &[&Path],
    ) -> Result<WiredRuntime> {
        match self {
            Self::None => Ok(wired),
            Self::Play { cassette, playing, roles } => {
                let player = ModelCallPlayer::new(cassette, playing, roles, local_place(catalog, project));
                Ok(wired.asking(ActiveRecording::Player(Arc::new(player))))
            }
            Self::Record { file, header, roles } => {
                let here = local_place(catalog, project);
                let inner = wired.handle.ports().models.clone();
                let recorder = ModelCallRecorder::create(Path::new(&file), &header, roles, here, inner);
                Ok(wired.asking(ActiveRecording::Recorder(Arc::new(recorder.map_err(refused)?))))
            }
        }
    }
}

/// After a run: the file is put in its place, and what was not as it was recorded is told.
pub(super) fn finish_recording(
    deck: Option<&ActiveRecording>,
    report: &mut FinalReport,
    show: HeadlessOutput,
) {
    let lines = match deck {
        None => Vec::new(),
        Some(ActiveRecording::Recorder(recorder)) if report.status == RunStatus::Completed => {
            match recorder.finish() {
                Ok(calls) => {
                    if show.progress {
                        print_stderr(format_args!("recorded {calls} model calls in {}", recorder.name()));
                    }
                    Vec::new()
                }
                Err(bad) => vec![bad.to_string()],
            }
        }
        Some(ActiveRecording::Recorder(recorder)) => {
            recorder.abandon_recording().map(|left| left_over(&left, report)).into_iter().collect()
        }
        Some(ActiveRecording::Player(player)) => {
            report.played = Some(player.name().to_owned());
            if show.progress {
                print_stderr("played from a recording: no model was asked, the cost is what was paid then");
            }
            // else its error says so
            if report.status == RunStatus::Completed { player.misses() } else { Vec::new() }
        }
    };
    for text in lines {
        if show.progress {
            print_stderr(format_args!("warning: {text}"));
        }
        report.warnings.push(json!({"code": "cassette", "text": text}));
    }
}

/// Why a recording is not in its place, and how it gets there.
fn left_over(left: &UnfinishedRecording, report: &FinalReport) -> String {
    let waits = matches!(report.status, RunStatus::Paused | RunStatus::Interrupted);
    let more = report.run_id.as_ref().filter(|_| waits).map_or_else(String::new, |run| {
        format!("; to record the rest, too: synthdev resume {run} … --record {}", left.name)
    });
    let ended = match report.status {
        RunStatus::Failed => "the run has failed",
        RunStatus::Cancelled => "the run was cancelled",
        RunStatus::Running | RunStatus::Paused | RunStatus::Interrupted | RunStatus::Completed => {
            "the run is not over"
        }
    };
    format!("{ended}, so {left}{more}")
}

/// What was recorded and not used, a line each; of a run that went another way nothing.
pub(super) fn unused(player: &ModelCallPlayer) -> Vec<String> {
    if player.misses().is_empty() { player.unused() } else { Vec::new() }
}

/// The program with the models that were recorded, and what is told of the recording. `program`: from a catalogue
/// without models.
pub(super) fn playing(
    header: &RecordingHeader,
    name: String,
    record: String,
    program: &WorkflowProgram,
) -> (WorkflowProgram, PlayedRecording) {
    let changed = header.definition != program.hash;
    (restored(program, header, &name), PlayedRecording { name, record, changed })
}

/// `plain`: the same program from a catalogue without models.
pub(super) fn header(plain: &WorkflowProgram, asking: &WorkflowProgram) -> RecordingHeader {
    let find = |workflow: &str| plain.workflows.iter().find(|one| one.name == workflow);
    let (mut agents, mut summaries) = (Vec::new(), Vec::new());
    for workflow in &asking.workflows {
        let name = &workflow.name;
        let seat =
            |agent: &str, role: &str, plain: Option<&ModelChoice>, choice: &ModelChoice| RecordedAgent {
                workflow: name.clone(),
                agent: agent.to_owned(),
                role: role.to_owned(),
                plain: plain.map(plain_of).unwrap_or_default(),
                choice: placeless(choice),
            };
        let agent_of = |id: &str| find(name)?.agents.iter().find(|agent| agent.id == id);
        agents.extend(workflow.agents.iter().map(|agent| {
            seat(&agent.id, &agent.role, agent_of(&agent.id).map(|agent| &agent.choice), &agent.choice)
        }));
        let summary_of =
            |id: &str| find(name)?.contexts.iter().find(|context| context.name == id)?.summary.as_deref();
        summaries.extend(workflow.contexts.iter().filter_map(|context| {
            Some(seat(&context.name, "", summary_of(&context.name), context.summary.as_deref()?))
        }));
    }
    RecordingHeader {
        cassette: FORMAT,
        program: concat!("synthdev ", env!("CARGO_PKG_VERSION")).to_owned(),
        workflow: root(asking).map_or_else(String::new, |root| root.name.clone()),
        definition: plain.hash.clone(),
        agents,
        summaries,
    }
}

/// A model and those that may answer in its place, without their addresses and the names of their keys.
fn placeless(choice: &ModelChoice) -> ModelChoice {
    ModelChoice {
        base_url: String::new(),
        key: None,
        provenance: String::new(),
        fallback: choice.fallback.iter().map(placeless).collect(),
        ..choice.clone()
    }
}

fn plain_of(choice: &ModelChoice) -> RecordedModelSettings {
    RecordedModelSettings { level: choice.level.clone(), parameters: choice.parameters.clone() }
}

/// The models as they were recorded; what roles and settings ask of them otherwise now, changed in them.
fn restored(program: &WorkflowProgram, header: &RecordingHeader, name: &str) -> WorkflowProgram {
    let mut program = program.clone();
    for workflow in &mut program.workflows {
        let workflow = Arc::make_mut(workflow);
        let of = |seats: &[RecordedAgent], who: &str| {
            seats.iter().find(|seat| seat.workflow == workflow.name && seat.agent == who).cloned()
        };
        let agents: Vec<_> = workflow.agents.iter().map(|agent| of(&header.agents, &agent.id)).collect();
        let contexts: Vec<_> =
            workflow.contexts.iter().map(|context| of(&header.summaries, &context.name)).collect();
        for (agent, seat) in workflow.agents.iter_mut().zip(agents) {
            seat.into_iter().for_each(|seat| restore(&mut agent.choice, &seat, name));
        }
        for (context, seat) in workflow.contexts.iter_mut().zip(contexts) {
            let summary = context.summary.as_deref_mut();
            summary.into_iter().zip(seat).for_each(|(choice, seat)| restore(choice, &seat, name));
        }
    }
    program
}

fn restore(choice: &mut ModelChoice, seat: &RecordedAgent, name: &str) {
    let now = plain_of(choice);
    let level = if now.level == seat.plain.level { seat.choice.level.clone() } else { now.level };
    let here = |choice: &ModelChoice| ModelChoice {
        parameters: overlaid(&choice.parameters, &seat.plain.parameters, &now.parameters),
        provenance: format!("as recorded in {name}"),
        // no address: whoever would ask it is told why that cannot be
        base_url: format!("{RECORDING}{name}"),
        ..choice.clone()
    };
    let fallback = seat.choice.fallback.iter().map(here).collect();
    *choice = ModelChoice { level, fallback, ..here(&seat.choice) };
}

/// `base` with everything that differs between `before` and `now`.
fn overlaid(base: &ModelParameters, before: &ModelParameters, now: &ModelParameters) -> ModelParameters {
    let members = |parameters: &ModelParameters| match serde_json::to_value(parameters) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let (mut base, before, now) = (members(base), members(before), members(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for name in names.into_iter().filter(|name| before.get(*name) != now.get(*name)) {
        match now.get(name) {
            Some(value) => drop(base.insert(name.clone(), value.clone())),
            None => drop(base.remove(name)),
        }
    }
    serde_json::from_value(Value::Object(base)).unwrap_or_default()
}

pub(super) fn roles(program: &WorkflowProgram) -> RolesByAgent {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for agent in program.workflows.iter().flat_map(|workflow| &workflow.agents) {
        all.entry(&agent.id).or_default().insert(&agent.role);
    }
    let joined = |roles: BTreeSet<&str>| roles.into_iter().collect::<Vec<_>>().join("/");
    all.into_iter().map(|(agent, roles)| (agent.to_owned(), joined(roles))).collect()
}

/// This machine, for what is recorded or played now.
pub(super) fn local_place(catalog: &ConfigCatalog, places: &[&Path]) -> RequestNormalizer {
    let redactor =
        SecretRedactor::new(catalog.key_ring().values().map(|key| key.expose().to_owned()).collect());
    let clean: Arc<RedactValueFn> = Arc::new(move |value| redactor.clean_data(value));
    let places = places.iter().map(|place| place.display().to_string()).collect();
    let now = jiff::Timestamp::now();
    let day = |zone: jiff::tz::TimeZone| now.to_zoned(zone).date().to_string();
    let dates = BTreeSet::from([day(jiff::tz::TimeZone::UTC), day(jiff::tz::TimeZone::system())]);
    RequestNormalizer::new(places, dates.into_iter().collect(), clean)
}

fn root(program: &WorkflowProgram) -> Option<&Arc<Workflow>> {
    program.workflows.first()
}

fn refused(bad: RecordingError) -> anyhow::Error {
    anyhow!(bad.0)
}
