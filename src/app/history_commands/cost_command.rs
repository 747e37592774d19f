//! `runs cost`: which runs are meant, and their ledgers.

use std::io::Write;

use anyhow::{Result, bail};

use super::run_query;
use crate::cli_context::CliContext;
use crate::read_only::{open_reader, store_error};
use synthdev_cli::args::{CostArgs, CostBy, RunFilterArgs};
use synthdev_cli::exit;
use synthdev_cli::history::costs::{self, CostReportScope, RunsCostReport};
use synthdev_cli::output::{print_stderr, safe_name};
use synthdev_domain::cost::CostEntry;
use synthdev_domain::cost_breakdown::CostGrouping;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::RunSummary;
use synthdev_runtime::handle::RuntimeHandle;

pub(crate) fn show_costs(world: &CliContext, args: &CostArgs) -> Result<u8> {
    let handle = open_reader(world)?.handle;
    let by = args.by.map(|by| match by {
        CostBy::Model => CostGrouping::Model,
        CostBy::Role => CostGrouping::Role,
        CostBy::Agent => CostGrouping::Agent,
        CostBy::State => CostGrouping::State,
        CostBy::Day => CostGrouping::Day,
    });
    let several = args.all
        || args.limit.is_some()
        || args.filters != RunFilterArgs::default()
        || args.run.is_none() && by == Some(CostGrouping::Day);
    let spent = match (&args.run, several) {
        (Some(run), _) => run_cost_report(&handle, run)?,
        (None, false) => match handle.list_runs(1).map_err(store_error)?.first() {
            Some(last) => run_cost_report(&handle, last.id.as_str())?,
            None => bail!("there are no runs yet\nhint: synthdev run NAME \"task\", or synthdev demo"),
        },
        (None, true) => {
            let now = handle.now();
            let query = run_query(world, &args.filters, args.limit.unwrap_or(0), now)?;
            all_costs_report(&handle, &handle.find_runs(&query).map_err(store_error)?)
        }
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    costs::write_costs(&spent, by, args.json, &mut out)?;
    out.flush()?;
    Ok(exit::COMPLETED)
}

fn run_cost_report(handle: &RuntimeHandle, id: &str) -> Result<RunsCostReport> {
    let record = handle.load_record(id).map_err(store_error)?;
    let mut entries = with_fallback_date(record.ledger.entries.iter().collect(), record.summary.started);
    let replayed = record.program.is_replay();
    if replayed {
        entries.iter_mut().for_each(|entry| entry.cost_usd = Some(0.0));
    }
    Ok(RunsCostReport {
        scope: CostReportScope::Run(Box::new(record.summary)),
        entries,
        replayed_count: usize::from(replayed),
    })
}

/// Reports a run that cannot be read and counts the others.
fn all_costs_report(handle: &RuntimeHandle, runs: &[RunSummary]) -> RunsCostReport {
    let (mut entries, mut counted, mut replayed) = (Vec::new(), 0, 0);
    for run in runs {
        if run.progress.usage.total() > 0 {
            match handle.load_record(run.id.as_str()) {
                Ok(record) if record.program.is_replay() => {
                    replayed += 1;
                    continue;
                }
                Ok(record) => {
                    entries.extend(with_fallback_date(record.ledger.entries.iter().collect(), run.started));
                }
                Err(error) => {
                    let id = safe_name(run.id.as_str());
                    print_stderr(format_args!("run {id} is not counted: {}", error.message));
                    continue;
                }
            }
        }
        counted += 1;
    }
    RunsCostReport { scope: CostReportScope::Runs(counted), entries, replayed_count: replayed }
}

/// Calls of before their time was noted are of the day on which the run began.
fn with_fallback_date(mut entries: Vec<CostEntry>, started: Timestamp) -> Vec<CostEntry> {
    for entry in entries.iter_mut().filter(|entry| entry.at == Timestamp::default()) {
        entry.at = started;
    }
    entries
}
