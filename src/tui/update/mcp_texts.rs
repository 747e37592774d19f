//! What MCP servers offer beside tools: texts that they have given, and names for the completion.

use super::{completion, lookups, mention, submit};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::transcript::item::{ItemTone, TranscriptItem};
use synthdev_service::session::LookupResponse;

/// The answers to lookups; those that are no texts of servers are for `lookups`.
pub(super) fn on_response(model: &mut UiModel, response: LookupResponse) -> Vec<UiCommand> {
    match response {
        LookupResponse::Message { typed, text: Ok(text), missing_files } => {
            mention::report_missing_files(model, &typed, missing_files);
            let mut cmds = submit::submit_found(model, &typed, text);
            cmds.extend(submit::submit_later_texts(model, &typed));
            return cmds;
        }
        LookupResponse::Message { typed, text: Err(reason), .. } => {
            model.add_item(TranscriptItem::line(ItemTone::Bad, &reason));
            if model.composer.text().is_empty() {
                model.composer.set_text(&typed);
            }
            return submit::submit_later_texts(model, &typed);
        }
        LookupResponse::McpNames(names) => {
            model.names.mcp = names;
            completion::names_arrived(model);
        }
        other => return lookups::on_response(model, other),
    }
    Vec::new()
}
