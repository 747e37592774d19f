//! What has to be over before something else begins.

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::TranscriptItem;
use synthdev_service::run_steering::RunCommand;
use synthdev_service::session::{PendingStart, StartPreparation};

/// Says what is in the way, if something is.
pub fn refuse_while_busy(model: &mut UiModel, what: &str) -> bool {
    let Some(why) = busy_reason(model, what) else { return false };
    model.add_item(TranscriptItem::warning_item(&why));
    true
}

/// What is in the way, in words.
pub fn busy_reason(model: &UiModel, what: &str) -> Option<String> {
    if let Some(PendingStart { name, preparation: waits_for, .. }) = &model.pending_start {
        return Some(match waits_for {
            StartPreparation::Servers => {
                format!("cannot {what} while MCP servers are asked for the tools of {name}")
            }
            StartPreparation::Files => format!("cannot {what} while the files for {name} are copied"),
            StartPreparation::Windows => {
                format!("cannot {what} while a server is asked for the window of {name}")
            }
            StartPreparation::Requirements => {
                format!("cannot {what} while the requirements of {name} are checked")
            }
        });
    }
    if let Some(opening) = &model.opening_run {
        return Some(format!("cannot {what} while run {} is being read", opening.run));
    }
    let run = model.busy_run()?;
    if let Some(stand) = run.stopped_at.first() {
        return Some(format!(
            "cannot {what} while {} is stopped {} — /continue or /stop",
            run.workflow,
            stand.stop_location()
        ));
    }
    let name =
        if run.chat { "the agent is answering".to_owned() } else { format!("{} is running", run.workflow) };
    Some(format!("cannot {what} while {name} — {} stops it", model.escape_word()))
}

/// Something is in the way of taking up a run.
pub fn is_busy(model: &UiModel) -> bool {
    model.pending_start.is_some() || model.opening_run.is_some() || model.busy_run().is_some()
}

/// Leaves the conversation, which can be reopened; the next text starts one.
pub fn leave_chat(model: &mut UiModel) -> Vec<UiCommand> {
    model.chat.take().map(|id| vec![UiCommand::Send(id, RunCommand::Leave)]).unwrap_or_default()
}
