//! `runs cost`: which runs are meant, and their ledgers.

use std::io::Write;

use anyhow::{Result, bail};

use super::query;
use crate::app::reading::{of_store, reader};
use crate::app::world::World;
use crate::cli::archive::spending::{self, Of, Spent};
use crate::cli::args::{CostArgs, CostBy, Filters};
use crate::cli::exit;
use crate::cli::words::{name, tell};
use crate::domain::cost::CostEntry;
use crate::domain::ids::Timestamp;
use crate::domain::journal::RunSummary;
use crate::domain::spending::By;
use crate::runtime::handle::Handle;

pub(crate) fn cost(world: &World, args: &CostArgs) -> Result<u8> {
    let handle = reader(world)?.handle;
    let by = args.by.map(|by| match by {
        CostBy::Model => By::Model,
        CostBy::Role => By::Role,
        CostBy::Agent => By::Agent,
        CostBy::State => By::State,
        CostBy::Day => By::Day,
    });
    let several = args.all
        || args.limit.is_some()
        || args.filters != Filters::default()
        || args.run.is_none() && by == Some(By::Day);
    let spent = match (&args.run, several) {
        (Some(run), _) => one(&handle, run)?,
        (None, false) => match handle.runs(1).map_err(of_store)?.first() {
            Some(last) => one(&handle, last.id.as_str())?,
            None => bail!("there are no runs yet\nhint: synthdev run NAME \"task\", or synthdev demo"),
        },
        (None, true) => {
            let now = handle.ports().clock.now();
            let query = query(world, &args.filters, args.limit.unwrap_or(0), now)?;
            all(&handle, &handle.ports().store.list(&query).map_err(of_store)?)
        }
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    spending::cost(&spent, by, args.json, &mut out)?;
    out.flush()?;
    Ok(exit::COMPLETED)
}

fn one(handle: &Handle, id: &str) -> Result<Spent> {
    let record = handle.run(id).map_err(of_store)?;
    let mut entries = dated(record.ledger.entries.iter().collect(), record.summary.started);
    let replayed = record.program.is_replay();
    if replayed {
        entries.iter_mut().for_each(|entry| entry.cost_usd = Some(0.0));
    }
    Ok(Spent { of: Of::Run(Box::new(record.summary)), entries, replayed: usize::from(replayed) })
}

/// A run that cannot be read is told of, and the others are counted.
fn all(handle: &Handle, runs: &[RunSummary]) -> Spent {
    let (mut entries, mut counted, mut replayed) = (Vec::new(), 0, 0);
    for run in runs {
        if run.progress.usage.total() > 0 {
            match handle.run(run.id.as_str()) {
                Ok(record) if record.program.is_replay() => {
                    replayed += 1;
                    continue;
                }
                Ok(record) => {
                    entries.extend(dated(record.ledger.entries.iter().collect(), run.started));
                }
                Err(error) => {
                    let id = name(run.id.as_str());
                    tell(format_args!("run {id} is not counted: {}", error.message));
                    continue;
                }
            }
        }
        counted += 1;
    }
    Spent { of: Of::Runs(counted), entries, replayed }
}

/// Calls of before their time was noted are of the day on which the run began.
fn dated(mut entries: Vec<CostEntry>, started: Timestamp) -> Vec<CostEntry> {
    for entry in entries.iter_mut().filter(|entry| entry.at == Timestamp::default()) {
        entry.at = started;
    }
    entries
}
