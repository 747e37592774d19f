//! Scripts of a workflow: parses them, checks their names (E05–E07), and separates scripts from text in inputs (W07).

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::super::did_you_mean::suggestion_hint;
use super::super::script_analysis::{
    ScriptAnalyzer, ScriptFacts, ScriptLibrary, ScriptName, SyntaxError, is_known, known_names,
};
use super::super::source::{FileDiagnostics, SourceFile};
use super::super::workflow_file::{
    InputForm, RequestForm, SpannedText, StateForm, WorkflowForm, offset_in_string,
};
use super::known_names::KnownNames;
use super::template::{self, ParsedTemplate};
use super::{InputScript, ParsedScript, StateScripts, TransitionScripts};
use synthdev_domain::diagnostic::DiagnosticSeverity;
use synthdev_domain::script::{HOST_NAMES, ScriptKind};
use synthdev_domain::workflow::plain_text;

/// A text file beside a workflow file, by its relative path; `None` if there is none. Errors: what is wrong, a hint.
pub type CompanionLookup<'b> =
    dyn Fn(&SourceFile, &str) -> Result<Option<SourceFile>, (String, Option<String>)> + 'b;

/// What the scripts of a workflow may name, and the texts that it is written with.
#[derive(Clone, Copy)]
pub struct CompileContext<'c> {
    pub library: Option<&'c ScriptLibrary>,
    pub read_companion: &'c CompanionLookup<'c>,
}

/// Compiles every script of a workflow; what does not parse is left out and found.
pub fn compile_scripts(
    form: &WorkflowForm,
    around: CompileContext<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<StateScripts> {
    let (parsed, known) = (RefCell::default(), KnownNames::from_form(form));
    let mut compiler = ScriptCompiler {
        known_names: &known,
        context: around,
        findings,
        script_cache: &parsed,
        is_whole_file: false,
    };
    form.states.iter().map(|state| compiler.compile_state(state)).collect()
}

/// What was parsed already: conditions repeat themselves from state to state.
#[derive(Default)]
struct ParsedScriptCache {
    script_analyzer: ScriptAnalyzer,
    parsed_scripts: HashMap<(ScriptKind, String), Result<Rc<ScriptFacts>, SyntaxError>>,
}

impl ParsedScriptCache {
    fn script_facts(&mut self, source: &str, kind: ScriptKind) -> Result<Rc<ScriptFacts>, SyntaxError> {
        let Self { script_analyzer: analyzer, parsed_scripts } = self;
        let facts = parsed_scripts.entry((kind, source.to_owned()));
        facts.or_insert_with(|| analyzer.analyze_script(source, kind).map(Rc::new)).clone()
    }
}

struct ScriptCompiler<'c, 'f, 'a> {
    known_names: &'c KnownNames<'c>,
    context: CompileContext<'c>,
    findings: &'f mut FileDiagnostics<'a>,
    script_cache: &'c RefCell<ParsedScriptCache>,
    /// The text is a whole file, not a string in JSON.
    is_whole_file: bool,
}

impl ScriptCompiler<'_, '_, '_> {
    fn compile_state(&mut self, state: &StateForm) -> StateScripts {
        let script = state.script.as_ref().and_then(|text| self.compile_script(text, ScriptKind::Action));
        let input = state.input.as_ref().map_or(InputScript::Absent, |input| self.compile_input(input));
        let sub_inputs = state.sub_inputs.iter().map(|(_, input)| self.compile_input(input)).collect();
        let work = state.work.inputs().into_iter().map(|input| self.compile_input(input)).collect();
        let catch = state.catch.iter().map(|one| {
            one.before_script.as_ref().and_then(|text| self.compile_script(text, ScriptKind::Before))
        });
        let catch = catch.collect();
        let transitions = state.transitions.iter().flatten();
        let transitions = transitions
            .map(|one| TransitionScripts {
                condition: one.condition.as_ref().and_then(|text| self.compile_condition(text)),
                before_script: one
                    .before_script
                    .as_ref()
                    .and_then(|text| self.compile_script(text, ScriptKind::Before)),
            })
            .collect();
        let updates = state.updates.iter().map(|update| self.compile_input(&update.value)).collect();
        StateScripts { script, updates, input, sub_inputs, work, catch, transitions }
    }

    /// A blank condition and `true` hold always.
    fn compile_condition(&mut self, text: &SpannedText) -> Option<ParsedScript> {
        if text.value.trim().is_empty() {
            return None;
        }
        let compiled = self.compile_script(text, ScriptKind::Condition)?;
        if compiled.facts.constant == Some(true) { None } else { Some(compiled) }
    }

    fn compile_script(&mut self, text: &SpannedText, kind: ScriptKind) -> Option<ParsedScript> {
        match self.script_facts(&text.value, kind) {
            Ok(facts) => {
                self.judge_script(text, &facts);
                Some(ParsedScript { kind, text: text.clone(), facts, place: None })
            }
            Err(error) => {
                self.report_syntax_error(text, error);
                None
            }
        }
    }

    /// As `script_analysis` has it, with the names of the script file known.
    fn script_facts(&self, source: &str, kind: ScriptKind) -> Result<Rc<ScriptFacts>, SyntaxError> {
        let facts = self.script_cache.borrow_mut().script_facts(source, kind);
        facts.map(|facts| self.resolve_library_names(facts))
    }

    fn resolve_library_names(&self, mut facts: Rc<ScriptFacts>) -> Rc<ScriptFacts> {
        if let Some(library) = self.context.library {
            library.resolve_names(Rc::make_mut(&mut facts));
        }
        facts
    }

    fn report_syntax_error(&mut self, text: &SpannedText, error: SyntaxError) {
        let at = self.file_offset(text, error.offset);
        let end = if self.is_whole_file { at + 1 } else { (at + 1).min(text.span.end) };
        let message = format!("not valid JavaScript: {}", error.message);
        self.findings.add_error("E06", at..end, message, error.hint);
    }

    fn compile_input(&mut self, input: &InputForm) -> InputScript {
        match input {
            InputForm::Text(text) => InputScript::Text(text.value.clone()),
            InputForm::Value(literal) => InputScript::Value(literal.value.clone()),
            InputForm::Expression(text) => self
                .compile_script(text, ScriptKind::Input)
                .map_or(InputScript::Absent, |script| InputScript::Script(Box::new(script))),
            InputForm::Auto(text) => self.expression_or_text(text, false),
            InputForm::Words(text) => self.expression_or_text(text, true),
            InputForm::Template(text) => self.compile_template(text),
            InputForm::File(path) => self.compile_template_file(path),
            InputForm::Request(request) => self.compile_request(request),
        }
    }

    /// An expression iff it parses as one and every free name is known, else literal text. What is mostly text
    /// must also read something of the run.
    fn expression_or_text(&mut self, text: &SpannedText, mostly_text: bool) -> InputScript {
        match self.script_facts(&text.value, ScriptKind::Input) {
            Ok(facts)
                if facts.unknown_names.is_empty()
                    && (!mostly_text || reads_run_values(&text.value, &facts)) =>
            {
                self.judge_script(text, &facts);
                let text = text.clone();
                InputScript::Script(Box::new(ParsedScript {
                    kind: ScriptKind::Input,
                    text,
                    facts,
                    place: None,
                }))
            }
            outcome => {
                self.note_literal(text, outcome.ok().as_deref(), mostly_text);
                InputScript::Text(text.value.clone())
            }
        }
    }

    fn compile_template(&mut self, text: &SpannedText) -> InputScript {
        match template::parse_template(&text.value) {
            Ok(ParsedTemplate::Text(text)) => InputScript::Text(text),
            Ok(ParsedTemplate::Script(facts)) => {
                let facts = self.resolve_library_names(Rc::new(*facts));
                self.judge_script(text, &facts);
                let (kind, text) = (ScriptKind::Input, text.clone());
                InputScript::Script(Box::new(ParsedScript { kind, text, facts, place: None }))
            }
            Err(error) => {
                self.report_syntax_error(text, error);
                InputScript::Absent
            }
        }
    }

    /// A template in a file of its own. What is wrong in it is found there.
    fn compile_template_file(&mut self, path: &SpannedText) -> InputScript {
        let file = match (self.context.read_companion)(self.findings.file, &path.value) {
            Ok(Some(file)) => file,
            Ok(None) => {
                let message = format!("there is no file `{}`", path.value);
                let hint = "the path is relative to the workflow file, as in \"prompts/review.md\"";
                self.findings.add_error("E05", path.span.clone(), message, Some(hint.to_owned()));
                return InputScript::Absent;
            }
            Err((message, hint)) => {
                self.findings.add_error("E05", path.span.clone(), message, hint);
                return InputScript::Absent;
            }
        };
        let whole = SpannedText { value: file.text.to_string(), span: 0..file.text.len() };
        let mut findings = FileDiagnostics::new(&file);
        let mut apart = ScriptCompiler {
            known_names: self.known_names,
            context: self.context,
            findings: &mut findings,
            script_cache: self.script_cache,
            is_whole_file: true,
        };
        let found = apart.compile_template(&whole);
        self.findings.list.append(&mut findings.list);
        match found {
            InputScript::Script(mut script) => {
                script.facts = Rc::new(Rc::unwrap_or_clone(script.facts).map_offsets(|_| 0));
                script.text.span = path.span.clone();
                script.place = Some(file.location_at(0));
                InputScript::Script(script)
            }
            other => other,
        }
    }

    fn compile_request(&mut self, request: &RequestForm) -> InputScript {
        let RequestForm { text_before: before, prompt, text_after: after } = request;
        let joined = |text: &str| InputScript::Text(format!("{before}{text}{after}").trim().to_owned());
        match prompt.as_ref().map(|prompt| self.compile_input(prompt)) {
            None | Some(InputScript::Absent) => joined(""),
            Some(InputScript::Text(text)) => joined(&text),
            Some(InputScript::Value(value)) => joined(&plain_text(&value)),
            Some(InputScript::Script(mut script)) => {
                let source = script.text.value.clone();
                let facts = Rc::unwrap_or_clone(script.facts);
                script.facts = Rc::new(template::wrap_expression(before, facts, &source, after));
                InputScript::Script(script)
            }
        }
    }

    /// W07: a note, and a warning where the text looks like an expression with a slip in it.
    fn note_literal(&mut self, text: &SpannedText, facts: Option<&ScriptFacts>, mostly_text: bool) {
        let braces = text.value.contains("{{") && mentions_host(&text.value);
        let slip = facts.and_then(|facts| facts.unknown_names.iter().find_map(suggest_host_name));
        let code_like = facts.is_none() && !text.value.contains('\n') && mentions_host(&text.value);
        let (severity, hint) = match slip {
            _ if braces => (
                DiagnosticSeverity::Warning,
                "write {\"template\": …} to have the {{…}} filled in".to_owned(),
            ),
            Some(hint) => (DiagnosticSeverity::Warning, hint),
            None if code_like => {
                let hint = "if it is meant as an expression, correct its syntax or write {\"expr\": …}";
                (DiagnosticSeverity::Warning, hint.to_owned())
            }
            None if mostly_text => return,
            None => (DiagnosticSeverity::Info, "write {\"text\": …} to say so, or {\"expr\": …}".to_owned()),
        };
        let message = "the input is sent as literal text";
        self.findings.add_diagnostic(severity, "W07", text.span.clone(), message, Some(hint));
    }

    fn judge_script(&mut self, text: &SpannedText, facts: &ScriptFacts) {
        if self.findings.is_closed() {
            return;
        }
        for name in &facts.unknown_names {
            let message = format!("`{}` is not known here", name.name);
            let offers = self.context.library.iter().flat_map(|library| &library.exports);
            let mut known: Vec<&str> = known_names().collect();
            known.extend(offers.map(|offer| offer.name.as_str()));
            let hint = suggestion_hint(&name.name, known).or_else(|| unavailable_name_hint(&name.name));
            self.report_name("E07", text, name, message, hint);
        }
        for name in &facts.unknown_members {
            let message = format!("`this` has no member `{}`", name.name);
            let hint = suggestion_hint(&name.name, known_names())
                .or_else(|| Some(format!("keep your own values in `common_data.{}`", name.name)));
            self.report_name("E07", text, name, message, hint);
        }
        for name in &facts.frozen_writes {
            let message = format!("`{}` can only be read", name.name);
            let hint = Some("write to `common_data` instead".to_owned());
            self.report_name("E13", text, name, message, hint);
        }
        let KnownNames { agents, contexts, .. } = self.known_names;
        for (what, named, known) in [("agent", &facts.agents, agents), ("context", &facts.contexts, contexts)]
        {
            for name in named.iter().filter(|name| !known.has_name(&name.name)) {
                let message = format!("there is no {what} `{}`", name.name);
                self.report_name("E05", text, name, message, Some(known.unknown_name_hint(what, &name.name)));
            }
        }
    }

    fn report_name(
        &mut self,
        code: &str,
        text: &SpannedText,
        name: &ScriptName,
        message: String,
        hint: Option<String>,
    ) {
        let span = self.error_span(text, name.offset, name.name.len());
        self.findings.add_error(code, span, message, hint);
    }

    fn error_span(&self, text: &SpannedText, offset: usize, length: usize) -> Range<usize> {
        self.file_offset(text, offset)..self.file_offset(text, offset + length)
    }

    fn file_offset(&self, text: &SpannedText, offset: usize) -> usize {
        if self.is_whole_file { offset } else { offset_in_string(self.findings.file, &text.span, offset) }
    }
}

/// Whether an expression has to do with the run at all: `true` and `42` are words of a command.
fn reads_run_values(text: &str, facts: &ScriptFacts) -> bool {
    let touched = [&facts.data_reads, &facts.data_writes, &facts.agents, &facts.contexts];
    facts.opaque
        || touched.into_iter().any(|names| !names.is_empty())
        || !facts.calls.is_empty()
        || !facts.library_names.is_empty()
        || HOST_NAMES.iter().filter(|name| name.len() > 7).any(|name| text.contains(name))
        || mentions_host(text)
}

/// An unknown name that is nearly one of the host's.
fn suggest_host_name(name: &ScriptName) -> Option<String> {
    if name.name.len() < 5 || is_known(&name.name) {
        None
    } else {
        suggestion_hint(&name.name, known_names())
    }
}

fn mentions_host(text: &str) -> bool {
    ["common_data.", "variables.", "agents.", "contexts.", "this.", "inputs.", "loop."]
        .iter()
        .any(|name| text.contains(name))
}

pub(super) fn unavailable_name_hint(name: &str) -> Option<String> {
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
