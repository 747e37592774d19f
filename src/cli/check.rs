//! `check`: what was found, and what a run can cost.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::cost_estimate::write_cost_estimate;
use crate::json_output;
use crate::output::safe_name;
use synthdev_domain::system_context::SystemContext;
use synthdev_service::definition_check::CheckReport;
use synthdev_service::definition_views::cost_estimate::estimate_cost;
use synthdev_service::definition_views::render::{
    DiagnosticStyle, count_summary, diagnostic_records, render_diagnostics,
};

/// How a check is shown.
pub struct CheckOutputOptions<'a> {
    pub json: bool,
    pub is_painted: bool,
    /// Says what each workflow was read as.
    pub shows_dialects: bool,
    /// The system context of agents here; without it no costs are shown.
    pub brief: Option<&'a SystemContext>,
    /// The text of a file by its name.
    pub text_of: &'a dyn Fn(&str) -> Option<String>,
}

/// # Errors
/// stdout cannot be written.
pub fn write_check_report(
    report: &CheckReport,
    options: &CheckOutputOptions<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cost = |brief: &SystemContext| report.programs.iter().map(|one| estimate_cost(one, brief)).collect();
    let envelopes: Vec<_> = options.brief.map_or_else(Vec::new, cost);
    let text_of = |name: &str| {
        let own = report.files.iter().find(|file| file.name == name).map(|file| file.text.to_string());
        own.or_else(|| (options.text_of)(name))
    };
    if options.json {
        let workflow = |read: &synthdev_service::definition_check::DialectReport| -> Value {
            json!({"workflow": read.workflow, "file": read.file, "dialect": read.dialect})
        };
        let shown = json!({
            "findings": diagnostic_records(&report.diagnostics, &text_of),
            "workflows": report.dialects.iter().map(workflow).collect::<Vec<_>>(),
            "skipped": report.skipped_count,
            "envelope": envelopes,
        });
        return json_output::write_pretty_json(&shown, out);
    }
    let paint = if options.is_painted { DiagnosticStyle::Ansi } else { DiagnosticStyle::Plain };
    if !report.diagnostics.is_empty() {
        writeln!(out, "{}\n", render_diagnostics(&report.diagnostics, &text_of, paint))?;
    }
    writeln!(out, "{}", count_summary(&report.diagnostics))?;
    for read in report.dialects.iter().filter(|_| options.shows_dialects) {
        writeln!(out, "`{}` was read as {}", safe_name(&read.workflow), read.dialect)?;
    }
    if report.skipped_count > 0 {
        let (files, are) = if report.skipped_count == 1 { ("file", "is") } else { ("files", "are") };
        writeln!(
            out,
            "skipped {} JSON {files} that {are} no workflow, role, settings, models or test file",
            report.skipped_count
        )?;
    }
    for envelope in &envelopes {
        writeln!(out)?;
        write_cost_estimate(envelope, out)?;
    }
    Ok(())
}
