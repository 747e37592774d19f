//! One job: its scripts in order, over one host object, all or nothing.
//!
//! Refuses: keeping anything that a script touched.

use std::sync::Arc;

use rquickjs::{Coerced, Ctx, Object, Persistent, Value};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::cached_common_data::{CachedCommonData, is_plain};
use super::engine::{PreludeFunctions, ScriptEngine};
use super::extract::{ExtractError, JsonExtractor};
use super::job_state::ScriptJobState;
use super::script_error::{RawScriptError, short_text};
use synthdev_domain::ids::ScriptIx;
use synthdev_domain::script::{
    ScopeView, ScriptErrorKind, ScriptMessage, ScriptOutcome, ScriptTask, TransitionGuard, TriedGuard,
    WorkflowScript,
};

/// Time and random seed of the journal, for the prelude.
#[derive(Clone, Copy)]
pub(super) struct ScriptJobInputs {
    frame_id: u64,
    version: u64,
    now_ms: f64,
    seed: (f64, f64),
}

impl ScriptJobInputs {
    pub(super) fn from_scope(scope: &ScopeView) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "JavaScript's time is a double")]
        let now = scope.now_ms as f64;
        let low = f64::from(u32::try_from(scope.seed & 0xffff_ffff).unwrap_or_default());
        let high = f64::from(u32::try_from(scope.seed >> 32).unwrap_or_default());
        Self { frame_id: scope.frame, version: scope.version, now_ms: now, seed: (low, high) }
    }
}

/// A failure with the script that it belongs to.
pub(super) struct AttributedScriptError {
    pub(super) error: RawScriptError,
    pub(super) script: Option<ScriptIx>,
}

/// One job in progress.
struct RunningScriptJob<'a, 'js> {
    engine: &'a ScriptEngine,
    job_state: &'a ScriptJobState,
    prelude: PreludeFunctions<'js>,
    ctx: Ctx<'js>,
    scripts: &'a Arc<Vec<WorkflowScript>>,
    data: &'a Arc<Map<String, Json>>,
    inputs: ScriptJobInputs,
    cached_data: Option<CachedCommonData>,
    /// No script so far could have changed `common_data` in a way that its JSON does not show.
    data_is_plain: bool,
    /// The unchanged `common_data`, to be kept.
    root: Option<Object<'js>>,
}

/// Runs the scripts of one task in a fresh copy of the data.
///
/// # Errors
/// The first failure; whatever the scripts changed is gone.
pub(super) fn run_script_task(
    engine: &ScriptEngine,
    scripts: &Arc<Vec<WorkflowScript>>,
    data: &Arc<Map<String, Json>>,
    moment: ScriptJobInputs,
    kept: Option<CachedCommonData>,
    task: &ScriptTask,
) -> Result<(ScriptOutcome, Option<CachedCommonData>), AttributedScriptError> {
    engine.context.with(|ctx| {
        let bridge = engine.prelude_functions(&ctx).map_err(|error| {
            let message = format!("the JavaScript engine is broken: {error}");
            AttributedScriptError { error: RawScriptError::new(ScriptErrorKind::Host, message), script: None }
        })?;
        let shared = &engine.job_state;
        let mut work = RunningScriptJob {
            engine,
            job_state: shared,
            prelude: bridge,
            ctx,
            scripts,
            data,
            inputs: moment,
            cached_data: kept,
            data_is_plain: true,
            root: None,
        };
        let outcome = work.run_task(task)?;
        Ok((outcome, work.cache_data()))
    })
}

impl<'js> RunningScriptJob<'_, 'js> {
    fn run_task(&mut self, task: &ScriptTask) -> Result<ScriptOutcome, AttributedScriptError> {
        let mut outcome = ScriptOutcome::default();
        let mut host = self.create_host()?;
        let mut last = None;
        match task {
            ScriptTask::Run { script } => {
                self.run_script(&host, *script)?;
                last = Some(*script);
            }
            ScriptTask::Values { scripts } => {
                for script in scripts {
                    let value = self.run_script(&host, *script)?;
                    let value = self.json_extractor("the value").extract_json(&value);
                    outcome.values.push(value.map_err(|lost| self.extract_failure(lost, Some(*script)))?);
                    last = Some(*script);
                }
            }
            ScriptTask::Choose { guards, errors_are_false } => {
                for (index, guard) in guards.iter().enumerate() {
                    last = guard.condition.or(last);
                    let tried = self.try_guard(&mut host, guard, *errors_are_false)?;
                    let held = tried.held;
                    outcome.tried.push(tried);
                    if held {
                        outcome.chosen = Some(index);
                        if let Some(before) = guard.before {
                            self.run_script(&host, before)?;
                            last = Some(before);
                        }
                        break;
                    }
                }
            }
        }
        self.collect_changes(&host, last, &mut outcome)?;
        Ok(outcome)
    }

    /// Makes the host object for a job from the job's data.
    fn create_host(&mut self) -> Result<Object<'js>, AttributedScriptError> {
        let kit = self.engine.prepare_kit(&self.ctx, &self.prelude, self.scripts);
        let kit = kit.map_err(|(error, at)| self.to_script_error(error, Some(ScriptIx(at))))?;
        let data = self.cached_data.take().and_then(|kept| kept.object.restore(&self.ctx).ok());
        let made = data.map_or_else(|| self.parse_data(), Ok).and_then(|data| {
            let ScriptJobInputs { now_ms: now, seed: (low, high), .. } = self.inputs;
            self.prelude.begin_job.call((data, now, low, high, kit))
        });
        made.map_err(|error| self.to_script_error(error, None))
    }

    fn parse_data(&self) -> rquickjs::Result<Object<'js>> {
        let text = serde_json::to_vec(self.data.as_ref()).unwrap_or_default();
        let data: Object<'js> = self.ctx.json_parse(text)?.get()?;
        data.set_prototype(Some(&self.prelude.object_shapes.members))?;
        Ok(data)
    }

    fn run_script(
        &mut self,
        host: &Object<'js>,
        index: ScriptIx,
    ) -> Result<Value<'js>, AttributedScriptError> {
        let Some(script) = self.scripts.get(index.0) else {
            let message = format!("the workflow has no script {}", index.0);
            return Err(AttributedScriptError {
                error: RawScriptError::new(ScriptErrorKind::Host, message),
                script: Some(index),
            });
        };
        self.data_is_plain &= is_plain(&script.prepared);
        let value = self
            .engine
            .compiled_function(&self.ctx, self.scripts, index.0, script)
            .and_then(|function| self.prelude.run.call((function, host.clone())));
        value.map_err(|error| self.to_script_error(error, Some(index)))
    }

    /// Tries a condition; a missing one holds.
    fn try_guard(
        &mut self,
        host: &mut Object<'js>,
        guard: &TransitionGuard,
        lenient: bool,
    ) -> Result<TriedGuard, AttributedScriptError> {
        let Some(condition) = guard.condition else {
            return Ok(TriedGuard { held: true, value: "true".to_owned() });
        };
        match self.run_script(host, condition) {
            Ok(value) => {
                let value_text = short_text(&value);
                let held = value
                    .get::<Coerced<bool>>()
                    .map_err(|error| self.to_script_error(error, Some(condition)))?;
                Ok(TriedGuard { held: held.0, value: value_text })
            }
            Err(AttributedScriptError { error: fault, .. })
                if lenient && fault.kind == ScriptErrorKind::Thrown =>
            {
                // Whatever it changed before it threw must not stay.
                *host = self.create_host()?;
                Ok(TriedGuard { held: false, value: fault.message })
            }
            Err(failed) => Err(failed),
        }
    }

    /// Collects what the scripts changed.
    fn collect_changes(
        &mut self,
        host: &Object<'js>,
        last: Option<ScriptIx>,
        outcome: &mut ScriptOutcome,
    ) -> Result<(), AttributedScriptError> {
        let data: Value<'js> = host.get("common_data").map_err(|error| self.to_script_error(error, last))?;
        let changes = self.json_extractor("common_data").extract_changes(&data, self.data);
        outcome.patch = changes.map_err(|lost| self.extract_failure(lost, last))?;
        let rest: Option<String> =
            self.prelude.finish_job.call(()).map_err(|error| self.to_script_error(error, last))?;
        if let Some(rest) = rest {
            if !self.job_state.count_result_bytes(rest.len()) {
                return Err(AttributedScriptError {
                    error: RawScriptError::result_limit_error(&self.job_state.limits),
                    script: last,
                });
            }
            let rest: ScriptSideEffects = serde_json::from_str(&rest).map_err(|error| {
                AttributedScriptError { error: RawScriptError::not_data(error.to_string()), script: last }
            })?;
            if let Some(fault) = rest.fault {
                return Err(AttributedScriptError { error: RawScriptError::not_data(fault), script: last });
            }
            outcome.logs = rest.logs;
            outcome.patch.contexts = rest.contexts;
            outcome.patch.heard = rest.heard;
        }
        let unchanged = outcome.patch.set.is_empty() && outcome.patch.removed.is_empty();
        let plain = self.data_is_plain
            && (!self.job_state.library_touched.get() || self.job_state.library_is_plain.get());
        if plain && unchanged {
            self.root = data.into_object();
        }
        Ok(())
    }

    /// The parsed `common_data` for the next job, if this one left it as it was.
    fn cache_data(&mut self) -> Option<CachedCommonData> {
        let object = self.root.take()?;
        (object.get_prototype().as_ref() == Some(&self.prelude.object_shapes.members)).then(|| {
            CachedCommonData {
                frame_id: self.inputs.frame_id,
                version: self.inputs.version,
                source: Arc::clone(self.data),
                object: Persistent::save(&self.ctx, object),
            }
        })
    }

    fn json_extractor(&self, root: &str) -> JsonExtractor<'_, 'js> {
        JsonExtractor::new(&self.prelude.object_shapes, self.job_state, root)
    }

    fn extract_failure(&self, lost: ExtractError, script: Option<ScriptIx>) -> AttributedScriptError {
        match lost {
            ExtractError::Thrown(error) => self.to_script_error(error, script),
            ExtractError::Fault(fault) => AttributedScriptError { error: fault, script },
        }
    }

    fn to_script_error(&self, error: rquickjs::Error, script: Option<ScriptIx>) -> AttributedScriptError {
        AttributedScriptError {
            error: RawScriptError::from_exception(&self.ctx, error, self.job_state),
            script,
        }
    }
}

/// What a job did besides changing `common_data`.
#[derive(Deserialize)]
struct ScriptSideEffects {
    contexts: Vec<(String, Vec<ScriptMessage>)>,
    logs: Vec<String>,
    fault: Option<String>,
    heard: usize,
}
