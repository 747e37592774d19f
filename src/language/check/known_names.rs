//! What names of a workflow mean something, by index: a file of ten thousand states is judged in one pass.

use std::collections::{HashMap, HashSet};

use super::super::did_you_mean::{join_limited, suggestion_hint};
use super::super::source::FileDiagnostics;
use super::super::workflow_file::{SpannedText, StateForm, WorkflowForm};

/// Names of one kind, in the order of the file.
#[derive(Default)]
pub(super) struct DeclaredNames<'f> {
    list: Vec<&'f str>,
    set: HashSet<&'f str>,
}

/// The names of a workflow.
pub(super) struct KnownNames<'f> {
    pub(super) agents: DeclaredNames<'f>,
    pub(super) contexts: DeclaredNames<'f>,
    /// By the scope of their body; each body has an end.
    states: HashMap<&'f str, DeclaredNames<'f>>,
}

impl<'f> DeclaredNames<'f> {
    pub(super) fn add_name(&mut self, name: &'f str) {
        if self.set.insert(name) {
            self.list.push(name);
        }
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'f str> + Clone {
        self.list.iter().copied()
    }

    /// What to say beside a name that is none of these.
    pub(super) fn unknown_name_hint(&self, what: &str, name: &str) -> String {
        suggestion_hint(name, self.iter()).unwrap_or_else(|| match self.list.as_slice() {
            [] => format!("no {what} is defined"),
            all => format!("known: {}", join_limited(all)),
        })
    }

    /// A finding if the name is none of these.
    pub(super) fn expect_name(
        &self,
        code: &str,
        what: &str,
        name: &SpannedText,
        findings: &mut FileDiagnostics<'_>,
    ) {
        if findings.is_closed() || self.has_name(&name.value) {
            return;
        }
        let hint = self.unknown_name_hint(what, &name.value);
        let message = format!("there is no {what} `{}`", name.value);
        findings.add_error(code, name.span.clone(), message, Some(hint));
    }
}

impl<'f> FromIterator<&'f str> for DeclaredNames<'f> {
    fn from_iter<I: IntoIterator<Item = &'f str>>(names: I) -> Self {
        let mut all = Self::default();
        names.into_iter().for_each(|name| all.add_name(name));
        all
    }
}

impl<'f> KnownNames<'f> {
    pub(super) fn from_form(form: &'f WorkflowForm) -> Self {
        let mut states: HashMap<&str, DeclaredNames<'_>> = HashMap::new();
        for state in &form.states {
            states.entry(state.scope.as_str()).or_default().add_name(state.local_name());
        }
        states.entry("").or_default();
        states.values_mut().for_each(|names| names.add_name("stop"));
        Self {
            agents: form.agents.iter().map(|agent| agent.id.value.as_str()).collect(),
            contexts: form.contexts.iter().map(|context| context.name.value.as_str()).collect(),
            states,
        }
    }

    /// Targets of a state are in its own body, and so are the suggested names.
    pub(super) fn check_targets(&self, state: &StateForm, findings: &mut FileDiagnostics<'_>) {
        let transitions = state.transitions.iter().flatten().map(|one| &one.target);
        for target in transitions.chain(state.error_targets()) {
            self.check_target(&state.scope, target, findings);
        }
    }

    pub(super) fn check_target(&self, scope: &str, target: &SpannedText, findings: &mut FileDiagnostics<'_>) {
        let Some(names) = self.states.get(scope) else { return };
        let local = target.value.strip_prefix(scope).unwrap_or(&target.value);
        if !names.has_name(local) {
            let target = SpannedText { value: local.to_owned(), span: target.span.clone() };
            names.expect_name("E02", "state", &target, findings);
        }
    }
}
