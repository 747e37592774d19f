//! The handler dialect of Synth-Dev, rewritten as ordinary states (FSM-21, SD.20).
//!
//! `pre_handler` becomes the state's script. The model is then asked about the context as it is, and its answer enters
//! no context: `post_handler` decides what does. `transition_handler` gives the name of the next state; it becomes
//! conditions that compare this name, evaluated once. What it can return is read from its text where that is possible,
//! so that a drawing has no transitions that cannot happen.

use super::super::beside::own_script;
use super::super::script_facts::{Library, Offer};
use super::super::source::Findings;
use super::super::suggest::did_you_mean;
use super::{Dialect, FunctionForm, HandlersForm, Spanned, StateForm, Text, TransitionForm, WorkflowForm};
use crate::domain::workflow::AgentFunction;

/// Rewrites every state with handlers. `findings` are those of the workflow file; what is wrong inside the script
/// file goes to `inside`.
pub fn lower(
    form: &mut WorkflowForm,
    library: Option<&Library>,
    findings: &mut Findings<'_>,
    inside: &mut Findings<'_>,
) {
    if form.dialect != Dialect::Handlers {
        return;
    }
    let all: Vec<(String, String)> =
        form.states.iter().map(|state| (state.scope.clone(), state.local().to_owned())).collect();
    for state in form.states.iter_mut().filter(|state| !state.is_terminal()) {
        // a handler names states of its own body
        let beside = all.iter().filter(|(scope, _)| *scope == state.scope);
        let mut names: Vec<String> = beside.map(|(_, name)| name.clone()).collect();
        if !names.iter().any(|name| name == "stop") {
            names.push("stop".to_owned());
        }
        let known = Known { names, library, own: own_script(findings.file) };
        let plain = state.transitions.is_none() && state.function.is_none() && state.script.is_none();
        let bare = plain && state.sub_workflow.is_none() && state.input.is_none();
        if state.handlers == HandlersForm::default() && !(bare && state.agent.is_some()) {
            continue;
        }
        if bare {
            known.state(state, findings, inside);
        } else {
            mixed(state, findings);
        }
    }
}

/// A state with handlers holds nothing else that says what it does.
fn mixed(state: &StateForm, findings: &mut Findings<'_>) {
    let HandlersForm { before, after, decide } = &state.handlers;
    let Some(first) = [before, after, decide].into_iter().flatten().next() else { return };
    let message =
        format!("the state `{}` has handlers beside `input`, `action` or `transition`", state.name.value);
    let hint = "put everything into the handlers, or use `action` and `transition` alone";
    findings.error("E12", first.span.clone(), message, Some(hint.to_owned()));
}

struct Known<'k> {
    names: Vec<String>,
    library: Option<&'k Library>,
    own: String,
}

impl Known<'_> {
    fn state(&self, state: &mut StateForm, findings: &mut Findings<'_>, inside: &mut Findings<'_>) {
        let HandlersForm { before, after, decide } = state.handlers.clone();
        let mut sound = true;
        for handler in [&before, &after, &decide].into_iter().flatten() {
            sound &= self.named(handler, findings);
        }
        state.function = state.agent.as_ref().map(|agent| Spanned {
            value: FunctionForm::Agent(AgentFunction::Ask),
            span: agent.span.clone(),
        });
        if !sound {
            // nothing is known of what comes next; the file cannot run as it is
            state.transitions = Some(self.to_all(state));
            return;
        }
        state.script = before;
        state.transitions = self.transitions(state, after.as_ref(), decide.as_ref(), inside);
    }

    /// Whether the script file has the function.
    fn named(&self, handler: &Text, findings: &mut Findings<'_>) -> bool {
        let offers: Vec<&Offer> = self.library.iter().flat_map(|library| &library.offers).collect();
        if offers.iter().any(|offer| offer.name == handler.value && offer.callable) {
            return true;
        }
        let callable = || offers.iter().filter(|offer| offer.callable).map(|offer| offer.name.as_str());
        let hint = match self.library {
            None => format!("put the handlers into `{}`, or name their file with `script_file`", self.own),
            Some(_) => did_you_mean(&handler.value, callable())
                .unwrap_or_else(|| format!("its functions: {}", callable().collect::<Vec<_>>().join(", "))),
        };
        let message = match self.library {
            None => format!("`{}` names a function, and there is no script file", handler.value),
            Some(_) => format!("the script file has no function `{}`", handler.value),
        };
        findings.error("E07", handler.span.clone(), message, Some(hint));
        false
    }

    fn transitions(
        &self,
        state: &StateForm,
        after: Option<&Text>,
        decide: Option<&Text>,
        inside: &mut Findings<'_>,
    ) -> Option<Vec<TransitionForm>> {
        let Some(decide) = decide else {
            let after = after?;
            let before = Some(after.clone());
            return Some(vec![self.to("stop", None, before, state)]);
        };
        let offer = self
            .library
            .and_then(|library| library.offers.iter().find(|offer| offer.name == decide.value))?;
        let (targets, always) = self.targets(offer, inside);
        let call = format!(
            "__next({}, {}, [{}])",
            decide.value,
            after.map_or("null", |after| after.value.as_str()),
            self.names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
        );
        let text = |value: String| Some(Spanned { value, span: decide.span.clone() });
        let last = if always { targets.last() } else { None };
        let tested = targets.iter().take(targets.len() - usize::from(last.is_some()));
        let mut all: Vec<TransitionForm> = tested
            .map(|name| self.to(name, text(format!("{call} === {}", quoted(name))), None, state))
            .collect();
        // the last case needs no test, but the handlers must run if nothing was tested
        let before = if all.is_empty() { text(call) } else { None };
        all.push(self.to(last.map_or("stop", String::as_str), None, before, state));
        Some(all)
    }

    /// The states that a handler can name, and whether it always names one of them.
    fn targets(&self, offer: &Offer, inside: &mut Findings<'_>) -> (Vec<String>, bool) {
        let Some(returns) = &offer.returns else { return (self.names.clone(), false) };
        let mut targets: Vec<String> = Vec::new();
        for one in returns {
            if !self.names.contains(&one.name) && !one.name.is_empty() {
                let message = format!("`{}` returns `{}`, and there is no such state", offer.name, one.name);
                let hint = did_you_mean(&one.name, self.names.iter().map(String::as_str))
                    .unwrap_or_else(|| format!("the states are {}", self.names.join(", ")));
                let span = one.offset..one.offset + one.name.len();
                inside.error("E02", span, message, Some(hint));
            } else if !targets.contains(&one.name) && !one.name.is_empty() {
                targets.push(one.name.clone());
            }
        }
        let always = offer.always && !targets.is_empty() && returns.iter().all(|one| !one.name.is_empty());
        (targets, always)
    }

    /// Every state may come next.
    fn to_all(&self, state: &StateForm) -> Vec<TransitionForm> {
        self.names.iter().map(|name| self.to(name, Some(state.name.clone()), None, state)).collect()
    }

    fn to(
        &self,
        target: &str,
        condition: Option<Text>,
        before: Option<Text>,
        state: &StateForm,
    ) -> TransitionForm {
        let written = state.handlers.decide.as_ref().or(state.handlers.after.as_ref());
        let span = written.map_or_else(|| state.name.span.clone(), |handler| handler.span.clone());
        let target = Spanned { value: state.beside(target), span: span.clone() };
        TransitionForm { target, condition, before, span }
    }
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}
