//! Workflow mode of the screen: where the next workflow stands still, runs beside others, tools that are never asked
//! about again.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::Desk;
use crate::app::setup::Candidate;
use crate::app::{sources, wiring};
use crate::config::catalog::Catalog;
use crate::config::setup::{Change, Changes};
use crate::engine::steering::Stops;

/// For the workflow that is started next; taken by it.
#[derive(Debug, Default)]
pub(super) struct NextStops(Mutex<Stops>);

impl NextStops {
    pub(super) fn set(&self, stops: Stops) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stops;
    }

    pub(super) fn get(&self) -> Stops {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Desk {
    /// Writes `"approvals": {"tools": {NAME: "allow"}}` into the person's settings and takes that up.
    pub(super) fn save_allowed(&self, tool: &str) -> Result<String> {
        let path = ["approvals", "tools", tool].map(str::to_owned).to_vec();
        let settings = vec![Change { path, value: Some("allow".into()) }];
        let candidate =
            Candidate::of(&self.world, self.overrides.clone(), &Changes { settings, keys: Vec::new() })?;
        let files = candidate.save()?;
        let gathered = sources::gather(&self.world, self.overrides.clone(), false)?;
        self.take_up(Catalog::load(gathered.sources, wiring::specs(&self.world.project)));
        Ok(match files.first() {
            Some(file) => format!("{tool} is allowed from now on: saved in {file}"),
            None => format!("{tool} was allowed in your settings already"),
        })
    }
}
