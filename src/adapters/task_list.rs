//! The user's tasks, one file a project in the data directory, readable by its owner only.
//!
//! A change is read, made and written under a lock; readers see the old list or the new one. Refuses to overwrite a
//! file that it does not understand.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::file_io::{ensure_private_directory, read_file_if_exists, write_private};
use synthdev_domain::task_list::TaskList;

/// The tasks of one project.
#[derive(Clone, Debug)]
pub struct TaskFile {
    file: PathBuf,
}

impl TaskFile {
    /// `data`: the user's directory for such things. Touches nothing until used.
    pub fn new(data: &Path, project: &Path) -> Self {
        let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
        let name: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Self { file: data.join("tasks").join(format!("{name}.json")) }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A file that is not there is an empty list.
    ///
    /// # Errors
    /// It cannot be read, or is no list of ours.
    pub fn read_list(&self) -> io::Result<TaskList> {
        let Some(text) = read_file_if_exists(&self.file)? else { return Ok(TaskList::default()) };
        serde_json::from_str(&text).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("it is no list of tasks: {error}"))
        })
    }

    /// Changes the list; a change that `change` refuses is not written.
    ///
    /// # Errors
    /// As [`Self::read`], or it cannot be written: the list is as it was. The inner result is that of `change`.
    pub fn update_list<T, E>(
        &self,
        change: impl FnOnce(&mut TaskList) -> Result<T, E>,
    ) -> io::Result<Result<T, E>> {
        if let Some(directory) = self.file.parent() {
            ensure_private_directory(directory)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // held until the end: the list itself is another file each time
        let gate = options.open(self.file.with_extension("lock"))?;
        gate.lock()?;
        let mut list = self.read_list()?;
        let done = match change(&mut list) {
            Ok(done) => done,
            Err(refused) => return Ok(Err(refused)),
        };
        write_private(&self.file, &serde_json::to_string_pretty(&list)?)?;
        Ok(Ok(done))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use synthdev_domain::task_list::TaskListCommand;

    fn add_task(file: &TaskFile, text: &str) -> io::Result<Result<(), String>> {
        file.update_list(|list| list.perform(&TaskListCommand::Add(text.to_owned())).map(drop))
    }

    fn texts(file: &TaskFile) -> Vec<String> {
        file.read_list().unwrap().tasks().iter().map(|task| task.text.clone()).collect()
    }

    #[test]
    fn a_list_is_kept_for_its_project_and_its_owner() {
        let data = tempfile::tempdir().unwrap();
        let (one, other) = (
            TaskFile::new(data.path(), Path::new("/a/one")),
            TaskFile::new(data.path(), Path::new("/a/other")),
        );
        assert_eq!(texts(&one), Vec::<String>::new());
        assert!(!data.path().join("tasks").exists(), "reading makes nothing");
        add_task(&one, "é\n\"two\"").unwrap().unwrap();
        assert_eq!(texts(&one), ["é\n\"two\""]);
        assert_eq!(texts(&other), Vec::<String>::new());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(one.file()), mode(one.file().parent().unwrap())), (0o600, 0o700));
        }
    }

    #[test]
    fn what_is_refused_or_not_understood_is_left_alone() {
        let data = tempfile::tempdir().unwrap();
        let file = TaskFile::new(data.path(), Path::new("/a"));
        add_task(&file, "one").unwrap().unwrap();
        let before = fs::read(file.file()).unwrap();
        let refused = file.update_list(|list| list.perform(&TaskListCommand::Remove(7)).map(drop)).unwrap();
        assert!(refused.is_err());
        assert_eq!(fs::read(file.file()).unwrap(), before);
        fs::write(file.file(), "{\"tasks\": 3}").unwrap();
        let error = add_task(&file, "two").unwrap_err().to_string();
        assert!(error.contains("no list of tasks"), "{error}");
        assert_eq!(fs::read_to_string(file.file()).unwrap(), "{\"tasks\": 3}");
    }

    #[test]
    fn who_adds_at_once_loses_nothing() {
        let data = tempfile::tempdir().unwrap();
        let file = TaskFile::new(data.path(), Path::new("/a"));
        std::thread::scope(|scope| {
            for who in 0..4 {
                let file = file.clone();
                scope.spawn(move || {
                    for at in 0..10 {
                        add_task(&file, &format!("{who} {at}")).unwrap().unwrap();
                    }
                });
            }
        });
        let list = file.read_list().unwrap();
        let mut numbers: Vec<u64> = list.tasks().iter().map(|task| task.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=40).collect::<Vec<_>>());
    }
}
