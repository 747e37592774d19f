//! `runs cost`: sums of one run or of many, in eighty columns.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::columns::{count_text, cut_to_columns, fit_to_columns, money_text};
use crate::json_output;
use crate::output::{TerminalSafeWriter, safe_name};
use synthdev_domain::cost::{CostEntry, TokenUsage};
use synthdev_domain::cost_breakdown::{CostGrouping, GroupedCost, group_costs, total_cost};
use synthdev_service::run_costs::{CostReportScope, RunsCostReport};

/// What is shown where nothing is chosen.
const USUAL: [CostGrouping; 4] =
    [CostGrouping::Model, CostGrouping::Role, CostGrouping::Agent, CostGrouping::State];
/// Columns of a name.
const NAME: usize = 21;

/// # Errors
/// stdout cannot be written.
pub fn write_costs(
    spent: &RunsCostReport,
    by: Option<CostGrouping>,
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let kinds: &[CostGrouping] = by.as_ref().map_or(&USUAL, std::slice::from_ref);
    if json {
        return json_output::write_pretty_json(&as_json(spent, kinds), out);
    }
    let out = &mut TerminalSafeWriter(out);
    match &spent.scope {
        CostReportScope::Run(run) => {
            let input = cut_to_columns(&run.input, 40);
            writeln!(out, "run {}  {}  {input}", run.id, safe_name(&run.workflow))?;
        }
        CostReportScope::Runs(number) => writeln!(out, "{}", count_text(*number, "run"))?,
    }
    match (&spent.scope, spent.replayed_count) {
        (_, 0) => {}
        (CostReportScope::Run(_), _) => {
            writeln!(out, "replayed: $0 spent; replies and token counts come from a recording")?;
        }
        (CostReportScope::Runs(_), replayed) => {
            let runs = count_text(replayed, "replayed run");
            writeln!(out, "{runs} not counted: replies came from recordings, $0 spent")?;
        }
    }
    if spent.entries.is_empty() {
        return writeln!(out, "no model was called");
    }
    for by in kinds {
        let title = format!("by {}", by.as_str());
        writeln!(out, "\n{title:<NAME$} calls   prompt   cached  written  answers thought     cost")?;
        for sum in group_costs(&spent.entries, *by) {
            write_row(&sum, out)?;
        }
    }
    writeln!(out)?;
    write_row(&GroupedCost { name: "total".to_owned(), ..total_cost(&spent.entries) }, out)?;
    write_cost_remarks(&spent.entries, out)
}

/// What the figures do not say by themselves.
fn write_cost_remarks(entries: &[CostEntry], out: &mut dyn Write) -> io::Result<()> {
    let calls = |number: u64| count_text(usize::try_from(number).unwrap_or(usize::MAX), "call");
    let whole = total_cost(entries);
    if whole.usage.cached + whole.usage.written > 0 {
        writeln!(out, "cached and written are parts of the prompt")?;
    }
    if whole.estimated > 0 {
        writeln!(out, "{} estimated: the server did not report the full usage", calls(whole.estimated))?;
    }
    for unknown in group_costs(entries, CostGrouping::Model).iter().filter(|sum| sum.unpriced_calls > 0) {
        let (calls, model) = (calls(unknown.unpriced_calls), safe_name(&unknown.name));
        writeln!(out, "{calls} of {model} not counted in dollars: no price was known then")?;
        writeln!(out, "  (a price in models.json counts for calls from then on)")?;
    }
    Ok(())
}

fn write_row(sum: &GroupedCost, out: &mut dyn Write) -> io::Result<()> {
    let TokenUsage { prompt, completion, cached, written, reasoning } = sum.usage;
    let usd =
        if sum.unpriced_calls == sum.calls { money_text(None) } else { money_text(Some(sum.known_cost_usd)) };
    let more = if sum.unpriced_calls > 0 && sum.unpriced_calls < sum.calls { "+?" } else { "" };
    let name = fit_to_columns(&sum.name, NAME);
    let (calls, about) = (sum.calls, if sum.estimated > 0 { "~" } else { "" });
    let usd = format!("{about}{usd}{more}");
    writeln!(out, "{name}{calls:>6}{prompt:>9}{cached:>9}{written:>9}{completion:>9}{reasoning:>8} {usd:>8}")
}

fn as_json(spent: &RunsCostReport, kinds: &[CostGrouping]) -> Value {
    let by: Map<String, Value> = kinds
        .iter()
        .map(|by| (by.as_str().to_owned(), group_costs(&spent.entries, *by).iter().map(cost_json).collect()))
        .collect();
    let mut whole = cost_json(&total_cost(&spent.entries));
    if let Value::Object(fields) = &mut whole {
        fields.shift_remove("name");
    }
    let (run, runs) = match &spent.scope {
        CostReportScope::Run(run) => (Some(run.id.clone()), 1),
        CostReportScope::Runs(number) => (None, *number),
    };
    json!({ "run": run, "runs": runs, "replayed_runs": spent.replayed_count, "total": whole, "by": by })
}

fn cost_json(sum: &GroupedCost) -> Value {
    let usage = &sum.usage;
    json!({
        "name": sum.name, "calls": sum.calls, "tokens": usage.total(), "prompt": usage.prompt,
        "cached": usage.cached, "written": usage.written, "completion": usage.completion,
        "reasoning": usage.reasoning, "cost_usd": sum.cost_usd(), "known_usd": sum.known_cost_usd,
        "calls_without_price": sum.unpriced_calls, "calls_estimated": sum.estimated,
    })
}
