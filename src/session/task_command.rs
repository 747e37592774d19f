//! The user's tasks of this project (`/task`).

use futures_util::future::BoxFuture;

use super::{TuiBackend, run_blocking};
use synthdev_bootstrap::local_files::task_list::TaskFile;
use synthdev_domain::task_list::{TaskList, TaskListCommand, TaskListItem};

impl TuiBackend {
    pub(crate) fn run_task_command(
        &self,
        deed: TaskListCommand,
    ) -> BoxFuture<'static, Result<(TaskList, Option<TaskListItem>), String>> {
        if self.context.shipped_only {
            return Box::pin(std::future::ready(Err(
                "the demo leaves nothing behind: it keeps no tasks".to_owned()
            )));
        }
        let handle = self.current_runtime().handle.clone();
        let file = TaskFile::new(&self.context.dirs.data, &self.context.project);
        run_blocking(move || {
            if let TaskListCommand::Add(text) | TaskListCommand::Edit(_, text) = &deed
                && handle.without_keys(text.clone()) != *text
            {
                return Err("the text holds a key that is used here: leave it out".to_owned());
            }
            apply_task_command(&file, &deed)
        })
    }
}

/// Blocking.
fn apply_task_command(
    file: &TaskFile,
    deed: &TaskListCommand,
) -> Result<(TaskList, Option<TaskListItem>), String> {
    let place = file.file().display();
    if !deed.changes() {
        let mut list = file
            .read_list()
            .map_err(|error| format!("{place} cannot be read: {error} — correct the file or remove it"))?;
        let task = list.perform(deed)?;
        return Ok((list, task));
    }
    let changed = file.update_list(|list| list.perform(deed).map(|task| (list.clone(), task)));
    changed.map_err(|error| format!("{place} cannot be changed: {error} — correct the file or remove it"))?
}
