//! The script file of a workflow: read, and its own faults found in its own lines (E05 to E07, W10).

use super::super::did_you_mean::suggestion_hint;
use super::super::script_analysis::{ScriptFacts, ScriptName, known_names, parse_library};
use super::super::source::{FileDiagnostics, SourceFile};
use super::super::workflow_file::WorkflowForm;
use super::ScriptFile;
use super::compile::unavailable_name_hint;
use super::known_names::KnownNames;
use synthdev_domain::diagnostic::Diagnostic;

/// Reads a script file. What is wrong with it is placed in it; with an error there is no script file.
pub fn script_file(form: &WorkflowForm, file: SourceFile) -> (Option<ScriptFile>, Vec<Diagnostic>) {
    let mut findings = FileDiagnostics::new(&file);
    let read = match parse_library(&file.text) {
        Ok(read) => {
            check_script_file(form, &read.facts, &mut findings);
            for name in &read.hidden_names {
                let message =
                    format!("`{}` is a name of the workflow's own: scripts cannot reach this one", name.name);
                findings.add_warning("W10", name_span(name), message, Some("rename it".to_owned()));
            }
            Some(read)
        }
        Err(errors) => {
            for error in errors {
                let message = format!("not valid JavaScript: {}", error.message);
                findings.add_error("E06", error.offset..error.offset + 1, message, error.hint);
            }
            None
        }
    };
    let list = findings.list;
    (read.map(|library| ScriptFile { file, library }), list)
}

fn check_script_file(form: &WorkflowForm, facts: &ScriptFacts, findings: &mut FileDiagnostics<'_>) {
    for name in &facts.unknown_names {
        let message = format!("`{}` is not known here", name.name);
        let hint = suggestion_hint(&name.name, known_names()).or_else(|| unavailable_name_hint(&name.name));
        findings.add_error("E07", name_span(name), message, hint);
    }
    for name in &facts.unknown_members {
        let message = format!("`this` has no member `{}`", name.name);
        let hint = suggestion_hint(&name.name, known_names())
            .or_else(|| Some(format!("keep your own values in `common_data.{}`", name.name)));
        findings.add_error("E07", name_span(name), message, hint);
    }
    for name in &facts.frozen_writes {
        let message = format!("`{}` can only be read", name.name);
        findings.add_error(
            "E13",
            name_span(name),
            message,
            Some("write to `common_data` instead".to_owned()),
        );
    }
    let KnownNames { agents, contexts, .. } = &KnownNames::from_form(form);
    for (what, named, known) in [("agent", &facts.agents, agents), ("context", &facts.contexts, contexts)] {
        for name in named.iter().filter(|name| !known.has_name(&name.name)) {
            let message = format!("there is no {what} `{}`", name.name);
            findings.add_error(
                "E05",
                name_span(name),
                message,
                Some(known.unknown_name_hint(what, &name.name)),
            );
        }
    }
}

fn name_span(name: &ScriptName) -> std::ops::Range<usize> {
    name.offset..name.offset + name.name.len()
}
