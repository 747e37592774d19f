//! `/task`: the list as it is now, and what was done with it.

use crate::domain::task_list::{Task, TaskDeed, TaskList};
use crate::tui::dialog::Dialog;
use crate::tui::model::Model;
use crate::tui::msg::Cmd;
use crate::tui::text::one_line;
use crate::tui::transcript::item::{Block, Item, Tone};

pub fn told(model: &mut Model, deed: TaskDeed, told: Result<(TaskList, Option<Task>), String>) {
    let (list, task) = match told {
        Ok(found) => found,
        Err(reason) => {
            // who wrote a long text has it again with Up
            model.say(Item::error("the tasks are as they were", &reason));
            return;
        }
    };
    let Some(task) = task else { return show(model, &list) };
    let said = match deed {
        TaskDeed::Use(_, workflow) => return take(model, &task, workflow),
        TaskDeed::Add(_) | TaskDeed::List => "added",
        TaskDeed::Edit(..) => "changed",
        TaskDeed::Done(_) if task.done => "done",
        TaskDeed::Done(_) => "open again",
        TaskDeed::Remove(_) => "removed",
    };
    let open = list.tasks().iter().filter(|task| !task.done).count();
    let text = format!("task {} {said}: {} · {open} open", task.number, one_line(&task.text));
    model.say(Item::note(&text));
}

fn show(model: &mut Model, list: &TaskList) {
    if list.tasks().is_empty() {
        model.say(Item::note("no tasks in this project: /task add WORDS"));
        return;
    }
    let lines: Vec<String> = list.tasks().iter().map(line).collect();
    let block = Block::new(Tone::Accent, "Tasks", &lines.join("\n"));
    model.say(Item::Block(block.foot("→ /task use N puts one into the input box · /task done N")));
}

/// `✓  3  fix the parser`: all of its lines, the further ones below the first.
fn line(task: &Task) -> String {
    let sign = if task.done { '✓' } else { ' ' };
    format!("{sign} {:>2}  {}", task.number, task.text.replace('\n', "\n      "))
}

/// Into the input box; where there is none, a workflow is asked about and a text is shown.
fn take(model: &mut Model, task: &Task, workflow: Option<String>) {
    let (number, text) = (task.number, task.text.as_str());
    match workflow {
        Some(name) if model.linear => {
            let start = Cmd::StartWorkflow { name: name.clone(), input: text.to_owned() };
            model.dialogs.push_back(Dialog::confirm(
                &format!("Start {name} with task {number}?"),
                text,
                start,
            ));
        }
        None if model.linear => drop(model.say(Item::report(&format!("Task {number}"), text))),
        _ if !model.composer.is_empty() => {
            model.hint =
                Some(format!("there is a text in the input box: /task use {number} once more takes it"));
        }
        Some(name) => model.composer.rewrite(&format!("/workflow {name} {text}")),
        None => model.composer.rewrite(text),
    }
}
