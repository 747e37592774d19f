//! Small facts of the catalogue, for lists and messages.

use std::collections::BTreeMap;

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::role::Role;
use synthdev_domain::tool::ToolSpec;
use synthdev_language::model_selector::ModelSelector;
use synthdev_language::render::{DiagnosticStyle, render_diagnostics};
use synthdev_language::workflow_file::UnreadableFile;
use synthdev_service::session::{ChosenRole, RoleLine, ToolLine, WorkflowLine};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::roles::{RoleLookup, tools_for};

pub(crate) fn role_lines(catalog: &ConfigCatalog) -> Vec<RoleLine> {
    let models: BTreeMap<&str, String> = ["base", "smart", "fast"]
        .into_iter()
        .map(|level| {
            (
                level,
                catalog.model_for_level(level).map_or_else(|_| "not set".to_owned(), |choice| choice.model),
            )
        })
        .collect();
    let line = |role: &Role| {
        let tools = tools_for(role, catalog.tools()).0;
        RoleLine {
            group: role.group.clone(),
            name: role.name.clone(),
            level: role.level.clone(),
            model: match &role.provider {
                Some(_) => catalog
                    .select_model(&ModelSelector::for_role(role))
                    .map_or_else(|_| "not set".to_owned(), |choice| choice.model),
                None => models.get(role.level.as_str()).cloned().unwrap_or_default(),
            },
            tools: tools.len(),
            reads_files: can_read_files(&tools),
            description: role.description.clone(),
            layer: role.layer,
        }
    };
    catalog.roles().iter().map(line).collect()
}

/// Whether an agent with these tools can read a file of which it knows the path.
pub(crate) fn can_read_files(tools: &[ToolSpec]) -> bool {
    tools.iter().any(|tool| ["read_files", "execute_terminal"].contains(&tool.name.as_str()))
}

/// The role that a name means, as in workflow files.
///
/// # Errors
/// None, or several: which, and what to write instead.
pub(crate) fn find_role(catalog: &ConfigCatalog, wanted: &str) -> Result<ChosenRole, String> {
    let roles = catalog.roles();
    let found = roles.find_role(wanted).map_err(|lookup| match (&lookup, lookup.hint()) {
        (RoleLookup::Unknown { suggestion: None, .. }, _) | (_, None) => {
            format!("{} — /roles all lists them", lookup.message())
        }
        (_, Some(hint)) => format!("{} — {hint}", lookup.message()),
    })?;
    let is_found = |line: &RoleLine| line.group == found.group && line.name == found.name;
    let line = role_lines(catalog).into_iter().find(is_found).unwrap_or_default();
    // who writes the group means no other
    let namesakes = if wanted.contains('.') { Vec::new() } else { roles.namesakes(found) };
    Ok(ChosenRole { line, namesakes })
}

/// The tools of a role; of an unknown role, all of them.
pub(crate) fn tool_lines(catalog: &ConfigCatalog, role: &str) -> Vec<ToolLine> {
    let policy = catalog.settings().approval_policy();
    let tools = catalog
        .roles()
        .find_role(role)
        .map_or_else(|_| catalog.tools().to_vec(), |role| tools_for(role, catalog.tools()).0);
    tools
        .into_iter()
        .map(|tool| ToolLine {
            approval: policy.permission_for(&tool.name, tool.risk),
            parameters: parameter_names(&tool.parameters),
            name: tool.name,
            risk: tool.risk,
            description: tool.description,
        })
        .collect()
}

/// `path, start_line?`: names of a tool's parameters, optional ones marked.
pub(crate) fn parameter_names(schema: &serde_json::Value) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
    let names = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
    names
        .map(|name| if required.contains(&name.as_str()) { name.clone() } else { format!("{name}?") })
        .collect::<Vec<_>>()
        .join(", ")
}

/// What is missing, if every error is about a model that is not set.
pub(crate) fn missing_models(catalog: &ConfigCatalog, errors: &[Diagnostic]) -> Option<String> {
    let missing = catalog.missing_models();
    let all = !errors.is_empty() && errors.iter().all(|error| missing.contains(&error.message));
    all.then(|| {
        let mut named: Vec<String> = Vec::new();
        // levels that lack the same have the same text
        for text in missing {
            if !named.contains(&text) && errors.iter().any(|error| error.message == text) {
                named.push(text);
            }
        }
        named.join("\n")
    })
}

/// Workflow files so broken that no workflow of theirs can be read, by the names that they mean to define.
pub(crate) fn unreadable_workflows(catalog: &ConfigCatalog) -> impl Iterator<Item = WorkflowLine> {
    let lines = catalog.workflow_files().iter().filter_map(|file| {
        let own = |finding: &&Diagnostic| {
            finding.severity == DiagnosticSeverity::Error && finding.place.file == file.name
        };
        let named = catalog.workflows().iter().any(|entry| entry.place.file == file.name);
        let broken = catalog.diagnostics().iter().find(own).filter(|_| !named)?;
        let names = UnreadableFile::find_in(file)?.names;
        let line = |name: String| WorkflowLine {
            name,
            description: String::new(),
            input: String::new(),
            waits_for_input: false,
            needs_input: false,
            layer: file.layer,
            error: Some(synthdev_language::render::compact_line(broken)),
        };
        Some(names.into_iter().map(line).collect::<Vec<_>>())
    });
    lines.flatten()
}

/// With how the first of the files is opened, if it is one that can be edited here.
pub(crate) fn mended_by(catalog: &ConfigCatalog, errors: &[Diagnostic], text: String) -> String {
    let mut files = catalog.workflow_files().iter().chain(catalog.role_files()).map(|file| &file.name);
    let first = errors.first().map(|error| &error.place.file);
    match first.filter(|first| files.any(|file| file == *first)) {
        Some(file) => format!("{}\nhint: /edit {file} opens it at the error", text.trim_end()),
        None => text,
    }
}

pub(crate) fn first_error(catalog: &ConfigCatalog, found: &[Diagnostic]) -> Option<String> {
    let errors: Vec<Diagnostic> =
        found.iter().filter(|finding| finding.severity == DiagnosticSeverity::Error).cloned().collect();
    let broken =
        || errors.first().map(|error| format!("broken: {}", synthdev_language::render::compact_line(error)));
    missing_models(catalog, &errors).map(|text| text.replace('\n', ", ")).or_else(broken)
}

/// Findings as compilers show them, each in its file.
pub fn diagnostics_text(catalog: &ConfigCatalog, found: &[Diagnostic], colour: bool) -> String {
    let paint = if colour { DiagnosticStyle::Ansi } else { DiagnosticStyle::Plain };
    render_diagnostics(found, &|name| catalog.printable_text(name), paint)
}
