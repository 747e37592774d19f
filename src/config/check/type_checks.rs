//! Types that are known before anything runs (E10): what is given to a child, what comes out, what inputs are
//! compared with.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::super::script_analysis::{ComparisonSubject, ScriptLiteral};
use super::super::source::FileDiagnostics;
use super::super::workflow_file::{InputForm, StateForm, WorkflowForm, inside};
use super::schema_paths::article;
use super::tool_decisions::clash;
use super::{CompilationUnit, InputScript};
use synthdev_domain::workflow::ParameterType;

pub(super) fn check<'w>(
    unit: &CompilationUnit,
    child: &dyn Fn(&str) -> Option<&'w WorkflowForm>,
    findings: &mut FileDiagnostics<'_>,
) {
    let known = StableInputTypes::new(unit);
    for (state, scripts) in unit.form.states.iter().zip(&unit.states) {
        if let Some(callee) = state.sub_workflow.as_ref().and_then(|called| child(&called.value)) {
            given(&known, state, &scripts.sub_inputs, callee, findings);
        }
    }
    output(unit, &known, findings);
    compared(unit, &known, findings);
}

/// Inputs that keep their type for the whole run, because nothing writes them.
struct StableInputTypes<'u> {
    inputs: HashMap<&'u str, ParameterType>,
    written: HashSet<&'u str>,
    /// A script may write any key.
    opaque: bool,
}

impl<'u> StableInputTypes<'u> {
    fn new(unit: &'u CompilationUnit) -> Self {
        let inputs = unit.form.inputs.iter().rev();
        let inputs = inputs.map(|input| (input.name.value.as_str(), input.kind)).collect();
        Self { inputs, written: unit.written(), opaque: unit.is_opaque() }
    }

    fn is_written(&self, key: &str) -> bool {
        self.opaque || self.written.contains(key)
    }

    fn input(&self, key: &str) -> Option<ParameterType> {
        let kind = *self.inputs.get(key)?;
        (!self.is_written(key)).then_some(kind)
    }

    /// Why a value cannot become one of this type; `None` where that is not certain.
    fn refuses(&self, kind: ParameterType, input: &InputScript) -> Option<String> {
        let literal = match input {
            InputScript::Text(text) => Value::String(text.clone()),
            InputScript::Value(value) => value.clone(),
            InputScript::Script(script) => match (&script.facts.literal, &script.facts.data_path) {
                (Some(literal), _) => value(literal)?,
                (None, Some(key)) => {
                    let own = self.input(key)?;
                    // any text may hold JSON, and anything becomes text
                    let fits = own == kind || own == ParameterType::String || kind == ParameterType::String;
                    let message = || format!("`{key}` is {}", article(own.as_str()));
                    return (!fits).then(message);
                }
                (None, None) => return None,
            },
            InputScript::Absent => return None,
        };
        let shown = literal.to_string();
        kind.convert(literal).err().map(|_| format!("this is {shown}"))
    }
}

/// Inputs of a child.
fn given(
    known: &StableInputTypes<'_>,
    state: &StateForm,
    scripts: &[InputScript],
    callee: &WorkflowForm,
    findings: &mut FileDiagnostics<'_>,
) {
    for ((key, form), script) in state.sub_inputs.iter().zip(scripts) {
        let Some(input) = callee.inputs.iter().find(|input| input.name.value == key.value) else { continue };
        if let Some(why) = known.refuses(input.kind, script) {
            let name = &callee.name.value;
            let message = format!("`{}` of `{name}` is {}, {why}", key.value, article(input.kind.as_str()));
            findings.error("E10", place(form), message, None);
        }
    }
}

/// `stop.input`, else the variable of the output's name if nothing ever changes it.
fn output(unit: &CompilationUnit, known: &StableInputTypes<'_>, findings: &mut FileDiagnostics<'_>) {
    let Some(output) = &unit.form.output else { return };
    let kind = article(output.kind.as_str());
    let states = unit.form.states.iter().zip(&unit.states);
    let stop = states.into_iter().find(|(state, _)| state.name.value == "stop" && state.input.is_some());
    if let Some((state, scripts)) = stop {
        if let (Some(form), Some(why)) = (&state.input, known.refuses(output.kind, &scripts.input)) {
            let message = format!("the output `{}` is {kind}, {why}", output.name.value);
            findings.error("E10", place(form), message, None);
        }
        return;
    }
    let variable = unit.form.variables.iter().find(|(name, _)| name.value == output.name.value);
    if let Some((name, value)) = variable
        && !known.is_written(&name.value)
        && !value.is_null()
        && output.kind.convert(value.clone()).is_err()
    {
        let message = format!("the output `{}` is {kind}, and nothing changes this value", name.value);
        let hint = format!("set `common_data.{}` in a script, or correct the type", name.value);
        findings.error("E10", name.span.clone(), message, Some(hint));
    }
}

fn compared(unit: &CompilationUnit, known: &StableInputTypes<'_>, findings: &mut FileDiagnostics<'_>) {
    for script in unit.scripts() {
        for compare in &script.facts.compares {
            let ComparisonSubject::Data(key) = &compare.what else { continue };
            let Some(kind) = known.input(key) else { continue };
            if let Some((message, hint)) = clash(&json!({"type": kind.as_str()}), compare) {
                let span = inside(findings.file, &script.text.span, compare.offset)
                    ..inside(findings.file, &script.text.span, compare.end);
                findings.error("E10", span, format!("the input `{key}` {message}"), hint);
            }
        }
    }
}

fn value(literal: &ScriptLiteral) -> Option<Value> {
    match literal {
        ScriptLiteral::Bool(flag) => Some(json!(flag)),
        ScriptLiteral::Number(number) => Some(json!(number)),
        ScriptLiteral::Text(text) => Some(json!(text)),
        // it is missing, which is found when it happens
        ScriptLiteral::Null | ScriptLiteral::Undefined => None,
    }
}

fn place(form: &InputForm) -> std::ops::Range<usize> {
    form.span()
}
