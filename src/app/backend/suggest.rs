//! A shell command that a model writes for the person (`/cmd ???`): asked beside the runs, shown, never run from here.

use futures_util::future::BoxFuture;

use super::{Desk, user_commands};
use crate::app::wiring;
use crate::domain::model::ModelError;
use crate::domain::suggestion;
use crate::runtime::aside::{Asked, Ended};
use crate::tui::backend::{Suggested, Suggestion};

/// The level that is asked for small things.
pub(super) const LEVEL: &str = "fast";

impl Desk {
    pub(super) fn suggest(&self, words: String) -> BoxFuture<'static, Suggested> {
        let (catalog, wired) = (self.catalog(), self.wired());
        let refused = |why: String| -> BoxFuture<'static, Suggested> {
            Box::pin(std::future::ready(Suggested { told: Err(why), spent: Vec::new() }))
        };
        if wired.providers.scripted().is_some_and(|script| !script.knows(suggestion::ASKER)) {
            return refused("here the words are scripted: nobody can be asked for a command".to_owned());
        }
        let choice = match catalog.choice(LEVEL) {
            Ok(choice) => choice,
            Err(missing) => return refused(format!("{}: /configure {LEVEL} sets one up", missing.message)),
        };
        let model = choice.model.clone();
        let system = format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH);
        let request = suggestion::request(choice, &system, &words);
        let tools = wiring::users_tools(&self.world.project, &self.world.dirs.data, &catalog);
        let stopped = self.stopper.stopped();
        Box::pin(async move {
            let Asked { ended, spent } = wired.handle.ask(request, stopped).await;
            let found = match ended {
                Ended::Answered(reply) => suggestion::command(&reply),
                Ended::Failed(error) => Err(unanswered(&model, &error)),
                Ended::Stopped => Err("stopped: no command was written".to_owned()),
            };
            let told = match found {
                Ok(command) => {
                    let call = user_commands::invocation(&command);
                    let warning = user_commands::warning(&tools, &call).await;
                    Ok(Suggestion { command, warning, model })
                }
                Err(why) => Err(why),
            };
            Suggested { told, spent }
        })
    }
}

/// In one line.
pub(super) fn unanswered(model: &str, error: &ModelError) -> String {
    format!("{model} gave no answer: {error} — {}", error.hint()).replace('\n', " ")
}
