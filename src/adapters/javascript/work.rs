//! One job: its scripts in order, over one host object, all or nothing (A10–A13).
//!
//! Refuses: keeping anything that a script touched.

use std::sync::Arc;

use rquickjs::{Coerced, Ctx, Object, Persistent, Value};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::engine::{Bridge, Engine};
use super::extract::{Lost, Taking};
use super::fault::{Fault, describe};
use super::kept::{Kept, is_plain};
use super::shared::Shared;
use crate::domain::ids::ScriptIx;
use crate::domain::script::{
    Guard, ScopeView, Script, ScriptErrorKind, ScriptMessage, ScriptOutcome, ScriptTask, TriedGuard,
};

/// What the prelude is told of the journal's time and luck (A56).
#[derive(Clone, Copy)]
pub(super) struct Moment {
    frame: u64,
    version: u64,
    now: f64,
    seed: (f64, f64),
}

impl Moment {
    pub(super) fn of(scope: &ScopeView) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "JavaScript's time is a double")]
        let now = scope.now_ms as f64;
        let low = f64::from(u32::try_from(scope.seed & 0xffff_ffff).unwrap_or_default());
        let high = f64::from(u32::try_from(scope.seed >> 32).unwrap_or_default());
        Self { frame: scope.frame, version: scope.version, now, seed: (low, high) }
    }
}

/// A failure with the script that it belongs to.
pub(super) struct Failed {
    pub(super) fault: Fault,
    pub(super) script: Option<ScriptIx>,
}

/// One job in progress.
struct Work<'a, 'js> {
    engine: &'a Engine,
    shared: &'a Shared,
    bridge: Bridge<'js>,
    ctx: Ctx<'js>,
    scripts: &'a Arc<Vec<Script>>,
    data: &'a Arc<Map<String, Json>>,
    moment: Moment,
    kept: Option<Kept>,
    /// No script so far could have changed `common_data` in a way that its JSON does not show.
    plain: bool,
    /// The unchanged `common_data`, to be kept.
    root: Option<Object<'js>>,
}

/// Runs the scripts of one task in a fresh copy of the data (A10–A13).
///
/// # Errors
/// The first failure; whatever the scripts changed is gone.
pub(super) fn perform(
    engine: &Engine,
    scripts: &Arc<Vec<Script>>,
    data: &Arc<Map<String, Json>>,
    moment: Moment,
    kept: Option<Kept>,
    task: &ScriptTask,
) -> Result<(ScriptOutcome, Option<Kept>), Failed> {
    engine.context.with(|ctx| {
        let bridge = engine.bridge(&ctx).map_err(|error| {
            let message = format!("the JavaScript engine is broken: {error}");
            Failed { fault: Fault::new(ScriptErrorKind::Host, message), script: None }
        })?;
        let shared = &engine.shared;
        let mut work =
            Work { engine, shared, bridge, ctx, scripts, data, moment, kept, plain: true, root: None };
        let outcome = work.perform(task)?;
        Ok((outcome, work.keep()))
    })
}

impl<'js> Work<'_, 'js> {
    fn perform(&mut self, task: &ScriptTask) -> Result<ScriptOutcome, Failed> {
        let mut outcome = ScriptOutcome::default();
        let mut host = self.begin()?;
        let mut last = None;
        match task {
            ScriptTask::Run { script } => {
                self.run(&host, *script)?;
                last = Some(*script);
            }
            ScriptTask::Values { scripts } => {
                for script in scripts {
                    let value = self.run(&host, *script)?;
                    let value = self.take("the value").json(&value);
                    outcome.values.push(value.map_err(|lost| self.lost(lost, Some(*script)))?);
                    last = Some(*script);
                }
            }
            ScriptTask::Choose { guards, errors_are_false } => {
                for (index, guard) in guards.iter().enumerate() {
                    last = guard.condition.or(last);
                    let tried = self.guard(&mut host, guard, *errors_are_false)?;
                    let held = tried.held;
                    outcome.tried.push(tried);
                    if held {
                        outcome.chosen = Some(index);
                        if let Some(before) = guard.before {
                            self.run(&host, before)?;
                            last = Some(before);
                        }
                        break;
                    }
                }
            }
        }
        self.finish(&host, last, &mut outcome)?;
        Ok(outcome)
    }

    /// Makes the host object for a job from the job's data.
    fn begin(&mut self) -> Result<Object<'js>, Failed> {
        let kit = self.engine.kit(&self.ctx, &self.bridge, self.scripts);
        let kit = kit.map_err(|(error, at)| self.failed(error, Some(ScriptIx(at))))?;
        let data = self.kept.take().and_then(|kept| kept.object.restore(&self.ctx).ok());
        let made = data.map_or_else(|| self.parse(), Ok).and_then(|data| {
            let Moment { now, seed: (low, high), .. } = self.moment;
            self.bridge.begin.call((data, now, low, high, kit))
        });
        made.map_err(|error| self.failed(error, None))
    }

    fn parse(&self) -> rquickjs::Result<Object<'js>> {
        let text = serde_json::to_vec(self.data.as_ref()).unwrap_or_default();
        let data: Object<'js> = self.ctx.json_parse(text)?.get()?;
        data.set_prototype(Some(&self.bridge.shapes.members))?;
        Ok(data)
    }

    fn run(&mut self, host: &Object<'js>, index: ScriptIx) -> Result<Value<'js>, Failed> {
        let Some(script) = self.scripts.get(index.0) else {
            let message = format!("the workflow has no script {}", index.0);
            return Err(Failed { fault: Fault::new(ScriptErrorKind::Host, message), script: Some(index) });
        };
        self.plain &= is_plain(&script.prepared);
        let value = self
            .engine
            .function(&self.ctx, self.scripts, index.0, script)
            .and_then(|function| self.bridge.run.call((function, host.clone())));
        value.map_err(|error| self.failed(error, Some(index)))
    }

    /// Tries a condition; a missing one holds (A11).
    fn guard(&mut self, host: &mut Object<'js>, guard: &Guard, lenient: bool) -> Result<TriedGuard, Failed> {
        let Some(condition) = guard.condition else {
            return Ok(TriedGuard { held: true, value: "true".to_owned() });
        };
        match self.run(host, condition) {
            Ok(value) => {
                let value_text = describe(&value);
                let held =
                    value.get::<Coerced<bool>>().map_err(|error| self.failed(error, Some(condition)))?;
                Ok(TriedGuard { held: held.0, value: value_text })
            }
            Err(Failed { fault, .. }) if lenient && fault.kind == ScriptErrorKind::Thrown => {
                // Whatever it changed before it threw must not stay (A12).
                *host = self.begin()?;
                Ok(TriedGuard { held: false, value: fault.message })
            }
            Err(failed) => Err(failed),
        }
    }

    /// Collects what the scripts changed.
    fn finish(
        &mut self,
        host: &Object<'js>,
        last: Option<ScriptIx>,
        outcome: &mut ScriptOutcome,
    ) -> Result<(), Failed> {
        let data: Value<'js> = host.get("common_data").map_err(|error| self.failed(error, last))?;
        let changes = self.take("common_data").changes(&data, self.data);
        outcome.patch = changes.map_err(|lost| self.lost(lost, last))?;
        let rest: Option<String> = self.bridge.finish.call(()).map_err(|error| self.failed(error, last))?;
        if let Some(rest) = rest {
            if !self.shared.take(rest.len()) {
                return Err(Failed { fault: Fault::result(&self.shared.limits), script: last });
            }
            let rest: Rest = serde_json::from_str(&rest)
                .map_err(|error| Failed { fault: Fault::not_data(error.to_string()), script: last })?;
            if let Some(fault) = rest.fault {
                return Err(Failed { fault: Fault::not_data(fault), script: last });
            }
            outcome.logs = rest.logs;
            outcome.patch.contexts = rest.contexts;
            outcome.patch.heard = rest.heard;
        }
        let unchanged = outcome.patch.set.is_empty() && outcome.patch.removed.is_empty();
        let plain = self.plain && (!self.shared.touched.get() || self.shared.plain_library.get());
        if plain && unchanged {
            self.root = data.into_object();
        }
        Ok(())
    }

    /// The parsed `common_data` for the next job, if this one left it as it was.
    fn keep(&mut self) -> Option<Kept> {
        let object = self.root.take()?;
        (object.get_prototype().as_ref() == Some(&self.bridge.shapes.members)).then(|| Kept {
            frame: self.moment.frame,
            version: self.moment.version,
            source: Arc::clone(self.data),
            object: Persistent::save(&self.ctx, object),
        })
    }

    fn take(&self, root: &str) -> Taking<'_, 'js> {
        Taking::new(&self.bridge.shapes, self.shared, root)
    }

    fn lost(&self, lost: Lost, script: Option<ScriptIx>) -> Failed {
        match lost {
            Lost::Thrown(error) => self.failed(error, script),
            Lost::Fault(fault) => Failed { fault, script },
        }
    }

    fn failed(&self, error: rquickjs::Error, script: Option<ScriptIx>) -> Failed {
        Failed { fault: Fault::caught(&self.ctx, error, self.shared), script }
    }
}

/// What a job did besides changing `common_data`.
#[derive(Deserialize)]
struct Rest {
    contexts: Vec<(String, Vec<ScriptMessage>)>,
    logs: Vec<String>,
    fault: Option<String>,
    heard: usize,
}
