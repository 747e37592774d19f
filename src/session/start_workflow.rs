//! Workflow mode of the screen: workflows that begin, also beside others, and tools that are never asked about again.

use anyhow::Result;

use super::catalog_lines::unreadable_workflows;
use super::error_text::{HOW_TO_SET, start_error_text, unknown_breakpoint_text, unmet_text};
use super::isolated_runs::isolated_start_text;
use super::tui_backend::{ProgramPreparation, RunningStart, StartedRun, WorkflowStart};
use super::ui_settings::declared_agents;
use super::{TuiBackend, past_runs, run_blocking};
use crate::context_windows;
use crate::requirement_gate::RequirementGate;
use crate::system_context::run_spec;
use serde_json::Map;
use synthdev_domain::ids::RunId;
use synthdev_engine::steering::BreakpointSet;
use synthdev_language::inputs;
use synthdev_service::breakpoint_check::check_breakpoints;
use synthdev_service::model_windows::{ModelWindows, model_windows};
use synthdev_service::run_start::{FileLockTime, FileSharingMode, RunStartRequest};
use synthdev_service::session::{PendingStart, ServiceAnswer, StartPreparation, StartRequest, StartResponse};
use synthdev_service::start_check::{self, StartableProgram, WorkflowLookupError};

impl TuiBackend {
    pub(crate) fn answer_start_request(&self, request: StartRequest) -> ServiceAnswer<StartResponse> {
        match request {
            StartRequest::Workflow { name, input } => {
                self.answer_workflow_start(name, input, FileSharingMode::Refused)
            }
            StartRequest::Beside { name, input, sharing_mode } => {
                self.answer_workflow_start(name, input, sharing_mode)
            }
            StartRequest::Chat { role } => {
                let (start, name) = (self.start_chat(&role), role.clone());
                let pending = |preparation| PendingStart { name, chat: true, preparation };
                answer_start(start, pending, move |started| {
                    let warnings = start_warnings(&started);
                    let (run, _, windows) = start_facts(started);
                    StartResponse::ChatStarted { role, run, windows, warnings }
                })
            }
            StartRequest::Breakpoints(stops) => {
                self.breakpoints.set_breakpoints(stops);
                ServiceAnswer::nothing()
            }
        }
    }

    fn answer_workflow_start(
        &self,
        name: String,
        input: String,
        beside: FileSharingMode,
    ) -> ServiceAnswer<StartResponse> {
        let (start, workflow) = (self.start_workflow_run(&name, &input, beside), name.clone());
        let pending = |preparation| PendingStart { name: workflow, chat: false, preparation };
        answer_start(start, pending, move |started| {
            let warnings = start_warnings(&started);
            let agents = started.as_ref().map(|started| started.agents.clone()).unwrap_or_default();
            let (run, note, windows) = start_facts(started);
            StartResponse::WorkflowStarted { name, input, run, note, windows, agents, warnings }
        })
    }

    /// The run asks `UserQuestion::Message` when it is ready for text.
    fn start_chat(&self, role: &str) -> Result<WorkflowStart, String> {
        if let Some(played) = &self.demo {
            let again = format!("See the workflow once more: /workflow {played} \"any task\"");
            return Err(format!(
                "the demo has no model to talk to: its answers are scripted\n{again}\n{HOW_TO_SET}"
            ));
        }
        let catalog = self.current_catalog();
        let program = catalog.chat_program(role).map_err(|found| self.start_error_text(&found))?;
        let preparation = self.server_preparation(&catalog, &program, Some(role));
        let request = RunStartRequest {
            program,
            inputs: Map::new(),
            approves_all: false,
            interactive: true,
            stops: BreakpointSet::default(),
        };
        let spec = run_spec(&catalog, &self.context, request);
        self.start_run(self.current_runtime().handle.clone(), spec, preparation, || {})
    }

    /// Starts a workflow; reports errors of its file or its input.
    fn start_workflow_run(
        &self,
        name: &str,
        input: &str,
        beside: FileSharingMode,
    ) -> Result<WorkflowStart, String> {
        let catalog = self.current_catalog();
        if catalog.workflow(name).is_none()
            && let Some(broken) = unreadable_workflows(&catalog).find(|line| line.name == name)
        {
            return Err(format!(
                "{}\nhint: /edit {name} opens it at the error",
                broken.error.unwrap_or_default()
            ));
        }
        let program = start_check::find_program(&catalog, name).map_err(|refused| match refused {
            WorkflowLookupError::Unknown(unknown) => unknown.screen_line(),
            WorkflowLookupError::Broken(found) => self.start_error_text(&found),
        })?;
        let stops = self.breakpoints.get();
        check_breakpoints(&stops, &program).map_err(|unknown| unknown_breakpoint_text(&unknown))?;
        let startable = StartableProgram::with_inputs(program, |declared| inputs::from_text(declared, input))
            .map_err(|e| past_runs::with_hint(&e.message, Some(&e.hint)))?;
        let StartableProgram { program, inputs: values } = startable;
        self.prepare_demo(name, &program)?;
        let beside = beside.for_program(&program);
        let gate = RequirementGate::for_program(&self.context, &catalog, &program);
        let request =
            RunStartRequest { program, inputs: values, approves_all: false, interactive: true, stops };
        let spec = run_spec(&catalog, &self.context, request);
        // one that is prepared first may still not begin
        let stops = self.breakpoints.clone();
        let begun = move || stops.set_breakpoints(BreakpointSet::default());
        let wired = self.current_runtime();
        match beside {
            FileSharingMode::Isolated => {
                let (elsewhere, report) = (self.isolated_runs(), self.server_report());
                let copied = async move {
                    let mut spec = spec;
                    if let Some(gate) = gate {
                        let checked = gate.check(spec.program).await;
                        spec.program = checked.map_err(|unmet| unmet_text(&unmet))?;
                    }
                    context_windows::ask_unknown_windows(&wired.providers, &mut spec.program).await;
                    let (windows, agents) = (model_windows(&spec.program), declared_agents(&spec.program));
                    let servers = report.servers_of(&spec.program);
                    let started = run_blocking(move || {
                        let started = elsewhere
                            .start_run(spec, |_, handle| handle.clone())
                            .map_err(|error| start_error_text(&error))?;
                        begun();
                        let note = isolated_start_text(&started);
                        let warnings = report.new_lines(servers);
                        Ok(RunningStart { run: started.run, note: Some(note), windows, agents, warnings })
                    });
                    started.await
                };
                Ok(WorkflowStart::Later(StartPreparation::Files, Box::pin(copied)))
            }
            mode => {
                let preparation = match gate {
                    Some(gate) => Some(ProgramPreparation::for_requirements(gate, spec.program.clone())),
                    None => self.server_preparation(&catalog, &spec.program, None),
                };
                self.start_run(mode.apply_to(&wired.handle, FileLockTime::AtStart), spec, preparation, begun)
            }
        }
    }
}

/// The run or why there is none, where it works, and the windows of its models.
fn start_facts(started: StartedRun) -> (Result<RunId, String>, Option<String>, ModelWindows) {
    match started {
        Ok(RunningStart { run, note, windows, .. }) => (Ok(run), note, windows),
        Err(error) => (Err(error), None, ModelWindows::default()),
    }
}

/// `started` puts into words that it runs, or why not.
fn answer_start(
    start: Result<WorkflowStart, String>,
    pending: impl FnOnce(StartPreparation) -> PendingStart,
    started: impl FnOnce(StartedRun) -> StartResponse + Send + 'static,
) -> ServiceAnswer<StartResponse> {
    match start {
        Ok(WorkflowStart::Running(run)) => ServiceAnswer::now(started(Ok(run))),
        Ok(WorkflowStart::Later(preparation, begun)) => {
            let pending = StartResponse::Pending(pending(preparation));
            ServiceAnswer::later(async move { started(begun.await) }).after(pending)
        }
        Err(error) => ServiceAnswer::now(started(Err(error))),
    }
}

fn start_warnings(started: &StartedRun) -> Vec<String> {
    started.as_ref().map(|started| started.warnings.clone()).unwrap_or_default()
}
