//! Facts about where and when a run starts, for the system context of its agents.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use synthdev_bootstrap::local_files::ignore_files::walk_unignored;
use synthdev_bootstrap::machine_facts::current_time;
use synthdev_cli::output::safe_name;
use synthdev_domain::system_context::SystemContext;
use synthdev_engine::run_spec::RunSpec;
use synthdev_service::run_start::RunStartRequest;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::system_context::SystemContextFacts;

/// For a run that starts now, in this directory.
pub fn build_system_context(catalog: &ConfigCatalog, directory: &Path) -> SystemContext {
    let (files, more_files) = list_files(directory, catalog.settings().prompt_files());
    catalog.system_context(&SystemContextFacts {
        os: format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH),
        directory: directory.display().to_string(),
        date: current_date(),
        files,
        has_more_files: more_files,
    })
}

/// A run that starts now, in this directory.
pub fn run_spec(catalog: &ConfigCatalog, directory: &Path, request: RunStartRequest) -> RunSpec {
    request.into_spec(catalog, build_system_context(catalog, directory))
}

/// Which guidance agents are given, a line each.
pub fn guidance_lines(catalog: &ConfigCatalog) -> impl Iterator<Item = String> {
    catalog.guidance_excerpts().into_iter().map(|given| {
        let file = safe_name(&given.file.name);
        if given.shown_chars < given.total_chars {
            let (shown, whole) = (given.shown_chars, given.total_chars);
            return format!(
                "agents are given {shown} of the {whole} characters of {file} (prompt.agents_md_limit)"
            );
        }
        format!("agents are given {file} ({} characters)", given.total_chars)
    })
}

/// The day here.
fn current_date() -> String {
    let now = Timestamp::from_millisecond(current_time().0).unwrap_or_default();
    now.to_zoned(TimeZone::system()).date().to_string()
}

/// The first files of the project by name, without what is hidden or ignored; and whether there are more.
pub(crate) fn list_files(directory: &Path, wanted: usize) -> (Vec<String>, bool) {
    if wanted == 0 {
        return (Vec::new(), false);
    }
    let walk = walk_unignored(directory, false, |_| true).sort_by_file_name(Ord::cmp).build();
    let found =
        walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let inside = |path: &Path| {
        let path = path.strip_prefix(directory).ok()?.to_str()?.replace('\\', "/");
        Some(safe_name(&path))
    };
    let mut files: Vec<String> =
        found.filter_map(|entry| inside(entry.path())).take(wanted.saturating_add(1)).collect();
    let more = files.len() > wanted;
    files.truncate(wanted);
    (files, more)
}
