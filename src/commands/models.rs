//! `models`: the available models, their servers and their prices.

use std::io::Write;

use anyhow::Result;

use super::run_command::{build_runtime, load_catalog};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::output::TerminalSafeWriter;
use synthdev_cli::{exit, json_output, models};
use synthdev_domain::model::DecisionMemory;
use synthdev_service::model_setup::servers_of_provider;
use synthdev_session::probe_servers::{ProbeScope, ServerProbe};

pub(crate) fn list_models(context: &StartContext, provider: Option<&str>, as_json: bool) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let servers = servers_of_provider(&catalog, provider)?;
    let survey = ServerProbe::new(&catalog);
    let seen = build_runtime()?.block_on(survey.probe_all(servers, ProbeScope::Usable));
    let failed = seen.iter().any(|one| matches!(one.answer, Some(Err(_))));
    let report = models::models_report(seen, catalog.models(), &DecisionMemory::default());
    let mut stdout = std::io::stdout().lock();
    if as_json {
        json_output::write_pretty_json(&report, &mut stdout)?;
    } else {
        let text = models::report_text(&report, provider.is_some());
        TerminalSafeWriter(&mut stdout).write_all(text.as_bytes())?;
    }
    Ok(if provider.is_some() && failed { exit::FAILED } else { exit::COMPLETED })
}
