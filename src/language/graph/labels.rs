//! The few words that a drawing has room for: what a state does, when a way is taken.
//!
//! Whatever comes from a file is made printable here, so that no drawing can forget it.

use synthdev_domain::ids::ScriptIx;
use synthdev_domain::terminal_safe;
use synthdev_domain::workflow::{
    ActionSpec, AgentFunction, ForEachSpec, JoinPolicy, ParallelSpec, PauseKind, StateBody, StateSpec,
    ValueSource, WaitSpec, Workflow, WorkflowProgram,
};

/// Characters of a text that is quoted in a label.
const QUOTED: usize = 40;

/// What a state does: `agent coder`, `shell cargo test`, `workflow coder_reviewer`.
pub(super) fn state_description(program: &WorkflowProgram, workflow: &Workflow, state: &StateSpec) -> String {
    if state.terminal {
        let output = input_label(workflow, &state.output);
        return if output.is_empty() { "end".to_owned() } else { format!("end with {output}") };
    }
    let scripted = |text: String| if state.script.is_some() { format!("script, {text}") } else { text };
    match &state.work {
        StateBody::None if state.script.is_some() => "script".to_owned(),
        StateBody::None if state.transitions.len() > 1 => "decides".to_owned(),
        StateBody::None => String::new(),
        StateBody::Agent { agent, function, .. } => {
            let name = workflow.agent(*agent).map_or("?", |agent| agent.id.as_str());
            let name = terminal_safe::escape_name(name);
            scripted(match function {
                AgentFunction::SendUserMessage | AgentFunction::Ask => format!("agent {name}"),
                AgentFunction::AddUserMessage => format!("note for {name}"),
                AgentFunction::ClearConversation => format!("clears the conversation of {name}"),
            })
        }
        StateBody::Child { workflow: called, .. } => {
            let name = program.workflows.get(called.0).map_or("?", |child| child.name.as_str());
            scripted(format!("workflow {}", terminal_safe::escape_name(name)))
        }
        StateBody::Parallel(parallel) => scripted(branches_label(parallel)),
        StateBody::ForEach(each) => scripted(loop_label(program, workflow, each)),
        StateBody::Action(step) => scripted(action_label(workflow, step)),
        StateBody::Pause(pause) => {
            let what = match pause.kind {
                PauseKind::Approval => "asks for approval",
                PauseKind::Text | PauseKind::Number | PauseKind::Boolean => "asks",
                PauseKind::Choice => "lets choose",
                PauseKind::Outputs => "asks for values",
            };
            let message = input_label(workflow, &pause.message);
            scripted(if message.is_empty() { what.to_owned() } else { format!("{what}: {message}") })
        }
        StateBody::Wait(WaitSpec::For(time)) => scripted(format!("waits {}", input_label(workflow, time))),
        StateBody::Wait(WaitSpec::Until(time)) => {
            scripted(format!("waits until {}", input_label(workflow, time)))
        }
        StateBody::Fail { error, .. } => format!("fails with {}", terminal_safe::escape_name(error)),
    }
}

/// A transition's condition: empty for the only way out, `otherwise` for one of several without a condition.
pub(super) fn condition_label(workflow: &Workflow, script: Option<ScriptIx>, several: bool) -> String {
    let source = script.and_then(|at| workflow.scripts.get(at.0)).map_or("true", |script| &script.source);
    match expression_label(source) {
        text if text != "true" => text,
        _ if several => "otherwise".to_owned(),
        _ => String::new(),
    }
}

/// Patterns of a `catch`.
pub(super) fn error_patterns_label(patterns: &[String]) -> String {
    let names: Vec<_> = patterns
        .iter()
        .map(|one| if one == "*" { "any error".into() } else { terminal_safe::escape_name(one) })
        .collect();
    names.join(", ")
}

fn branches_label(parallel: &ParallelSpec) -> String {
    let count = parallel.branches.len();
    match parallel.join {
        JoinPolicy::All => format!("parallel, {count} branches"),
        JoinPolicy::Any => format!("parallel, first of {count}"),
        JoinPolicy::Count(wanted) => format!("parallel, {wanted} of {count}"),
    }
}

fn loop_label(program: &WorkflowProgram, workflow: &Workflow, each: &ForEachSpec) -> String {
    let at_once = items_at_once(program, each).map(|most| format!(", {most} at once")).unwrap_or_default();
    format!(
        "each {} of {}{at_once}",
        terminal_safe::escape_name(&each.each),
        input_label(workflow, &each.items)
    )
}

/// How many items of a loop run at once, where it sets a limit: never more than the workflow that is started allows.
pub(super) fn items_at_once(program: &WorkflowProgram, each: &ForEachSpec) -> Option<u32> {
    let allowed = program.workflows.first().map_or(u32::MAX, |root| root.limits.max_concurrency);
    each.max_concurrency.map(|wanted| wanted.min(allowed))
}

fn action_label(workflow: &Workflow, step: &ActionSpec) -> String {
    let argument = |name: &str| {
        let found = step.arguments.iter().find(|(path, _)| path.len() == 1 && path[0] == name);
        found.map(|(_, value)| input_label(workflow, value)).filter(|text| !text.is_empty())
    };
    let words: Vec<String> = match step.tool.as_str() {
        "shell" => ["command"].into_iter().filter_map(argument).collect(),
        "http_request" => ["method", "url"].into_iter().filter_map(argument).collect(),
        "mcp" => ["server", "tool"].into_iter().filter_map(argument).collect(),
        other => vec![terminal_safe::escape_name(other).into_owned()],
    };
    let kind = match step.tool.as_str() {
        "shell" => "shell",
        "http_request" => "http",
        "mcp" => "mcp",
        _ => "tool",
    };
    if words.is_empty() { kind.to_owned() } else { format!("{kind} {}", words.join(" ")) }
}

/// Where a value comes from, in short; empty for nothing.
fn input_label(workflow: &Workflow, input: &ValueSource) -> String {
    match input {
        ValueSource::Absent => String::new(),
        ValueSource::Text(text) => quote_text(text),
        ValueSource::Value(value) => quote_text(&value.to_string()),
        ValueSource::Script(at) => {
            workflow.scripts.get(at.0).map_or_else(String::new, |script| expression_label(&script.source))
        }
        ValueSource::Human => "the user's message".to_owned(),
    }
}

/// One line, cut where it gets long.
fn quote_text(text: &str) -> String {
    let line = label_line(text);
    if line.chars().count() <= QUOTED {
        return line;
    }
    let short: String = line.chars().take(QUOTED - 1).collect();
    format!("{}…", short.trim_end())
}

/// A script in one line without what every script has: `() =>`, `this.`, `common_data.`, `.arguments`.
fn expression_label(source: &str) -> String {
    let mut text = label_line(source);
    for arrow in ["() => ", "()=>", "(host) => "] {
        if let Some(rest) = text.strip_prefix(arrow) {
            text = rest.to_owned();
        }
    }
    let inner = text.strip_prefix("{ return ").or_else(|| text.strip_prefix("return "));
    if let Some(inner) = inner {
        text = inner.trim_end_matches(['}', ' ']).to_owned();
    }
    let text = text.trim().trim_end_matches(';');
    without_ceremony(text)
}

/// Drops prefixes that only say which scope a value is in. Not inside of string literals.
fn without_ceremony(text: &str) -> String {
    const DROPPED: [&str; 4] = ["this.", "common_data.", "variables.", "function."];
    let mut out = String::with_capacity(text.len());
    let mut quote: Option<char> = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if quote.is_none() {
            let starts_word = !out.ends_with(|before: char| is_word(before) || before == '.');
            if let Some(after) =
                DROPPED.iter().filter(|_| starts_word).find_map(|word| rest.strip_prefix(word))
            {
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix(".arguments.") {
                out.push('.');
                rest = after;
                continue;
            }
        }
        match quote {
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
        if c == '\\' && quote.is_some() {
            out.extend(rest.chars().next());
            rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
        }
    }
    out
}

/// A name from a file, fit for one line.
pub(super) fn printable_name(name: &str) -> String {
    terminal_safe::escape_name(name).into_owned()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// Blanks of all kinds become one; the rest is made visible.
pub(super) fn label_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    terminal_safe::escape_name(&words.join(" ")).into_owned()
}
