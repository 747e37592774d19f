//! One QuickJS runtime with its one context: limits, the prelude, the compiled scripts.
//!
//! Owns: everything that dies together when a world is replaced. Refuses: deciding what a job means.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::context::EvalOptions;
use rquickjs::{Context, Ctx, Function, Object, Persistent, Runtime, Value};

use super::compile::compile;
use super::extract::Shapes;
use super::limits::Limits;
use super::shared::Shared;
use super::view;
use crate::domain::script::{Script, ScriptForm};

const PRELUDE: &str = include_str!("prelude.js");
/// Workflows whose compiled scripts are kept; the oldest goes.
const PROGRAMS: usize = 8;
/// What the prelude hands over.
const BRIDGE: usize = 7;

/// The scripts of one workflow, compiled at first use. Holding the `Arc` keeps its address from being reused.
struct Program {
    scripts: Arc<Vec<Script>>,
    functions: Vec<Option<Persistent<Function<'static>>>>,
}

/// Functions of the prelude.
pub(super) struct Bridge<'js> {
    pub(super) begin: Function<'js>,
    pub(super) run: Function<'js>,
    pub(super) finish: Function<'js>,
    pub(super) shapes: Shapes<'js>,
}

/// Field order is drop order: what points into the runtime goes before it.
pub(super) struct Engine {
    programs: RefCell<Vec<Program>>,
    bridge: [Persistent<Value<'static>>; BRIDGE],
    pub(super) context: Context,
    runtime: Runtime,
    pub(super) shared: Rc<Shared>,
}

impl Engine {
    /// Builds a world: a few milliseconds, most of them for freezing what scripts share.
    ///
    /// # Errors
    /// QuickJS could not be set up within the memory limit.
    pub(super) fn new(limits: Limits) -> Result<Self, String> {
        let shared = Rc::new(Shared::new(limits));
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_memory_limit(limits.memory);
        runtime.set_max_stack_size(limits.stack);
        let clock = Rc::clone(&shared);
        runtime.set_interrupt_handler(Some(Box::new(move || clock.overdue())));
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        let bridge = context.with(|ctx| {
            prelude(&ctx, &shared).map_err(|error| match error {
                rquickjs::Error::Exception => format!("{:?}", ctx.catch().as_exception()),
                other => other.to_string(),
            })
        })?;
        Ok(Self { programs: RefCell::new(Vec::new()), bridge, context, runtime, shared })
    }

    /// The functions of the prelude, for use inside `context.with`.
    ///
    /// # Errors
    /// Never in practice: they belong to this runtime.
    pub(super) fn bridge<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Bridge<'js>> {
        let [begin, run, finish, foreign, well_formed, members, plain] = self.bridge.clone();
        let function = |value: Persistent<Value<'static>>| -> rquickjs::Result<Function<'js>> {
            value.restore(ctx)?.get()
        };
        let object = |value: Persistent<Value<'static>>| -> rquickjs::Result<Object<'js>> {
            value.restore(ctx)?.get()
        };
        Ok(Bridge {
            begin: function(begin)?,
            run: function(run)?,
            finish: function(finish)?,
            shapes: Shapes {
                foreign: function(foreign)?,
                well_formed: function(well_formed)?,
                members: object(members)?,
                plain: object(plain)?,
            },
        })
    }

    /// The compiled form of a script.
    ///
    /// # Errors
    /// The script is no JavaScript, or compiling it passed a limit.
    pub(super) fn function<'js>(
        &self,
        ctx: &Ctx<'js>,
        scripts: &Arc<Vec<Script>>,
        index: usize,
        script: &Script,
    ) -> rquickjs::Result<Function<'js>> {
        let mut programs = self.programs.borrow_mut();
        let at = match programs.iter().position(|program| Arc::ptr_eq(&program.scripts, scripts)) {
            Some(at) => at,
            None => {
                if programs.len() >= PROGRAMS {
                    programs.remove(0);
                }
                programs.push(Program { scripts: Arc::clone(scripts), functions: vec![None; scripts.len()] });
                programs.len() - 1
            }
        };
        let Some(slot) = programs.get_mut(at).and_then(|program| program.functions.get_mut(index)) else {
            return compile(ctx, &script.prepared, script.form);
        };
        if let Some(function) = slot {
            return function.clone().restore(ctx);
        }
        let function = compile(ctx, &script.prepared, script.form)?;
        *slot = Some(Persistent::save(ctx, function.clone()));
        Ok(function)
    }

    /// Whether something of the last job is still in here: promise jobs that nobody will run, or compiled text.
    pub(super) fn tainted(&self) -> bool {
        self.shared.tainted.get() || self.runtime.is_job_pending()
    }
}

/// Evaluates the prelude and keeps the functions that it returns.
fn prelude(ctx: &Ctx<'_>, shared: &Rc<Shared>) -> rquickjs::Result<[Persistent<Value<'static>>; BRIDGE]> {
    let mut options = EvalOptions::default();
    options.filename = Some("host".to_owned());
    let make: Function<'_> = ctx.eval_with_options(PRELUDE, options)?;
    let made: Object<'_> = make.call((native(ctx, shared)?,))?;
    let keep = |name: &str| -> rquickjs::Result<Persistent<Value<'static>>> {
        Ok(Persistent::save(ctx, made.get::<_, Value<'_>>(name)?))
    };
    Ok([
        keep("begin")?,
        keep("run")?,
        keep("finish")?,
        keep("foreign")?,
        keep("wellFormed")?,
        keep("dataMembers")?,
        keep("plain")?,
    ])
}

/// The two things that the prelude asks of us.
fn native<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>) -> rquickjs::Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let scopes = Rc::clone(shared);
    let view = move |what: String| -> String {
        scopes.scope.borrow().as_deref().map_or_else(|| "null".to_owned(), |scope| view::part(scope, &what))
    };
    native.set("view", Function::new(ctx.clone(), view)?)?;
    let marks = Rc::clone(shared);
    let text = move |ctx: Ctx<'js>, text: String| -> rquickjs::Result<Value<'js>> {
        marks.tainted.set(true);
        match compile(&ctx, &text, ScriptForm::Expression) {
            Ok(function) => Ok(function.into_value()),
            // No expression: the text stands for itself (A8).
            Err(rquickjs::Error::Exception) if !marks.expired() => {
                ctx.catch();
                Ok(Value::new_undefined(ctx))
            }
            Err(error) => Err(error),
        }
    };
    native.set("compile", Function::new(ctx.clone(), text)?)?;
    Ok(native)
}
