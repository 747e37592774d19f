//! The person's tasks of this project (`/task`).

use futures_util::future::BoxFuture;

use super::{TuiBackend, away};
use synthdev_adapters::task_list::TaskFile;
use synthdev_domain::task_list::{TaskList, TaskListCommand, TaskListItem};

impl TuiBackend {
    pub(super) fn task(
        &self,
        deed: TaskListCommand,
    ) -> BoxFuture<'static, Result<(TaskList, Option<TaskListItem>), String>> {
        if self.world.shipped_only {
            return Box::pin(std::future::ready(Err(
                "the demo leaves nothing behind: it keeps no tasks".to_owned()
            )));
        }
        let handle = self.wired().handle.clone();
        let file = TaskFile::new(&self.world.dirs.data, &self.world.project);
        away(move || {
            if let TaskListCommand::Add(text) | TaskListCommand::Edit(_, text) = &deed
                && handle.without_keys(text.clone()) != *text
            {
                return Err("the text holds a key that is used here: leave it out".to_owned());
            }
            perform(&file, &deed)
        })
    }
}

/// Blocking.
fn perform(file: &TaskFile, deed: &TaskListCommand) -> Result<(TaskList, Option<TaskListItem>), String> {
    let place = file.file().display();
    if !deed.changes() {
        let mut list = file
            .read()
            .map_err(|error| format!("{place} cannot be read: {error} — correct the file or remove it"))?;
        let task = list.perform(deed)?;
        return Ok((list, task));
    }
    let changed = file.change(|list| list.perform(deed).map(|task| (list.clone(), task)));
    changed.map_err(|error| format!("{place} cannot be changed: {error} — correct the file or remove it"))?
}
