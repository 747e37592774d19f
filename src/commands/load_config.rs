//! The configuration of this start.

use anyhow::Result;

use super::trust_command::untrusted_notice;
use synthdev_bootstrap::config_sources::{self, GatheredSources};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
pub(crate) use synthdev_bootstrap::wiring::load_quietly;
use synthdev_cli::output::print_stderr;
use synthdev_language::render::compact_line;
use synthdev_language::source::{NOT_TAKEN, SourceFile};
use synthdev_session::trust_report;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::read_layers::SettingOverrides;

/// The configuration of this start; broken settings are reported and end the program.
pub(crate) fn load_catalog(
    context: &StartContext,
    overrides: SettingOverrides,
    more: Option<SourceFile>,
) -> Result<(ConfigCatalog, GatheredSources)> {
    let mut gathered = config_sources::gather_sources(context, overrides, context.trust)?;
    gathered.sources.workflows.extend(more);
    let catalog = wiring::load_catalog(context, gathered.sources.clone());
    for line in gathered.not_read() {
        print_stderr(format_args!("warning: not read: {line}"));
    }
    if let Some(notice) = untrusted_notice(&gathered.trust) {
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
