//! The configuration of this start.

use anyhow::Result;

use super::cli_context::CliContext;
use super::config_sources::{self, GatheredSources};
use super::{bootstrap, trust, trust_report};
use synthdev_cli::output::print_stderr;
use synthdev_language::render::compact_line;
use synthdev_language::source::{NOT_TAKEN, SourceFile};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::read_layers::SettingOverrides;

/// The configuration of this start; broken settings are reported and end the program.
pub(super) fn load_catalog(
    context: &CliContext,
    overrides: SettingOverrides,
    more: Option<SourceFile>,
) -> Result<(ConfigCatalog, GatheredSources)> {
    let mut gathered = config_sources::gather_sources(context, overrides, context.trust)?;
    gathered.sources.workflows.extend(more);
    let catalog = bootstrap::load_catalog(context, gathered.sources.clone());
    for line in gathered.not_read() {
        print_stderr(format_args!("warning: not read: {line}"));
    }
    if let Some(notice) = trust::untrusted_notice(&gathered.trust) {
        print_stderr(format_args!(
            "warning: {notice}\n{}",
            trust_report::capabilities_text(context, &gathered.project)
        ));
    }
    for finding in catalog.diagnostics().iter().filter(|finding| finding.code == NOT_TAKEN) {
        print_stderr(compact_line(finding));
    }
    Ok((catalog, gathered))
}

/// The same without a word on stderr.
pub(super) fn load_quietly(
    context: &CliContext,
    overrides: SettingOverrides,
) -> Result<(ConfigCatalog, GatheredSources)> {
    let gathered = config_sources::gather_sources(context, overrides, context.trust)?;
    let catalog = bootstrap::load_catalog(context, gathered.sources.clone());
    Ok((catalog, gathered))
}
