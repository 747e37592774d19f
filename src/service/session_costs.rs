//! What a session has spent: by model with what it costs now, by role, agent and state, and by run.
//!
//! Owns what is grouped, and which price a model has. Refuses words: front-ends have them.

use synthdev_domain::cost::{CostLedger, TokenPrice};
use synthdev_domain::cost_breakdown::{CostGrouping, GroupedCost, group_costs, total_cost};
use synthdev_domain::model::is_same_model;

#[derive(Clone, PartialEq, Debug)]
pub struct SessionCostReport {
    pub models: Vec<PricedModelCost>,
    pub groups: Vec<(CostGrouping, Vec<GroupedCost>)>,
    /// Each run that spent something, and what was asked beside the runs.
    pub runs: Vec<GroupedCost>,
    pub whole: GroupedCost,
}

/// What was spent for one model, and its price as the catalogue has it now.
#[derive(Clone, PartialEq, Debug)]
pub struct PricedModelCost {
    pub sum: GroupedCost,
    pub price: Option<TokenPrice>,
}

/// `runs`: the name of each, and what it spent in this session. `beside`: what was asked beside them. `None`: no model was
/// called yet.
pub fn session_costs<'l>(
    session: &CostLedger,
    runs: impl Iterator<Item = (String, &'l CostLedger)>,
    beside: &CostLedger,
    prices: &[(String, Option<TokenPrice>)],
) -> Option<SessionCostReport> {
    if session.entries.is_empty() {
        return None;
    }
    let models = group_costs(session.entries.iter(), CostGrouping::Model)
        .into_iter()
        .map(|sum| PricedModelCost { price: current_price(prices, &sum.name), sum })
        .collect();
    let groups = [CostGrouping::Role, CostGrouping::Agent, CostGrouping::State]
        .map(|by| (by, group_costs(session.entries.iter(), by)))
        .to_vec();
    let spent = |name: String, ledger: &CostLedger| {
        let sum = || GroupedCost { name, ..total_cost(ledger.entries.iter()) };
        (!ledger.entries.is_empty()).then(sum)
    };
    let beside = spent("beside the runs".to_owned(), beside);
    let runs = runs.filter_map(|(name, ledger)| spent(name, ledger)).chain(beside).collect();
    Some(SessionCostReport { models, groups, runs, whole: total_cost(session.entries.iter()) })
}

/// What a model costs now, whichever way its name is written.
fn current_price(prices: &[(String, Option<TokenPrice>)], model: &str) -> Option<TokenPrice> {
    let exact = prices.iter().find(|(name, _)| name == model);
    let found = exact.or_else(|| prices.iter().find(|(name, _)| is_same_model(model, name)));
    found.and_then(|(_, price)| *price)
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::cost::CostEntry;

    fn ledger(models: &[&str]) -> CostLedger {
        let entry = |model: &&str| CostEntry {
            agent: "coder".to_owned(),
            state: "code".to_owned(),
            model: (*model).to_owned(),
            ..CostEntry::default()
        };
        let mut ledger = CostLedger::default();
        models.iter().map(entry).for_each(|entry| ledger.entries.push(&entry));
        ledger
    }

    #[test]
    fn what_spent_nothing_is_left_out_and_a_price_is_found_by_its_name() {
        let none = CostLedger::default();
        assert_eq!(session_costs(&none, std::iter::empty(), &none, &[]), None);
        let price = |input| Some(TokenPrice { input, ..TokenPrice::default() });
        let prices = [("m".to_owned(), price(1.0)), ("n".to_owned(), None)];
        let (all, one) = (ledger(&["m", "n", "m"]), ledger(&["m"]));
        let runs = [("talk r1".to_owned(), &one), ("talk r2".to_owned(), &none)];
        let report = session_costs(&all, runs.into_iter(), &ledger(&["n"]), &prices).unwrap();
        let models: Vec<_> =
            report.models.iter().map(|one| (one.sum.name.as_str(), one.sum.calls, one.price)).collect();
        assert_eq!(models, [("m", 2, price(1.0)), ("n", 1, None)]);
        let runs: Vec<&str> = report.runs.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(runs, ["talk r1", "beside the runs"]);
        assert_eq!(report.whole.calls, 3);
    }
}
