//! The dialog that sets up a model: what there is, whether it works, and taking up what was saved.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use anyhow::Result;
use futures_util::future::BoxFuture;

use super::TuiBackend;
use crate::local_setup_ports::LocalSetupPorts;
use crate::probe_servers::{ProbeScope, ServerProbe};
use synthdev_bootstrap::{config_sources, wiring};
use synthdev_cli::models;
use synthdev_domain::model::{DecisionMemory, ModelChoice, ModelError};
use synthdev_ports::model::ModelPort;
use synthdev_service::model_setup::{
    SetupPlan, SetupPorts, display_name, plan_setup, same_server, try_model,
};
use synthdev_service::session::{SetupModel, SetupRequest, SetupResponse, SetupServer};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::models::resolve::CUSTOM;
use synthdev_settings::models::server_list::ConfiguredServer;
use synthdev_settings::setup::LevelSetup;
use synthdev_tui::update::history::waiting_filter;

/// A name for a model that is not chosen yet.
const NONE_YET: &str = "-";

impl TuiBackend {
    /// From now on runs start with this configuration; running ones keep theirs.
    pub(crate) fn apply_catalog(&self, catalog: ConfigCatalog) {
        let old = self.current_runtime();
        if old.providers.scripted_model().is_none() {
            let wired = wiring::rewire_runtime(
                &old,
                &self.context.project,
                &self.context.dirs.data,
                &catalog,
                wiring::RunModels::default(),
            );
            *self.runtime.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(wired);
        }
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
    }

    pub(crate) fn answer_setup_request(&self, asked: SetupRequest) -> BoxFuture<'static, SetupResponse> {
        match asked {
            SetupRequest::Open { .. } if self.current_runtime().providers.scripted_model().is_some() => {
                let why = "this session uses scripted replies\nhint: `synthdev configure` sets up a model";
                ready_response(SetupResponse::Saved(Err(why.to_owned())))
            }
            SetupRequest::Open { at_first_start: true, .. }
                if self.current_catalog().model_for_level("base").is_ok() =>
            {
                ready_response(SetupResponse::Unneeded)
            }
            SetupRequest::Open { level, at_first_start: first, exits_after: alone } => {
                let places = self.current_catalog().servers().iter().map(setup_server).collect();
                let opened = SetupResponse::Opened {
                    level,
                    at_first_start: first,
                    exits_after: alone,
                    servers: places,
                };
                if first { self.unless_offered(opened) } else { ready_response(opened) }
            }
            SetupRequest::Discover => self.discover_servers(),
            SetupRequest::Offers(setup) => match self.server_for_level(&setup) {
                Ok((plan, choice)) => {
                    let above = plan.override_notice(&setup).filter(|_| !is_chosen_server(&setup, &choice));
                    list_offered_models(plan, choice, above)
                }
                Err(error) => ready_response(SetupResponse::Offers {
                    models: Vec::new(),
                    problem: Some(format!("{error:#}")),
                }),
            },
            SetupRequest::Try(setups) => {
                match self
                    .plan_for_levels(&setups)
                    .and_then(|one| Ok(one.model_choices(&setups).map(|list| (one, list))?))
                {
                    Ok((plan, choices)) => {
                        let models = self.setup_ports().model_port(&plan.catalog);
                        try_setup(&plan, models, choices, &setups)
                    }
                    Err(error) => ready_response(SetupResponse::Tried(Err(format!("{error:#}")))),
                }
            }
            SetupRequest::Save(setups) => ready_response(SetupResponse::Saved(
                self.save_setup(&setups).map_err(|error| format!("{error:#}")),
            )),
        }
    }

    /// Runs that the user can resume come first: they are offered instead of the setup dialog.
    fn unless_offered(&self, opened: SetupResponse) -> BoxFuture<'static, SetupResponse> {
        let runs = self.list_workflow_runs(waiting_filter());
        Box::pin(async move {
            let some = runs.await.is_ok_and(|runs| !runs.is_empty());
            if some { SetupResponse::Unneeded } else { opened }
        })
    }

    fn plan_for_levels(&self, setups: &[LevelSetup]) -> Result<SetupPlan> {
        Ok(plan_setup(&self.setup_ports(), &self.current_catalog(), setups, Vec::new())?)
    }

    fn setup_ports(&self) -> LocalSetupPorts {
        LocalSetupPorts { context: self.context.clone(), overrides: self.overrides.clone() }
    }

    /// The server of a level whose model is not chosen yet.
    fn server_for_level(&self, setup: &LevelSetup) -> Result<(SetupPlan, ModelChoice)> {
        let catalog = self.current_catalog();
        let same_server = same_server(&catalog.user_files_only(), setup);
        let now = catalog.model_for_level(&setup.level).ok().filter(|_| same_server);
        let now = now.map_or_else(|| NONE_YET.to_owned(), |choice| choice.model);
        let model = Some(setup.model.clone().unwrap_or(now));
        let setup = LevelSetup { model, ..setup.clone() };
        let plan = self.plan_for_levels(std::slice::from_ref(&setup))?;
        let choice = plan.model_choice(&setup)?;
        Ok((plan, choice))
    }

    fn discover_servers(&self) -> BoxFuture<'static, SetupResponse> {
        let catalog = self.current_catalog();
        let survey = ServerProbe::new(&catalog);
        let here = catalog.servers().into_iter().filter(|server| server.local && server.provider != CUSTOM);
        let here: Vec<ConfiguredServer> = here.collect();
        Box::pin(async move {
            let seen = survey.probe_all(here, ProbeScope::Usable).await;
            let found = seen.iter().filter_map(|seen| {
                let list = seen.answer.as_ref()?.as_ref().ok()?;
                let note = match list.len() {
                    0 => "runs here, without a model".to_owned(),
                    1 => "runs here, 1 model".to_owned(),
                    count => format!("runs here, {count} models"),
                };
                Some(SetupServer { note, ..setup_server(&seen.server) })
            });
            SetupResponse::Discovered(found.collect())
        })
    }

    fn save_setup(&self, setups: &[LevelSetup]) -> Result<String> {
        let plan = self.plan_for_levels(setups)?;
        let files = plan.save_files(&self.setup_ports())?;
        self.setup_saved.store(true, Ordering::Relaxed);
        let gathered = config_sources::gather_sources(&self.context, self.overrides.clone(), false)?;
        let catalog = wiring::load_catalog(&self.context, gathered.sources);
        let level = setups.first().map_or("base", |setup| setup.level.as_str());
        let now = match catalog.model_for_level(level) {
            Ok(choice) => format!("level {level} asks {} from now on", display_name(&choice)),
            Err(missing) => missing.message.clone(),
        };
        self.apply_catalog(catalog);
        let above = setups.iter().find_map(|setup| plan.override_notice(setup));
        let above = above.map(|text| format!("\n{text}")).unwrap_or_default();
        let saved = if files.is_empty() {
            "nothing to save".to_owned()
        } else {
            format!("saved: {}", files.join(", "))
        };
        Ok(format!("{now}\n{saved}{above}"))
    }
}

fn setup_server(server: &ConfiguredServer) -> SetupServer {
    let custom = server.provider == CUSTOM;
    let note = match (&server.key_from, server.local) {
        (Some(from), _) => format!("key set: {from}"),
        (None, true) => format!("on this machine, {}", server.base_url),
        (None, false) if server.needs_key => "wants a key".to_owned(),
        (None, false) => String::new(),
    };
    SetupServer {
        provider: if custom { String::new() } else { server.provider.clone() },
        base_url: server.base_url.clone(),
        note,
        needs_key: server.needs_key,
        key_source: server.key_from.clone(),
    }
}

/// Whether the model is of the server that the setup names.
fn is_chosen_server(setup: &LevelSetup, choice: &ModelChoice) -> bool {
    match (&setup.base_url, &setup.provider) {
        (Some(url), _) => *url == choice.base_url,
        (None, Some(provider)) => *provider == choice.provider,
        (None, None) => true,
    }
}

/// `above`: why another server is asked than the chosen one.
fn list_offered_models(
    plan: SetupPlan,
    choice: ModelChoice,
    above: Option<String>,
) -> BoxFuture<'static, SetupResponse> {
    let of =
        |server: &ConfiguredServer| server.provider == choice.provider && server.base_url == choice.base_url;
    let server = plan.catalog.servers().into_iter().find(of);
    Box::pin(async move {
        let Some(server) = server else {
            return SetupResponse::Offers {
                models: Vec::new(),
                problem: Some("this server is not known".to_owned()),
            };
        };
        let seen = ServerProbe::new(&plan.catalog).probe_one(server, ProbeScope::Usable).await;
        let refused = matches!(seen.answer, Some(Err(ModelError::Auth { .. } | ModelError::Denied { .. })));
        let offer = models::server_models_report(seen, plan.catalog.models(), &DecisionMemory::default());
        let hint = if refused { Some("← goes back to the key".to_owned()) } else { offer.hint };
        let problem = offer.problem.map(|problem| format!("{problem}\n→ {}", hint.unwrap_or_default()));
        let above = above.map(|above| format!("{above}: the models are those of {}", choice.base_url));
        let problems: Vec<String> = above.into_iter().chain(problem).collect();
        let problem = (!problems.is_empty()).then(|| problems.join("\n"));
        let rows = offer.models.iter().filter(|row| row.name != NONE_YET);
        let models = rows
            .map(|row| SetupModel { name: row.name.clone(), note: models::window_and_price(row) })
            .collect();
        SetupResponse::Offers { models, problem }
    })
}

fn try_setup(
    plan: &SetupPlan,
    models: Arc<dyn ModelPort>,
    choices: Vec<(String, ModelChoice)>,
    setups: &[LevelSetup],
) -> BoxFuture<'static, SetupResponse> {
    let above = setups.iter().find_map(|setup| plan.override_notice(setup));
    Box::pin(async move {
        let mut told = Vec::new();
        for (_, choice) in choices {
            match try_model(models.as_ref(), choice).await {
                Ok(text) => told.push(text),
                Err(error) => {
                    return SetupResponse::Tried(Err(error.to_string().replace("\nhint: ", "\n→ ")));
                }
            }
        }
        told.extend(above);
        SetupResponse::Tried(Ok(told.join("\n")))
    })
}

fn ready_response(told: SetupResponse) -> BoxFuture<'static, SetupResponse> {
    Box::pin(std::future::ready(told))
}
