//! Ends: of a child, of the run, in success or failure.

use serde_json::Value;

use super::child_workflow::check_input_value;
use super::{Effect, Machine, NextHandler, RunEvent, WaitState};
use crate::call_frame::WorkResult;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::Workflow;

impl Machine {
    /// A terminal state was reached with `given` as its evaluated output.
    pub(super) fn finish_frame(&mut self, given: Option<Value>) -> NextHandler {
        let Some(workflow) = self.core.workflow() else { return NextHandler::Wait };
        if self.core.branches.current.frames.len() <= 1 && self.core.branches.current.parent.is_some() {
            let last = self.core.frame().and_then(|frame| frame.result.as_ref()).map(WorkResult::result);
            self.core.stop_timers();
            self.core.branches.current.result = Some(Ok(given.or(last)));
            return NextHandler::Wait;
        }
        let output = match self.workflow_output(&workflow, given) {
            Ok(output) => output,
            Err(failure) => return NextHandler::fail(*failure),
        };
        if self.core.branches.current.frames.len() <= 1 {
            return self.finish_run(RunStatus::Completed, output);
        }
        let state = self.core.state_name();
        self.core.stop_timers();
        let touched = self.pop_frame();
        self.core.emit_event(RunEvent::ChildFinished {
            state,
            workflow: workflow.name.clone(),
            output: output.clone(),
        });
        let output = output.unwrap_or(Value::Null);
        if let Some(parent) = self.core.frame_mut() {
            parent.files_touched |= touched;
            parent.child_result = Some(output.clone());
        }
        NextHandler::WorkDone(true, output)
    }

    fn workflow_output(
        &mut self,
        workflow: &Workflow,
        given: Option<Value>,
    ) -> Result<Option<Value>, Box<RunError>> {
        let declared = workflow.output.as_ref();
        let stored = || declared.and_then(|output| self.core.frame()?.data.get(&output.name).cloned());
        let value = given.or_else(stored).filter(|value| !value.is_null());
        let Some(declared) = declared else { return Ok(value) };
        let name = &declared.name;
        match value {
            Some(value) => check_input_value(declared, value).map(Some).map_err(|problem| {
                let detail = format!("output `{name}` of `{}`: {problem}", workflow.name);
                let hint = format!(
                    "give the end, or `common_data.{name}`, a value that fits, or change the type or schema of \
                     \"output\" in the workflow"
                );
                self.output_error("The output does not fit", detail, hint)
            }),
            None if declared.required => {
                let detail = format!("nothing set `common_data.{name}` before the end of `{}`", workflow.name);
                let hint = format!(
                    "set `common_data.{name}` in a state before the end, or write \"required\": false in \"output\" \
                     of the workflow"
                );
                Err(self.output_error("The output is missing", detail, hint))
            }
            None => {
                let text =
                    format!("nothing set the output `{}` of `{}`: it is null", declared.name, workflow.name);
                self.core.emit_warning("missing_output", text);
                Ok(None)
            }
        }
    }

    fn output_error(&self, message: &str, detail: String, hint: String) -> Box<RunError> {
        let error = RunError::new("validation", message, detail);
        Box::new(self.core.spec.with_later_hint(error, hint))
    }

    /// Not even the root deals with the error: the run is over.
    pub(super) fn end_run(&mut self, failure: RunError) -> NextHandler {
        self.error = Some(failure);
        self.finish_run(RunStatus::Failed, None)
    }

    pub(super) fn finish_run(&mut self, status: RunStatus, output: Option<Value>) -> NextHandler {
        self.stop_other_work();
        self.status = status;
        self.result = output;
        if status == RunStatus::Completed {
            self.snapshots.request_after_state(&mut self.core);
        }
        // A cancel does not wait; any other end reports the id of its snapshot.
        if self.snapshots.is_pending() && status != RunStatus::Cancelled {
            self.core.branches.current.wait_state = WaitState::Ending;
            return NextHandler::Wait;
        }
        self.emit_run_finished()
    }

    pub(super) fn emit_run_finished(&mut self) -> NextHandler {
        self.core.branches.current.wait_state = WaitState::Over;
        self.core.branches.current.next_state = None;
        let progress = self.progress();
        self.core.emit_event(RunEvent::run_finished(progress));
        self.core.push_effect(Effect::Finish);
        NextHandler::Wait
    }
}
