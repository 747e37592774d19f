//! What one call is charged: a line for each model that was asked or has answered, however its name is written.

use super::is_same_model;
use crate::cost::CostEntry;

/// Adds what an attempt used to the line of its model, or a line of its own.
pub fn add_charge(lines: &mut Vec<CostEntry>, attempt: CostEntry) {
    let model = &attempt.model;
    let is_same = |line: &&mut CostEntry| {
        line.model == *model || is_same_model(&line.model, model) && is_same_model(model, &line.model)
    };
    match lines.iter_mut().find(is_same) {
        Some(line) => {
            line.usage.add(&attempt.usage);
            line.cost_usd = line.cost_usd.zip(attempt.cost_usd).map(|(sum, one)| sum + one);
            line.estimated |= attempt.estimated;
        }
        None => lines.push(attempt),
    }
}
