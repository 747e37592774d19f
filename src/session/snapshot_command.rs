//! `/snapshot`: stored files of the project, as texts for the screen.

use std::sync::Arc;

use super::error_text::{to_slash_commands, with_hint};
use crate::time_travel::SAFE;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_cli::snapshots;
use synthdev_domain::snapshot::SnapshotInfo;
use synthdev_service::project_snapshots::{ProjectSnapshotError, SnapshotService};
use synthdev_service::session::{ActionPreview, RunRequest, SnapshotOperation};

pub(crate) fn run_snapshot_command(
    wired: &WiredRuntime,
    command: SnapshotOperation,
) -> Result<String, String> {
    let service = SnapshotService::new(&wired.handle, Arc::clone(&wired.ports.snapshots));
    let text = match command {
        SnapshotOperation::List => service.list().map(|list| {
            let interruption = service.interruption().map(|error| format!("\n{}", error_text(&error)));
            format!("{}{}", snapshots::snapshot_lines(&list), interruption.unwrap_or_default())
        }),
        SnapshotOperation::Create { label } => {
            service.create(&label).map(|created| snapshots::created_text(&created))
        }
        SnapshotOperation::Stats => service.statistics().map(|all| snapshots::statistics_text(&all)),
        SnapshotOperation::Show { id } => {
            service.show(&id).map(|(info, changes)| snapshots::snapshot_text(&info, &changes))
        }
        // a patch stays as it is
        SnapshotOperation::Diff { id, other } => {
            return service.diff(&id, other.as_deref()).map_err(|error| error_text(&error));
        }
        SnapshotOperation::Restore { id } => service.restore(&id).map(|done| snapshots::restored_text(&done)),
        SnapshotOperation::Delete { id } => {
            service.delete(&id).map(|info| format!("snapshot {} was deleted", info.id))
        }
    };
    text.map(|text| to_slash_commands(&text)).map_err(|error| error_text(&error))
}

pub(crate) fn list_snapshots(wired: &WiredRuntime) -> Result<Vec<SnapshotInfo>, String> {
    let service = SnapshotService::new(&wired.handle, Arc::clone(&wired.ports.snapshots));
    service.list().map_err(|error| error_text(&error))
}

/// What a restore will do, as the command line says it.
pub(crate) fn plan_restore(wired: &WiredRuntime, id: &str) -> Result<ActionPreview, String> {
    let service = SnapshotService::new(&wired.handle, Arc::clone(&wired.ports.snapshots));
    let plan = service.plan_restore(id).map_err(|error| error_text(&error))?;
    let (id, text) = (plan.info.id.to_string(), snapshots::restore_plan_text(&plan));
    let title = format!("Restore snapshot {id}?");
    if plan.is_empty() {
        return Ok(ActionPreview { title, body: text, request: None });
    }
    let body = format!("{text}\n\n{SAFE}");
    let request = Some(RunRequest::Snapshot(SnapshotOperation::Restore { id }));
    Ok(ActionPreview { title, body, request })
}

fn error_text(error: &ProjectSnapshotError) -> String {
    to_slash_commands(&with_hint(&error.to_string(), error.hint()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_ports::snapshot::SnapshotError;

    #[test]
    fn an_error_names_commands_of_the_screen() {
        let error = SnapshotError {
            message: "there is no snapshot `zz`".to_owned(),
            hint: Some("synthdev snapshot list shows them".to_owned()),
        };
        assert_eq!(error_text(&error.into()), "there is no snapshot `zz`\nhint: /snapshot list shows them");
    }
}
