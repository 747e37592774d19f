//! Workflow mode of the screen: workflows that begin, also beside others, and tools that are never asked about again.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use futures_util::future::BoxFuture;

use super::facts::unread;
use super::{Desk, away, history};
use crate::app::runs::spec;
use crate::app::setup::Candidate;
use crate::app::windows;
use crate::app::world::World;
use crate::config::inputs;
use crate::config::settings::layers::Overrides;
use crate::config::setup::{Change, Changes};
use crate::engine::spec::RunSpec;
use crate::engine::steering::Stops;
use crate::tui::backend::{Beside, Preparation, StandingPermission, Start};

impl Desk {
    /// Starts a workflow; what is wrong with its file or its input is told.
    pub(super) fn begin(&self, name: &str, input: &str, beside: Option<Beside>) -> Result<Start, String> {
        let catalog = self.catalog();
        if catalog.workflow(name).is_none()
            && let Some(broken) = unread(&catalog).find(|line| line.name == name)
        {
            return Err(format!(
                "{}\nhint: /edit {name} opens it, F8 goes there",
                broken.broken.unwrap_or_default()
            ));
        }
        let program = catalog.program(name).map_err(|found| self.told(&found))?;
        let parameters = program.workflows.first().map(|root| root.inputs.clone()).unwrap_or_default();
        let values =
            inputs::from_text(&parameters, input).map_err(|e| history::told(&e.message, Some(&e.hint)))?;
        self.prepare_demo(name, &program)?;
        let isolated = program.workflows.first().is_some_and(|root| root.isolated);
        let spec = spec((&catalog, &self.world.project), program, values, false, true);
        let spec = RunSpec { stops: self.stops.get(), ..spec };
        // one that is prepared first may still not begin
        let stops = self.stops.clone();
        let begun = move || stops.set(Stops::default());
        let wired = self.wired();
        match beside {
            Some(Beside::Share) => self.start(wired.handle.sharing(), spec, begun),
            beside if isolated || beside.is_some() => {
                let elsewhere = self.elsewhere();
                let copied = async move {
                    let mut spec = spec;
                    windows::learn(&wired.providers, &mut spec.program).await;
                    let started = away(move || {
                        let (run, place) = elsewhere.start(spec)?;
                        begun();
                        Ok((run, Some(place)))
                    });
                    started.await
                };
                Ok(Start::Later(Preparation::Files, Box::pin(copied)))
            }
            _ => self.start(wired.handle.clone(), spec, begun),
        }
    }

    /// Writes `"approvals": {"tools": {NAME: "allow"}}` or `"sandbox": {"network": "on"}` into the user's settings; what
    /// starts next reads them again. The demo changes nothing of the user's.
    pub(super) fn save_allowed(
        &self,
        permission: StandingPermission,
    ) -> BoxFuture<'static, Result<String, String>> {
        if self.demo.is_some() || self.world.shipped_only {
            let why = "the demo leaves your settings as they are: nothing was saved";
            return Box::pin(std::future::ready(Err(why.to_owned())));
        }
        let (world, overrides) = (self.world.clone(), self.overrides.clone());
        away(move || write_allowed(&world, overrides, &permission).map_err(|error| format!("{error:#}")))
    }
}

/// Blocking. One at a time: each begins with what the one before has written.
fn write_allowed(world: &World, overrides: Overrides, permission: &StandingPermission) -> Result<String> {
    static WRITING: Mutex<()> = Mutex::new(());
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let (path, value, what) = match permission {
        StandingPermission::Tool(tool) => (vec!["approvals", "tools", tool], "allow", tool.as_str()),
        StandingPermission::Network => (vec!["sandbox", "network"], "on", "the network of commands"),
    };
    let path = path.into_iter().map(str::to_owned).collect();
    let settings = vec![Change { path, value: Some(value.into()) }];
    let files = Candidate::of(world, overrides, &Changes { settings, keys: Vec::new() })?.save()?;
    Ok(match files.first() {
        Some(file) => format!("{what} is allowed from now on: saved in {file}"),
        None => format!("{what} was allowed in your settings already"),
    })
}
