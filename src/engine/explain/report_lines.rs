//! The answer to `why STEP` as text for a terminal of 80 columns.

use serde_json::Value;

use super::explanation::{
    ConditionRead, ConditionResult, EntryCause, PreviousStep, RewindNote, StepExplanation, TriedCondition,
    ValueOrigin, ValueOriginKind,
};

const WIDTH: usize = 80;
/// Characters of a value or a script that are shown.
const SHOWN: usize = 300;

/// One line each, none wider than 80 characters.
pub fn lines(why: &StepExplanation) -> Vec<String> {
    let mut out = Vec::new();
    let came = why.from.as_ref().map(|came| format!(", after {}", place(came))).unwrap_or_default();
    add(&mut out, 0, &format!("step {}: {}{came}", why.step, why.state));
    add(&mut out, 2, &how(why));
    match &why.back {
        Some(RewindNote { fork_of: Some(run) }) => {
            add(&mut out, 2, &format!("a fork of {run} goes on from here"))
        }
        Some(RewindNote { fork_of: None }) => {
            add(&mut out, 2, "the run was taken back to here, and went on again")
        }
        None => {}
    }
    for (at, tried) in why.tried.iter().enumerate() {
        condition(&mut out, at + 1, tried);
    }
    if let Some(before) = &why.before {
        add(&mut out, 2, "then its `before` ran:");
        script(&mut out, 5, before);
    }
    out
}

fn place(came: &PreviousStep) -> String {
    format!("{} (step {})", came.state, came.step)
}

fn how(why: &StepExplanation) -> String {
    let owner = why.from.as_ref().map(|came| came.state.as_str()).unwrap_or_default();
    match &why.how {
        EntryCause::Start => "the run began here".to_owned(),
        EntryCause::Transition { of: 1, unconditional: false, .. } => {
            "by its only transition: its condition held".to_owned()
        }
        EntryCause::Transition { number, of, unconditional: false } => {
            format!("by transition {number} of {of}: its condition held")
        }
        EntryCause::Transition { of: 1, unconditional: true, .. } => {
            "by its only transition, which has no condition".to_owned()
        }
        EntryCause::Transition { number, of, unconditional: true } => {
            format!("by transition {number} of {of}, which has no condition")
        }
        EntryCause::NoMatch => "no condition held, and `on_no_match` leads here".to_owned(),
        EntryCause::Error { rule, error, detail } => {
            let detail = if detail.is_empty() { String::new() } else { format!(": {}", shortened(detail)) };
            format!("`{rule}` took `{error}`{detail}")
        }
        EntryCause::Resume => "the user had said something without being asked".to_owned(),
        EntryCause::Branch { branch } if branch.starts_with('[') => {
            format!("item {branch} of `{owner}` began")
        }
        EntryCause::Branch { branch } => format!("branch `{branch}` of `{owner}` began"),
        EntryCause::Child { workflow } => format!("`{owner}` called the workflow `{workflow}`"),
    }
}

fn condition(out: &mut Vec<String>, number: usize, tried: &TriedCondition) {
    let number = format!("{number:>3} ");
    let source = tried.condition.as_deref().unwrap_or("(no condition)");
    let first = out.len();
    script(out, 4, source);
    if let Some(line) = out.get_mut(first) {
        line.replace_range(..4, &number);
    }
    let gave = match tried.gave {
        ConditionResult::Truthy => format!("gave {}: to {}", shortened(&tried.value), tried.target),
        ConditionResult::Falsy => format!("gave {}: not to {}", shortened(&tried.value), tried.target),
        ConditionResult::Thrown => {
            format!("failed ({}), which counts as false: not to {}", shortened(&tried.value), tried.target)
        }
    };
    add(out, 4, &gave);
    if let Some(place) = &tried.place {
        add(out, 4, &format!("at {place}"));
    }
    for read in &tried.reads {
        self::read(out, read);
    }
}

fn read(out: &mut Vec<String>, read: &ConditionRead) {
    let value = read.value.as_ref().map_or_else(|| "undefined".to_owned(), shown);
    add(out, 6, &format!("{} = {value}", read.path));
    if let Some(from) = &read.from {
        let undecided = from.by == ValueOriginKind::Reply && read.path.starts_with("function.");
        let without = if undecided { ", without this decision" } else { "" };
        add(out, 8, &format!("{}{without}", source(from)));
    }
}

fn source(source: &ValueOrigin) -> String {
    let agent = source.agent.as_deref().unwrap_or("an agent");
    let call = source.call.as_ref();
    let call = call.map(|call| format!(": {} {}", call.tool, shown(&call.arguments))).unwrap_or_default();
    let at = match (&source.state, source.step) {
        (Some(state), Some(step)) => format!(" at step {step} ({state})"),
        (Some(state), None) => format!(" in {state}"),
        (None, _) => String::new(),
    };
    match source.by {
        ValueOriginKind::Input if source.state.is_some() => format!("given to the workflow{at}"),
        ValueOriginKind::Input => "an input of the run".to_owned(),
        ValueOriginKind::Variables => "its first value, from \"variables\"".to_owned(),
        ValueOriginKind::Decision => format!("decided by {agent}{at}{call}"),
        ValueOriginKind::Reply => format!("said by {agent}{at}"),
        ValueOriginKind::Tool => format!("result of a tool{at}{call}"),
        ValueOriginKind::Child => format!("given by the child workflow{at}"),
        ValueOriginKind::Person => format!("answered by a person{at}"),
        ValueOriginKind::Branches => format!("brought together{at}"),
        ValueOriginKind::Item => format!("the item of the loop{at}"),
        ValueOriginKind::Script => format!("set by the script{at}"),
        ValueOriginKind::Before => format!("set by a `before`{at}"),
        ValueOriginKind::Error => format!("the error that was caught{at}"),
        ValueOriginKind::Outside => "set from outside, when the run was forked or taken up".to_owned(),
        ValueOriginKind::Workflow => format!("set{at}"),
    }
}

fn shown(value: &Value) -> String {
    shortened(&value.to_string())
}

/// On one line, without the end of what is long.
fn shortened(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= SHOWN {
        return flat;
    }
    flat.chars().take(SHOWN - 1).chain(['…']).collect()
}

/// A script keeps its lines.
fn script(out: &mut Vec<String>, indent: usize, source: &str) {
    let cut: String = source.chars().take(SHOWN).collect();
    let more = if cut.len() < source.len() { "…" } else { "" };
    for line in format!("{cut}{more}").lines() {
        add(out, indent, line.trim_end());
    }
}

/// Breaks a text between words, or inside one that is wider than the line; what follows stands two further in.
fn add(out: &mut Vec<String>, indent: usize, text: &str) {
    let mut line = " ".repeat(indent);
    let mut empty = true;
    for word in text.split(' ') {
        let mut word = word;
        if !empty && width(&line) + 1 + width(word) > WIDTH {
            out.push(std::mem::replace(&mut line, " ".repeat(indent + 2)));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        while width(&line) + width(word) > WIDTH {
            let room = WIDTH - width(&line);
            let end = word.char_indices().nth(room).map_or(word.len(), |(end, _)| end);
            line.push_str(&word[..end]);
            word = &word[end..];
            out.push(std::mem::replace(&mut line, " ".repeat(indent + 2)));
        }
        line.push_str(word);
        empty = false;
    }
    out.push(line);
}

fn width(text: &str) -> usize {
    text.chars().count()
}
