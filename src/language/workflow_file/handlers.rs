//! The handler dialect of Synth-Dev, rewritten as ordinary states.
//!
//! `pre_handler` becomes the state's script. The model is then asked about the context as it is, and its answer enters
//! no context: `post_handler` decides what does. `transition_handler` gives the name of the next state; it becomes
//! conditions that compare this name, evaluated once. What it can return is read from its text where that is possible,
//! so that a drawing has no transitions that cannot happen.

use std::collections::{HashMap, HashSet};

use super::super::companion_files::default_script_path;
use super::super::did_you_mean::{listed_names, suggestion_hint};
use super::super::script_analysis::{LibraryExport, ScriptLibrary};
use super::super::source::FileDiagnostics;
use super::action_form::FunctionForm;
use super::spanned::{SpannedText, SpannedValue};
use super::state_form::{HandlersForm, StateForm};
use super::transition::TransitionForm;
use super::workflow_object::{WorkflowDialect, WorkflowForm};
use synthdev_domain::workflow::AgentFunction;

/// Rewrites every state with handlers. `findings` are those of the workflow file; what is wrong inside the script
/// file goes to `inside`.
pub fn lower_handlers(
    form: &mut WorkflowForm,
    library: Option<&ScriptLibrary>,
    findings: &mut FileDiagnostics<'_>,
    inside: &mut FileDiagnostics<'_>,
) {
    if form.dialect != WorkflowDialect::Handlers {
        return;
    }
    let bodies = BodyNameIndex::from_form(form);
    let offers: HashMap<&str, &LibraryExport> = library
        .iter()
        .flat_map(|library| library.exports.iter().rev())
        .map(|offer| (offer.name.as_str(), offer))
        .collect();
    let known =
        HandlerLookup { library_exports: offers, library, own_file: default_script_path(findings.file) };
    // what one function can name in one body: states share functions
    let mut targets: HashMap<(usize, String), HandlerTargets> = HashMap::new();
    let mut ways = 0;
    for state in form.states.iter_mut().filter(|state| !state.is_terminal()) {
        let plain = state.transitions.is_none() && state.function.is_none() && state.script.is_none();
        let bare = plain && state.sub_workflow.is_none() && state.input.is_none();
        if state.handlers == HandlersForm::default() && !(bare && state.agent.is_some()) {
            continue;
        }
        if !bare {
            check_mixed_handlers(state, findings);
            continue;
        }
        let Some(decide) = known.rewrite_state(state, findings) else { continue };
        // a handler names states of its own body
        let at = bodies.index.get(&state.scope).copied().unwrap_or_default();
        let found = targets
            .entry((at, decide.value.clone()))
            .or_insert_with(|| known.read_targets(&decide, &bodies.list[at], inside));
        ways += found.names.len();
        if ways > MOST_WAYS {
            too_many(&decide, findings);
            return;
        }
        state.transitions = Some(ways_to(found, state, &decide));
    }
}

/// Transitions that the handlers of a workflow may become. A function of which nothing is known may name every state.
const MOST_WAYS: usize = 100_000;

fn too_many(decide: &SpannedText, findings: &mut FileDiagnostics<'_>) {
    let message = format!("the transition handlers may lead to more than {MOST_WAYS} transitions");
    let hint = format!("let `{}` return the names of states as texts, as in \"return 'stop'\"", decide.value);
    findings.add_error("E12", decide.span.clone(), message, Some(hint));
}

/// The local names of the states of each body, its end included.
struct BodyNameIndex {
    list: Vec<BodyNames>,
    index: HashMap<String, usize>,
}

#[derive(Default)]
struct BodyNames {
    list: Vec<String>,
    known_names: HashSet<String>,
}

impl BodyNameIndex {
    fn from_form(form: &WorkflowForm) -> Self {
        // a body of its own for the workflow, which may have no state at all
        let mut all = Self { list: vec![BodyNames::default()], index: HashMap::from([(String::new(), 0)]) };
        for state in &form.states {
            let at = *all.index.entry(state.scope.clone()).or_insert(all.list.len());
            if at == all.list.len() {
                all.list.push(BodyNames::default());
            }
            all.list[at].add_name(state.local_name());
        }
        for names in &mut all.list {
            if !names.known_names.contains("stop") {
                names.add_name("stop");
            }
        }
        all
    }
}

impl BodyNames {
    fn add_name(&mut self, name: &str) {
        self.list.push(name.to_owned());
        self.known_names.insert(name.to_owned());
    }
}

/// A state with handlers holds nothing else that says what it does.
fn check_mixed_handlers(state: &StateForm, findings: &mut FileDiagnostics<'_>) {
    let HandlersForm { before_handler: before, after_handler: after, decide_handler: decide } =
        &state.handlers;
    let Some(first) = [before, after, decide].into_iter().flatten().next() else { return };
    let message =
        format!("the state `{}` has handlers beside `input`, `action` or `transition`", state.name.value);
    let hint = "put everything into the handlers, or use `action` and `transition` alone";
    findings.add_error("E12", first.span.clone(), message, Some(hint.to_owned()));
}

struct HandlerLookup<'k> {
    library_exports: HashMap<&'k str, &'k LibraryExport>,
    library: Option<&'k ScriptLibrary>,
    own_file: String,
}

/// The states that a handler can name, in the order in which they are tested.
struct HandlerTargets {
    names: Vec<String>,
    /// It always names one of them.
    is_exhaustive: bool,
}

impl HandlerLookup<'_> {
    /// Rewrites the state, except for the ways that its transition handler decides: that one is returned.
    fn rewrite_state(
        &self,
        state: &mut StateForm,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<SpannedText> {
        let HandlersForm { before_handler: before, after_handler: after, decide_handler: decide } =
            state.handlers.clone();
        let mut sound = true;
        for handler in [&before, &after, &decide].into_iter().flatten() {
            sound &= self.has_function(handler, findings);
        }
        state.function = state.agent.as_ref().map(|agent| SpannedValue {
            value: FunctionForm::Agent(AgentFunction::Ask),
            span: agent.span.clone(),
        });
        if !sound {
            // nothing is known of what comes next; the error keeps the file from running
            return None;
        }
        state.script = before;
        if decide.is_none() && after.is_some() {
            state.transitions = Some(vec![transition_to("stop", None, after, state)]);
        }
        decide
    }

    /// Whether the script file has the function.
    fn has_function(&self, handler: &SpannedText, findings: &mut FileDiagnostics<'_>) -> bool {
        if self.library_exports.get(handler.value.as_str()).is_some_and(|offer| offer.is_callable) {
            return true;
        }
        if findings.is_closed() {
            return false;
        }
        let offers: Vec<&LibraryExport> = self.library.iter().flat_map(|library| &library.exports).collect();
        let callable = || offers.iter().filter(|offer| offer.is_callable).map(|offer| offer.name.as_str());
        let hint = match self.library {
            None => {
                format!("put the handlers into `{}`, or name their file with `script_file`", self.own_file)
            }
            Some(_) => suggestion_hint(&handler.value, callable())
                .unwrap_or_else(|| format!("its functions: {}", callable().collect::<Vec<_>>().join(", "))),
        };
        let message = match self.library {
            None => format!("`{}` names a function, and there is no script file", handler.value),
            Some(_) => format!("the script file has no function `{}`", handler.value),
        };
        findings.add_error("E07", handler.span.clone(), message, Some(hint));
        false
    }

    fn read_targets(
        &self,
        decide: &SpannedText,
        body: &BodyNames,
        inside: &mut FileDiagnostics<'_>,
    ) -> HandlerTargets {
        let offer = self.library_exports.get(decide.value.as_str());
        let Some((offer, returns)) = offer.and_then(|offer| Some((offer, offer.return_texts.as_ref()?)))
        else {
            return HandlerTargets { names: body.list.clone(), is_exhaustive: false };
        };
        let mut names: Vec<String> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        for one in returns {
            if !body.known_names.contains(&one.name) && !one.name.is_empty() {
                let message = format!("`{}` returns `{}`, and there is no such state", offer.name, one.name);
                let hint = suggestion_hint(&one.name, body.list.iter().map(String::as_str))
                    .unwrap_or_else(|| format!("the states are {}", listed_names(&body.list)));
                let span = one.offset..one.offset + one.name.len();
                inside.add_error("E02", span, message, Some(hint));
            } else if !one.name.is_empty() && seen.insert(&one.name) {
                names.push(one.name.clone());
            }
        }
        let always =
            offer.always_returns && !names.is_empty() && returns.iter().all(|one| !one.name.is_empty());
        HandlerTargets { names, is_exhaustive: always }
    }
}

/// Conditions that compare what the handlers say.
fn ways_to(targets: &HandlerTargets, state: &StateForm, decide: &SpannedText) -> Vec<TransitionForm> {
    let after = state.handlers.after_handler.as_ref().map_or("null", |after| after.value.as_str());
    let names: Vec<String> = targets.names.iter().map(|name| quote_name(name)).collect();
    // the names are judged when the handlers run, which the first one does
    let first = format!("__next({}, {after}, [{}])", decide.value, names.join(", "));
    let later = format!("__next({}, {after})", decide.value);
    let text = |value: String| Some(SpannedValue { value, span: decide.span.clone() });
    let last = if targets.is_exhaustive { targets.names.last() } else { None };
    let tested = targets.names.iter().zip(&names).take(names.len() - usize::from(last.is_some()));
    let mut all: Vec<TransitionForm> = Vec::with_capacity(names.len() + 1);
    for (name, quoted) in tested {
        let call = if all.is_empty() { &first } else { &later };
        all.push(transition_to(name, text(format!("{call} === {quoted}")), None, state));
    }
    // the last case needs no test, but the handlers must run if nothing was tested
    let before = if all.is_empty() { text(first) } else { None };
    all.push(transition_to(last.map_or("stop", String::as_str), None, before, state));
    all
}

fn transition_to(
    target: &str,
    condition: Option<SpannedText>,
    before: Option<SpannedText>,
    state: &StateForm,
) -> TransitionForm {
    let written = state.handlers.decide_handler.as_ref().or(state.handlers.after_handler.as_ref());
    let span = written.map_or_else(|| state.name.span.clone(), |handler| handler.span.clone());
    let target = SpannedValue { value: state.sibling_name(target), span: span.clone() };
    TransitionForm { target, condition, before_script: before, span }
}

fn quote_name(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}
