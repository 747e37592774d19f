//! The user's list of tasks in a project. Numbers are stable: the number of a removed task is not used again.

use serde::{Deserialize, Serialize};

/// A longer list is of no use to a reader.
const MOST: usize = 1_000;
/// Characters of one.
const LONGEST: usize = 8_000;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskListItem {
    pub number: u64,
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

/// In the order in which they were added.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TaskList {
    tasks: Vec<TaskListItem>,
    /// The highest number that was used.
    #[serde(default)]
    last: u64,
}

/// A command on the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskListCommand {
    List,
    Add(String),
    Edit(u64, String),
    /// Done, or open again.
    Done(u64),
    Remove(u64),
    /// Takes its text, for a workflow if one is named.
    Use(u64, Option<String>),
}

impl TaskListCommand {
    pub fn changes(&self) -> bool {
        !matches!(self, Self::List | Self::Use(..))
    }
}

impl TaskList {
    pub fn tasks(&self) -> &[TaskListItem] {
        &self.tasks
    }

    /// Performs the command. Returns the affected task, as it is now or was last; none for a command on the whole list.
    ///
    /// # Errors
    /// There is no such task, or too much; the list is as it was.
    pub fn perform(&mut self, deed: &TaskListCommand) -> Result<Option<TaskListItem>, String> {
        match deed {
            TaskListCommand::List => Ok(None),
            TaskListCommand::Add(text) => self.add(text).map(Some),
            TaskListCommand::Edit(number, text) => {
                let text = validate_task_text(text)?;
                let task = self.find(*number)?;
                task.text = text;
                Ok(Some(task.clone()))
            }
            TaskListCommand::Done(number) => {
                let task = self.find(*number)?;
                task.done = !task.done;
                Ok(Some(task.clone()))
            }
            TaskListCommand::Use(number, _) => self.find(*number).map(|task| Some(task.clone())),
            TaskListCommand::Remove(number) => {
                let gone = self.find(*number)?.clone();
                self.tasks.retain(|task| task.number != *number);
                Ok(Some(gone))
            }
        }
    }

    fn add(&mut self, text: &str) -> Result<TaskListItem, String> {
        let text = validate_task_text(text)?;
        if self.tasks.len() >= MOST {
            return Err(format!("there are {MOST} tasks: remove some first (/task remove N)"));
        }
        let known = self.tasks.iter().map(|task| task.number).max().unwrap_or(0);
        self.last = self.last.max(known).saturating_add(1);
        let task = TaskListItem { number: self.last, text, done: false };
        self.tasks.push(task.clone());
        Ok(task)
    }

    fn find(&mut self, number: u64) -> Result<&mut TaskListItem, String> {
        let missing = || format!("there is no task {number}: /task lists them");
        self.tasks.iter_mut().find(|task| task.number == number).ok_or_else(missing)
    }
}

fn validate_task_text(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.chars().count() > LONGEST {
        return Err(format!(
            "a task has no more than {LONGEST} characters: put the text into a file and name it here"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task_rows(list: &TaskList) -> Vec<(u64, &str, bool)> {
        list.tasks().iter().map(|task| (task.number, task.text.as_str(), task.done)).collect()
    }

    #[test]
    fn tasks_come_change_and_go_and_keep_their_numbers() {
        let mut list = TaskList::default();
        let add = |text: &str| TaskListCommand::Add(text.to_owned());
        for (deed, expected) in [
            (add(" one "), Ok(Some((1, "one", false)))),
            (add("two\nlines"), Ok(Some((2, "two\nlines", false)))),
            (TaskListCommand::Done(1), Ok(Some((1, "one", true)))),
            (TaskListCommand::Edit(2, "zwei".into()), Ok(Some((2, "zwei", false)))),
            (TaskListCommand::Use(2, None), Ok(Some((2, "zwei", false)))),
            (TaskListCommand::Remove(2), Ok(Some((2, "zwei", false)))),
            (add("three"), Ok(Some((3, "three", false)))),
            (TaskListCommand::Done(1), Ok(Some((1, "one", false)))),
            (TaskListCommand::Done(2), Err("there is no task 2: /task lists them")),
            (TaskListCommand::Edit(9, "x".into()), Err("there is no task 9")),
            (TaskListCommand::Remove(0), Err("there is no task 0")),
            (TaskListCommand::Use(7, None), Err("there is no task 7")),
            (add(&"x".repeat(LONGEST + 1)), Err("no more than 8000 characters")),
            (TaskListCommand::List, Ok(None)),
        ] {
            let found = list.perform(&deed);
            match (&found, expected) {
                (Ok(task), Ok(wanted)) => {
                    let task = task.as_ref().map(|task| (task.number, task.text.as_str(), task.done));
                    assert_eq!(task, wanted, "{deed:?}");
                }
                (Err(error), Err(part)) => assert!(error.contains(part), "{deed:?}: {error}"),
                _ => panic!("{deed:?}: {found:?}"),
            }
        }
        assert_eq!(task_rows(&list), [(1, "one", false), (3, "three", false)]);
        // an older list, which has no numbers, and one that was written by hand
        let mut read: TaskList = serde_json::from_str(r#"{"tasks": [{"number": 5, "text": "x"}]}"#).unwrap();
        read.perform(&add("y")).unwrap();
        assert_eq!(task_rows(&read), [(5, "x", false), (6, "y", false)]);
        for _ in 0..MOST {
            let _ = read.perform(&add("z"));
        }
        assert_eq!(read.tasks().len(), MOST);
        assert!(read.perform(&add("z")).unwrap_err().contains("remove some first"));
    }
}
