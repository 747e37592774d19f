//! What making an index will come to, before anybody is asked: from the sizes of files, as usual text has tokens.

use super::{Plan, asking};
use crate::domain::cost::{Price, Usage};

/// What a plan comes to before anybody is asked.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Estimate {
    pub calls: u64,
    pub usage: Usage,
    /// `None`: the catalogue has no price for the model.
    pub cost_usd: Option<f64>,
}

impl Plan {
    /// What it comes to, roughly.
    pub fn estimate(&self, price: Option<Price>) -> Estimate {
        let files = self.changed.iter().filter(|file| file.bytes > 0);
        let several = self.directories.iter().filter(|one| one.children.len() > 1);
        let (mut calls, mut usage) = (0, Usage::default());
        let prompts = files
            .map(|file| file.bytes.div_ceil(4))
            .chain(several.map(|one| asking::CHILD * one.children.len() as u64));
        for prompt in prompts {
            calls += 1;
            usage.prompt = usage.prompt.saturating_add(prompt + asking::AROUND);
            usage.completion = usage.completion.saturating_add(asking::SUMMARY);
        }
        let cost_usd = if calls == 0 { Some(0.0) } else { price.map(|price| price.cost_usd(&usage)) };
        Estimate { calls, usage, cost_usd }
    }
}
