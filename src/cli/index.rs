//! The JSON object that `index` prints for scripts.

use serde::Serialize;
use serde_json::{Value, json};

use super::exit;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::project_index::UnindexedFiles;
use synthdev_domain::project_index::report::{IndexOutcome, IndexReport};

#[derive(Serialize)]
struct IndexReportJson<'a> {
    indexed: usize,
    directories: usize,
    files: usize,
    unchanged: usize,
    gone: usize,
    failed: Vec<Value>,
    left_out: &'a UnindexedFiles,
    usage: TokenUsage,
    cost_usd: Option<f64>,
    status: &'a str,
    error: Option<&'a str>,
}

/// Of what was done; the fields are a contract.
pub fn report_json(report: &IndexReport) -> Value {
    let failed = report.failures.iter().map(|(path, why)| json!({"path": path, "reason": why}));
    let (status, error) = match &report.outcome {
        IndexOutcome::Whole => ("completed", None),
        IndexOutcome::Stopped => ("cancelled", None),
        IndexOutcome::Broken(why) => ("failed", Some(why.as_str())),
    };
    let told = IndexReportJson {
        indexed: report.indexed_count,
        directories: report.directories,
        files: report.files,
        unchanged: report.unchanged_count,
        gone: report.removed_count,
        failed: failed.collect(),
        left_out: &report.left_out,
        usage: report.usage(),
        cost_usd: report.cost_usd(),
        status,
        error,
    };
    json!(told)
}

pub fn exit_code(report: &IndexReport) -> u8 {
    match report.outcome {
        IndexOutcome::Whole if report.failures.is_empty() => exit::COMPLETED,
        IndexOutcome::Whole | IndexOutcome::Broken(_) => exit::FAILED,
        IndexOutcome::Stopped => exit::CANCELLED,
    }
}
