//! Why a driver lets go of a run that has not ended.

use synthdev_domain::ids::RunId;
use synthdev_domain::run_error::{RunError, TAKEN_OVER};
use synthdev_ports::run_store::StoreError;

pub(super) fn taken_over_failure(error: Option<StoreError>) -> RunError {
    let detail = error.map_or_else(String::new, |error| error.message);
    RunError::new(TAKEN_OVER, "Another process has taken this run over", detail)
        .with_hint("it goes on there; nothing more is done or recorded here")
}

pub(super) fn unrecorded_failure(run: &RunId, error: Option<StoreError>) -> RunError {
    let (detail, hint) = error.map_or_else(Default::default, |error| (error.message, error.hint));
    let hint = hint.map_or_else(String::new, |hint| format!("{hint}; then "));
    RunError::new("unrecorded", "This run cannot be recorded, so it stands still", detail)
        .with_hint(format!("{hint}go on where the record ends: synthdev resume {run}"))
}
