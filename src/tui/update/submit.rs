//! Enter: a command, the input of a workflow, or a text for the chat.

use super::{commands, interrupt, open_run, withdrawn_dialog};
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::slash::{self, SlashAction};
use crate::text::{fit_to_columns, one_line};
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::ids::{CallId, RunId};
use synthdev_service::file_mentions::may_mention_files;
use synthdev_service::mcp_texts::resource_references;
use synthdev_service::run_steering::{RunCommand, UserAnswer};
use synthdev_service::session::{LookupRequest, PendingStart, StartPreparation, StartRequest};

pub fn submit_input(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(text) = model.composer.take_text() else { return Vec::new() };
    model.transcript.follow_end();
    model.panes.to_conversation();
    if open_run::hold_line(model, &text) {
        return Vec::new();
    }
    // Commands work first, whatever runs.
    if slash::is_command(&text) {
        if names_files_for_workflow(&text) && model.looked_up_text.is_none() {
            return look_up(model, text);
        }
        return commands::run_command_line(model, &text);
    }
    if withdrawn_dialog::hold_back_text(model, &text) || holds_shell_words(model, &text) {
        return Vec::new();
    }
    if model.looked_up_text.is_some() {
        model.later_texts.push_back(text);
        return Vec::new();
    }
    look_up_or_submit(model, text)
}

/// `!ls` is no command here, and a model would get it as words: the first time it stays in the input box. Lines that come
/// from elsewhere are sent, with a note.
fn holds_shell_words(model: &mut UiModel, text: &str) -> bool {
    let command = text
        .strip_prefix('!')
        .filter(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || "./~".contains(c)));
    let Some(command) = command else { return false };
    let command = fit_to_columns(&one_line(command), 40).into_owned();
    if model.line_mode {
        let told = format!(
            "`!` runs nothing, so this goes to {} as words: /cmd {command} runs it",
            model.text_reader()
        );
        model.add_item(TranscriptItem::warning_item(&told));
        return false;
    }
    if model.shell_like_text.take().as_deref() == Some(text) {
        return false;
    }
    model.hint = Some(format!("/cmd {command} runs it, `!` does not · Enter sends the words"));
    model.shell_like_text = Some(text.to_owned());
    model.composer.set_text(text);
    true
}

/// Words that may name a file or a resource of an MCP server: it is looked for first.
fn look_up_or_submit(model: &mut UiModel, text: String) -> Vec<UiCommand> {
    if may_mention_files(&text) || !resource_references(&text).is_empty() {
        return look_up(model, text);
    }
    submit_text(model, text)
}

fn look_up(model: &mut UiModel, text: String) -> Vec<UiCommand> {
    model.looked_up_text = Some(text.clone());
    vec![UiCommand::ask(LookupRequest::WithResources(text))]
}

/// A line that starts a workflow, with an input that may name files.
fn names_files_for_workflow(line: &str) -> bool {
    match slash::parse_command_line(line) {
        Ok(SlashAction::Workflow { input, .. }) => {
            may_mention_files(&input) && resource_references(&input).is_empty()
        }
        _ => false,
    }
}

/// What was looked up takes the way on which it was.
pub(super) fn submit_found(model: &mut UiModel, typed: &str, text: String) -> Vec<UiCommand> {
    if names_files_for_workflow(typed) {
        commands::run_command_line(model, &text)
    } else {
        submit_text(model, text)
    }
}

/// A text was looked up, and is on its way: those that were typed after it follow, up to the next that is looked up.
pub(super) fn submit_later_texts(model: &mut UiModel, typed: &str) -> Vec<UiCommand> {
    if model.looked_up_text.as_deref() != Some(typed) {
        return Vec::new();
    }
    model.looked_up_text = None;
    let mut cmds = Vec::new();
    while model.looked_up_text.is_none()
        && let Some(text) = model.later_texts.pop_front()
    {
        cmds.extend(look_up_or_submit(model, text));
    }
    cmds
}

/// Sends a text to what waits for one.
pub(super) fn submit_text(model: &mut UiModel, text: String) -> Vec<UiCommand> {
    if let Some(PendingStart { name, chat, preparation: waits_for }) = &model.pending_start {
        if *chat {
            let text = model.shell.with_pending_output(text);
            model.queued.push(text);
            return Vec::new();
        }
        let why = match waits_for {
            StartPreparation::Servers => "MCP servers are asked for their tools",
            StartPreparation::Files => "its files are copied",
            StartPreparation::Windows => "the server of its model is asked for the window",
            StartPreparation::Requirements => "what it requires is checked",
        };
        model.add_item(TranscriptItem::warning_item(&format!("{name} has not started yet: {why}")));
        model.composer.set_text(&text);
        return Vec::new();
    }
    if let Some(name) = model.workflow_awaiting_input.take() {
        return vec![UiCommand::ask(StartRequest::Workflow { name, input: text })];
    }
    if let Some(run) = model.workflow.clone() {
        if let Some(cmds) = interrupt::send_guidance(model, &run, &text) {
            return cmds;
        }
        // It waits for the next pause; it comes back if no state reads it before the end.
        if let Some(view) = model.run_mut(&run) {
            view.outbox.push_back(text.clone());
        } else {
            model.queued.push(text.clone());
        }
        return vec![UiCommand::Send(run, RunCommand::Say { text })];
    }
    send_to_chat(model, text)
}

/// Submits the lines that were typed for a run while it was read, now that it is resumed.
pub fn submit_held_lines(model: &mut UiModel) -> Vec<UiCommand> {
    let lines = std::mem::take(&mut model.held_lines);
    if lines.is_empty() {
        return Vec::new();
    }
    model.hint = None;
    let draft = model.composer.text();
    let mut cmds = Vec::new();
    for line in lines {
        model.composer.set_text(&line);
        cmds.extend(submit_input(model));
    }
    model.composer.set_text(&draft);
    cmds
}

/// Gives a text to the conversation; starts one if there is none.
fn send_to_chat(model: &mut UiModel, text: String) -> Vec<UiCommand> {
    let text = model.shell.with_pending_output(text);
    model.finished_run = None;
    let chat = model.chat.clone();
    match chat.and_then(|id| model.run_mut(&id)) {
        Some(run) if !run.is_over => {
            run.outbox.push_back(text);
            deliver_chat_text(model)
        }
        _ => {
            model.chat = None;
            model.queued.push(text);
            vec![UiCommand::ask(StartRequest::Chat { role: model.facts.role.clone() })]
        }
    }
}

/// Sends the chat's next text if it waits for one.
pub fn deliver_chat_text(model: &mut UiModel) -> Vec<UiCommand> {
    let Some(id) = model.chat.clone() else { return Vec::new() };
    let now = model.now;
    let Some(run) = model.run_mut(&id) else { return Vec::new() };
    if run.awaiting_text.is_none() || run.outbox.is_empty() {
        return Vec::new();
    }
    let (Some(call), Some(text)) = (run.awaiting_text.take(), run.outbox.pop_front()) else {
        return Vec::new();
    };
    run.busy_since = Some(now);
    vec![UiCommand::Send(id, RunCommand::Answer { call, answer: UserAnswer::Text { text } })]
}

/// A queued text has answered a question for text, instead of its dialog. A question that timed out took none.
pub fn on_question_answered(model: &mut UiModel, run: &RunId, call: CallId) {
    let now = model.now;
    let open = model.dialogs.iter().find(|dialog| dialog.matches_call(run, call) && dialog.is_written());
    let in_time = open.is_some_and(|dialog| dialog.deadline.is_none_or(|until| now < until));
    if let Some(view) = model.run_mut(run).filter(|view| in_time && !view.chat) {
        view.outbox.pop_front();
    }
}

/// The user's text, as the conversation records it.
pub fn user_message(text: &str) -> TranscriptItem {
    TranscriptItem::Block(TranscriptBlock::new(ItemTone::Human, "you", text))
}
