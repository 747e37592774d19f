//! `/snapshot`: stored files of the project, as texts for the screen.

use super::told;
use crate::app::cut_off;
use crate::cli::snapshots;
use crate::domain::snapshot::SnapshotRequest;
use crate::ports::snapshot::SnapshotError;
use crate::runtime::handle::Handle;
use crate::tui::backend::SnapshotCommand;

pub(super) fn perform(handle: &Handle, command: SnapshotCommand) -> Result<String, SnapshotError> {
    let store = &*handle.ports().snapshots;
    Ok(match command {
        SnapshotCommand::List => {
            let half = cut_off::told(handle).map(|half| format!("\n{half}")).unwrap_or_default();
            told::here(&format!("{}{half}", snapshots::list(&store.list()?)))
        }
        SnapshotCommand::Create { label } => {
            cut_off::keep(handle)?;
            snapshots::created(&store.take(&SnapshotRequest { label, ..SnapshotRequest::default() })?)
        }
        SnapshotCommand::Show { id } => {
            let info = store.find(&id)?;
            snapshots::show(&info, &store.changes(&info.id, None)?)
        }
        SnapshotCommand::Diff { id } => store.diff(&store.find(&id)?.id, None)?,
        SnapshotCommand::Restore { id } => {
            told::here(&snapshots::restored(&cut_off::restore(handle, &store.find(&id)?.id)?))
        }
        SnapshotCommand::Delete { id } => {
            let info = store.find(&id)?;
            store.delete(&info.id)?;
            format!("snapshot {} is forgotten", info.id)
        }
    })
}
