//! One QuickJS runtime with its one context: limits, the prelude, the compiled scripts.
//!
//! Owns: everything that dies together when a world is replaced. Refuses: deciding what a job means.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::context::EvalOptions;
use rquickjs::{Context, Ctx, Exception, Function, Object, Persistent, Runtime, Value};

use super::cached_common_data::is_plain;
use super::compile::{compile_library, compile_script};
use super::extract::ObjectShapes;
use super::job_state::{ScriptFileReader, ScriptJobState};
use super::limits::ScriptLimits;
use super::scope_json;
use synthdev_domain::script::{ScriptForm, ScriptKind, WorkflowScript};

const PRELUDE: &str = include_str!("prelude.js");
/// Workflows whose compiled scripts are kept; the oldest goes.
const PROGRAMS: usize = 8;
/// What the prelude hands over.
const BRIDGE: usize = 8;

/// The scripts of one workflow, compiled at first use. Holding the `Arc` keeps its address from being reused.
struct CompiledScripts {
    scripts: Arc<Vec<WorkflowScript>>,
    functions: Vec<Option<Persistent<Function<'static>>>>,
    /// The index of the library among them, and whether it is plain (see [`is_plain`]).
    library: Option<(usize, bool)>,
    /// What the host object of a workflow with a library is made from.
    host_kit: Option<Persistent<Object<'static>>>,
}

/// Functions of the prelude.
pub(super) struct PreludeFunctions<'js> {
    pub(super) begin_job: Function<'js>,
    pub(super) run: Function<'js>,
    pub(super) finish_job: Function<'js>,
    equip_host: Function<'js>,
    pub(super) object_shapes: ObjectShapes<'js>,
}

/// Field order is drop order: what points into the runtime goes before it.
pub(super) struct ScriptEngine {
    programs: RefCell<Vec<CompiledScripts>>,
    prelude_values: [Persistent<Value<'static>>; BRIDGE],
    pub(super) context: Context,
    runtime: Runtime,
    pub(super) job_state: Rc<ScriptJobState>,
}

impl ScriptEngine {
    /// Builds a world: a few milliseconds, most of them for freezing what scripts share.
    ///
    /// # Errors
    /// QuickJS could not be set up within the memory limit.
    pub(super) fn new(limits: ScriptLimits, file_reader: Option<ScriptFileReader>) -> Result<Self, String> {
        let shared = Rc::new(ScriptJobState::new(limits, file_reader));
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_memory_limit(limits.memory);
        runtime.set_max_stack_size(limits.stack);
        let clock = Rc::clone(&shared);
        runtime.set_interrupt_handler(Some(Box::new(move || clock.is_overdue())));
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        let bridge = context.with(|ctx| {
            load_prelude(&ctx, &shared).map_err(|error| match error {
                rquickjs::Error::Exception => format!("{:?}", ctx.catch().as_exception()),
                other => other.to_string(),
            })
        })?;
        Ok(Self {
            programs: RefCell::new(Vec::new()),
            prelude_values: bridge,
            context,
            runtime,
            job_state: shared,
        })
    }

    /// The functions of the prelude, for use inside `context.with`.
    ///
    /// # Errors
    /// Never in practice: they belong to this runtime.
    pub(super) fn prelude_functions<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<PreludeFunctions<'js>> {
        let [begin, run, finish, equip, foreign, well_formed, members, plain] = self.prelude_values.clone();
        let function = |value: Persistent<Value<'static>>| -> rquickjs::Result<Function<'js>> {
            value.restore(ctx)?.get()
        };
        let object = |value: Persistent<Value<'static>>| -> rquickjs::Result<Object<'js>> {
            value.restore(ctx)?.get()
        };
        Ok(PreludeFunctions {
            begin_job: function(begin)?,
            run: function(run)?,
            finish_job: function(finish)?,
            equip_host: function(equip)?,
            object_shapes: ObjectShapes {
                foreign_kind: function(foreign)?,
                to_well_formed: function(well_formed)?,
                members: object(members)?,
                plain_prototype: object(plain)?,
            },
        })
    }

    /// The compiled form of a script.
    ///
    /// # Errors
    /// The script is no JavaScript, or compiling it passed a limit.
    pub(super) fn compiled_function<'js>(
        &self,
        ctx: &Ctx<'js>,
        scripts: &Arc<Vec<WorkflowScript>>,
        index: usize,
        script: &WorkflowScript,
    ) -> rquickjs::Result<Function<'js>> {
        let offers = self.job_state.library_names.borrow();
        let mut programs = self.programs.borrow_mut();
        let at = program_index(&mut programs, scripts);
        let Some(slot) = programs.get_mut(at).and_then(|program| program.functions.get_mut(index)) else {
            return compile_script(ctx, &script.prepared, script.form, &offers);
        };
        if let Some(function) = slot {
            return function.clone().restore(ctx);
        }
        let function = compile_script(ctx, &script.prepared, script.form, &offers)?;
        *slot = Some(Persistent::save(ctx, function.clone()));
        Ok(function)
    }

    /// Prepares a job: what its host object needs if the workflow has a library.
    ///
    /// # Errors
    /// The library is no JavaScript, or compiling it passed a limit; with its position in the list.
    pub(super) fn prepare_kit<'js>(
        &self,
        ctx: &Ctx<'js>,
        bridge: &PreludeFunctions<'js>,
        scripts: &Arc<Vec<WorkflowScript>>,
    ) -> Result<Option<Object<'js>>, (rquickjs::Error, usize)> {
        let mut programs = self.programs.borrow_mut();
        let at = program_index(&mut programs, scripts);
        let found = programs.get_mut(at).and_then(|program| Some((program.library?, &mut program.host_kit)));
        let Some(((index, plain), slot)) = found else {
            self.job_state.library_names.borrow_mut().clear();
            return Ok(None);
        };
        let Some(library) = scripts.get(index) else { return Ok(None) };
        self.job_state.library_names.borrow_mut().clone_from(&library.offers);
        self.job_state.library_is_plain.set(plain);
        let kit = match slot {
            Some(kit) => kit.clone().restore(ctx),
            None => compile_library(ctx, &library.prepared)
                .and_then(|factory| bridge.equip_host.call((library.offers.clone(), factory)))
                .inspect(|kit: &Object<'js>| *slot = Some(Persistent::save(ctx, kit.clone()))),
        };
        kit.map(Some).map_err(|error| (error, index))
    }

    /// Whether the last job left anything behind: promise jobs that will not run, or compiled text.
    pub(super) fn is_tainted(&self) -> bool {
        self.job_state.is_tainted.get() || self.runtime.is_job_pending()
    }
}

/// The index of the program with these scripts; adds it if it is new.
fn program_index(programs: &mut Vec<CompiledScripts>, scripts: &Arc<Vec<WorkflowScript>>) -> usize {
    if let Some(at) = programs.iter().position(|program| Arc::ptr_eq(&program.scripts, scripts)) {
        return at;
    }
    if programs.len() >= PROGRAMS {
        programs.remove(0);
    }
    let mut numbered = scripts.iter().enumerate();
    let library = numbered.find(|(_, script)| script.kind == ScriptKind::Library);
    let library = library.map(|(at, script)| (at, is_plain(&script.source)));
    let functions = vec![None; scripts.len()];
    programs.push(CompiledScripts { scripts: Arc::clone(scripts), functions, library, host_kit: None });
    programs.len() - 1
}

/// Evaluates the prelude and keeps the functions that it returns.
fn load_prelude(
    ctx: &Ctx<'_>,
    shared: &Rc<ScriptJobState>,
) -> rquickjs::Result<[Persistent<Value<'static>>; BRIDGE]> {
    let mut options = EvalOptions::default();
    options.filename = Some("host".to_owned());
    let make: Function<'_> = ctx.eval_with_options(PRELUDE, options)?;
    let made: Object<'_> = make.call((native_object(ctx, shared)?,))?;
    let keep = |name: &str| -> rquickjs::Result<Persistent<Value<'static>>> {
        Ok(Persistent::save(ctx, made.get::<_, Value<'_>>(name)?))
    };
    Ok([
        keep("begin")?,
        keep("run")?,
        keep("finish")?,
        keep("equip")?,
        keep("foreign")?,
        keep("wellFormed")?,
        keep("dataMembers")?,
        keep("plain")?,
    ])
}

/// The things that the prelude asks of us.
fn native_object<'js>(ctx: &Ctx<'js>, shared: &Rc<ScriptJobState>) -> rquickjs::Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let scopes = Rc::clone(shared);
    let view = move |what: String| -> String {
        scopes
            .scope
            .borrow()
            .as_deref()
            .map_or_else(|| "null".to_owned(), |scope| scope_json::scope_part_json(scope, &what))
    };
    native.set("view", Function::new(ctx.clone(), view)?)?;
    let marks = Rc::clone(shared);
    let text = move |ctx: Ctx<'js>, text: String| -> rquickjs::Result<Value<'js>> {
        marks.is_tainted.set(true);
        match compile_script(&ctx, &text, ScriptForm::Expression, &marks.library_names.borrow()) {
            Ok(function) => Ok(function.into_value()),
            // No expression: the text is its own value.
            Err(rquickjs::Error::Exception) if !marks.has_expired() => {
                ctx.catch();
                Ok(Value::new_undefined(ctx))
            }
            Err(error) => Err(error),
        }
    };
    native.set("compile", Function::new(ctx.clone(), text)?)?;
    let notes = Rc::clone(shared);
    native.set("touched", Function::new(ctx.clone(), move || notes.library_touched.set(true))?)?;
    if let Some(read_file) = shared.file_reader.clone() {
        let read = move |ctx: Ctx<'js>, path: String| -> rquickjs::Result<String> {
            read_file(&path).map_err(|problem| Exception::throw_message(&ctx, &problem))
        };
        native.set("readFile", Function::new(ctx.clone(), read)?)?;
    }
    Ok(native)
}
