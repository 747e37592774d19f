//! `workflows`, `roles`, `tools`, `config show`, `config explain`.

use std::io::Write;

use anyhow::{Result, anyhow};
use serde_json::json;

use super::run_command::{load_catalog, load_quietly};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::output::{TerminalSafeWriter, first_line, safe_name};
use synthdev_cli::{exit, json_output};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::WorkflowParameter;
use synthdev_language::render::compact_line;
use synthdev_session::system_context;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::catalog::workflow_index::WorkflowEntry;
use synthdev_settings::layers::explain::explain_text;
use synthdev_settings::layers::show_text;
use synthdev_settings::roles::tools_for;

pub(crate) fn list_workflows(context: &StartContext, as_json: bool) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    // whether a workflow is sound does not depend on the models of this machine
    let (checked, _) = load_quietly(context, context.scripted_overrides("workflows"))?;
    let mut stdout = std::io::stdout().lock();
    if as_json {
        let rows: Vec<_> = catalog
            .workflows()
            .iter()
            .map(|entry| {
                let hidden_by = rival_layer(&checked, entry);
                let inputs: &[WorkflowParameter] = if hidden_by.is_some() { &[] } else { &entry.inputs };
                json!({"name": entry.name, "description": entry.description, "inputs": inputs,
                       "layer": hidden_by.unwrap_or(entry.layer), "place": entry.place, "error": workflow_error(&checked, &entry.name).as_ref().map(compact_line)})
            })
            .collect();
        json_output::write_pretty_json(&rows, &mut stdout)?;
        return Ok(exit::COMPLETED);
    }
    let mut out = TerminalSafeWriter(&mut stdout);
    let mut told: Vec<String> = Vec::new();
    for entry in catalog.workflows() {
        let error = workflow_error(&checked, &entry.name);
        let hidden_by = rival_layer(&checked, entry);
        let inputs = if hidden_by.is_some() { String::new() } else { inputs_text(&entry.inputs) };
        let about = match &error {
            Some(error) => format!("broken: {}", compact_line(error)),
            None => first_line(&entry.description, 60),
        };
        told.extend(error.as_ref().map(compact_line));
        writeln!(
            out,
            "{:<28} {:<10} ({})  {about}",
            safe_name(&entry.name),
            hidden_by.unwrap_or(entry.layer).to_string(),
            inputs
        )?;
    }
    let errors = catalog.diagnostics().iter().filter(|found| found.severity == DiagnosticSeverity::Error);
    for line in errors.map(compact_line).filter(|line| !told.contains(line)) {
        writeln!(out, "broken: {line}")?;
    }
    Ok(exit::COMPLETED)
}

fn inputs_text(inputs: &[WorkflowParameter]) -> String {
    let texts: Vec<String> =
        inputs.iter().map(|input| format!("{}: {}", safe_name(&input.name), input.kind.as_str())).collect();
    texts.join(", ")
}

/// The layer of the unreadable file that hides it.
fn rival_layer(catalog: &ConfigCatalog, entry: &WorkflowEntry) -> Option<ConfigLayer> {
    let place = &entry.unreadable_rival.as_ref()?.place.file;
    catalog.workflow_files().iter().find(|file| file.name == *place).map(|file| file.layer)
}

/// What is wrong with its file, or with that of a workflow that it calls: it cannot be started.
fn workflow_error(catalog: &ConfigCatalog, name: &str) -> Option<Diagnostic> {
    let found = catalog.program(name).err()?;
    let is_of_file = |finding: &&Diagnostic| {
        let place = &finding.place.file;
        finding.severity == DiagnosticSeverity::Error
            && catalog.workflow_files().iter().any(|file| file.name == *place)
    };
    found.iter().find(is_of_file).cloned()
}

pub(crate) fn list_roles(context: &StartContext, as_json: bool) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let mut stdout = std::io::stdout().lock();
    if as_json {
        let rows: Vec<_> = catalog.roles().iter().collect();
        json_output::write_pretty_json(&rows, &mut stdout)?;
        return Ok(exit::COMPLETED);
    }
    let mut out = TerminalSafeWriter(&mut stdout);
    for role in catalog.roles().iter() {
        let (tools, _) = tools_for(role, catalog.tools());
        let names: Vec<String> = tools.iter().map(|tool| safe_name(&tool.name)).collect();
        let decisions: Vec<String> = role.parsing_tools.iter().map(|tool| safe_name(&tool.name)).collect();
        let decisions =
            if decisions.is_empty() { String::new() } else { format!("; decides {}", decisions.join(", ")) };
        let list = if names.is_empty() { "no tools".to_owned() } else { names.join(", ") };
        writeln!(
            out,
            "{:<24} {:<6} {:<10} {list}{decisions}",
            safe_name(&role.full_name()),
            role.level,
            role.layer.to_string()
        )?;
    }
    Ok(exit::COMPLETED)
}

pub(crate) fn list_tools(context: &StartContext, as_json: bool) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let policy = catalog.settings().approval_policy();
    let mut stdout = std::io::stdout().lock();
    if as_json {
        let rows: Vec<_> = catalog
            .tools()
            .iter()
            .map(|tool| json!({"tool": tool, "approval": policy.permission_for(&tool.name, tool.risk)}))
            .collect();
        json_output::write_pretty_json(&rows, &mut stdout)?;
        return Ok(exit::COMPLETED);
    }
    let mut out = TerminalSafeWriter(&mut stdout);
    for tool in catalog.tools() {
        let rule = serde_json::to_value(policy.permission_for(&tool.name, tool.risk))?;
        let risk = serde_json::to_value(tool.risk)?;
        let (risk, rule) = (risk.as_str().unwrap_or_default(), rule.as_str().unwrap_or_default());
        writeln!(
            out,
            "{:<18} {risk:<8} {rule:<6} {}",
            safe_name(&tool.name),
            first_line(&tool.description, 80)
        )?;
    }
    Ok(exit::COMPLETED)
}

pub(crate) fn show_config(context: &StartContext, origin: bool) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    write!(out, "{}", show_text(&catalog.settings().setting_rows(), origin))?;
    for level in ["base", "smart", "fast"] {
        match catalog.model_for_level(level) {
            Ok(choice) => {
                writeln!(out, "{level:<6} {} at {} — {}", choice.model, choice.base_url, choice.provenance)?
            }
            Err(missing) => writeln!(out, "{level:<6} no model: {}", missing.message)?,
        }
    }
    for line in system_context::guidance_lines(&catalog) {
        writeln!(out, "{line}")?;
    }
    Ok(if super::diagnostics::print_setting_errors(&catalog) { exit::USAGE } else { exit::COMPLETED })
}

pub(crate) fn explain_setting(context: &StartContext, key: &str, as_json: bool) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let explained = catalog.explain_setting(key).map_err(|error| anyhow!(error))?;
    let mut stdout = std::io::stdout().lock();
    if as_json {
        json_output::write_pretty_json(&explained, &mut stdout)?;
    } else {
        TerminalSafeWriter(&mut stdout).write_all(explain_text(&explained).as_bytes())?;
    }
    Ok(if explained.refused.is_empty() { exit::COMPLETED } else { exit::USAGE })
}
