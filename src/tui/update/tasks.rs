//! `/task`: the list as it is now, and what was done with it.

use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::msg::UiCommand;
use crate::text::one_line;
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::task_list::{TaskList, TaskListCommand, TaskListItem};
use synthdev_service::session::StartRequest;

pub fn show_task_result(
    model: &mut UiModel,
    deed: TaskListCommand,
    told: Result<(TaskList, Option<TaskListItem>), String>,
) {
    let (list, task) = match told {
        Ok(found) => found,
        Err(reason) => {
            // a user who wrote a long text gets it back with Up
            model.add_item(TranscriptItem::error("the tasks were not changed", &reason));
            return;
        }
    };
    let Some(task) = task else { return show_tasks(model, &list) };
    let said = match deed {
        TaskListCommand::Use(_, workflow) => return use_task(model, &task, workflow),
        TaskListCommand::Add(_) | TaskListCommand::List => "added",
        TaskListCommand::Edit(..) => "changed",
        TaskListCommand::Done(_) if task.done => "done",
        TaskListCommand::Done(_) => "open again",
        TaskListCommand::Remove(_) => "removed",
    };
    let open = list.tasks().iter().filter(|task| !task.done).count();
    let text = format!("task {} {said}: {} · {open} open", task.number, one_line(&task.text));
    model.add_item(TranscriptItem::note_item(&text));
}

fn show_tasks(model: &mut UiModel, list: &TaskList) {
    if list.tasks().is_empty() {
        model.add_item(TranscriptItem::note_item("no tasks in this project: /task add WORDS"));
        return;
    }
    let lines: Vec<String> = list.tasks().iter().map(task_line).collect();
    let block = TranscriptBlock::new(ItemTone::Accent, "Tasks", &lines.join("\n"));
    model.add_item(TranscriptItem::Block(
        block.with_footer("→ /task use N puts one into the input box · /task done N"),
    ));
}

/// `✓  3  fix the parser`: all of its lines, the further ones below the first.
fn task_line(task: &TaskListItem) -> String {
    let sign = if task.done { '✓' } else { ' ' };
    format!("{sign} {:>2}  {}", task.number, task.text.replace('\n', "\n      "))
}

/// Into the input box; where there is none, a workflow is asked about and a text is shown.
fn use_task(model: &mut UiModel, task: &TaskListItem, workflow: Option<String>) {
    let (number, text) = (task.number, task.text.as_str());
    match workflow {
        Some(name) if model.line_mode => {
            let start = UiCommand::ask(StartRequest::Workflow { name: name.clone(), input: text.to_owned() });
            model.push_question(QuestionDialog::for_confirmation(
                &format!("Start {name} with task {number}?"),
                text,
                start,
            ));
        }
        None if model.line_mode => {
            model.add_item(TranscriptItem::report_item(&format!("Task {number}"), text));
        }
        _ if !model.composer.is_empty() => {
            model.hint =
                Some(format!("there is a text in the input box: /task use {number} once more takes it"));
        }
        Some(name) => model.composer.replace_undoably(&format!("/workflow {name} {text}")),
        None => model.composer.replace_undoably(text),
    }
}
