//! How models have given their decisions, by model and server.

use serde::{Deserialize, Serialize};

use super::ModelChoice;
use crate::decision_source::DecisionSource;

/// The models that gave a decision only when they were reminded, or as structured output.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DecisionMemory {
    rows: Vec<RememberedDecision>,
}

/// How a model gave its last decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RememberedDecision {
    pub provider: String,
    pub base_url: String,
    pub model: String,
    pub source: DecisionSource,
}

impl RememberedDecision {
    pub fn is_of(&self, choice: &ModelChoice) -> bool {
        (&self.provider, &self.base_url, &self.model) == (&choice.provider, &choice.base_url, &choice.model)
    }
}

impl DecisionMemory {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn rows(&self) -> &[RememberedDecision] {
        &self.rows
    }

    pub fn source_for(&self, choice: &ModelChoice) -> DecisionSource {
        self.source_for_model(&choice.provider, &choice.base_url, &choice.model)
    }

    pub fn source_for_model(&self, provider: &str, base_url: &str, model: &str) -> DecisionSource {
        let named = |row: &&RememberedDecision| {
            (row.provider.as_str(), row.base_url.as_str(), row.model.as_str()) == (provider, base_url, model)
        };
        self.rows.iter().find(named).map_or(DecisionSource::Call, |row| row.source)
    }

    /// A plain call is kept for a model that needed more before: the highest that worked counts.
    pub fn remember(&mut self, choice: &ModelChoice, source: DecisionSource) {
        if source <= self.source_for(choice) {
            return;
        }
        self.forget(choice);
        self.rows.push(RememberedDecision {
            provider: choice.provider.clone(),
            base_url: choice.base_url.clone(),
            model: choice.model.clone(),
            source,
        });
    }

    /// What worked before does not any more.
    pub fn forget(&mut self, choice: &ModelChoice) {
        self.rows.retain(|row| !row.is_of(choice));
    }

    /// Takes over what another one remembers, as `remember` does.
    pub fn merge(&mut self, other: &Self) {
        for row in &other.rows {
            let known = self.rows.iter_mut().find(|known| {
                (&known.provider, &known.base_url, &known.model) == (&row.provider, &row.base_url, &row.model)
            });
            match known {
                Some(known) => known.source = known.source.max(row.source),
                None => self.rows.push(row.clone()),
            }
        }
    }
}
