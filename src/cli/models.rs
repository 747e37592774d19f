//! `models` as text and as data: each server with its models, what the catalogue knows of them, and which levels use
//! it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::output::safe_name;
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::model::{DecisionMemory, ModelError};
use synthdev_domain::model_list::ListedModel;
use synthdev_domain::terminal_safe;
use synthdev_service::setting_values::models::provider_catalog::{CatalogModel, ProviderCatalog};
use synthdev_service::setting_values::models::server_list::ConfiguredServer;

/// A server, and what it answered if it was asked.
#[derive(Debug)]
pub struct ProbedModelServer {
    pub server: ConfiguredServer,
    pub answer: Option<Result<Vec<ListedModel>, ModelError>>,
}

/// Models that a server lists and the catalogue does not know are shown up to this number, unless it was named.
const OTHERS: usize = 12;

#[derive(Serialize)]
pub struct ModelsReport {
    pub providers: Vec<ServerModelsReport>,
}

/// What one server offers.
#[derive(Serialize)]
pub struct ServerModelsReport {
    #[serde(flatten)]
    pub server: ConfiguredServer,
    pub usable: bool,
    /// `null`: it was not asked.
    pub reached: Option<bool>,
    /// Why it gave no list, in one line.
    pub problem: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    pub models: Vec<ModelReportRow>,
}

#[derive(Serialize)]
pub struct ModelReportRow {
    pub name: String,
    /// Tokens.
    pub context_size: Option<u64>,
    /// Tokens.
    pub max_output: Option<u64>,
    /// US dollars per million tokens; `null`: not known.
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cached: Option<f64>,
    /// The catalogue knows it.
    pub known: bool,
    /// The server lists it; `null`: it gave no list.
    pub listed: Option<bool>,
    /// How its decisions are asked for first: as the catalogue says, or as runs of this process found out.
    pub decisions: DecisionSource,
    /// Levels that use it.
    pub levels: Vec<String>,
}

pub fn models_report(
    seen: Vec<ProbedModelServer>,
    models: &ProviderCatalog,
    decisions: &DecisionMemory,
) -> ModelsReport {
    let reports = seen.into_iter().map(|one| server_models_report(one, models, decisions));
    ModelsReport { providers: reports.collect() }
}

/// Used ones first, then the catalogue's, then the server's own, each once.
pub fn server_models_report(
    seen: ProbedModelServer,
    models: &ProviderCatalog,
    decisions: &DecisionMemory,
) -> ServerModelsReport {
    let ProbedModelServer { server, answer } = seen;
    let known = models.provider(&server.provider).map_or(&[][..], |provider| &provider.models);
    let listed: Option<&[ListedModel]> = answer.as_ref().and_then(|answer| answer.as_deref().ok());
    let used = server.levels.iter().map(|used| used.model.as_str());
    let catalogued = known.iter().map(|model| model.name.as_str());
    let others = listed.into_iter().flatten().map(|model| model.name.as_str());
    let mut taken = BTreeSet::new();
    let names: Vec<&str> =
        used.chain(catalogued).chain(others).filter(|name| taken.insert(name.to_owned())).collect();
    let rows = names
        .into_iter()
        .map(|name| {
            let row = report_row(name, &server, listed, models);
            let found_out = decisions.source_for_model(&server.provider, &server.base_url, name);
            ModelReportRow { decisions: row.decisions.max(found_out), ..row }
        })
        .collect();
    let error = answer.as_ref().and_then(|answer| answer.as_ref().err());
    ServerModelsReport {
        usable: server.is_usable(),
        reached: answer.as_ref().map(Result::is_ok),
        problem: error.map(ToString::to_string),
        hint: error.map(|error| listing_hint(&server, error)),
        models: rows,
        server,
    }
}

fn report_row(
    name: &str,
    server: &ConfiguredServer,
    listed: Option<&[ListedModel]>,
    models: &ProviderCatalog,
) -> ModelReportRow {
    let provider = models.provider(&server.provider);
    let model: Option<&CatalogModel> = provider.and_then(|provider| provider.model(name));
    let own = listed.and_then(|list| list.iter().find(|one| one.name == name));
    let price = provider.and_then(|provider| provider.price(model));
    let levels = server.levels.iter().filter(|used| used.model == name);
    ModelReportRow {
        name: name.to_owned(),
        context_size: model.and_then(|model| model.context_size).or(own.and_then(|own| own.context_size)),
        max_output: model.and_then(|model| model.max_output),
        input: price.map(|price| price.input).or(own.and_then(|own| own.input)),
        output: price.map(|price| price.output).or(own.and_then(|own| own.output)),
        cached: price.and_then(|price| price.cached),
        known: model.is_some(),
        listed: listed.map(|_| own.is_some()),
        decisions: model.and_then(|model| model.decision_start).unwrap_or_default(),
        levels: levels.map(|used| used.level.clone()).collect(),
    }
}

/// What to do where no list came.
pub fn listing_hint(server: &ConfiguredServer, error: &ModelError) -> String {
    match error {
        ModelError::Auth { .. } => format!("set the key again: {}", configuration_hint(server)),
        ModelError::Transport { .. } if server.local => {
            format!("start the server, or set another address with {}", configuration_hint(server))
        }
        ModelError::Transport { .. } => "check the network and the address of the server".to_owned(),
        _ => error.hint().to_owned(),
    }
}

/// How this server's settings are changed.
fn configuration_hint(server: &ConfiguredServer) -> String {
    match server.levels.first().map_or("base", |used| used.level.as_str()) {
        "base" => "`synthdev configure`".to_owned(),
        level => format!("`/configure {level}`"),
    }
}

/// For display. `named`: one provider was asked for, and everything is shown.
pub fn report_text(report: &ModelsReport, named: bool) -> String {
    let (mut text, mut keyless, mut absent) = (String::new(), Vec::new(), Vec::new());
    for offer in &report.providers {
        let server = &offer.server;
        if !named && !offer.usable {
            let variable = server.key_env.first().map(|name| format!(" ({name})")).unwrap_or_default();
            keyless.push(format!("{}{variable}", safe_name(&server.provider)));
            continue;
        }
        if !named && server.local && server.levels.is_empty() && offer.reached == Some(false) {
            absent.push(format!("{} ({})", safe_name(&server.provider), server.base_url));
            continue;
        }
        push_server_section(offer, named, &mut text);
    }
    if !keyless.is_empty() {
        text.push_str(&format!("No key yet: {}.\n", keyless.join(", ")));
    }
    if !absent.is_empty() {
        text.push_str(&format!("Not running here: {}.\n", absent.join(", ")));
    }
    if !named && report.providers.iter().all(|offer| offer.server.levels.is_empty()) {
        text.push_str("No level has a model yet. `synthdev configure` sets one up.\n");
    }
    text
}

fn push_server_section(offer: &ServerModelsReport, named: bool, text: &mut String) {
    let server = &offer.server;
    let key = match &server.key_from {
        Some(from) => format!("key: {from}"),
        None if server.kept_back.is_some() => {
            let why = server.kept_back.as_deref().unwrap_or_default();
            format!("no key: {why}; to give it one: {}", configuration_hint(server))
        }
        None if server.needs_key => {
            let variable = server.key_env.first().map(|name| format!("set {name}, or ")).unwrap_or_default();
            format!("no key: {variable}run `synthdev configure --provider {} --key-stdin`", server.provider)
        }
        None => "no key needed".to_owned(),
    };
    text.push_str(&format!("{}  {}\n  {key}\n", safe_name(&server.provider), server.base_url));
    if let (Some(problem), Some(hint)) = (&offer.problem, &offer.hint) {
        text.push_str(&format!("  ✗ {}; {hint}\n", terminal_safe::escape_name(problem)));
    }
    let most = if named { usize::MAX } else { OTHERS };
    let first = |row: &&ModelReportRow| row.known || !row.levels.is_empty();
    let rows: Vec<&ModelReportRow> = offer.models.iter().filter(first).collect();
    let others: Vec<&ModelReportRow> = offer.models.iter().filter(|row| !first(row)).collect();
    let shown: Vec<&ModelReportRow> = rows.into_iter().chain(others.iter().copied().take(most)).collect();
    let wide = shown.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).min(44);
    for row in &shown {
        text.push_str(&row_line(row, wide));
    }
    if others.len() > most {
        let more = others.len() - most;
        let provider = &server.provider;
        text.push_str(&format!("    … {more} more: synthdev models --provider {provider}\n"));
    }
    if shown.is_empty() && offer.reached == Some(true) {
        text.push_str("    it has no model yet\n");
    }
    text.push('\n');
}

fn row_line(row: &ModelReportRow, wide: usize) -> String {
    let levels = row.levels.join(", ");
    let window = row.context_size.map_or_else(String::new, window_text);
    let gone = if row.listed == Some(false) { "  not in the server's list" } else { "" };
    let used = if levels.is_empty() { String::new() } else { format!("  ← {levels}") };
    let decisions = match row.decisions {
        DecisionSource::Call => "",
        DecisionSource::Reminder => "  decides when reminded",
        DecisionSource::StructuredOutput => "  decides by structured output",
    };
    format!("    {:<wide$}  {window:>12}  {}{gone}{decisions}{used}\n", safe_name(&row.name), price_text(row))
}

/// Window and price of a model, for a list to choose from.
pub fn window_and_price(row: &ModelReportRow) -> String {
    let window = row.context_size.map(|tokens| format!("{}, ", window_text(tokens))).unwrap_or_default();
    let gone = if row.listed == Some(false) { ", not in the server's list" } else { "" };
    format!("{window}{}{gone}", price_text(row))
}

fn price_text(row: &ModelReportRow) -> String {
    match (row.input, row.output) {
        (Some(0.0), Some(0.0)) => "free".to_owned(),
        (Some(input), Some(output)) => format!("${} in, ${} out", money_text(input), money_text(output)),
        _ => "price unknown".to_owned(),
    }
}

/// Dollars per million tokens, without noise.
fn money_text(dollars: f64) -> String {
    let text = format!("{dollars:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn window_text(tokens: u64) -> String {
    if tokens < 10_000 { format!("{tokens} tokens") } else { format!("{}k tokens", tokens / 1_000) }
}
