//! `doctor`: whether everything that a run needs is in order, and how to mend what is not. Writes nothing; every wait
//! has a deadline.

mod environment_checks;
mod terminal_checks;

use std::io::Write;

use anyhow::Result;

use super::run_command::build_runtime;
use super::terminal_size::terminal_columns;
use super::trust_command::untrusted_notice;
use synthdev_bootstrap::machine_facts::system_info;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::{config_sources, wiring};
use synthdev_cli::doctor::{DoctorFinding, DoctorStatus, build_report, report_text};
use synthdev_cli::models::{ProbedModelServer, listing_hint};
use synthdev_cli::output::TerminalSafeWriter;
use synthdev_cli::{exit, json_output};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_language::model_selector::LEVELS;
use synthdev_language::render::compact_line;
use synthdev_session::probe_servers::{ProbeScope, ServerProbe};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::models::server_list::ServerLevelUse;
use synthdev_settings::setup::KEYS_FILE;

const CONFIGURATION: &str = "configuration";
const MODELS: &str = "models";

pub(crate) fn run_doctor_command(context: &StartContext, offline: bool, as_json: bool) -> Result<u8> {
    let mut lines = terminal_checks::terminal_findings(context);
    let runtime = build_runtime()?;
    let gathered = config_sources::gather_sources(context, context.overrides.clone(), context.trust);
    let leads_out = gathered.as_ref().is_ok_and(|gathered| gathered.sources.git_leads_out);
    lines.extend(
        runtime.block_on(environment_checks::git_findings(context, wiring::outside_files(leads_out))),
    );
    lines.extend(environment_checks::store_findings(context));
    // what cannot even be gathered is a finding like any other
    match gathered {
        Ok(gathered) => {
            let notice = untrusted_notice(&gathered.trust);
            let unreadable = gathered.not_read();
            let catalog = wiring::load_catalog(context, gathered.sources);
            lines.push(environment_checks::sandbox_finding(context, &catalog));
            lines.extend(runtime.block_on(model_findings(&catalog, offline)));
            lines.extend(configuration_findings(context, &catalog, notice, &unreadable));
        }
        Err(error) => {
            let fix = "see that the file is there and can be read";
            lines.push(DoctorFinding::problem(CONFIGURATION, format!("{error:#}"), fix));
        }
    }
    print_findings(lines, as_json)
}

/// Prints what was found; the exit code says whether there is a problem.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print_findings(lines: Vec<DoctorFinding>, as_json: bool) -> Result<u8> {
    let report = build_report(lines);
    let mut stdout = std::io::stdout().lock();
    if as_json {
        json_output::write_pretty_json(&report, &mut stdout)?;
    } else {
        TerminalSafeWriter(&mut stdout).write_all(report_text(&report, terminal_columns()).as_bytes())?;
    }
    Ok(if report.state == DoctorStatus::Problem { exit::FAILED } else { exit::COMPLETED })
}

/// Each level's model and key, then the servers that they ask.
async fn model_findings(catalog: &ConfigCatalog, offline: bool) -> Vec<DoctorFinding> {
    let mut lines = Vec::new();
    for level in LEVELS {
        match catalog.model_for_level(level) {
            Ok(choice) => {
                let text = format!("{level}: {} of {}", choice.model, choice.provider);
                lines.push(DoctorFinding::ok_finding(MODELS, text));
            }
            Err(missing) => {
                let fix = missing.hint.clone().unwrap_or_default();
                let named = fix.contains("synthdev configure");
                let fix = if named { fix } else { format!("`synthdev configure` sets one up; or {fix}") };
                lines.push(DoctorFinding::problem(MODELS, missing.message.clone(), fix));
                // the others lack the same
                break;
            }
        }
    }
    let servers = catalog.servers().into_iter().filter(|server| !server.levels.is_empty()).collect();
    let ask = if offline { ProbeScope::Nobody } else { ProbeScope::Used };
    let seen = ServerProbe::new(catalog).probe_all(servers, ask).await;
    lines.extend(seen.iter().map(server_finding));
    lines
}

fn server_finding(seen: &ProbedModelServer) -> DoctorFinding {
    let server = &seen.server;
    let key = match &server.key_from {
        Some(from) => format!("key from {from}"),
        None => match &server.kept_back {
            Some(why) => format!("no key: {why}"),
            None => "no key needed".to_owned(),
        },
    };
    let place = format!("{} at {}, {key}", server.provider, server.base_url);
    match &seen.answer {
        None => DoctorFinding::ok_finding(MODELS, format!("{place}; not asked")),
        Some(Err(error)) => {
            DoctorFinding::problem(MODELS, format!("{place}: {error}"), listing_hint(server, error))
        }
        Some(Ok(list)) => {
            let has = |model: &str| {
                list.iter().any(|one| one.name == model || one.name == format!("{model}:latest"))
            };
            let missing = server.levels.iter().find(|used| !list.is_empty() && !has(&used.model));
            match missing {
                None => DoctorFinding::ok_finding(MODELS, format!("{place}; it answers")),
                Some(ServerLevelUse { level, model }) => DoctorFinding::warning_finding(
                    MODELS,
                    format!("{place}; it answers, but its list does not name {model}"),
                    format!(
                        "see `synthdev models --provider {}`; set the model of {level} with `/configure {level}`",
                        server.provider
                    ),
                ),
            }
        }
    }
}

fn configuration_findings(
    context: &StartContext,
    catalog: &ConfigCatalog,
    notice: Option<String>,
    unreadable: &[String],
) -> Vec<DoctorFinding> {
    let mut lines = Vec::new();
    for finding in catalog.diagnostics().iter().filter(|finding| finding.severity > DiagnosticSeverity::Info)
    {
        let text = compact_line(&Diagnostic { hint: None, ..finding.clone() });
        let fix = finding.hint.clone().unwrap_or_else(|| "`synthdev check` shows the place".to_owned());
        lines.push(match finding.severity {
            DiagnosticSeverity::Error => DoctorFinding::problem(CONFIGURATION, text, fix),
            DiagnosticSeverity::Warning | DiagnosticSeverity::Info => {
                DoctorFinding::warning_finding(CONFIGURATION, text, fix)
            }
        });
    }
    for line in unreadable {
        let fix = "correct the file or its permissions";
        lines.push(DoctorFinding::problem(CONFIGURATION, format!("not read: {line}"), fix));
    }
    for name in ["settings.json", KEYS_FILE, ".env"] {
        let file = context.dirs.config.join(name);
        if system_info::is_readable_by_others(&file)
            && (name == KEYS_FILE || sets_key(catalog, &format!("user:{name}")))
        {
            let text = format!("{} holds a key and others can read it", file.display());
            lines.push(DoctorFinding::warning_finding(
                CONFIGURATION,
                text,
                format!("chmod 600 '{}'", file.display()),
            ));
        }
    }
    if let Some(notice) = notice {
        lines.push(DoctorFinding::warning_finding(
            CONFIGURATION,
            notice,
            "review it with `synthdev trust`, then start once with --trust",
        ));
    }
    if lines.is_empty() {
        let (workflows, roles) = (catalog.workflows().len(), catalog.roles().iter().count());
        let text = format!("{workflows} workflows and {roles} roles, nothing wrong with their files");
        lines.push(DoctorFinding::ok_finding(CONFIGURATION, text));
    }
    lines.push(DoctorFinding::ok_finding(
        CONFIGURATION,
        format!("your files are in {}", context.dirs.config.display()),
    ));
    lines
}

/// A key in force was set in this file.
fn sets_key(catalog: &ConfigCatalog, file: &str) -> bool {
    let shown = catalog.settings().setting_rows();
    shown.iter().any(|line| line.value.starts_with("set (") && line.origin.contains(file))
}
