//! The index of a project: what there is to do, what it will cost, and doing it.
//!
//! Owns when a model is needed at all, and which. Refuses to call one before the user has seen the cost.

use std::sync::Arc;

use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::project_index::report::{IndexReport, proposal_lines};
use synthdev_domain::project_index::{IndexPlan, SizeLimit};
use synthdev_ports::project_index::ProjectIndexPort;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_settings::catalog::ConfigCatalog;

pub use synthdev_runtime::indexing::{IndexingJob, IndexingProgress, StopSignal};

/// The level that is asked for small things.
pub const SMALL_TASK_LEVEL: &str = "fast";

/// What there is to do.
pub enum IndexingProposal {
    /// Nothing has changed.
    UpToDate(Box<IndexReport>),
    /// It costs nothing.
    Free(IndexingJob),
    /// The lines say what it will cost: the user decides.
    Priced { job: IndexingJob, lines: Vec<String> },
}

/// Why no index is made; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum IndexingError {
    /// The project or its index cannot be read.
    #[error("{0}")]
    Unreadable(String),
    #[error("{}", .0.message)]
    NoModel(Box<Diagnostic>),
}

/// What has changed since the index was made. Blocking; changes nothing.
///
/// # Errors
/// The project or its index cannot be read, or no model is set and one is needed.
pub fn propose_indexing(
    port: Arc<dyn ProjectIndexPort>,
    limit: SizeLimit,
    catalog: &ConfigCatalog,
) -> Result<IndexingProposal, IndexingError> {
    let unreadable = IndexingError::Unreadable;
    let plan =
        IndexPlan::from_scan(port.scan(limit).map_err(unreadable)?, &port.load().map_err(unreadable)?, limit);
    if plan.is_empty() {
        return Ok(IndexingProposal::UpToDate(Box::new(IndexReport::from_plan(&plan))));
    }
    let choice = catalog.model_for_level(SMALL_TASK_LEVEL).map_err(IndexingError::NoModel)?;
    let estimate = plan.estimate_cost(choice.price);
    let lines = proposal_lines(&plan, &choice.model, &estimate);
    let job = IndexingJob { port, plan, choice };
    Ok(match estimate.calls {
        0 => IndexingProposal::Free(job),
        _ => IndexingProposal::Priced { job, lines },
    })
}

/// Does it.
pub async fn build_index(
    handle: &RuntimeHandle,
    job: IndexingJob,
    told: &(dyn Fn(IndexingProgress) + Sync),
    stopped: StopSignal,
) -> IndexReport {
    handle.build_index(job, told, stopped).await
}

#[cfg(test)]
mod tests {
    use synthdev_domain::project_index::{ProjectIndexEntries, ProjectScan, ScannedFile};
    use synthdev_ports::project_index::IndexWriter;
    use synthdev_settings::catalog::ConfigSources;

    use super::*;

    struct FixedScanPort(ProjectScan);

    impl ProjectIndexPort for FixedScanPort {
        fn scan(&self, _: SizeLimit) -> Result<ProjectScan, String> {
            Ok(self.0.clone())
        }

        fn load(&self) -> Result<ProjectIndexEntries, String> {
            Ok(ProjectIndexEntries::default())
        }

        fn read_file(&self, path: &str, _: SizeLimit) -> Result<(String, String), String> {
            Err(path.to_owned())
        }

        fn writer(&self) -> Result<Box<dyn IndexWriter>, String> {
            Err("not written".to_owned())
        }
    }

    #[test]
    fn a_model_is_missed_only_where_there_is_something_to_describe() {
        let catalog = ConfigCatalog::load(ConfigSources::default(), Vec::new());
        let propose = |scan: ProjectScan| {
            propose_indexing(Arc::new(FixedScanPort(scan)), SizeLimit::default(), &catalog)
        };
        assert!(matches!(propose(ProjectScan::default()), Ok(IndexingProposal::UpToDate(_))));
        let file = ScannedFile { path: "a.txt".to_owned(), checksum: "1".to_owned(), bytes: 1 };
        let scan = ProjectScan { files: vec![file], ..ProjectScan::default() };
        assert!(matches!(propose(scan), Err(IndexingError::NoModel(_))));
    }
}
