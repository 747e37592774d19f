//! `runs cost`: which runs are meant.

use std::io::Write;

use anyhow::{Result, bail};

use super::{list_error, run_query};
use crate::read_only::{open_reader, store_error};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::{CostArgs, CostBy, RunFilterArgs};
use synthdev_cli::exit;
use synthdev_cli::history::costs;
use synthdev_cli::output::{print_stderr, safe_name};
use synthdev_domain::cost_breakdown::CostGrouping;
use synthdev_service::run_costs;

pub(crate) fn show_costs(context: &StartContext, args: &CostArgs) -> Result<u8> {
    let handle = open_reader(context)?.handle;
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
        (Some(run), _) => run_costs::cost_of_run(&handle, run).map_err(store_error)?,
        (None, false) => match run_costs::cost_of_last_run(&handle).map_err(list_error)? {
            Some(spent) => spent,
            None => bail!("there are no runs yet\nhint: synthdev run NAME \"task\", or synthdev demo"),
        },
        (None, true) => {
            let query = run_query(context, &args.filters, args.limit.unwrap_or(0), handle.now())?;
            run_costs::cost_of_runs(&handle, &query).map_err(list_error)?
        }
    };
    for (run, reason) in &spent.uncounted {
        print_stderr(format_args!("run {} is not counted: {reason}", safe_name(run.as_str())));
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    costs::write_costs(&spent, by, args.json, &mut out)?;
    out.flush()?;
    Ok(exit::COMPLETED)
}
