//! The answer to `why STEP` as text for a terminal of 80 columns.

use serde_json::Value;

use super::explanation::{
    ConditionRead, ConditionResult, EntryCause, PreviousStep, ReplacedValue, RewindNote, StepExplanation,
    TriedCondition, ValueOrigin, ValueOriginKind,
};

const WIDTH: usize = 80;
/// Characters of a value or a script that are shown.
const SHOWN: usize = 300;

/// One line each, none wider than 80 characters.
pub fn report_lines(why: &StepExplanation) -> Vec<String> {
    let mut out = Vec::new();
    let came =
        why.from.as_ref().map(|came| format!(", after {}", previous_step_text(came))).unwrap_or_default();
    add_wrapped(&mut out, 0, &format!("step {}: {}{came}", why.step, why.state));
    add_wrapped(&mut out, 2, &entry_cause_text(why));
    if let Some(back) = &why.back {
        add_rewind_note(&mut out, back);
    }
    for (at, tried) in why.tried.iter().enumerate() {
        add_condition(&mut out, at + 1, tried);
    }
    if let Some(before) = &why.before {
        add_wrapped(&mut out, 2, "then its `before` ran:");
        add_script(&mut out, 5, before);
    }
    out
}

fn add_rewind_note(out: &mut Vec<String>, back: &RewindNote) {
    match &back.fork_of {
        Some(run) => add_wrapped(out, 2, &format!("a fork of {run} goes on from here")),
        None => add_wrapped(out, 2, "the run was taken back to here, and went on again"),
    }
    for ReplacedValue { path, old, new } in &back.replaced {
        let old = old
            .as_ref()
            .map_or_else(|| "it had no value".to_owned(), |old| format!("it was {}", value_text(old)));
        let by = if back.fork_of.is_some() { "the fork" } else { "the user" };
        add_wrapped(out, 4, &format!("{by} set {path} = {}; {old}", value_text(new)));
    }
}

fn previous_step_text(came: &PreviousStep) -> String {
    format!("{} (step {})", came.state, came.step)
}

fn entry_cause_text(why: &StepExplanation) -> String {
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
            let detail =
                if detail.is_empty() { String::new() } else { format!(": {}", shorten_text(detail)) };
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

fn add_condition(out: &mut Vec<String>, number: usize, tried: &TriedCondition) {
    let number = format!("{number:>3} ");
    let source = tried.condition.as_deref().unwrap_or("(no condition)");
    let first = out.len();
    add_script(out, 4, source);
    if let Some(line) = out.get_mut(first) {
        line.replace_range(..4, &number);
    }
    let gave = match tried.gave {
        ConditionResult::Truthy => format!("gave {}: to {}", escape_breaks(&tried.value), tried.target),
        ConditionResult::Falsy => format!("gave {}: not to {}", escape_breaks(&tried.value), tried.target),
        ConditionResult::Thrown => {
            format!("failed ({}), which counts as false: not to {}", shorten_text(&tried.value), tried.target)
        }
    };
    add_wrapped(out, 4, &gave);
    if let Some(place) = &tried.place {
        add_wrapped(out, 4, &format!("at {place}"));
    }
    for read in &tried.reads {
        self::add_condition_read(out, read);
    }
}

fn add_condition_read(out: &mut Vec<String>, read: &ConditionRead) {
    let value = read.value.as_ref().map_or_else(|| "undefined".to_owned(), value_text);
    add_wrapped(out, 6, &format!("{} = {value}", read.path));
    if let Some(from) = &read.from {
        let undecided = from.by == ValueOriginKind::Reply && read.path.starts_with("function.");
        let without = if undecided { ", without this decision" } else { "" };
        add_wrapped(out, 8, &format!("{}{without}", source_text(from)));
    }
}

fn source_text(source: &ValueOrigin) -> String {
    let agent = source.agent.as_deref().unwrap_or("an agent");
    let call = source.call.as_ref();
    let call =
        call.map(|call| format!(": {} {}", call.tool, value_text(&call.arguments))).unwrap_or_default();
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
        ValueOriginKind::Person => format!("answered by the user{at}"),
        ValueOriginKind::Branches => format!("brought together{at}"),
        ValueOriginKind::Item => format!("the item of the loop{at}"),
        ValueOriginKind::Script => format!("set by the script{at}"),
        ValueOriginKind::Before => format!("set by a `before`{at}"),
        ValueOriginKind::Error => format!("the error that was caught{at}"),
        ValueOriginKind::Outside => "set from outside, when the run was forked or taken up".to_owned(),
        ValueOriginKind::Workflow => format!("set{at}"),
    }
}

fn value_text(value: &Value) -> String {
    cut_text(value.to_string())
}

/// A value as it is, on one line.
fn escape_breaks(value: &str) -> String {
    cut_text(value.replace('\r', "\\r").replace('\n', "\\n").replace('\t', "\\t"))
}

/// A message on one line, without the end of what is long.
fn shorten_text(text: &str) -> String {
    cut_text(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn cut_text(text: String) -> String {
    if text.chars().count() <= SHOWN {
        return text;
    }
    text.chars().take(SHOWN - 1).chain(['…']).collect()
}

/// A script keeps its lines.
fn add_script(out: &mut Vec<String>, indent: usize, source: &str) {
    let cut: String = source.chars().take(SHOWN).collect();
    let more = if cut.len() < source.len() { "…" } else { "" };
    for line in format!("{cut}{more}").lines() {
        add_wrapped(out, indent, line.trim_end());
    }
}

/// Wraps a text between words, or inside a word that is wider than the line; continuation lines are indented by two
/// more.
fn add_wrapped(out: &mut Vec<String>, indent: usize, text: &str) {
    let mut line = " ".repeat(indent);
    let mut empty = true;
    for word in text.split(' ') {
        let mut word = word;
        if !empty && display_width(&line) + 1 + display_width(word) > WIDTH {
            out.push(std::mem::replace(&mut line, " ".repeat(indent + 2)));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        while display_width(&line) + display_width(word) > WIDTH {
            let room = WIDTH - display_width(&line);
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

fn display_width(text: &str) -> usize {
    text.chars().count()
}
