//! `synthdev --continue` and `synthdev --resume [ID]`: the session begins with a conversation of this project. What is
//! none that can be reopened is refused before the screen opens.

use anyhow::Result;

use super::read_only::{error_with_hint, open_reader, store_error};
use super::run_servers::with_run_server;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::ReopenArgs;
use synthdev_service::conversations::{self, ConversationError};
use synthdev_session::{ConversationStart, RunServerWiring, TuiStartup, run_interactive};

pub(crate) fn start_session(context: StartContext, reopen: &ReopenArgs) -> Result<u8> {
    let conversation = wanted_conversation(&context, reopen)?;
    let add_run_server = Some(with_run_server as RunServerWiring);
    run_interactive(context, TuiStartup { conversation, add_run_server, ..TuiStartup::default() })
}

fn wanted_conversation(context: &StartContext, reopen: &ReopenArgs) -> Result<Option<ConversationStart>> {
    if !reopen.is_wanted() {
        return Ok(None);
    }
    let handle = open_reader(context)?.handle;
    let project = context.project.display().to_string();
    let refused = |error: ConversationError| error_with_hint(&error.to_string(), error.hint().as_deref());
    Ok(Some(match &reopen.resume {
        Some(Some(id)) => {
            let found = conversations::find_conversation(&handle, &project, id);
            ConversationStart::Reopened(found.map_err(refused)?)
        }
        Some(None) => {
            let list = conversations::list_conversations(&handle, &project).map_err(store_error)?;
            if list.is_empty() {
                return Err(refused(ConversationError::Nothing));
            }
            ConversationStart::Chosen
        }
        None => {
            let last = conversations::last_conversation(&handle, &project);
            ConversationStart::Reopened(last.map_err(refused)?)
        }
    }))
}
