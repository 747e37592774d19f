//! Nothing begins while it is asked whether the project's own definitions count: it waits for the answer, in its order.

use crate::dialog::DialogKind;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::TranscriptItem;
use synthdev_service::session::{DefinitionRequest, SessionRequest, StartRequest};

/// Keeps back what the answer decides about.
pub fn hold_until_trusted(model: &mut UiModel, cmds: Vec<UiCommand>) -> Vec<UiCommand> {
    if !model.dialogs.iter().any(|dialog| matches!(dialog.kind, DialogKind::Trust)) {
        return cmds;
    }
    let (begins, now): (Vec<UiCommand>, Vec<UiCommand>) =
        cmds.into_iter().partition(UiCommand::depends_on_trust);
    for cmd in begins {
        if let Some(what) = describe_held_command(&cmd) {
            model.add_item(TranscriptItem::note_item(&format!(
                "{what} waits until you decide whether to trust this project"
            )));
        }
        // one conversation takes all texts
        if !model.start.contains(&cmd) {
            model.start.push(cmd);
        }
    }
    now
}

/// What waits, in words; texts that wait are on screen anyway.
fn describe_held_command(cmd: &UiCommand) -> Option<String> {
    let UiCommand::Ask(request) = cmd else { return None };
    match request {
        SessionRequest::Start(StartRequest::Workflow { name, .. } | StartRequest::Beside { name, .. })
        | SessionRequest::Definitions(DefinitionRequest::ChooseWorkflow(name)) => {
            Some(format!("workflow {name}"))
        }
        SessionRequest::Definitions(DefinitionRequest::Role(name)) => Some(format!("role {name}")),
        _ => None,
    }
}
