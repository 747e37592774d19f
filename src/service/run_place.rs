//! Where a run works: in its project, perhaps in a git worktree of its own.
//!
//! Owns from where a run can be resumed, rewound, forked or undone, and what to do instead, once for every front-end.
//! Refuses to look at the disk itself: callers say which directories are there.

use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::snapshot::RunWorktree;
use synthdev_domain::terminal_safe::escape_name;

/// What a user asks of a run that works in a certain place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunOperation {
    Resume,
    Retry,
    /// Of a conversation.
    Reopen,
    /// `step` is `None` as long as none is chosen.
    Rewind {
        step: Option<u32>,
    },
    Fork {
        step: Option<u32>,
        restores_files: bool,
    },
    Undo,
}

impl RunOperation {
    /// The arguments of the command line that do it.
    pub fn command(self, run: &RunId) -> String {
        let number = |step: Option<u32>| step.map_or_else(|| "STEP".to_owned(), |step| step.to_string());
        match self {
            Self::Resume => format!("resume {run}"),
            Self::Retry => format!("runs retry {run}"),
            Self::Reopen => format!("--resume {run}"),
            Self::Rewind { step } => format!("runs rewind {run} --to {}", number(step)),
            Self::Fork { step, restores_files } => {
                let files = if restores_files { " --restore-files" } else { "" };
                format!("runs fork {run} --at {}{files}", number(step))
            }
            Self::Undo => format!("runs undo {run}"),
        }
    }

    fn restores_files(self) -> bool {
        match self {
            Self::Rewind { .. } | Self::Undo => true,
            Self::Fork { restores_files, .. } => restores_files,
            Self::Resume | Self::Retry | Self::Reopen => false,
        }
    }
}

/// Where a run works, seen from a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunPlace {
    /// Its project, if that is another one.
    pub other_project: Option<String>,
    /// That one has no directory on this machine.
    pub is_project_gone: bool,
    pub worktree: Option<RunWorktree>,
}

/// Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunPlaceError {
    #[error("run {run} belongs to {}", escape_name(.project))]
    OtherProject { run: RunId, project: String, operation: RunOperation },
    /// The run belongs to a project that is not on this machine, so it cannot go on, nor can its files be changed.
    #[error(
        "run {run} belongs to {}, which is not on this machine{}",
        escape_name(.project),
        if .operation.restores_files() { ": there are no files to restore" } else { "" }
    )]
    MissingProject { run: RunId, project: String, operation: RunOperation },
    /// An undo is for the files of a project.
    #[error("run {run} works in a worktree of its own, {}", escape_name(&.tree.path))]
    OwnWorktree { run: RunId, tree: RunWorktree },
    #[error("{}", worktree_gone_text(.run, .tree))]
    WorktreeGone { run: RunId, tree: RunWorktree },
}

impl RunPlaceError {
    /// What to do instead.
    pub fn hint(&self) -> String {
        match self {
            Self::OtherProject { run, project, operation } => command_line(Some(project), run, *operation),
            Self::MissingProject { operation: RunOperation::Fork { restores_files: true, .. }, .. } => {
                "without --restore-files a fork takes its conversations and data".to_owned()
            }
            Self::MissingProject { run, operation, .. } if operation.restores_files() => {
                let step = if let RunOperation::Rewind { step } = operation { *step } else { None };
                let rewind = RunOperation::Rewind { step }.command(run);
                format!("its conversations and data go back without them: synthdev {rewind} --keep-files")
            }
            Self::MissingProject { run, .. } => format!(
                "bring the directory back, or move the run into this project: synthdev runs export {run} --to FILE, \
                 synthdev runs delete {run}, synthdev runs import FILE"
            ),
            Self::OwnWorktree { run, .. } => format!("discard its files with: synthdev runs discard {run}"),
            Self::WorktreeGone { run, tree } => worktree_gone_hint(run, tree),
        }
    }
}

impl RunPlace {
    /// `here` is the canonical path of the project that the program works in.
    pub fn of_run(run: &RunSummary, here: &str) -> Self {
        let other_project = (run.project != here).then(|| run.project.clone());
        Self { other_project, worktree: run.worktree.clone(), is_project_gone: false }
    }

    /// The same with what the disk says of another project.
    #[must_use]
    pub fn on_disk(self, is_directory: impl Fn(&str) -> bool) -> Self {
        let is_project_gone = self.other_project.as_deref().is_some_and(|project| !is_directory(project));
        Self { is_project_gone, ..self }
    }

    /// A run goes on in its own project.
    ///
    /// # Errors
    /// That is another one, or is gone.
    pub fn check_project(&self, run: &RunId, operation: RunOperation) -> Result<(), RunPlaceError> {
        let Some(project) = &self.other_project else { return Ok(()) };
        let (run, project) = (run.clone(), project.clone());
        Err(if self.is_project_gone {
            RunPlaceError::MissingProject { run, project, operation }
        } else {
            RunPlaceError::OtherProject { run, project, operation }
        })
    }

    /// Whether the files that the run works on are those of its project.
    ///
    /// # Errors
    /// It has a worktree of its own.
    pub fn check_project_files(&self, run: &RunId) -> Result<(), RunPlaceError> {
        let Some(tree) = &self.worktree else { return Ok(()) };
        let (run, tree) = (run.clone(), tree.clone());
        Err(if tree.is_known() {
            RunPlaceError::OwnWorktree { run, tree }
        } else {
            RunPlaceError::WorktreeGone { run, tree }
        })
    }

    /// The command that does it from any directory.
    pub fn command_line(&self, run: &RunId, operation: RunOperation) -> String {
        command_line(self.other_project.as_deref(), run, operation)
    }

    /// The worktree in which the run goes on; `None`: the project itself.
    ///
    /// # Errors
    /// It is gone.
    pub fn present_worktree(
        &self,
        run: &RunId,
        is_directory: impl Fn(&str) -> bool,
    ) -> Result<Option<&RunWorktree>, RunPlaceError> {
        let Some(tree) = &self.worktree else { return Ok(None) };
        if is_directory(&tree.path) {
            return Ok(Some(tree));
        }
        Err(RunPlaceError::WorktreeGone { run: run.clone(), tree: tree.clone() })
    }
}

fn command_line(project: Option<&str>, run: &RunId, operation: RunOperation) -> String {
    let place = project.map(|project| format!("-C {} ", escape_name(project))).unwrap_or_default();
    format!("synthdev {place}{}", operation.command(run))
}

fn worktree_gone_text(run: &RunId, tree: &RunWorktree) -> String {
    if tree.is_known() {
        return format!("the worktree of run {run} is gone: {}", escape_name(&tree.path));
    }
    format!(
        "where run {run} worked was lost when the history was salvaged: it may have been a worktree of its own, so it \
         does not touch the project's files"
    )
}

fn worktree_gone_hint(run: &RunId, tree: &RunWorktree) -> String {
    let fork = format!("synthdev runs fork {run} --at STEP makes a run of it that works in the project");
    if tree.is_known() {
        return format!("synthdev runs merge {run} brings what was kept of it into the project; {fork}");
    }
    fork
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_project_names_the_command_that_does_the_same_there() {
        let run = RunId::from("r1");
        let place = RunPlace { other_project: Some("/other".to_owned()), ..RunPlace::default() };
        let fork = |restores_files: bool| RunOperation::Fork { step: Some(2), restores_files };
        let rows = [
            (RunOperation::Resume, "resume r1"),
            (RunOperation::Retry, "runs retry r1"),
            (RunOperation::Reopen, "--resume r1"),
            (RunOperation::Rewind { step: Some(3) }, "runs rewind r1 --to 3"),
            (RunOperation::Rewind { step: None }, "runs rewind r1 --to STEP"),
            (fork(false), "runs fork r1 --at 2"),
            (fork(true), "runs fork r1 --at 2 --restore-files"),
            (RunOperation::Undo, "runs undo r1"),
        ];
        for (operation, command) in rows {
            let refused = place.check_project(&run, operation).unwrap_err();
            assert_eq!(refused.to_string(), "run r1 belongs to /other");
            assert_eq!(refused.hint(), format!("synthdev -C /other {command}"));
            assert_eq!(RunPlace::default().check_project(&run, operation), Ok(()));
            assert_eq!(RunPlace::default().on_disk(|_| false).check_project(&run, operation), Ok(()));
            assert_eq!(place.clone().on_disk(|_| true), place);
            // no command works in a directory that is gone
            let gone = place.clone().on_disk(|_| false).check_project(&run, operation).unwrap_err();
            assert!(gone.to_string().starts_with("run r1 belongs to /other, which is not on this machine"));
            assert!(!gone.hint().contains("-C "), "{}", gone.hint());
            assert_eq!(place.command_line(&run, operation), refused.hint());
            assert_eq!(RunPlace::default().command_line(&run, operation), format!("synthdev {command}"));
        }
    }

    #[test]
    fn a_run_goes_on_in_its_worktree_and_an_undo_leaves_that_alone() {
        let run = RunId::from("r1");
        let tree = RunWorktree { path: "/tree".to_owned(), ..RunWorktree::unknown() };
        // the worktree, whether it is there, where the run goes on, what an undo is refused with
        let rows = [
            (None, true, Ok(None), None),
            (
                Some(tree.clone()),
                true,
                Ok(Some("/tree")),
                Some("run r1 works in a worktree of its own, /tree"),
            ),
            (
                Some(tree),
                false,
                Err("the worktree of run r1 is gone: /tree"),
                Some("run r1 works in a worktree of its own, /tree"),
            ),
            (
                Some(RunWorktree::unknown()),
                false,
                Err("where run r1 worked was lost"),
                Some("where run r1 worked was lost"),
            ),
        ];
        for (worktree, is_there, goes_on, undo) in rows {
            let place = RunPlace { worktree, ..RunPlace::default() };
            match (place.present_worktree(&run, |_| is_there), goes_on) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found.map(|tree| tree.path.as_str()), expected);
                }
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (found, expected) => panic!("{found:?}, not {expected:?}"),
            }
            let refused = place.check_project_files(&run).err().map(|error| error.to_string());
            assert!(
                match (&refused, undo) {
                    (Some(text), Some(expected)) => text.contains(expected),
                    (None, None) => true,
                    _ => false,
                },
                "{refused:?}"
            );
        }
    }
}
