//! Responses of the program to what the session asked: each goes to the file of its subject.

use super::{definitions, editor, mcp_texts, project, runs, setup, starting};
use crate::model::UiModel;
use crate::msg::UiCommand;
use synthdev_service::session::SessionResponse;

pub(super) fn on_response(model: &mut UiModel, response: SessionResponse) -> Vec<UiCommand> {
    match response {
        SessionResponse::Start(response) => starting::on_response(model, response),
        SessionResponse::Definitions(response) => definitions::on_response(model, response),
        SessionResponse::Runs(response) => runs::on_response(model, response),
        SessionResponse::Project(response) => project::on_response(model, response),
        SessionResponse::Lookup(response) => mcp_texts::on_response(model, response),
        SessionResponse::Editor(number, response) => editor::on_response(model, number, response),
        SessionResponse::Setup(number, response) => setup::on_response(model, number, response),
        SessionResponse::Reloaded { reload, held_request } => {
            project::on_config_reloaded(model, reload, held_request)
        }
    }
}
