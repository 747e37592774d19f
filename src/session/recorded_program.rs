//! What a recording holds and compares besides the calls: the agents of its program, their models, and this machine's
//! part of what is asked.
//!
//! For everything that a recording must not depend on it uses a catalogue in which a script answers every level: there
//! an agent's parameters are what its role and the settings have, whatever provider is configured on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use serde_json::json;

use synthdev_bootstrap::active_recording::{
    FORMAT, RecordedAgent, RecordedModelSettings, RecordedOutcome, RecordingError, RecordingHeader,
    RedactValueFn, RequestNormalizer, RolesByAgent,
};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::{Workflow, WorkflowProgram};
use synthdev_language::source::SourceFile;
use synthdev_runtime::model_exchanges::ModelCallEnd;
use synthdev_runtime::redact::SecretRedactor;
use synthdev_settings::catalog::{ConfigCatalog, ConfigSources};
use synthdev_settings::models::models_file::PARAMETERS;

pub fn recorded_outcome(over: ModelCallEnd) -> RecordedOutcome {
    match over {
        ModelCallEnd::Replied(reply) => RecordedOutcome::Reply(reply),
        ModelCallEnd::Failed(error) => RecordedOutcome::Error(error),
        ModelCallEnd::Stopped { after_ms } => RecordedOutcome::Stopped { after_ms },
    }
}

/// A catalogue in which no level has a model of its own: the same on every machine.
pub fn catalog_without_models(context: &StartContext, mut sources: ConfigSources) -> ConfigCatalog {
    const SCRIPTED: &str = "scripted";
    sources.command_line = context.scripted_overrides("a recording");
    for level in ["base", "smart", "fast"] {
        sources.command_line.set_override(&format!("levels.{level}.model"), SCRIPTED, "a recording");
    }
    // the script takes no parameters; this catalogue keeps everything that roles and settings ask for
    let models = json!({"providers": {SCRIPTED: {"accepts": PARAMETERS}}});
    sources.models.push(SourceFile::new(ConfigLayer::CommandLine, "a recording", models.to_string()));
    wiring::load_catalog(context, sources)
}

/// `plain`: the same program from a catalogue without models.
pub fn recording_header(plain: &WorkflowProgram, asking: &WorkflowProgram) -> RecordingHeader {
    let find = |workflow: &str| plain.workflows.iter().find(|one| one.name == workflow);
    let (mut agents, mut summaries) = (Vec::new(), Vec::new());
    for workflow in &asking.workflows {
        let name = &workflow.name;
        let seat =
            |agent: &str, role: &str, plain: Option<&ModelChoice>, choice: &ModelChoice| RecordedAgent {
                workflow: name.clone(),
                agent: agent.to_owned(),
                role: role.to_owned(),
                plain: plain.map(plain_choice).unwrap_or_default(),
                choice: without_addresses(choice),
            };
        let agent_of = |id: &str| find(name)?.agents.iter().find(|agent| agent.id == id);
        agents.extend(workflow.agents.iter().map(|agent| {
            seat(&agent.id, &agent.role, agent_of(&agent.id).map(|agent| &agent.choice), &agent.choice)
        }));
        let summary_of =
            |id: &str| find(name)?.contexts.iter().find(|context| context.name == id)?.summary.as_deref();
        summaries.extend(workflow.contexts.iter().filter_map(|context| {
            Some(seat(&context.name, "", summary_of(&context.name), context.summary.as_deref()?))
        }));
    }
    RecordingHeader {
        cassette: FORMAT,
        program: concat!("synthdev ", env!("CARGO_PKG_VERSION")).to_owned(),
        workflow: root_workflow(asking).map_or_else(String::new, |root| root.name.clone()),
        definition: plain.hash.clone(),
        agents,
        summaries,
    }
}

/// A model and those that may answer in its place, without their addresses and the names of their keys.
fn without_addresses(choice: &ModelChoice) -> ModelChoice {
    ModelChoice {
        base_url: String::new(),
        key: None,
        provenance: String::new(),
        fallback: choice.fallback.iter().map(without_addresses).collect(),
        ..choice.clone()
    }
}

pub fn plain_choice(choice: &ModelChoice) -> RecordedModelSettings {
    RecordedModelSettings { level: choice.level.clone(), parameters: choice.parameters.clone() }
}

pub fn roles_by_agent(program: &WorkflowProgram) -> RolesByAgent {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for agent in program.workflows.iter().flat_map(|workflow| &workflow.agents) {
        all.entry(&agent.id).or_default().insert(&agent.role);
    }
    let joined = |roles: BTreeSet<&str>| roles.into_iter().collect::<Vec<_>>().join("/");
    all.into_iter().map(|(agent, roles)| (agent.to_owned(), joined(roles))).collect()
}

/// The normalizer of this machine, for recording and playing.
pub fn local_place(catalog: &ConfigCatalog, places: &[&Path]) -> RequestNormalizer {
    let redactor =
        SecretRedactor::new(catalog.key_ring().values().map(|key| key.expose_secret().to_owned()).collect());
    let clean: Arc<RedactValueFn> = Arc::new(move |value| redactor.clean_data(value));
    let places = places.iter().map(|place| place.display().to_string()).collect();
    let now = jiff::Timestamp::now();
    let day = |zone: jiff::tz::TimeZone| now.to_zoned(zone).date().to_string();
    let dates = BTreeSet::from([day(jiff::tz::TimeZone::UTC), day(jiff::tz::TimeZone::system())]);
    RequestNormalizer::new(places, dates.into_iter().collect(), clean)
}

pub fn root_workflow(program: &WorkflowProgram) -> Option<&Arc<Workflow>> {
    program.workflows.first()
}

pub fn recording_error(bad: RecordingError) -> anyhow::Error {
    anyhow!(bad.0)
}
