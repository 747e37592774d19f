//! `--record` and `--replay`: wires recorder and player (`adapters/providers/recording/`) into a run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Value, json};

use super::read_only::store_error;
use synthdev_bootstrap::active_recording::{
    ActiveRecording, ModelCallPlayer, ModelCallRecorder, ModelRecording, PlayedRecording, RecordedAgent,
    RecordingHeader, RolesByAgent, UnfinishedRecording,
};
use synthdev_bootstrap::config_sources;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_cli::args::{ResumeArgs, RunArgs};
use synthdev_cli::headless::{FinalReport, HeadlessOutput};
use synthdev_cli::output::print_stderr;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::model::{ModelChoice, ModelParameters, RECORDING};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::source::SourceFile;
use synthdev_session::recorded_program::{
    catalog_without_models, local_place, plain_choice, recorded_outcome, recording_error, recording_header,
    roles_by_agent, root_workflow,
};
use synthdev_settings::catalog::{ConfigCatalog, ConfigSources};
use synthdev_settings::layers::read_layers::SettingOverrides;

/// What `--record` and `--replay` asked for; nothing is opened before the run is.
pub(crate) enum RecordingMode {
    None,
    Record { file: String, header: RecordingHeader, roles: RolesByAgent },
    Play { cassette: ModelRecording, recording: PlayedRecording, roles: RolesByAgent },
}

/// The recording that `--replay` names.
pub(crate) fn open_replayed(replay: Option<&Path>) -> Result<Option<ModelRecording>> {
    let Some(path) = replay else { return Ok(None) };
    let cassette = ModelRecording::open_file(path).map_err(recording_error)?;
    if cassette.is_truncated {
        print_stderr(format_args!(
            "warning: {} ends in the middle of a call: that one is left out",
            path.display()
        ));
    }
    Ok(Some(cassette))
}

/// The program for the run, and the recorder or player of its models.
pub(crate) fn prepare_recording(
    context: &StartContext,
    args: &RunArgs,
    more: Option<&SourceFile>,
    played: Option<ModelRecording>,
    program: WorkflowProgram,
) -> Result<(WorkflowProgram, RecordingMode)> {
    let workflow = root_workflow(&program).map_or_else(String::new, |root| root.name.clone());
    if let (Some(cassette), Some(path)) = (played, &args.replay) {
        let file = path.display().to_string();
        ensure_same_workflow(&cassette, &file, &workflow)?;
        let record = format!("synthdev run {} … --record {file}", workflow_arguments(args, &workflow));
        let (program, playing) = program_with_recording(&cassette.header, file, record, &program);
        let roles = roles_by_agent(&program);
        return Ok((program, RecordingMode::Play { cassette, recording: playing, roles }));
    }
    let Some(path) = &args.record else { return Ok((program, RecordingMode::None)) };
    let mut gathered = config_sources::gather_sources(context, SettingOverrides::default(), context.trust)?;
    gathered.sources.workflows.extend(more.cloned());
    let plain = catalog_without_models(context, gathered.sources).check_workflow(&workflow);
    let (plain, _) =
        plain.map_err(|_| anyhow!("the workflow `{workflow}` changed just now: start the command again"))?;
    let tape = RecordingMode::Record {
        file: path.display().to_string(),
        header: recording_header(&plain, &program),
        roles: roles_by_agent(&program),
    };
    Ok((program, tape))
}

/// The recording that the models of a program are those of.
fn recording_name(program: &WorkflowProgram) -> Option<&str> {
    let mut agents = program.workflows.iter().flat_map(|workflow| &workflow.agents);
    agents.find_map(|agent| agent.choice.base_url.strip_prefix(RECORDING))
}

fn ensure_same_workflow(cassette: &ModelRecording, file: &str, workflow: &str) -> Result<()> {
    let recorded = &cassette.header.workflow;
    if recorded != workflow {
        bail!("{file} is a recording of the workflow `{recorded}`, not of `{workflow}`");
    }
    Ok(())
}

/// The recorder or player between a resumed run and its models. Earlier calls are recorded first, or skipped: a
/// recording covers a whole run.
pub(crate) fn attach_to_resumed(
    context: &StartContext,
    args: &ResumeArgs,
    catalog: &ConfigCatalog,
    sources: ConfigSources,
    played: Option<ModelRecording>,
    wired: WiredRuntime,
    summary: &RunSummary,
) -> Result<WiredRuntime> {
    let run = &summary.id;
    let spec = wired.handle.definition(run).map_err(store_error)?;
    let program = spec.program.clone();
    let workflow = root_workflow(&program).map_or_else(String::new, |root| root.name.clone());
    if let Some(name) = recording_name(&program)
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
            "run {run} was started without --record: its prompts describe this machine, so a recording of \
                it could not be played elsewhere\nhint: record a new run: synthdev run {workflow} … \
                --record {file}"
        );
    }
    let tree = summary.worktree.as_ref().map(|tree| Path::new(&tree.path));
    let project: Vec<&Path> = tree.into_iter().chain([context.project.as_path()]).collect();
    let roles = roles_by_agent(&program);
    let tape = if let Some(cassette) = played {
        ensure_same_workflow(&cassette, &file, &workflow)?;
        let record = format!("synthdev run {workflow} … --record {file}");
        let playing = PlayedRecording { name: file, record, workflow_changed: false };
        RecordingMode::Play { cassette, recording: playing, roles }
    } else {
        let plain = catalog_without_models(context, sources)
            .check_workflow(&workflow)
            .map_or_else(|_| program.clone(), |(plain, _)| plain);
        RecordingMode::Record { file, header: recording_header(&plain, &program), roles }
    };
    let before = wired.handle.clone();
    let wired = tape.wrap_models(wired, catalog, &project)?;
    let told = before.visit_model_calls(run, &mut |request, over, used| match &wired.recording {
        Some(ActiveRecording::Recorder(recorder)) => {
            recorder.record_earlier_call(&request, recorded_outcome(over), used)
        }
        Some(ActiveRecording::Player(player)) => player.skip_earlier_call(&request),
        None => {}
    });
    told.map_err(store_error)?;
    Ok(wired)
}

fn workflow_arguments(args: &RunArgs, workflow: &str) -> String {
    match &args.workflow_file {
        Some(file) => format!("--workflow-file {}", file.display()),
        None => workflow.to_owned(),
    }
}

impl RecordingMode {
    /// Puts it between the run and its models. `project`: where the run works, then other directories of its project.
    pub(crate) fn wrap_models(
        self,
        wired: WiredRuntime,
        catalog: &ConfigCatalog,
        project: &[&Path],
    ) -> Result<WiredRuntime> {
        match self {
            Self::None => Ok(wired),
            Self::Play { cassette, recording: playing, roles } => {
                let player = ModelCallPlayer::new(cassette, playing, roles, local_place(catalog, project));
                Ok(wired.with_recording(ActiveRecording::Player(Arc::new(player))))
            }
            Self::Record { file, header, roles } => {
                let here = local_place(catalog, project);
                let inner = Arc::clone(&wired.ports.models);
                let recorder = ModelCallRecorder::create_file(Path::new(&file), &header, roles, here, inner);
                Ok(wired
                    .with_recording(ActiveRecording::Recorder(Arc::new(recorder.map_err(recording_error)?))))
            }
        }
    }
}

/// After a run: moves the file into its place, and reports requests that no recorded call matched.
pub(crate) fn finish_recording(
    deck: Option<&ActiveRecording>,
    report: &mut FinalReport,
    show: HeadlessOutput,
) {
    let lines = match deck {
        None => Vec::new(),
        Some(ActiveRecording::Recorder(recorder)) if report.status == RunStatus::Completed => {
            match recorder.finish_recording() {
                Ok(calls) => {
                    if show.progress {
                        print_stderr(format_args!("recorded {calls} model calls in {}", recorder.name()));
                    }
                    Vec::new()
                }
                Err(bad) => vec![bad.to_string()],
            }
        }
        Some(ActiveRecording::Recorder(recorder)) => recorder
            .abandon_recording()
            .map(|left| unfinished_recording_text(&left, report))
            .into_iter()
            .collect(),
        Some(ActiveRecording::Player(player)) => {
            report.played = Some(player.name().to_owned());
            if show.progress {
                print_stderr(
                    "played from a recording: no model was called; the cost is that of the \
                    recorded run",
                );
            }
            // otherwise the error of the run reports it
            if report.status == RunStatus::Completed { player.missed_requests() } else { Vec::new() }
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
fn unfinished_recording_text(left: &UnfinishedRecording, report: &FinalReport) -> String {
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

/// The program with the recorded models, and a notice about the recording. `program`: from a catalogue without models.
pub(crate) fn program_with_recording(
    header: &RecordingHeader,
    name: String,
    record: String,
    program: &WorkflowProgram,
) -> (WorkflowProgram, PlayedRecording) {
    let changed = header.definition != program.hash;
    (
        with_recorded_models(program, header, &name),
        PlayedRecording { name, record, workflow_changed: changed },
    )
}

/// The models as they were recorded; what roles and settings ask of them otherwise now, changed in them.
fn with_recorded_models(program: &WorkflowProgram, header: &RecordingHeader, name: &str) -> WorkflowProgram {
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
            seat.into_iter().for_each(|seat| restore_recorded_choice(&mut agent.choice, &seat, name));
        }
        for (context, seat) in workflow.contexts.iter_mut().zip(contexts) {
            let summary = context.summary.as_deref_mut();
            summary
                .into_iter()
                .zip(seat)
                .for_each(|(choice, seat)| restore_recorded_choice(choice, &seat, name));
        }
    }
    program
}

fn restore_recorded_choice(choice: &mut ModelChoice, seat: &RecordedAgent, name: &str) {
    let now = plain_choice(choice);
    let level = if now.level == seat.plain.level { seat.choice.level.clone() } else { now.level };
    let here = |choice: &ModelChoice| ModelChoice {
        parameters: merge_changed_parameters(&choice.parameters, &seat.plain.parameters, &now.parameters),
        provenance: format!("as recorded in {name}"),
        // no address: a call to it fails with an error that explains this
        base_url: format!("{RECORDING}{name}"),
        ..choice.clone()
    };
    let fallback = seat.choice.fallback.iter().map(here).collect();
    *choice = ModelChoice { level, fallback, ..here(&seat.choice) };
}

/// `base` with everything that differs between `before` and `now`.
fn merge_changed_parameters(
    base: &ModelParameters,
    before: &ModelParameters,
    now: &ModelParameters,
) -> ModelParameters {
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
