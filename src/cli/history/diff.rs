//! `runs diff`: two runs side by side.

use std::io::{self, Write};

use serde_json::Value;

use super::columns::{cut_to_columns, fit_to_columns, money_text};
use crate::json_output;
use crate::output::{TerminalSafeWriter, safe_name, time_text};
use synthdev_domain::line_diff::diff_json_values;
use synthdev_domain::workflow::plain_text;
use synthdev_service::run_reports::{AlignedSide, AlignedStep, RunDiff, RunDiffSide};

/// Lines that both have, next to one that only one has.
const NEAR: usize = 2;

/// # Errors
/// stdout cannot be written.
pub fn write_run_diff(both: &RunDiff, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        return json_output::write_pretty_json(both, out);
    }
    let out = &mut TerminalSafeWriter(out);
    write_facts(both, out)?;
    write_definition_and_inputs(both, out)?;
    write_steps("path", &both.path, out)?;
    write_decisions_and_output(both, out)
}

/// Everything but the facts and the path, which a screen shows side by side.
///
/// # Errors
/// `out` cannot be written.
pub fn write_difference_details(both: &RunDiff, out: &mut dyn Write) -> io::Result<()> {
    let out = &mut TerminalSafeWriter(out);
    write_definition_and_inputs(both, out)?;
    write_decisions_and_output(both, out)
}

fn write_definition_and_inputs(both: &RunDiff, out: &mut dyn Write) -> io::Result<()> {
    write_definition(both, out)?;
    if both.inputs.is_empty() {
        writeln!(out, "inputs       the same")?;
    }
    for input in &both.inputs {
        writeln!(out, "input {}", safe_name(&input.name))?;
        let value = |value: &Option<Value>| value.clone().unwrap_or(Value::Null);
        write_indented(&diff_json_values(&value(&input.first), &value(&input.second)), out)?;
    }
    write_data(both, out)
}

/// What forks and rewinds set; nothing where both have the same.
fn write_data(both: &RunDiff, out: &mut dyn Write) -> io::Result<()> {
    for data in &both.data {
        writeln!(out, "common_data.{}", safe_name(&data.name))?;
        let side =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "no value".to_owned(), Value::to_string);
        let shown = match (&data.first, &data.second) {
            (Some(first), Some(second)) => diff_json_values(first, second),
            (first, second) => format!("- {}\n+ {}", side(first), side(second)),
        };
        write_indented(&shown, out)?;
    }
    Ok(())
}

/// `RUN at step N` of a fork.
pub fn fork_place_text(side: &RunDiffSide) -> String {
    side.fork_of.as_ref().map_or_else(String::new, |place| match place.step {
        Some(step) => format!("{} at step {step}", place.run),
        None => place.run.to_string(),
    })
}

fn write_decisions_and_output(both: &RunDiff, out: &mut dyn Write) -> io::Result<()> {
    write_steps("decisions", &both.decisions, out)?;
    if both.same_output {
        return writeln!(out, "output       the same");
    }
    writeln!(out, "output")?;
    let text = |side: &RunDiffSide| Value::from(side.output.as_ref().map_or_else(String::new, plain_text));
    let shown = diff_json_values(&text(&both.first), &text(&both.second));
    let none = |side: &RunDiffSide| side.output.is_none();
    if !none(&both.first) && !none(&both.second) {
        return write_indented(&shown, out);
    }
    // that there is none is no text of its own
    let side = |side: &RunDiffSide| side.output.as_ref().map_or_else(|| "none".to_owned(), plain_text);
    write_indented(&format!("- {}\n+ {}", side(&both.first), side(&both.second)), out)
}

fn write_facts(both: &RunDiff, out: &mut dyn Write) -> io::Result<()> {
    type Fact = fn(&RunDiffSide) -> String;
    let rows: [(&str, Fact); 9] = [
        ("run", |side| side.run.to_string()),
        ("fork of", fork_place_text),
        ("workflow", |side| side.workflow.clone()),
        ("started", |side| time_text(side.started)),
        ("status", |side| side.status.as_str().to_owned()),
        ("error", |side| side.error.clone().unwrap_or_default()),
        ("steps", |side| side.steps.to_string()),
        ("cost", |side| money_text(side.cost_usd)),
        ("tokens", |side| side.usage.total().to_string()),
    ];
    for (title, fact) in rows {
        let (first, second) = (fact(&both.first), fact(&both.second));
        if first.is_empty() && second.is_empty() {
            continue;
        }
        let mark = if first == second { ' ' } else { '≠' };
        let line =
            format!("{title:<10} {mark} {}  {}", fit_to_columns(&first, 32), cut_to_columns(&second, 32));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn write_definition(both: &RunDiff, out: &mut dyn Write) -> io::Result<()> {
    let short = |side: &RunDiffSide| side.definition.get(..12).unwrap_or(&side.definition).to_owned();
    let (first, second) = (short(&both.first), short(&both.second));
    if both.definition.same {
        return writeln!(out, "definition   the same ({first})");
    }
    writeln!(out, "definition   {first} → {second}")?;
    both.definition.notes.iter().try_for_each(|note| writeln!(out, "  {note}"))
}

/// What only one has with its surroundings; `the same` if there is nothing.
fn write_steps(title: &str, steps: &[AlignedStep], out: &mut dyn Write) -> io::Result<()> {
    if steps.iter().all(|step| step.of == AlignedSide::Both) {
        return if steps.is_empty() {
            Ok(())
        } else {
            writeln!(out, "{title:<12} the same ({})", steps.len())
        };
    }
    writeln!(out, "{title}")?;
    let mut left_out = false;
    for (at, step) in steps.iter().enumerate() {
        let around = at.saturating_sub(NEAR)..steps.len().min(at + NEAR + 1);
        if steps[around].iter().all(|step| step.of == AlignedSide::Both) {
            if !left_out {
                writeln!(out, "  …")?;
            }
            left_out = true;
            continue;
        }
        left_out = false;
        let mark = match step.of {
            AlignedSide::Both => ' ',
            AlignedSide::First => '-',
            AlignedSide::Second => '+',
        };
        writeln!(out, "{mark} {}", safe_name(&step.text))?;
    }
    Ok(())
}

fn write_indented(text: &str, out: &mut dyn Write) -> io::Result<()> {
    text.lines().try_for_each(|line| writeln!(out, "{line}"))
}
