//! A shell command that a model writes for the user (`/cmd ???`): requested beside the runs, shown, never run from
//! here.

use futures_util::future::BoxFuture;

use super::{TuiBackend, user_commands};
use synthdev_bootstrap::wiring;
use synthdev_domain::command_suggestion;
use synthdev_domain::model::ModelError;
use synthdev_runtime::one_shot_query::{OneShotOutcome, OneShotReport};
use synthdev_service::project_indexing::SMALL_TASK_LEVEL;
use synthdev_service::session::{ShellSuggestion, ShellSuggestionResponse};

impl TuiBackend {
    pub(crate) fn suggest_command(&self, words: String) -> BoxFuture<'static, ShellSuggestionResponse> {
        let (catalog, wired) = (self.current_catalog(), self.current_runtime());
        let refused = |why: String| -> BoxFuture<'static, ShellSuggestionResponse> {
            Box::pin(std::future::ready(ShellSuggestionResponse { suggestion: Err(why), costs: Vec::new() }))
        };
        if wired
            .providers
            .scripted_model()
            .is_some_and(|script| !script.has_replies_for(command_suggestion::ASKER))
        {
            return refused("this session uses scripted replies: no model can write a command".to_owned());
        }
        let choice = match catalog.model_for_level(SMALL_TASK_LEVEL) {
            Ok(choice) => choice,
            Err(missing) => {
                return refused(format!("{}: /configure {SMALL_TASK_LEVEL} sets one up", missing.message));
            }
        };
        let model = choice.model.clone();
        let system = format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH);
        let request = command_suggestion::suggestion_request(choice, &system, &words);
        let tools = wiring::users_tools(&self.context.project, &self.context.dirs.data, &catalog);
        let stopped = self.canceller.wait_stopped();
        Box::pin(async move {
            let OneShotReport { outcome: ended, costs: spent } =
                wired.handle.ask_model(request, stopped).await;
            let found = match ended {
                OneShotOutcome::Answered(reply) => command_suggestion::parse_command(&reply),
                OneShotOutcome::Failed(error) => Err(model_error_line(&model, &error)),
                OneShotOutcome::Stopped => Err("stopped: no command was written".to_owned()),
            };
            let told = match found {
                Ok(command) => {
                    let call = user_commands::command_invocation(&command);
                    let warning = user_commands::command_warning(&tools, &call).await;
                    Ok(ShellSuggestion { command, warning, model })
                }
                Err(why) => Err(why),
            };
            ShellSuggestionResponse { suggestion: told, costs: spent }
        })
    }
}

/// In one line.
pub(crate) fn model_error_line(model: &str, error: &ModelError) -> String {
    format!("{model} gave no answer: {error} — {}", error.hint()).replace('\n', " ")
}
