//! Facts about where and when a run starts, for the system context of its agents.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use synthdev_bootstrap::local_files::ignore_files::walk_unignored;
use synthdev_bootstrap::machine_facts::current_time;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_cli::output::safe_name;
use synthdev_domain::system_context::SystemContext;
use synthdev_engine::run_spec::RunSpec;
use synthdev_service::run_start::RunStartRequest;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::system_context::SystemContextFacts;

/// Characters that the index of the project takes in a prompt.
const INDEX_CHARS: usize = 4_000;

/// Where a run starts.
#[derive(Clone, Copy)]
pub struct StartPlace<'p> {
    /// Where its agents work: the project, or a worktree of it.
    pub directory: &'p Path,
    /// The project, which has the index.
    pub project: &'p Path,
    /// The data directory.
    pub data: &'p Path,
}

impl<'p> StartPlace<'p> {
    /// In the project itself.
    pub fn in_project(context: &'p StartContext) -> Self {
        Self { directory: &context.project, project: &context.project, data: &context.dirs.data }
    }
}

/// For a run that starts now.
pub fn build_system_context(catalog: &ConfigCatalog, place: StartPlace<'_>) -> SystemContext {
    let StartPlace { directory, project, data } = place;
    let index = || wiring::project_index(project, data, catalog).load_visible().unwrap_or_default();
    let index = catalog.names_index().then(index).map(|index| index.overview_lines(INDEX_CHARS));
    let (files, more_files) = list_files(directory, catalog.settings().prompt_files());
    catalog.system_context(&SystemContextFacts {
        os: format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH),
        directory: directory.display().to_string(),
        date: current_date(),
        files,
        has_more_files: more_files,
        index: index.unwrap_or_default(),
    })
}

/// A run that starts now in the project.
pub fn run_spec(catalog: &ConfigCatalog, context: &StartContext, request: RunStartRequest) -> RunSpec {
    request.into_spec(catalog, build_system_context(catalog, StartPlace::in_project(context)))
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
