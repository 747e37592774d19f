//! The dialog that sets up a model: what there is, whether it works, and taking up what was saved.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use anyhow::Result;
use futures_util::future::BoxFuture;

use super::TuiBackend;
use crate::model_setup::{self, ConfigCandidate};
use crate::probe_servers::{ProbeScope, ServerProbe};
use crate::{bootstrap, config_sources};
use synthdev_cli::models;
use synthdev_config::catalog::ConfigCatalog;
use synthdev_config::models::resolve::CUSTOM;
use synthdev_config::models::server_list::ConfiguredServer;
use synthdev_config::setup::LevelSetup;
use synthdev_domain::model::{ModelChoice, ModelError};
use synthdev_tui::backend::SessionBackend;
use synthdev_tui::msg::UiCommand;
use synthdev_tui::setup::{SetupModel, SetupReply, SetupRequest, SetupServer};
use synthdev_tui::update::history::offer;

/// A name for a model that is not chosen yet.
const NONE_YET: &str = "-";

impl TuiBackend {
    /// From now on runs start with this configuration; running ones keep theirs.
    pub(super) fn take_up(&self, catalog: ConfigCatalog) {
        let old = self.wired();
        if old.providers.scripted().is_none() {
            let wired = bootstrap::rewire(&old, &self.world.project, &self.world.dirs.data, &catalog);
            *self.wired.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(wired);
        }
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
    }

    pub(super) fn set_up(&self, asked: SetupRequest) -> BoxFuture<'static, SetupReply> {
        match asked {
            SetupRequest::Open { .. } if self.wired().providers.scripted().is_some() => {
                let why = "here the words are scripted\nhint: `synthdev configure` sets up a model";
                ready(SetupReply::Saved(Err(why.to_owned())))
            }
            SetupRequest::Open { first: true, .. } if self.catalog().model_for_level("base").is_ok() => {
                ready(SetupReply::Unneeded)
            }
            SetupRequest::Open { level, first, alone } => {
                let places = self.catalog().servers().iter().map(place).collect();
                let opened = SetupReply::Opened { level, first, alone, places };
                if first { self.unless_offered(opened) } else { ready(opened) }
            }
            SetupRequest::Discover => self.discover(),
            SetupRequest::Offers(setup) => match self.server_of(&setup) {
                Ok((candidate, choice)) => offers(candidate, choice),
                Err(error) => {
                    ready(SetupReply::Offers { models: Vec::new(), problem: Some(format!("{error:#}")) })
                }
            },
            SetupRequest::Try(setups) => {
                match self.candidate(&setups).and_then(|one| choices(&one, &setups).map(|list| (one, list))) {
                    Ok((candidate, choices)) => attempt(candidate, choices, &setups),
                    Err(error) => ready(SetupReply::Tried(Err(format!("{error:#}")))),
                }
            }
            SetupRequest::Save(setups) => {
                ready(SetupReply::Saved(self.save(&setups).map_err(|error| format!("{error:#}"))))
            }
        }
    }

    /// What the person can go on with comes first: it is told behind the dialog.
    fn unless_offered(&self, opened: SetupReply) -> BoxFuture<'static, SetupReply> {
        let UiCommand::Runs(filter, _) = offer() else { return ready(opened) };
        let runs = self.runs(filter);
        Box::pin(async move {
            let some = runs.await.is_ok_and(|runs| !runs.is_empty());
            if some { SetupReply::Unneeded } else { opened }
        })
    }

    fn candidate(&self, setups: &[LevelSetup]) -> Result<ConfigCandidate> {
        let catalog = self.catalog();
        model_setup::check(setups, catalog.models())?;
        ConfigCandidate::with_changes(
            &self.world,
            self.overrides.clone(),
            &model_setup::changes(&catalog, setups),
        )
    }

    /// The server of a level whose model is not chosen yet.
    fn server_of(&self, setup: &LevelSetup) -> Result<(ConfigCandidate, ModelChoice)> {
        let catalog = self.catalog();
        let same_server = model_setup::same_server(&catalog.user_files_only(), setup);
        let now = catalog.model_for_level(&setup.level).ok().filter(|_| same_server);
        let now = now.map_or_else(|| NONE_YET.to_owned(), |choice| choice.model);
        let model = Some(setup.model.clone().unwrap_or(now));
        let setup = LevelSetup { model, ..setup.clone() };
        let candidate = self.candidate(std::slice::from_ref(&setup))?;
        let choice = candidate.choice(&setup)?;
        Ok((candidate, choice))
    }

    fn discover(&self) -> BoxFuture<'static, SetupReply> {
        let catalog = self.catalog();
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
                Some(SetupServer { note, ..place(&seen.server) })
            });
            SetupReply::Discovered(found.collect())
        })
    }

    fn save(&self, setups: &[LevelSetup]) -> Result<String> {
        let candidate = self.candidate(setups)?;
        let files = candidate.save()?;
        self.saved.store(true, Ordering::Relaxed);
        let gathered = config_sources::gather(&self.world, self.overrides.clone(), false)?;
        let catalog = ConfigCatalog::load(gathered.sources, bootstrap::specs(&self.world.project));
        let level = setups.first().map_or("base", |setup| setup.level.as_str());
        let now = match catalog.model_for_level(level) {
            Ok(choice) => format!("level {level} asks {} from now on", model_setup::named(&choice)),
            Err(missing) => missing.message.clone(),
        };
        self.take_up(catalog);
        let above = setups.iter().find_map(|setup| candidate.overruled(setup));
        let above = above.map(|text| format!("\n{text}")).unwrap_or_default();
        let saved = if files.is_empty() {
            "nothing to save".to_owned()
        } else {
            format!("saved: {}", files.join(", "))
        };
        Ok(format!("{now}\n{saved}{above}"))
    }
}

fn place(server: &ConfiguredServer) -> SetupServer {
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
        key_from: server.key_from.clone(),
    }
}

fn choices(candidate: &ConfigCandidate, setups: &[LevelSetup]) -> Result<Vec<ModelChoice>> {
    let mut found: Vec<ModelChoice> = Vec::new();
    for setup in setups.iter().filter(|setup| !setup.as_base) {
        let choice = candidate.choice(setup)?;
        if !found.iter().any(|one| one.model == choice.model && one.base_url == choice.base_url) {
            found.push(choice);
        }
    }
    Ok(found)
}

fn offers(candidate: ConfigCandidate, choice: ModelChoice) -> BoxFuture<'static, SetupReply> {
    let of =
        |server: &ConfiguredServer| server.provider == choice.provider && server.base_url == choice.base_url;
    let server = candidate.catalog.servers().into_iter().find(of);
    Box::pin(async move {
        let Some(server) = server else {
            return SetupReply::Offers {
                models: Vec::new(),
                problem: Some("this server is not known".to_owned()),
            };
        };
        let seen = ServerProbe::new(&candidate.catalog).one(server, ProbeScope::Usable).await;
        let refused = matches!(seen.answer, Some(Err(ModelError::Auth { .. } | ModelError::Denied { .. })));
        let offer = models::offer(seen, candidate.catalog.models());
        let hint = if refused { Some("← goes back to the key".to_owned()) } else { offer.hint };
        let problem = offer.problem.map(|problem| format!("{problem}\n→ {}", hint.unwrap_or_default()));
        let rows = offer.models.iter().filter(|row| row.name != NONE_YET);
        let models = rows.map(|row| SetupModel { name: row.name.clone(), note: models::note(row) }).collect();
        SetupReply::Offers { models, problem }
    })
}

fn attempt(
    candidate: ConfigCandidate,
    choices: Vec<ModelChoice>,
    setups: &[LevelSetup],
) -> BoxFuture<'static, SetupReply> {
    let above = setups.iter().find_map(|setup| candidate.overruled(setup));
    Box::pin(async move {
        let mut told = Vec::new();
        for choice in choices {
            match candidate.trial(choice).await {
                Ok(text) => told.push(text),
                Err(text) => return SetupReply::Tried(Err(text.replace("\nhint: ", "\n→ "))),
            }
        }
        told.extend(above);
        SetupReply::Tried(Ok(told.join("\n")))
    })
}

fn ready(told: SetupReply) -> BoxFuture<'static, SetupReply> {
    Box::pin(std::future::ready(told))
}
