//! Reads a workflow and everything that it can call, casts the agents, and has all of it checked.

use std::collections::{HashMap, HashSet};

use super::super::beside::own_script;
use super::super::check::{Around, ScriptFile, Unit, check, compile, script_file};
use super::super::circles::parts;
use super::super::source::{Findings, SourceFile};
use super::super::suggest::{did_you_mean, listed_names};
use super::super::workflow_file::{Text, WorkflowForm, lower_handlers, read};
use super::Surroundings;
use super::build::build;
use super::cast::{cast, sums_up};
use super::held_back::held_back;
use super::library::{Found, Library};
use super::steps::step_tools;
use super::unpriced::{in_dollars, unpriced};
use crate::domain::diagnostic::Diagnostic;
use crate::domain::workflow::Workflow;

/// A root workflow (first) with everything that it reaches, checked.
pub(super) struct Gathered<'a> {
    parts: Vec<Part<'a>>,
    index: HashMap<Found, usize>,
}

/// One workflow on its way. `unit` is absent if the object could not be read at all.
pub(super) struct Part<'a> {
    pub(super) file: &'a SourceFile,
    pub(super) unit: Option<Unit>,
    findings: Vec<Diagnostic>,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(root: Found, library: &Library<'a>, surroundings: &Surroundings<'_>) -> Self {
        let mut gathered = Self { parts: Vec::new(), index: HashMap::new() };
        gathered.add(root, library, surroundings);
        let mut at = 0;
        while at < gathered.parts.len() {
            gathered.follow(at, library, surroundings);
            at += 1;
        }
        let circles = Circles::of(&gathered, library);
        for at in 0..gathered.parts.len() {
            let found = gathered.judge(at, &circles, library);
            gathered.parts[at].findings.extend(found);
        }
        gathered
    }

    fn add(&mut self, found: Found, library: &Library<'a>, surroundings: &Surroundings<'_>) {
        let file = library.file(found);
        let mut findings = Findings::new(file);
        findings.list.extend_from_slice(library.findings_at(found));
        rivals(found, library, &mut findings);
        let unit = read(library.node(found), &mut findings).map(|mut form| {
            let scripts = script_file_of(&form, file, surroundings, &mut findings);
            handled(&mut form, scripts.as_ref(), &mut findings);
            step_tools(&mut form, surroundings, &mut findings);
            let library = scripts.as_ref().map(|scripts| &scripts.library);
            let states = compile(&form, Around { library, beside: surroundings.text }, &mut findings);
            let cast = form.agents.iter().map(|agent| cast(agent, surroundings, &mut findings)).collect();
            let contexts = form.contexts.iter();
            let summaries = contexts.map(|context| sums_up(context, surroundings, &mut findings)).collect();
            Unit::new(form, states, cast, summaries, scripts)
        });
        self.index.insert(found, self.parts.len());
        self.parts.push(Part { file, unit, findings: findings.list });
    }

    /// Adds the workflows that one calls.
    fn follow(&mut self, at: usize, library: &Library<'a>, surroundings: &Surroundings<'_>) {
        let calls: Vec<Text> =
            self.parts[at].unit.iter().flat_map(|unit| called(&unit.form)).cloned().collect();
        for call in calls {
            match library.find(&call.value) {
                Some(found) if self.index.contains_key(&found) => {}
                Some(found) => self.add(found, library, surroundings),
                None => {
                    let names = library.names();
                    let hint = did_you_mean(&call.value, names.iter().map(String::as_str))
                        .unwrap_or_else(|| format!("known: {}", listed_names(&names)));
                    let mut findings = Findings::new(self.parts[at].file);
                    let message = format!("there is no workflow `{}`", call.value);
                    findings.error("E08", call.span, message, Some(hint));
                    self.parts[at].findings.append(&mut findings.list);
                }
            }
        }
    }

    fn judge(&self, at: usize, circles: &Circles, library: &Library<'a>) -> Vec<Diagnostic> {
        let part = &self.parts[at];
        let Some(unit) = &part.unit else { return Vec::new() };
        let mut findings = Findings::new(part.file);
        for call in called(&unit.form) {
            let called = library.find(&call.value).and_then(|found| self.index.get(&found));
            if called.is_some_and(|called| circles.endless(at, *called)) {
                let message = format!("`{}` leads back to `{}`", call.value, unit.form.name.value);
                let hint = "set \"limits\": { \"max_depth\": … } if the recursion is meant";
                findings.error("E08", call.span.clone(), message, Some(hint.to_owned()));
            }
        }
        let root = self.parts.first().and_then(|root| root.unit.as_ref()).map(|root| &root.form);
        let whole = root.is_some_and(|root| in_dollars(&root.budget));
        unpriced(&unit.form, &unit.cast, whole, &mut findings);
        if let Some(root) = root {
            held_back(&unit.form, root, &mut findings);
        }
        // earlier errors silence the judgement of the graph, which would only repeat them
        findings.list.extend(part.findings.iter().cloned());
        let known = findings.list.len();
        check(unit, &|name| self.form(name, library), &mut findings);
        let first = known - part.findings.len();
        findings.list.drain(first..known);
        findings.list
    }

    fn form(&self, name: &str, library: &Library<'a>) -> Option<&WorkflowForm> {
        let at = *self.index.get(&library.find(name)?)?;
        self.parts[at].unit.as_ref().map(|unit| &unit.form)
    }

    /// All findings: the root's first, each workflow's in the order of its text.
    pub(super) fn findings(&self) -> Vec<Diagnostic> {
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

    /// Only called when nothing is wrong.
    pub(super) fn build(&self) -> Vec<Workflow> {
        // names are unique here: the library gives one definition per name
        let named = self.parts.iter().enumerate().rev();
        let named = named.filter_map(|(at, part)| Some((part.unit.as_ref()?.form.name.value.as_str(), at)));
        let names: HashMap<&str, usize> = named.collect();
        let index = |wanted: &str| names.get(wanted).copied();
        self.parts.iter().filter_map(|part| Some(build(part.unit.as_ref()?, part.file, &index))).collect()
    }
}

/// Which workflows lead back to themselves, and which of these circles limit their depth.
struct Circles {
    part: Vec<usize>,
    /// By part.
    bounded: HashSet<usize>,
}

impl Circles {
    fn of(gathered: &Gathered<'_>, library: &Library<'_>) -> Self {
        let forms = || gathered.parts.iter().map(|part| part.unit.as_ref().map(|unit| &unit.form));
        let targets = |form: &WorkflowForm| {
            let found = called(form).filter_map(|call| library.find(&call.value));
            found.filter_map(|found| gathered.index.get(&found).copied()).collect::<Vec<_>>()
        };
        let next: Vec<Vec<usize>> = forms().map(|form| form.map_or_else(Vec::new, targets)).collect();
        let part = parts(&next, &vec![true; next.len()]);
        let limited = forms().map(|form| form.is_some_and(|form| form.limits.max_depth.is_some()));
        let bounded = limited.zip(&part).filter(|(limited, _)| *limited).map(|(_, part)| *part).collect();
        Self { part, bounded }
    }

    /// Whether a call leads back to the workflow that makes it, and nothing on the way limits the depth.
    fn endless(&self, from: usize, to: usize) -> bool {
        self.part[from] == self.part[to] && !self.bounded.contains(&self.part[from])
    }
}

fn called(form: &WorkflowForm) -> impl Iterator<Item = &Text> {
    form.states.iter().filter_map(|state| state.sub_workflow.as_ref())
}

/// A60: two definitions of one name in one layer.
fn rivals(found: Found, library: &Library<'_>, findings: &mut Findings<'_>) {
    for rival in library.rivals(found) {
        let (Some(own), Some(other)) = (library.name(found), library.name(rival)) else { continue };
        let place = library.file(rival).place(other.span.start);
        let message = format!("the workflow `{}` is also defined at {place}", own.value);
        findings.error("E03", own.span.clone(), message, Some("rename or remove one of the two".to_owned()));
    }
}

/// The script file that a workflow names, or the one of its own name.
fn script_file_of(
    form: &WorkflowForm,
    file: &SourceFile,
    surroundings: &Surroundings<'_>,
    findings: &mut Findings<'_>,
) -> Option<ScriptFile> {
    let own = own_script(file);
    let path = form.script_file.as_ref().map_or(own.as_str(), |path| path.value.as_str());
    let text = match ((surroundings.text)(file, path), &form.script_file) {
        (Ok(Some(text)), _) => text,
        (Ok(None), None) => return None,
        (Ok(None), Some(named)) => {
            let message = format!("there is no script file `{path}`");
            let hint = format!("it would stand beside {}", file.name);
            findings.error("E05", named.span.clone(), message, Some(hint));
            return None;
        }
        (Err((message, hint)), named) => {
            let span = named.as_ref().map_or_else(|| form.name.span.clone(), |named| named.span.clone());
            findings.error("E05", span, message, hint);
            return None;
        }
    };
    let (read, mut found) = script_file(form, text);
    findings.list.append(&mut found);
    read
}

fn handled(form: &mut WorkflowForm, scripts: Option<&ScriptFile>, findings: &mut Findings<'_>) {
    let mut inside = Findings::new(scripts.map_or(findings.file, |scripts| &scripts.file));
    lower_handlers(form, scripts.map(|scripts| &scripts.library), findings, &mut inside);
    findings.list.append(&mut inside.list);
}
