//! The cost estimate as text: what a run can cost at most, then state by state.

use std::io::{self, Write};

use super::output::{TerminalSafeWriter, safe_name};
use synthdev_service::definition_views::cost_estimate::{
    CostEstimate, WorstCaseCount, WorstCaseUsage, WorstCaseUsd,
};

/// Nothing is written for a workflow that asks no model.
///
/// # Errors
/// As the writer.
pub fn write_cost_estimate(estimate: &CostEstimate, out: &mut dyn Write) -> io::Result<()> {
    let mut out = TerminalSafeWriter(out);
    let out = &mut out;
    let spending = &estimate.spending;
    writeln!(out, "`{}` at most, for one run:", safe_name(&estimate.workflow))?;
    if estimate.states.is_empty() {
        return writeln!(out, "  no model is asked");
    }
    writeln!(out, "  model calls    {}", format_bound(spending.calls))?;
    writeln!(out, "  prompt tokens  {}", format_bound(spending.prompt_tokens))?;
    let answers = spending.answer_tokens.map_or_else(|| "not limited".to_owned(), format_bound);
    writeln!(out, "  answer tokens  {answers}")?;
    writeln!(out, "  cost           {}", cost_text(spending))?;
    write_table(estimate, out)?;
    for note in &estimate.notes {
        writeln!(out, "  note: {note}")?;
    }
    Ok(())
}

fn write_table(estimate: &CostEstimate, out: &mut dyn Write) -> io::Result<()> {
    let root = &estimate.workflow;
    let mut rows =
        vec![["state", "agent", "visits", "calls each", "calls", "prompts", "cost"].map(str::to_owned)];
    for state in &estimate.states {
        let prefix =
            if state.workflow == *root { String::new() } else { format!("{}/", safe_name(&state.workflow)) };
        rows.push([
            format!("{prefix}{}", safe_name(&state.state)),
            safe_name(&state.agent),
            format_bound_briefly(state.visits),
            state.calls_per_visit.to_string(),
            format_bound_briefly(state.spending.calls),
            format_bound_briefly(state.spending.prompt_tokens),
            state.spending.cost_usd.map_or_else(|| "?".to_owned(), short_dollars),
        ]);
    }
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    writeln!(out)?;
    for row in &rows {
        let mut line = String::from(" ");
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            let blanks = " ".repeat(width - cell.chars().count());
            // names are aligned left, numbers right
            line.push_str(&if at < 2 { format!(" {cell}{blanks} ") } else { format!(" {blanks}{cell} ") });
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out)
}

/// `120`, `unbounded (50 with the default limits)`.
fn format_bound(bound: WorstCaseCount) -> String {
    match (bound.declared, bound.default) {
        (Some(declared), _) => short_number(declared),
        (None, Some(default)) => format!("unbounded ({} with the default limits)", short_number(default)),
        (None, None) => "unbounded".to_owned(),
    }
}

/// `120`, `∞ (50)`.
fn format_bound_briefly(bound: WorstCaseCount) -> String {
    match (bound.declared, bound.default) {
        (Some(declared), _) => short_number(declared),
        (None, Some(default)) => format!("∞ ({})", short_number(default)),
        (None, None) => "∞".to_owned(),
    }
}

fn cost_text(spending: &WorstCaseUsage) -> String {
    let Some(cost) = spending.cost_usd else { return "not known".to_owned() };
    let text = match (cost.declared, cost.default) {
        (Some(declared), _) => format_usd(declared),
        (None, Some(default)) => format!("unbounded ({} with the default limits)", format_usd(default)),
        (None, None) => "unbounded".to_owned(),
    };
    if spending.answer_tokens.is_none() { format!("{text} and the answers") } else { text }
}

fn short_dollars(cost: WorstCaseUsd) -> String {
    match (cost.declared, cost.default) {
        (Some(declared), _) => format_usd(declared),
        (None, Some(default)) => format!("∞ ({})", format_usd(default)),
        (None, None) => "∞".to_owned(),
    }
}

fn format_usd(dollars: f64) -> String {
    if dollars >= 100.0 { format!("${dollars:.0}") } else { format!("${dollars:.2}") }
}

/// `950`, `12.3k`, `4.5M`: rounded up, as worst cases are.
fn short_number(value: u64) -> String {
    let tenths = |unit: u64, letter: char| {
        let tenths = value.div_ceil(unit / 10);
        format!("{}.{}{letter}", tenths / 10, tenths % 10)
    };
    match value {
        0..10_000 => value.to_string(),
        10_000..1_000_000 => tenths(1_000, 'k'),
        1_000_000..1_000_000_000 => tenths(1_000_000, 'M'),
        _ => tenths(1_000_000_000, 'G'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_service::definition_views::cost_estimate::StateCost;

    #[test]
    fn numbers_are_short_and_never_too_small() {
        let rows = [(0, "0"), (9_999, "9999"), (10_000, "10.0k"), (12_301, "12.4k"), (4_500_000, "4.5M")];
        for (value, shown) in rows {
            assert_eq!(short_number(value), shown);
        }
        let open = WorstCaseCount { declared: None, default: Some(50) };
        assert_eq!(
            (format_bound(open), format_bound_briefly(open)),
            ("unbounded (50 with the default limits)".into(), "∞ (50)".into())
        );
        assert_eq!(format_bound_briefly(WorstCaseCount::default()), "∞");
    }

    #[test]
    fn a_run_and_its_states_are_shown() {
        let fixed = |number| WorstCaseCount { declared: Some(number), default: Some(number) };
        let spending = WorstCaseUsage {
            calls: fixed(12),
            prompt_tokens: fixed(15_000),
            answer_tokens: None,
            cost_usd: Some(WorstCaseUsd { declared: Some(0.5), default: Some(0.5) }),
        };
        let state = StateCost {
            workflow: "child".into(),
            state: "review".into(),
            agent: "r\u{1b}[2K".into(),
            model: "m".into(),
            visits: fixed(3),
            calls_per_visit: 4,
            spending: spending.clone(),
        };
        let estimate = CostEstimate {
            workflow: "w".into(),
            spending,
            states: vec![state],
            notes: vec!["answers are long".into()],
        };
        let mut out = Vec::new();
        write_cost_estimate(&estimate, &mut out).unwrap();
        let expected = "\
`w` at most, for one run:
  model calls    12
  prompt tokens  15.0k
  answer tokens  not limited
  cost           $0.50 and the answers

  state         agent  visits  calls each  calls  prompts   cost
  child/review  r␛[2K       3           4     12    15.0k  $0.50

  note: answers are long
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let idle = CostEstimate { states: Vec::new(), ..estimate };
        let mut out = Vec::new();
        write_cost_estimate(&idle, &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().ends_with("no model is asked\n"));
    }
}
