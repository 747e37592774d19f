//! What `index` tells: scripts get one object.

use serde::Serialize;
use serde_json::{Value, json};

use super::exit;
use crate::domain::cost::Usage;
use crate::domain::project_index::LeftOut;
use crate::domain::project_index::report::{Ending, Report};

#[derive(Serialize)]
struct Told<'a> {
    indexed: usize,
    directories: usize,
    files: usize,
    unchanged: usize,
    gone: usize,
    failed: Vec<Value>,
    left_out: &'a LeftOut,
    usage: Usage,
    cost_usd: Option<f64>,
    status: &'a str,
    error: Option<&'a str>,
}

/// Of what was done; the fields are a contract.
pub fn json(report: &Report) -> Value {
    let failed = report.failed.iter().map(|(path, why)| json!({"path": path, "reason": why}));
    let (status, error) = match &report.ending {
        Ending::Whole => ("completed", None),
        Ending::Stopped => ("cancelled", None),
        Ending::Broken(why) => ("failed", Some(why.as_str())),
    };
    let told = Told {
        indexed: report.indexed,
        directories: report.directories,
        files: report.files,
        unchanged: report.unchanged,
        gone: report.gone,
        failed: failed.collect(),
        left_out: &report.left_out,
        usage: report.usage(),
        cost_usd: report.cost_usd(),
        status,
        error,
    };
    json!(told)
}

pub fn code(report: &Report) -> u8 {
    match report.ending {
        Ending::Whole if report.failed.is_empty() => exit::COMPLETED,
        Ending::Whole | Ending::Broken(_) => exit::FAILED,
        Ending::Stopped => exit::CANCELLED,
    }
}
