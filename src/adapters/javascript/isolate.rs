//! A world for scripts: takes a job, answers with its outcome. Synchronous, and bound to its thread.
//!
//! Owns: the limits, and when a runtime may serve again. Refuses: waiting, retrying, and stopping native calls that
//! QuickJS cannot interrupt; `ScriptWorkerPool` watches for those.

use std::sync::Arc;

use super::cached_common_data::CachedCommonData;
use super::engine::ScriptEngine;
use super::job::{self, AttributedScriptError, ScriptJobInputs};
use super::job_state::ScriptFileReader;
use super::limits::ScriptLimits;
use synthdev_domain::ids::ScriptIx;
use synthdev_domain::script::{
    ScriptError, ScriptErrorKind, ScriptJob, ScriptOutcome, ScriptTask, WorkflowScript,
};

/// One QuickJS runtime and context. A world that ran into a limit replaces its runtime before the next job.
pub struct ScriptIsolate {
    limits: ScriptLimits,
    file_reader: Option<ScriptFileReader>,
    /// Goes before the engine: it points into it.
    cached_data: Option<CachedCommonData>,
    engine: Option<ScriptEngine>,
}

impl ScriptIsolate {
    /// The runtime itself is built at the first job.
    pub fn new(limits: ScriptLimits) -> Self {
        Self { limits, file_reader: None, cached_data: None, engine: None }
    }

    /// With `readFile` for its scripts.
    #[must_use]
    pub fn with_file_reader(self, file_reader: Option<ScriptFileReader>) -> Self {
        Self { file_reader, ..self }
    }

    /// Runs a job to its end or to a limit.
    ///
    /// # Errors
    /// A script failed, passed a limit, or left something that is no data. Nothing of the job remains.
    pub fn evaluate_job(&mut self, job: ScriptJob) -> Result<ScriptOutcome, ScriptError> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => {
                ScriptEngine::new(self.limits, self.file_reader.clone()).map_err(|message| ScriptError {
                    kind: ScriptErrorKind::Host,
                    message: format!("the JavaScript engine could not be started: {message}"),
                    script: first_script(&job.task),
                    library: None,
                    line: 0,
                    column: 0,
                })?
            }
        };
        engine.job_state.start_clock();
        let kept = self.cached_data.take().filter(|kept| kept.matches_scope(&job.scope));
        let data = Arc::clone(&job.scope.common_data);
        let moment = ScriptJobInputs::from_scope(&job.scope);
        *engine.job_state.scope.borrow_mut() = Some(job.scope);
        let result = job::run_script_task(&engine, &job.scripts, &data, moment, kept, &job.task);
        engine.job_state.scope.borrow_mut().take();
        self.finish_job(engine, result, &job.scripts, &job.task)
    }

    /// Decides whether the engine may serve another job.
    fn finish_job(
        &mut self,
        engine: ScriptEngine,
        result: Result<(ScriptOutcome, Option<CachedCommonData>), AttributedScriptError>,
        scripts: &[WorkflowScript],
        task: &ScriptTask,
    ) -> Result<ScriptOutcome, ScriptError> {
        let tainted = engine.is_tainted();
        match result {
            Ok((outcome, kept)) => {
                if !tainted {
                    self.cached_data = kept;
                    self.engine = Some(engine);
                }
                Ok(outcome)
            }
            Err(AttributedScriptError { error: fault, script }) => {
                if !tainted && matches!(fault.kind, ScriptErrorKind::Thrown | ScriptErrorKind::NotData) {
                    self.engine = Some(engine);
                }
                let script = script.unwrap_or_else(|| first_script(task));
                Err(fault.into_script_error(script, scripts))
            }
        }
    }
}

/// The script to blame when no script ran.
pub(super) fn first_script(task: &ScriptTask) -> ScriptIx {
    let script = match task {
        ScriptTask::Run { script } => Some(*script),
        ScriptTask::Values { scripts } => scripts.first().copied(),
        ScriptTask::Choose { guards, .. } => guards.iter().find_map(|guard| guard.condition.or(guard.before)),
    };
    script.unwrap_or(ScriptIx(0))
}

#[cfg(test)]
#[expect(clippy::too_many_lines, reason = "one table of scripts per test")]
mod tests;
