//! What building an index will cost, before any model call: estimated from file sizes, with the usual tokens of text.

use super::{IndexPlan, summary_requests};
use crate::cost::{TokenPrice, TokenUsage};

/// The estimated cost of a plan, before any model call.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct IndexCostEstimate {
    pub calls: u64,
    pub usage: TokenUsage,
    /// `None`: the catalogue has no price for the model.
    pub cost_usd: Option<f64>,
}

impl IndexPlan {
    /// What it comes to, roughly.
    pub fn estimate_cost(&self, price: Option<TokenPrice>) -> IndexCostEstimate {
        let files = self.to_describe.iter().filter(|file| file.bytes > 0);
        let several = self.directories.iter().filter(|one| one.children.len() > 1);
        let (mut calls, mut usage) = (0, TokenUsage::default());
        let prompts = files
            .map(|file| file.bytes.div_ceil(4))
            .chain(several.map(|one| summary_requests::CHILD * one.children.len() as u64));
        for prompt in prompts {
            calls += 1;
            usage.prompt = usage.prompt.saturating_add(prompt + summary_requests::AROUND);
            usage.completion = usage.completion.saturating_add(summary_requests::SUMMARY);
        }
        let cost_usd = if calls == 0 { Some(0.0) } else { price.map(|price| price.cost_usd(&usage)) };
        IndexCostEstimate { calls, usage, cost_usd }
    }
}
