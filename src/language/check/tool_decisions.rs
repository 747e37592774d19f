//! `function.TOOL.arguments.X`: offered by an agent that can be the last speaker (E09), of a type that fits its use
//! (E10), always present (W06).

use std::ops::Range;

use super::super::did_you_mean::suggestion_hint;
use super::super::script_analysis::{
    ComparisonKind, ComparisonSubject, DecisionUse, LiteralComparison, ScriptLiteral, ValuePathSegment,
};
use super::super::source::FileDiagnostics;
use super::super::workflow_file::offset_in_string;
use super::last_speaker::{AgentBitSet, LastSpeakers};
use super::schema_paths::{
    SchemaPathTarget, admits_constant, property_names, requires_path, resolve_path, schema_type_name,
    schema_types, schema_values, with_article,
};
use super::state_graph::StateFlowGraph;
use super::{CompilationUnit, ParsedScript, ResolvedAgent};
use synthdev_domain::tool::ParsingTool;

pub(super) fn check_decisions(
    unit: &CompilationUnit,
    graph: &StateFlowGraph,
    findings: &mut FileDiagnostics<'_>,
) {
    let speakers = LastSpeakers::new(unit, graph);
    // with broken transitions the order of the states is unknown
    let flow_known = !findings.has_errors();
    for (at, scripts) in unit.states.iter().enumerate() {
        let flow_known = flow_known && graph.is_reachable[at];
        if flow_known {
            for script in scripts.entry_scripts() {
                judge_script(unit, script, &speakers.before_state[at], findings);
            }
        }
        if !flow_known && unit.speaker(&unit.form.states[at]).is_none() {
            continue;
        }
        for one in &scripts.transitions {
            for script in one.condition.iter().chain(&one.before_script) {
                judge_script(unit, script, &speakers.after_state[at], findings);
            }
            if let Some(before) = &one.before_script {
                check_optional_arguments(
                    unit,
                    before,
                    one.condition.as_ref(),
                    &speakers.after_state[at],
                    findings,
                );
            }
        }
    }
}

fn judge_script(
    unit: &CompilationUnit,
    script: &ParsedScript,
    speakers: &AgentBitSet,
    findings: &mut FileDiagnostics<'_>,
) {
    if script.facts.calls.is_empty() && script.facts.comparisons.is_empty() {
        return;
    }
    // an agent without a known role has its own finding; its tools are unknown
    let mut cast = Vec::new();
    for agent in speakers.iter() {
        match unit.resolved_agents.get(agent) {
            Some(Some(found)) => cast.push((unit.form.agents[agent].id.value.as_str(), found)),
            _ => return,
        }
    }
    for call in &script.facts.calls {
        let offered = offered_tools(&cast, &call.tool);
        if offered.is_empty() {
            not_offered(script, call, &cast, findings);
        } else if !call.path.is_empty() {
            check_decision_path(script, call, &offered, findings);
        }
    }
    for compare in &script.facts.comparisons {
        if let ComparisonSubject::Argument { tool, path } = &compare.subject {
            let offered = offered_tools(&cast, tool);
            let schemas: Option<Vec<_>> = offered
                .iter()
                .map(|tool| match resolve_path(&tool.parameters, path) {
                    SchemaPathTarget::To(schema) => Some(schema),
                    SchemaPathTarget::Anywhere
                    | SchemaPathTarget::Nowhere { .. }
                    | SchemaPathTarget::NoMembers { .. } => None,
                })
                .collect();
            // only what no agent can have meant is wrong
            if let Some([schema, others @ ..]) = schemas.as_deref()
                && !others.iter().any(|other| comparison_clash(other, compare).is_none())
                && let Some((message, hint)) = comparison_clash(schema, compare)
            {
                let name = path_text(tool, path);
                let span = offset_in_string(findings.file, &script.text.span, compare.offset)
                    ..offset_in_string(findings.file, &script.text.span, compare.end);
                findings.add_error("E10", span, format!("{name} {message}"), hint);
            }
        }
    }
}

fn offered_tools<'c>(cast: &[(&str, &'c ResolvedAgent)], name: &str) -> Vec<&'c ParsingTool> {
    cast.iter().flat_map(|(_, cast)| &cast.role.parsing_tools).filter(|tool| tool.name == name).collect()
}

fn not_offered(
    script: &ParsedScript,
    call: &DecisionUse,
    cast: &[(&str, &ResolvedAgent)],
    findings: &mut FileDiagnostics<'_>,
) {
    let who: Vec<&str> = cast.iter().map(|(id, _)| *id).collect();
    let who = if who.is_empty() { "no agent has spoken yet".to_owned() } else { who.join(", ") };
    let message = format!("no agent that can have spoken last ({who}) offers the tool `{}`", call.tool);
    let known = cast.iter().flat_map(|(_, cast)| &cast.role.parsing_tools);
    let hint = suggestion_hint(&call.tool, known.map(|tool| tool.name.as_str()))
        .or_else(|| Some("add it to the role's `parsingTools`, or read it in another state".to_owned()));
    findings.add_error("E09", decision_span(script, call, findings), message, hint);
}

/// A path is right if it exists in one of the tools of that name.
fn check_decision_path(
    script: &ParsedScript,
    call: &DecisionUse,
    offered: &[&ParsingTool],
    findings: &mut FileDiagnostics<'_>,
) {
    let mut first = None;
    for tool in offered {
        match resolve_path(&tool.parameters, &call.path) {
            SchemaPathTarget::To(_) | SchemaPathTarget::Anywhere => return,
            wrong @ (SchemaPathTarget::Nowhere { .. } | SchemaPathTarget::NoMembers { .. }) => {
                first.get_or_insert(wrong);
            }
        }
    }
    let at = |offset: usize| offset_in_string(findings.file, &script.text.span, offset);
    match first {
        Some(SchemaPathTarget::Nowhere { name, known_keys: known }) => {
            let span = at(name.offset)..at(name.offset + name.name.len());
            let top = call.argument_name() == Some(name.name.as_str()) && call.offset == name.offset;
            let message = if top {
                format!("the tool `{}` has no argument `{}`", call.tool, name.name)
            } else {
                format!("the arguments of `{}` hold no `{}` there", call.tool, name.name)
            };
            let all = offered.iter().flat_map(|tool| property_names(&tool.parameters)).filter(|_| top);
            let known = known.into_iter().chain(all).collect::<Vec<_>>();
            let hint = suggestion_hint(&name.name, known.iter().copied())
                .or_else(|| (!known.is_empty()).then(|| format!("it has {}", known.join(", "))));
            findings.add_error("E09", span, message, hint);
        }
        Some(SchemaPathTarget::NoMembers { name, kind }) => {
            let span = at(name.offset)..at(name.offset + name.name.len());
            let message = format!("`{}` is read from {kind}, which has no such member", name.name);
            let hint = format!("see the schema of the tool `{}`", call.tool);
            findings.add_error("E10", span, message, Some(hint));
        }
        Some(SchemaPathTarget::To(_) | SchemaPathTarget::Anywhere) | None => {}
    }
}

/// Why a value of this schema cannot be compared with that constant: message and hint.
pub(super) fn comparison_clash(
    schema: &serde_json::Value,
    compare: &LiteralComparison,
) -> Option<(String, Option<String>)> {
    let literal = &compare.literal;
    if matches!(literal, ScriptLiteral::Null | ScriptLiteral::Undefined) {
        return None;
    }
    let own = schema_types(schema)?;
    let what = own.iter().map(|kind| with_article(kind)).collect::<Vec<_>>().join(" or ");
    if compare.comparison == ComparisonKind::Order {
        let ordered = own.iter().any(|kind| matches!(*kind, "number" | "integer" | "string"));
        return (!ordered)
            .then(|| (format!("is {what}: it cannot be smaller or larger than {literal}"), None));
    }
    if admits_constant(schema, literal) != Some(false) {
        return None;
    }
    let fits = own.iter().any(|kind| *kind == schema_type_name(literal));
    let all = schema_values(schema);
    match (all, literal) {
        (Some(all), _) if fits => {
            let words: Vec<String> = all.iter().map(literal_text).collect();
            let hint = suggestion_hint(&literal_text(literal), words.iter().map(String::as_str));
            let list = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            Some((format!("is never {literal}"), hint.or_else(|| Some(format!("it is one of {list}")))))
        }
        // JavaScript converts between these
        _ if compare.comparison == ComparisonKind::Loose && own.iter().all(|kind| *kind != "boolean") => None,
        _ => {
            let bare = match literal {
                ScriptLiteral::Text(text) if matches!(text.as_str(), "true" | "false") => Some(text.clone()),
                ScriptLiteral::Text(text) if text.parse::<f64>().is_ok() => Some(text.clone()),
                _ => None,
            };
            let hint = bare.map(|bare| format!("without quotes: `{bare}`"));
            Some((format!("is {what} and never the same as {literal}"), hint))
        }
    }
}

fn literal_text(literal: &ScriptLiteral) -> String {
    if let ScriptLiteral::Text(text) = literal { text.clone() } else { literal.to_string() }
}

/// `improvement_needed`, `plan.steps[]`; the tool if it has no path.
pub(super) fn path_text(tool: &str, path: &[ValuePathSegment]) -> String {
    let mut text = String::new();
    for member in path {
        match member {
            ValuePathSegment::Key(name) if text.is_empty() => text.push_str(&name.name),
            ValuePathSegment::Key(name) => {
                text.push('.');
                text.push_str(&name.name);
            }
            ValuePathSegment::Item => text.push_str("[]"),
        }
    }
    if text.is_empty() { format!("`{tool}`") } else { format!("`{text}`") }
}

/// W06: a `before` takes an argument that the tool does not require and that nothing provides for.
fn check_optional_arguments(
    unit: &CompilationUnit,
    before: &ParsedScript,
    condition: Option<&ParsedScript>,
    speakers: &AgentBitSet,
    findings: &mut FileDiagnostics<'_>,
) {
    for call in before.facts.calls.iter().filter(|call| !call.is_guarded) {
        let Some(argument) = call.argument_name() else { continue };
        let tested = condition
            .iter()
            .flat_map(|condition| &condition.facts.calls)
            .any(|other| other.tool == call.tool && other.argument_name() == Some(argument));
        let open = speakers
            .iter()
            .filter_map(|agent| unit.resolved_agents.get(agent)?.as_ref())
            .flat_map(|cast| &cast.role.parsing_tools)
            .filter(|tool| tool.name == call.tool)
            .any(|tool| {
                let leads = resolve_path(&tool.parameters, &call.path[..1]);
                let known = matches!(leads, SchemaPathTarget::To(_) | SchemaPathTarget::Anywhere);
                known && !requires_path(&tool.parameters, &call.path[..1])
            });
        if open && !tested {
            let message =
                format!("`{argument}` may be missing: the tool `{}` does not require it", call.tool);
            let hint = "add it to the tool's `required`, or give a value for when it is missing (`?? \"\"`)";
            findings.add_warning(
                "W06",
                decision_span(before, call, findings),
                message,
                Some(hint.to_owned()),
            );
        }
    }
}

fn decision_span(script: &ParsedScript, call: &DecisionUse, findings: &FileDiagnostics<'_>) -> Range<usize> {
    let length = call.argument_name().map_or("function".len(), str::len);
    let start = offset_in_string(findings.file, &script.text.span, call.offset);
    start..offset_in_string(findings.file, &script.text.span, call.offset + length)
}
