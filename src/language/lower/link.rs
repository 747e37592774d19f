//! Reads a workflow and everything that it can call, casts the agents, and has all of it checked.

use std::collections::{HashMap, HashSet};

use super::super::check::{
    CompilationUnit, CompileContext, ScriptFile, check_workflow, compile_scripts, script_file,
};
use super::super::companion_files::default_script_path;
use super::super::cycles::strongly_connected_components;
use super::super::did_you_mean::{listed_names, suggestion_hint};
use super::super::source::{FileDiagnostics, SourceFile};
use super::super::workflow_file::{SpannedText, WorkflowForm, lower_handlers, parse_workflow};
use super::build::build_workflow;
use super::concurrency_limits::check_concurrency;
use super::missing_prices::{check_missing_prices, has_dollar_limit};
use super::required_names::check_required_names;
use super::resolve_agents::{resolve_agent, state_models, summary_model};
use super::spawnable_roles::SpawnRequest;
use super::steps::step_tools;
use super::workflow_library::{DefinitionRef, WorkflowLibrary};
use super::{LinkContext, StatedModelLookup};
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::workflow::Workflow;

/// A root workflow (first) with everything that it reaches, checked.
pub(super) struct LinkedWorkflows<'a> {
    parts: Vec<LinkedWorkflow<'a>>,
    index: HashMap<DefinitionRef, usize>,
}

/// One workflow on its way. `unit` is absent if the object could not be read at all.
pub(super) struct LinkedWorkflow<'a> {
    pub(super) file: &'a SourceFile,
    pub(super) unit: Option<CompilationUnit>,
    findings: Vec<Diagnostic>,
}

impl<'a> LinkedWorkflows<'a> {
    pub(super) fn new(
        root: DefinitionRef,
        library: &WorkflowLibrary<'a>,
        surroundings: &LinkContext<'_>,
    ) -> Self {
        let mut gathered = Self { parts: Vec::new(), index: HashMap::new() };
        gathered.add_workflow(root, library, surroundings);
        let mut at = 0;
        while at < gathered.parts.len() {
            gathered.add_called_workflows(at, library, surroundings);
            at += 1;
        }
        let circles = CallCycles::find_cycles(&gathered, library);
        for at in 0..gathered.parts.len() {
            let found = gathered.judge_workflow(at, &circles, library);
            gathered.parts[at].findings.extend(found);
        }
        gathered
    }

    fn add_workflow(
        &mut self,
        found: DefinitionRef,
        library: &WorkflowLibrary<'a>,
        surroundings: &LinkContext<'_>,
    ) {
        let file = library.file(found);
        let mut findings = FileDiagnostics::new(file);
        findings.list.extend_from_slice(library.findings_at(found));
        check_rivals(found, library, &mut findings);
        let unit = parse_workflow(library.node(found), &mut findings).map(|mut form| {
            let scripts = find_script_file(&form, file, surroundings, &mut findings);
            lower_workflow_handlers(&mut form, scripts.as_ref(), &mut findings);
            step_tools(&mut form, surroundings, &mut findings);
            check_required_names(&form, surroundings, &mut findings);
            let library = scripts.as_ref().map(|scripts| &scripts.library);
            let states = compile_scripts(
                &form,
                CompileContext { library, read_companion: surroundings.text },
                &mut findings,
            );
            let cast =
                form.agents.iter().map(|agent| resolve_agent(agent, surroundings, &mut findings)).collect();
            let contexts = form.contexts.iter();
            let summaries =
                contexts.map(|context| summary_model(context, surroundings, &mut findings)).collect();
            CompilationUnit::new(form, states, cast, summaries, scripts)
        });
        self.index.insert(found, self.parts.len());
        self.parts.push(LinkedWorkflow { file, unit, findings: findings.list });
    }

    /// Adds the workflows that one calls.
    fn add_called_workflows(
        &mut self,
        at: usize,
        library: &WorkflowLibrary<'a>,
        surroundings: &LinkContext<'_>,
    ) {
        let calls: Vec<SpannedText> =
            self.parts[at].unit.iter().flat_map(|unit| called_workflows(&unit.form)).cloned().collect();
        for call in calls {
            match library.find_definition(&call.value) {
                Some(found) if self.index.contains_key(&found) => {}
                Some(found) => {
                    // what stands in the file that is checked is not looked up elsewhere
                    let rival =
                        (!library.is_pinned(found)).then(|| (surroundings.unreadable_rival)(&call.value));
                    match rival.flatten() {
                        Some(error) => self.parts[at].findings.push(error),
                        None => self.add_workflow(found, library, surroundings),
                    }
                }
                None => {
                    let names = library.names();
                    let hint = suggestion_hint(&call.value, names.iter().map(String::as_str))
                        .unwrap_or_else(|| format!("known: {}", listed_names(&names)));
                    let mut findings = FileDiagnostics::new(self.parts[at].file);
                    let message = format!("there is no workflow `{}`", call.value);
                    findings.add_error("E08", call.span, message, Some(hint));
                    self.parts[at].findings.append(&mut findings.list);
                }
            }
        }
    }

    fn judge_workflow(
        &self,
        at: usize,
        circles: &CallCycles,
        library: &WorkflowLibrary<'a>,
    ) -> Vec<Diagnostic> {
        let part = &self.parts[at];
        let Some(unit) = &part.unit else { return Vec::new() };
        let mut findings = FileDiagnostics::new(part.file);
        for call in called_workflows(&unit.form) {
            let called = library.find_definition(&call.value).and_then(|found| self.index.get(&found));
            if called.is_some_and(|called| circles.is_endless(at, *called)) {
                let message = format!("`{}` leads back to `{}`", call.value, unit.form.name.value);
                let hint = "set \"limits\": { \"max_depth\": … } if the recursion is meant";
                findings.add_error("E08", call.span.clone(), message, Some(hint.to_owned()));
            }
        }
        let root = self.parts.first().and_then(|root| root.unit.as_ref()).map(|root| &root.form);
        let whole = root.is_some_and(|root| has_dollar_limit(&root.spec.budget));
        check_missing_prices(&unit.form, &unit.resolved_agents, whole, &mut findings);
        if let Some(root) = root {
            check_concurrency(&unit.form, root, &mut findings);
        }
        // earlier errors silence the judgement of the graph, which would only repeat them
        findings.list.extend(part.findings.iter().cloned());
        let known = findings.list.len();
        check_workflow(unit, &|name| self.form(name, library), &mut findings);
        let first = known - part.findings.len();
        findings.list.drain(first..known);
        findings.list
    }

    fn form(&self, name: &str, library: &WorkflowLibrary<'a>) -> Option<&WorkflowForm> {
        let at = *self.index.get(&library.find_definition(name)?)?;
        self.parts[at].unit.as_ref().map(|unit| &unit.form)
    }

    /// All findings: the root's first, each workflow's in the order of its text.
    pub(super) fn all_findings(&self) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> = Vec::new();
        for part in &self.parts {
            let mut own = part.findings.clone();
            own.sort_by_key(|finding| (finding.span.start, finding.code.clone()));
            for finding in own {
                if !all.contains(&finding) {
                    all.push(finding);
                }
            }
        }
        all
    }

    /// Puts the models that the program states in the place of those that it was judged by.
    pub(super) fn state_models(&mut self, stated: &StatedModelLookup<'_>) {
        self.parts
            .iter_mut()
            .filter_map(|part| part.unit.as_mut())
            .for_each(|unit| state_models(unit, stated));
    }

    /// What agents may start, by the positions of their workflows and agents. Only called when nothing is wrong: every
    /// part and every agent is in the program.
    pub(super) fn spawn_requests(&self) -> Vec<SpawnRequest> {
        let units = self.parts.iter().filter_map(|part| part.unit.as_ref()).enumerate();
        let agents = units.flat_map(|(workflow, unit)| {
            let known = unit.resolved_agents.iter().flatten().enumerate();
            known.map(move |(agent, resolved)| (workflow, agent, &resolved.role))
        });
        agents
            .filter(|(_, _, role)| !role.enabled_agents.is_empty())
            .map(|(workflow, agent, role)| SpawnRequest::of_role(role, workflow, agent))
            .collect()
    }

    /// Only called when nothing is wrong.
    pub(super) fn build_workflows(&self) -> Vec<Workflow> {
        // names are unique here: the library gives one definition per name
        let named = self.parts.iter().enumerate().rev();
        let named = named.filter_map(|(at, part)| Some((part.unit.as_ref()?.form.name.value.as_str(), at)));
        let names: HashMap<&str, usize> = named.collect();
        let index = |wanted: &str| names.get(wanted).copied();
        self.parts
            .iter()
            .filter_map(|part| Some(build_workflow(part.unit.as_ref()?, part.file, &index)))
            .collect()
    }
}

/// Which workflows lead back to themselves, and which of these circles limit their depth.
struct CallCycles {
    part: Vec<usize>,
    /// By part.
    bounded_parts: HashSet<usize>,
}

impl CallCycles {
    fn find_cycles(gathered: &LinkedWorkflows<'_>, library: &WorkflowLibrary<'_>) -> Self {
        let forms = || gathered.parts.iter().map(|part| part.unit.as_ref().map(|unit| &unit.form));
        let targets = |form: &WorkflowForm| {
            let found = called_workflows(form).filter_map(|call| library.find_definition(&call.value));
            found.filter_map(|found| gathered.index.get(&found).copied()).collect::<Vec<_>>()
        };
        let next: Vec<Vec<usize>> = forms().map(|form| form.map_or_else(Vec::new, targets)).collect();
        let part = strongly_connected_components(&next, &vec![true; next.len()]);
        let limited = forms().map(|form| form.is_some_and(|form| form.limits.max_depth.is_some()));
        let bounded = limited.zip(&part).filter(|(limited, _)| *limited).map(|(_, part)| *part).collect();
        Self { part, bounded_parts: bounded }
    }

    /// Whether a call leads back to the workflow that makes it, and nothing on the way limits the depth.
    fn is_endless(&self, from: usize, to: usize) -> bool {
        self.part[from] == self.part[to] && !self.bounded_parts.contains(&self.part[from])
    }
}

fn called_workflows(form: &WorkflowForm) -> impl Iterator<Item = &SpannedText> {
    form.states.iter().filter_map(|state| state.sub_workflow.as_ref())
}

/// Two definitions of one name in one layer.
fn check_rivals(found: DefinitionRef, library: &WorkflowLibrary<'_>, findings: &mut FileDiagnostics<'_>) {
    for rival in library.duplicate_definitions(found) {
        let (Some(own), Some(other)) = (library.name(found), library.name(rival)) else { continue };
        let place = library.file(rival).location_at(other.span.start);
        let message = format!("the workflow `{}` is also defined at {place}", own.value);
        findings.add_error(
            "E03",
            own.span.clone(),
            message,
            Some("rename or remove one of the two".to_owned()),
        );
    }
}

/// The script file that a workflow names, or the one of its own name.
fn find_script_file(
    form: &WorkflowForm,
    file: &SourceFile,
    surroundings: &LinkContext<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ScriptFile> {
    let own = default_script_path(file);
    let path = form.script_file.as_ref().map_or(own.as_str(), |path| path.value.as_str());
    let text = match ((surroundings.text)(file, path), &form.script_file) {
        (Ok(Some(text)), _) => text,
        (Ok(None), None) => return None,
        (Ok(None), Some(named)) => {
            let message = format!("there is no script file `{path}`");
            let hint = format!("it would stand beside {}", file.name);
            findings.add_error("E05", named.span.clone(), message, Some(hint));
            return None;
        }
        (Err((message, hint)), named) => {
            let span = named.as_ref().map_or_else(|| form.name.span.clone(), |named| named.span.clone());
            findings.add_error("E05", span, message, hint);
            return None;
        }
    };
    let (read, mut found) = script_file(form, text);
    findings.list.append(&mut found);
    read
}

fn lower_workflow_handlers(
    form: &mut WorkflowForm,
    scripts: Option<&ScriptFile>,
    findings: &mut FileDiagnostics<'_>,
) {
    let mut inside = FileDiagnostics::new(scripts.map_or(findings.file, |scripts| &scripts.file));
    lower_handlers(form, scripts.map(|scripts| &scripts.library), findings, &mut inside);
    findings.list.append(&mut inside.list);
}
