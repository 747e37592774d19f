//! Scripts of a workflow: parsed, their names judged (E05–E07), inputs told apart from text (A8, W07).

use std::ops::Range;

use super::super::script_facts::{Facts, Library, Name, SyntaxError, facts, is_known, known_names};
use super::super::source::Findings;
use super::super::suggest::did_you_mean;
use super::super::workflow_file::{InputForm, StateForm, Text, WorkflowForm, inside};
use super::{Compiled, InputScript, StateScripts, TransitionScripts};
use crate::domain::diagnostic::Severity;
use crate::domain::script::ScriptKind;

/// Compiles every script of a workflow; what does not parse is left out and found.
pub fn compile(
    form: &WorkflowForm,
    library: Option<&Library>,
    findings: &mut Findings<'_>,
) -> Vec<StateScripts> {
    form.states.iter().map(|state| Compiler { form, library, findings }.state(state)).collect()
}

struct Compiler<'c, 'f, 'a> {
    form: &'c WorkflowForm,
    library: Option<&'c Library>,
    findings: &'f mut Findings<'a>,
}

impl Compiler<'_, '_, '_> {
    fn state(&mut self, state: &StateForm) -> StateScripts {
        let script = state.script.as_ref().and_then(|text| self.script(text, ScriptKind::Action));
        let input = state.input.as_ref().map_or(InputScript::Absent, |input| self.input(input));
        let sub_inputs = state.sub_inputs.iter().map(|(_, input)| self.input(input)).collect();
        let transitions = state.transitions.iter().flatten();
        let transitions = transitions
            .map(|one| TransitionScripts {
                condition: one.condition.as_ref().and_then(|text| self.condition(text)),
                before: one.before.as_ref().and_then(|text| self.script(text, ScriptKind::Before)),
            })
            .collect();
        let updates = state.updates.iter().map(|update| self.input(&update.value)).collect();
        StateScripts { script, updates, input, sub_inputs, transitions }
    }

    /// A blank condition and `true` hold always (A11).
    fn condition(&mut self, text: &Text) -> Option<Compiled> {
        if text.value.trim().is_empty() {
            return None;
        }
        let compiled = self.script(text, ScriptKind::Condition)?;
        if compiled.facts.constant == Some(true) { None } else { Some(compiled) }
    }

    fn script(&mut self, text: &Text, kind: ScriptKind) -> Option<Compiled> {
        match self.facts(&text.value, kind) {
            Ok(facts) => {
                self.judge(text, &facts);
                Some(Compiled { kind, text: text.clone(), facts })
            }
            Err(error) => {
                let at = inside(self.findings.file, &text.span, error.offset);
                let end = (at + 1).min(text.span.end);
                let message = format!("not valid JavaScript: {}", error.message);
                self.findings.error("E06", at..end, message, error.hint);
                None
            }
        }
    }

    /// As `script_facts::facts`, with the names of the script file known.
    fn facts(&self, source: &str, kind: ScriptKind) -> Result<Facts, SyntaxError> {
        let mut facts = facts(source, kind)?;
        if let Some(library) = self.library {
            library.explain(&mut facts);
        }
        Ok(facts)
    }

    /// An expression iff it parses as one and every free name is known, else literal text (A8).
    fn input(&mut self, input: &InputForm) -> InputScript {
        match input {
            InputForm::Text(text) => InputScript::Text(text.value.clone()),
            InputForm::Expression(text) => self
                .script(text, ScriptKind::Input)
                .map_or(InputScript::Absent, |script| InputScript::Script(Box::new(script))),
            InputForm::Auto(text) => match self.facts(&text.value, ScriptKind::Input) {
                Ok(facts) if facts.unknown.is_empty() => {
                    self.judge(text, &facts);
                    InputScript::Script(Box::new(Compiled {
                        kind: ScriptKind::Input,
                        text: text.clone(),
                        facts,
                    }))
                }
                outcome => {
                    self.note_literal(text, outcome.ok().as_ref());
                    InputScript::Text(text.value.clone())
                }
            },
        }
    }

    /// W07: a note, and a warning where the text looks like an expression with a slip in it.
    fn note_literal(&mut self, text: &Text, facts: Option<&Facts>) {
        let slip = facts.and_then(|facts| facts.unknown.iter().find_map(slip));
        let code_like = facts.is_none() && !text.value.contains('\n') && mentions_host(&text.value);
        let (severity, hint) = match slip {
            Some(hint) => (Severity::Warning, hint),
            None if code_like => {
                let hint = "if it is meant as an expression, correct its syntax or write {\"expr\": …}";
                (Severity::Warning, hint.to_owned())
            }
            None => (Severity::Info, "write {\"text\": …} to say so, or {\"expr\": …}".to_owned()),
        };
        let message = "the input is sent as literal text";
        self.findings.add(severity, "W07", text.span.clone(), message, Some(hint));
    }

    fn judge(&mut self, text: &Text, facts: &Facts) {
        for name in &facts.unknown {
            let message = format!("`{}` is not known here", name.name);
            let offers = self.library.iter().flat_map(|library| &library.offers);
            let mut known: Vec<&str> = known_names().collect();
            known.extend(offers.map(|offer| offer.name.as_str()));
            let hint = did_you_mean(&name.name, known).or_else(|| unavailable(&name.name));
            self.report("E07", text, name, message, hint);
        }
        for name in &facts.unknown_members {
            let message = format!("`this` has no member `{}`", name.name);
            let hint = did_you_mean(&name.name, known_names())
                .or_else(|| Some(format!("keep your own values in `common_data.{}`", name.name)));
            self.report("E07", text, name, message, hint);
        }
        for name in &facts.frozen {
            let message = format!("`{}` can only be read", name.name);
            let hint = Some("write to `common_data` instead".to_owned());
            self.report("E13", text, name, message, hint);
        }
        let form = self.form;
        let agents: Vec<&str> = form.agents.iter().map(|agent| agent.id.value.as_str()).collect();
        let contexts: Vec<&str> = form.contexts.iter().map(|context| context.name.value.as_str()).collect();
        for (what, named, known) in [("agent", &facts.agents, agents), ("context", &facts.contexts, contexts)]
        {
            for name in named.iter().filter(|name| !known.contains(&name.name.as_str())) {
                let message = format!("there is no {what} `{}`", name.name);
                let hint = did_you_mean(&name.name, known.iter().copied())
                    .or_else(|| Some(format!("known: {}", known.join(", "))));
                self.report("E05", text, name, message, hint);
            }
        }
    }

    fn report(&mut self, code: &str, text: &Text, name: &Name, message: String, hint: Option<String>) {
        let span = self.span(text, name.offset, name.name.len());
        self.findings.error(code, span, message, hint);
    }

    fn span(&self, text: &Text, offset: usize, length: usize) -> Range<usize> {
        let file = self.findings.file;
        inside(file, &text.span, offset)..inside(file, &text.span, offset + length)
    }
}

/// An unknown name that is nearly one of the host's.
fn slip(name: &Name) -> Option<String> {
    if name.name.len() < 5 || is_known(&name.name) { None } else { did_you_mean(&name.name, known_names()) }
}

fn mentions_host(text: &str) -> bool {
    ["common_data.", "variables.", "agents.", "contexts.", "this."].iter().any(|name| text.contains(name))
}

pub(super) fn unavailable(name: &str) -> Option<String> {
    let what = match name {
        "require" | "process" | "fetch" | "module" | "exports" | "Buffer" | "XMLHttpRequest" => {
            "files and network"
        }
        "setTimeout" | "setInterval" | "queueMicrotask" | "Promise" => "timers and promises",
        "eval" | "Function" | "globalThis" | "window" => "the global object",
        _ => return Some(format!("declare it, or read it from `common_data.{name}`")),
    };
    Some(format!("scripts have no access to {what}"))
}
