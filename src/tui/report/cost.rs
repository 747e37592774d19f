//! `/cost`: what the session spent, by model with all parts of the price, by role, agent, state and run (MODEL-11,
//! SD.9).

use std::fmt::Write as _;

use super::table;
use crate::run_view::RunView;
use crate::text::{dollars, format_count, one_line, thousands};
use synthdev_domain::cost::{BilledTokens, CostLedger, TokenPrice, TokenUsage};
use synthdev_domain::cost_breakdown::{CostGrouping, GroupedCost, sums, total};
use synthdev_domain::model::is_same_model;

/// The session, each run that spent something in it, and what was asked beside them.
pub fn cost(
    session: &CostLedger,
    (runs, beside): (&[RunView], &CostLedger),
    prices: &[(String, Option<TokenPrice>)],
) -> String {
    if session.entries.is_empty() {
        return "no model was called yet".to_owned();
    }
    let mut text = String::new();
    for sum in sums(session.entries.iter(), CostGrouping::Model) {
        let calls = format_count(sum.calls, "call");
        let _ = writeln!(text, "{}: {} · {calls}", one_line(&sum.name), money(&sum));
        let price = price_of(prices, &sum.name);
        text.push_str(&parts(&sum.usage, price));
    }
    for by in [CostGrouping::Role, CostGrouping::Agent, CostGrouping::State] {
        let _ = write!(text, "\nby {}\n{}", by.as_str(), rows(&sums(session.entries.iter(), by)));
    }
    let beside = Some(beside).filter(|beside| !beside.entries.is_empty());
    let spent: Vec<GroupedCost> =
        runs.iter()
            .filter(|run| !run.paid_here.entries.is_empty())
            .map(|run| GroupedCost {
                name: format!("{} {}", run.workflow, run.id),
                ..total(run.paid_here.entries.iter())
            })
            .chain(beside.map(|beside| GroupedCost {
                name: "beside the runs".to_owned(),
                ..total(beside.entries.iter())
            }))
            .collect();
    let _ = write!(text, "\nby run\n{}", rows(&spent));
    let whole = total(session.entries.iter());
    let tokens = thousands(whole.usage.total());
    let _ = write!(text, "\nsession: {tokens} tokens · {}", money(&whole));
    if whole.estimated > 0 {
        let calls = format_count(whole.estimated, "call");
        let _ = write!(text, "\n~ {calls} estimated: the server did not say all of what was used");
    }
    for unknown in sums(session.entries.iter(), CostGrouping::Model).iter().filter(|sum| sum.unpriced > 0) {
        let name = one_line(&unknown.name);
        if price_of(prices, &unknown.name).is_some() {
            let calls = format_count(unknown.unpriced, "call");
            let _ =
                write!(text, "\n→ {calls} of {name} not counted in dollars: its price was not known then");
            continue;
        }
        let _ = write!(text, "\n→ no price is known for {name}: add it to models.json to see dollars");
    }
    text
}

/// What a model costs now, whichever way its name is written.
fn price_of(prices: &[(String, Option<TokenPrice>)], model: &str) -> Option<TokenPrice> {
    let exact = prices.iter().find(|(name, _)| name == model);
    let found = exact.or_else(|| prices.iter().find(|(name, _)| is_same_model(model, name)));
    found.and_then(|(_, price)| *price)
}

fn rows(sums: &[GroupedCost]) -> String {
    let rows: Vec<Vec<String>> = sums
        .iter()
        .map(|sum| {
            let tokens = format!("{} tokens", thousands(sum.usage.total()));
            vec![format!("  {}", one_line(&sum.name)), tokens, money(sum)]
        })
        .collect();
    table(&rows)
}

/// What is known, and that something is not.
fn money(sum: &GroupedCost) -> String {
    let about = if sum.estimated > 0 { "~" } else { "" };
    match sum.cost_usd() {
        None if sum.unpriced < sum.calls => {
            format!("{about}{} and calls without a price", dollars(Some(sum.known_usd)))
        }
        cost => format!("{about}{}", dollars(cost)),
    }
}

fn parts(usage: &TokenUsage, price: Option<TokenPrice>) -> String {
    let parts = usage.parts();
    let costs = price.map(|price| price.part_costs_usd(&parts));
    let BilledTokens { fresh, cached, written, completion } = parts;
    let reasoned = format!("{} of it reasoning", thousands(usage.reasoning));
    let rows = [
        ("prompt", fresh, ""),
        ("cached", cached, ""),
        ("written", written, "put into the cache"),
        ("completion", completion, reasoned.as_str()),
    ];
    let cost = |at: usize| costs.map_or_else(|| "–".to_owned(), |costs| dollars(Some(costs[at])));
    let row = |name: &str, count: u64, cost: String, note: &str| {
        vec![format!("  {name}"), thousands(count), cost, note.to_owned()]
    };
    // most servers say nothing of what they put into a cache
    let told = rows.iter().enumerate().filter(|(_, (name, count, _))| *name != "written" || *count > 0);
    let mut lines: Vec<Vec<String>> =
        told.map(|(at, (name, count, note))| row(name, *count, cost(at), note)).collect();
    let whole = price.map_or_else(|| "–".to_owned(), |price| dollars(Some(price.cost_usd(usage))));
    lines.push(row("total", usage.total(), whole, ""));
    table(&lines)
}
