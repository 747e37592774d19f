//! Types that are known before anything runs (E10): what is given to a child, what comes out, what inputs are
//! compared with.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::super::script_analysis::{ComparisonSubject, ScriptLiteral};
use super::super::source::FileDiagnostics;
use super::super::workflow_file::{InputForm, StateForm, WorkflowForm, offset_in_string};
use super::schema_paths::with_article;
use super::tool_decisions::comparison_clash;
use super::{CompilationUnit, InputScript};
use synthdev_domain::workflow::ParameterType;

pub(super) fn check_types<'w>(
    unit: &CompilationUnit,
    child: &dyn Fn(&str) -> Option<&'w WorkflowForm>,
    findings: &mut FileDiagnostics<'_>,
) {
    let known = StableInputTypes::new(unit);
    for (state, scripts) in unit.form.states.iter().zip(&unit.states) {
        if let Some(callee) = state.sub_workflow.as_ref().and_then(|called| child(&called.value)) {
            check_child_inputs(&known, state, &scripts.sub_inputs, callee, findings);
        }
    }
    check_output_type(unit, &known, findings);
    check_comparisons(unit, &known, findings);
}

/// Inputs that keep their type for the whole run, because nothing writes them.
struct StableInputTypes<'u> {
    inputs: HashMap<&'u str, ParameterType>,
    written_keys: HashSet<&'u str>,
    /// A script may write any key.
    opaque: bool,
}

impl<'u> StableInputTypes<'u> {
    fn new(unit: &'u CompilationUnit) -> Self {
        let inputs = unit.form.inputs.iter().rev();
        let inputs = inputs.map(|input| (input.name.value.as_str(), input.kind)).collect();
        Self { inputs, written_keys: unit.written_keys(), opaque: unit.is_opaque() }
    }

    fn is_written(&self, key: &str) -> bool {
        self.opaque || self.written_keys.contains(key)
    }

    fn input(&self, key: &str) -> Option<ParameterType> {
        let kind = *self.inputs.get(key)?;
        (!self.is_written(key)).then_some(kind)
    }

    /// Why a value cannot become one of this type; `None` where that is not certain.
    fn conversion_error(&self, kind: ParameterType, input: &InputScript) -> Option<String> {
        let literal = match input {
            InputScript::Text(text) => Value::String(text.clone()),
            InputScript::Value(value) => value.clone(),
            InputScript::Script(script) => match (&script.facts.literal, &script.facts.data_path) {
                (Some(literal), _) => literal_value(literal)?,
                (None, Some(key)) => {
                    let own = self.input(key)?;
                    // any text may hold JSON, and anything becomes text
                    let fits = own == kind || own == ParameterType::String || kind == ParameterType::String;
                    let message = || format!("`{key}` is {}", with_article(own.as_str()));
                    return (!fits).then(message);
                }
                (None, None) => return None,
            },
            InputScript::Absent => return None,
        };
        let shown = literal.to_string();
        kind.convert_value(literal).err().map(|_| format!("this is {shown}"))
    }
}

/// Inputs of a child.
fn check_child_inputs(
    known: &StableInputTypes<'_>,
    state: &StateForm,
    scripts: &[InputScript],
    callee: &WorkflowForm,
    findings: &mut FileDiagnostics<'_>,
) {
    for ((key, form), script) in state.sub_inputs.iter().zip(scripts) {
        let Some(input) = callee.inputs.iter().find(|input| input.name.value == key.value) else { continue };
        if let Some(why) = known.conversion_error(input.kind, script) {
            let name = &callee.name.value;
            let message =
                format!("`{}` of `{name}` is {}, {why}", key.value, with_article(input.kind.as_str()));
            findings.add_error("E10", input_span(form), message, None);
        }
    }
}

/// `stop.input`, else the variable of the output's name if nothing ever changes it.
fn check_output_type(
    unit: &CompilationUnit,
    known: &StableInputTypes<'_>,
    findings: &mut FileDiagnostics<'_>,
) {
    let Some(output) = &unit.form.output else { return };
    let kind = with_article(output.kind.as_str());
    let states = unit.form.states.iter().zip(&unit.states);
    let stop = states.into_iter().find(|(state, _)| state.name.value == "stop" && state.input.is_some());
    if let Some((state, scripts)) = stop {
        if let (Some(form), Some(why)) = (&state.input, known.conversion_error(output.kind, &scripts.input)) {
            let message = format!("the output `{}` is {kind}, {why}", output.name.value);
            findings.add_error("E10", input_span(form), message, None);
        }
        return;
    }
    let variable = unit.form.variables.iter().find(|(name, _)| name.value == output.name.value);
    if let Some((name, value)) = variable
        && !known.is_written(&name.value)
        && !value.is_null()
        && output.kind.convert_value(value.clone()).is_err()
    {
        let message = format!("the output `{}` is {kind}, and nothing changes this value", name.value);
        let hint = format!("set `common_data.{}` in a script, or correct the type", name.value);
        findings.add_error("E10", name.span.clone(), message, Some(hint));
    }
}

fn check_comparisons(
    unit: &CompilationUnit,
    known: &StableInputTypes<'_>,
    findings: &mut FileDiagnostics<'_>,
) {
    for script in unit.scripts() {
        for compare in &script.facts.comparisons {
            let ComparisonSubject::Data(key) = &compare.subject else { continue };
            let Some(kind) = known.input(key) else { continue };
            if let Some((message, hint)) = comparison_clash(&json!({"type": kind.as_str()}), compare) {
                let span = offset_in_string(findings.file, &script.text.span, compare.offset)
                    ..offset_in_string(findings.file, &script.text.span, compare.end);
                findings.add_error("E10", span, format!("the input `{key}` {message}"), hint);
            }
        }
    }
}

fn literal_value(literal: &ScriptLiteral) -> Option<Value> {
    match literal {
        ScriptLiteral::Bool(flag) => Some(json!(flag)),
        ScriptLiteral::Number(number) => Some(json!(number)),
        ScriptLiteral::Text(text) => Some(json!(text)),
        // it is missing, which is found when it happens
        ScriptLiteral::Null | ScriptLiteral::Undefined => None,
    }
}

fn input_span(form: &InputForm) -> std::ops::Range<usize> {
    form.span()
}
