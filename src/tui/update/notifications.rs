//! What a user who looks at another window is told: a run or an answer is over, or a question waits.

use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::text::one_line;
use synthdev_domain::ids::RunId;

/// What was in progress before a message.
pub struct ActivityBefore {
    busy_run: Option<RunId>,
    question_count: u64,
    side_query: Option<String>,
}

/// `None`: the user looks at the screen, or wants no notifications.
pub fn activity_before(model: &UiModel) -> Option<ActivityBefore> {
    let wanted = model.notifications.is_enabled && model.notifications.is_unfocused;
    wanted.then(|| ActivityBefore {
        busy_run: model.busy_run().map(|run| run.id.clone()),
        question_count: model.question_count,
        side_query: model.side_query.as_ref().map(|aside| aside.activity_text.clone()),
    })
}

/// What has become of it.
pub fn notify_change(model: &UiModel, before: Option<ActivityBefore>) -> Option<UiCommand> {
    let before = before?;
    let text = if model.question_count > before.question_count {
        let dialog = model.dialogs.iter().max_by_key(|dialog| dialog.number)?;
        format!("waits for you: {}", dialog.title)
    } else if let Some(ended) =
        before.busy_run.filter(|run| model.busy_run().is_none_or(|now| now.id != *run))
    {
        end_text(model, &ended)?
    } else {
        let ended = before.side_query.filter(|_| model.side_query.is_none())?;
        format!("over: {}", ended.split(':').next().unwrap_or_default())
    };
    Some(UiCommand::Notify(one_line(&text)))
}

/// The line with which a run ended.
fn end_text(model: &UiModel, run: &RunId) -> Option<String> {
    let run = model.find_run(run)?;
    if run.chat && !run.is_over {
        return Some("the answer is there".to_owned());
    }
    let line =
        model.transcript.items().rev().take(4).map(|item| item.text().lines().next().map(str::to_owned));
    let ends = |line: &String| line.contains(&run.workflow) && line.trim_start().starts_with(['✓', '✗', '‖']);
    let told = line.flatten().find(ends);
    Some(told.unwrap_or_else(|| format!("{} is over", run.workflow)))
}
