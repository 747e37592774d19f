//! `/snapshot`: stored files of the project, as texts for the screen.

use super::error_text;
use crate::bootstrap::WiredRuntime;
use crate::interrupted_restore;
use synthdev_cli::snapshots;
use synthdev_domain::snapshot::SnapshotRequest;
use synthdev_ports::snapshot::SnapshotError;
use synthdev_service::session::SnapshotOperation;

pub(super) fn run_snapshot_command(
    wired: &WiredRuntime,
    command: SnapshotOperation,
) -> Result<String, SnapshotError> {
    let (handle, store) = (&wired.handle, &*wired.ports.snapshots);
    Ok(match command {
        SnapshotOperation::List => {
            let half = interrupted_restore::interrupted_restore_notice(handle)
                .map(|half| format!("\n{half}"))
                .unwrap_or_default();
            error_text::to_slash_commands(&format!("{}{half}", snapshots::snapshot_lines(&store.list()?)))
        }
        SnapshotOperation::Create { label } => {
            handle.accept_present_files()?;
            snapshots::created_text(&store.take(&SnapshotRequest { label, ..SnapshotRequest::default() })?)
        }
        SnapshotOperation::Show { id } => {
            let info = store.find(&id)?;
            snapshots::snapshot_text(&info, &store.changes(&info.id, None)?)
        }
        SnapshotOperation::Diff { id } => store.diff(&store.find(&id)?.id, None)?,
        SnapshotOperation::Restore { id } => error_text::to_slash_commands(&snapshots::restored_text(
            &handle.restore_snapshot(&store.find(&id)?.id)?,
        )),
        SnapshotOperation::Delete { id } => {
            let info = store.find(&id)?;
            store.delete(&info.id)?;
            format!("snapshot {} was deleted", info.id)
        }
    })
}
