//! `/cost`: what the session spent, by model with all parts of the price, by role, agent, state and run.

use std::fmt::Write as _;

use super::align_table;
use crate::run_view::RunView;
use crate::text::{format_count, format_dollars, format_thousands, one_line};
use synthdev_domain::cost::{BilledTokens, CostLedger, TokenPrice, TokenUsage};
use synthdev_domain::cost_breakdown::GroupedCost;
use synthdev_service::session_costs::{PricedModelCost, SessionCostReport, session_costs};

pub fn cost_report(
    session: &CostLedger,
    runs: &[RunView],
    beside: &CostLedger,
    prices: &[(String, Option<TokenPrice>)],
) -> String {
    let runs = runs.iter().map(|run| (format!("{} {}", run.workflow, run.id), &run.session_costs));
    match session_costs(session, runs, beside, prices) {
        Some(report) => report_text(&report),
        None => "no model was called yet".to_owned(),
    }
}

fn report_text(SessionCostReport { models, groups, runs, whole }: &SessionCostReport) -> String {
    let mut text = String::new();
    for PricedModelCost { sum, price } in models {
        let calls = format_count(sum.calls, "call");
        let _ = writeln!(text, "{}: {} · {calls}", one_line(&sum.name), money_text(sum));
        text.push_str(&token_parts(&sum.usage, *price));
    }
    for (by, sums) in groups {
        let _ = write!(text, "\nby {}\n{}", by.as_str(), cost_rows(sums));
    }
    let _ = write!(text, "\nby run\n{}", cost_rows(runs));
    let tokens = format_thousands(whole.usage.total());
    let _ = write!(text, "\nsession: {tokens} tokens · {}", money_text(whole));
    if whole.estimated > 0 {
        let calls = format_count(whole.estimated, "call");
        let _ = write!(text, "\n~ {calls} estimated: the server did not report the full usage");
    }
    for PricedModelCost { sum, price } in models.iter().filter(|model| model.sum.unpriced_calls > 0) {
        let name = one_line(&sum.name);
        if price.is_some() {
            let calls = format_count(sum.unpriced_calls, "call");
            let _ =
                write!(text, "\n→ {calls} of {name} not counted in dollars: its price was not known then");
            continue;
        }
        let _ = write!(text, "\n→ no price is known for {name}: add it to models.json to see dollars");
    }
    text
}

fn cost_rows(sums: &[GroupedCost]) -> String {
    let rows: Vec<Vec<String>> = sums
        .iter()
        .map(|sum| {
            let tokens = format!("{} tokens", format_thousands(sum.usage.total()));
            vec![format!("  {}", one_line(&sum.name)), tokens, money_text(sum)]
        })
        .collect();
    align_table(&rows)
}

/// What is known, and that something is not.
fn money_text(sum: &GroupedCost) -> String {
    let about = if sum.estimated > 0 { "~" } else { "" };
    match sum.cost_usd() {
        None if sum.unpriced_calls < sum.calls => {
            format!("{about}{} and calls without a price", format_dollars(Some(sum.known_cost_usd)))
        }
        cost => format!("{about}{}", format_dollars(cost)),
    }
}

fn token_parts(usage: &TokenUsage, price: Option<TokenPrice>) -> String {
    let parts = usage.parts();
    let costs = price.map(|price| price.part_costs_usd(&parts));
    let BilledTokens { uncached: fresh, cached, cache_writes: written, completion } = parts;
    let reasoned = format!("{} of it reasoning", format_thousands(usage.reasoning));
    let rows = [
        ("prompt", fresh, ""),
        ("cached", cached, ""),
        ("written", written, "put into the cache"),
        ("completion", completion, reasoned.as_str()),
    ];
    let cost = |at: usize| costs.map_or_else(|| "–".to_owned(), |costs| format_dollars(Some(costs[at])));
    let row = |name: &str, count: u64, cost: String, note: &str| {
        vec![format!("  {name}"), format!("{} tokens", format_thousands(count)), cost, note.to_owned()]
    };
    // most servers do not report cache writes
    let told = rows.iter().enumerate().filter(|(_, (name, count, _))| *name != "written" || *count > 0);
    let mut lines: Vec<Vec<String>> =
        told.map(|(at, (name, count, note))| row(name, *count, cost(at), note)).collect();
    let whole = price.map_or_else(|| "–".to_owned(), |price| format_dollars(Some(price.cost_usd(usage))));
    lines.push(row("total", usage.total(), whole, ""));
    align_table(&lines)
}
