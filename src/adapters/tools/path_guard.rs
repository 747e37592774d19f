//! Which paths a file tool may touch: those inside the project once every link is resolved, as far as the policy of the
//! sandbox allows them to commands. Refuses without saying what is on the other side. A command that swaps a directory
//! for a link between the check and the use gains nothing: files are used through a handle of their directory, and the
//! handle's real path is checked.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::hidden_recording::{HiddenRecording, is_unfinished_recording};
use crate::open_beneath::{
    AnchoredPath, DirectoryHandle, make_parent, open_directory, open_parent, open_unfollowed, remove_made,
};
use crate::sandbox::policy::PathAccess;
use crate::sandbox::{CommandSandbox, file_tool_denial};
use synthdev_domain::system_context::{GUIDANCE, is_guidance};

/// A project's own definitions.
const DEFINITIONS: &str = ".synthdev";

/// The project's border.
pub(super) struct ProjectPathGuard {
    root: PathBuf,
    given_root: PathBuf,
    hidden_paths: HiddenPaths,
}

/// What does not exist for the file tools.
#[derive(Clone)]
pub(super) struct HiddenPaths {
    /// Of this program.
    own_paths: Vec<PathBuf>,
    /// The project's directory, and the recording of the run inside it.
    root: PathBuf,
    recording: Option<HiddenRecording>,
    /// What commands can reach; `None`: the call is the user's own, which no policy restricts.
    sandbox: Option<Arc<CommandSandbox>>,
}

impl HiddenPaths {
    /// Whether nothing is shown of a path that is free of links, nor of what is below it.
    pub(super) fn is_path_hidden(&self, absolute: &Path) -> bool {
        let policy = self.sandbox.as_ref().and_then(|sandbox| sandbox.file_policy());
        self.are_in_project(absolute) || policy.is_some_and(|policy| policy.is_hidden(absolute))
    }

    fn are_in_project(&self, absolute: &Path) -> bool {
        self.own_paths.iter().any(|hidden| absolute.starts_with(hidden)) || self.is_recording(absolute)
    }

    fn is_recording(&self, absolute: &Path) -> bool {
        let relative = || absolute.strip_prefix(&self.root).ok();
        is_unfinished_recording(absolute)
            || self
                .recording
                .as_ref()
                .is_some_and(|recording| relative().is_some_and(|path| recording.covers(path)))
    }
}

/// A place inside the project; it need not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ProjectPath {
    /// Free of links.
    pub(super) absolute: PathBuf,
    /// Relative to the project, `.` for the project itself; the only form that is ever shown.
    pub(super) relative: String,
}

#[derive(PartialEq, Eq, Debug, Error)]
pub(super) enum PathError {
    #[error("a path must not be empty or contain NUL")]
    Malformed,
    #[error("`{0}` is outside the project; use a path relative to the project's directory")]
    Outside(String),
    #[error("`{0}` belongs to this program and is not open to tools")]
    Hidden(String),
    #[error("`{0}` is inside git's own directory, which tools do not write; use git commands instead")]
    Git(String),
    #[error(
        "`{0}` belongs to the project's definitions (.synthdev), which steer agents and workflows: tools do not write \
         them; say what should change and the user will do it"
    )]
    Definitions(String),
    #[error(
        "`{0}` leads to the project's AGENTS.md, which steers agents: write it by that name, so that the user is asked"
    )]
    Guidance(String),
    #[error("`{0}` passes through a link that leads nowhere")]
    DeadLink(String),
    #[error("`{0}` cannot be reached: {1}")]
    Unreachable(String, String),
    /// By the policy of the sandbox.
    #[error("{0}")]
    Denied(String),
}

impl ProjectPathGuard {
    /// `sandbox`: whose policy holds; `None` for what the user typed.
    pub(super) fn new(root: &Path, hidden: &[PathBuf], sandbox: Option<Arc<CommandSandbox>>) -> Self {
        let given_root = root.to_owned();
        let root = root.canonicalize().unwrap_or_else(|_| given_root.clone());
        let own = hidden.iter().map(|path| root.join(path)).map(|p| p.canonicalize().unwrap_or(p)).collect();
        let hidden_paths = HiddenPaths { own_paths: own, root: root.clone(), recording: None, sandbox };
        Self { root, given_root, hidden_paths }
    }

    /// Hides the recording that the run makes or plays.
    pub(super) fn without_recording(mut self, recording: Option<HiddenRecording>) -> Self {
        self.hidden_paths.recording = recording;
        self
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn hidden_paths(&self) -> &HiddenPaths {
        &self.hidden_paths
    }

    /// Where `path` really is, for reading.
    pub(super) fn resolve_readable(&self, path: &str) -> Result<ProjectPath, PathError> {
        if path.is_empty() || path.contains('\0') {
            return Err(PathError::Malformed);
        }
        self.judge_reading(self.resolve_path(path)?, path)
    }

    /// `path`: as it was asked for.
    fn judge_reading(&self, absolute: PathBuf, path: &str) -> Result<ProjectPath, PathError> {
        if self.hidden_paths.are_in_project(&absolute) {
            return Err(PathError::Hidden(self.display_as_asked(path)));
        }
        let relative =
            self.relative_path(&absolute).ok_or_else(|| PathError::Outside(self.display_as_asked(path)))?;
        let spot = ProjectPath { absolute, relative };
        self.check_access(&spot, |access| access != PathAccess::Hidden)?;
        Ok(spot)
    }

    /// Whether the policy grants what is `enough`, as it does for commands.
    fn check_access(&self, spot: &ProjectPath, enough: impl Fn(PathAccess) -> bool) -> Result<(), PathError> {
        let policy = self.hidden_paths.sandbox.as_ref().and_then(|sandbox| sandbox.file_policy());
        let Some(policy) = policy else { return Ok(()) };
        match policy.access_resolved(&spot.absolute) {
            (access, _) if enough(access) => Ok(()),
            (access, reason) => {
                Err(PathError::Denied(file_tool_denial(&policy, &spot.relative, access, reason)))
            }
        }
    }

    /// Where `path` really is, for writing: git's own files are refused too.
    pub(super) fn resolve_writable(&self, path: &str) -> Result<ProjectPath, PathError> {
        if let Some(sandbox) = &self.hidden_paths.sandbox {
            sandbox.refresh_policy();
        }
        let spot = self.resolve_readable(path)?;
        self.judge_writing(&spot, path)?;
        Ok(spot)
    }

    fn judge_writing(&self, spot: &ProjectPath, path: &str) -> Result<(), PathError> {
        let in_git = |part: &OsStr| part.to_str().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        // The whole path: a project inside git's directory is no project.
        if spot.absolute.iter().any(in_git) {
            return Err(PathError::Git(spot.relative.clone()));
        }
        let own = |part: &OsStr| part.to_str().is_some_and(|name| name.eq_ignore_ascii_case(DEFINITIONS));
        if Path::new(&spot.relative).iter().any(own) {
            return Err(PathError::Definitions(spot.relative.clone()));
        }
        if self.is_guidance(spot) && !is_guidance(path) {
            return Err(PathError::Guidance(self.display_as_asked(path)));
        }
        self.check_access(spot, |access| access == PathAccess::Write)
    }

    /// Holds on to the directory of a spot that was judged, for reading.
    ///
    /// # Errors
    /// As the system says, or it is no longer what was judged.
    pub(super) fn hold_parent(&self, spot: &ProjectPath) -> io::Result<AnchoredPath> {
        let parent = open_parent(&self.root, &spot.absolute, false)?;
        self.still_readable(spot, parent.real_path())?;
        Ok(parent)
    }

    /// The same for writing; directories that are missing are made, and named.
    ///
    /// # Errors
    /// As `hold_parent`; then nothing was made.
    pub(super) fn hold_parent_for_write(
        &self,
        spot: &ProjectPath,
    ) -> io::Result<(AnchoredPath, Vec<AnchoredPath>)> {
        let (parent, made) = make_parent(&self.root, &spot.absolute)?;
        match self.still_writable(spot, parent.real_path()) {
            Ok(()) => Ok((parent, made)),
            Err(error) => {
                remove_made(&made);
                Err(error)
            }
        }
    }

    /// The same for a directory that is free of links.
    ///
    /// # Errors
    /// As `hold_parent`.
    pub(super) fn hold_directory(&self, spot: &ProjectPath) -> io::Result<DirectoryHandle> {
        let directory = open_directory(&self.root, &spot.absolute)?;
        self.still_readable(spot, directory.real_path())?;
        Ok(directory)
    }

    /// Opens a regular file of the project, by a path that is free of links.
    ///
    /// # Errors
    /// As `hold_parent`.
    pub(super) fn open_file(&self, absolute: &Path) -> io::Result<File> {
        let relative = self.relative_path(absolute).ok_or(io::ErrorKind::InvalidInput)?;
        let parent = self.hold_parent(&ProjectPath { absolute: absolute.to_owned(), relative })?;
        let file = open_unfollowed(&parent.entry())?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// `real`: where the handle is, if that is known.
    fn still_readable(&self, spot: &ProjectPath, real: Option<PathBuf>) -> io::Result<()> {
        let Some(real) = real.filter(|real| *real != spot.absolute) else { return Ok(()) };
        self.judge_reading(real, &spot.relative).map(drop).map_err(io::Error::other)
    }

    fn still_writable(&self, spot: &ProjectPath, real: Option<PathBuf>) -> io::Result<()> {
        let Some(real) = real.filter(|real| *real != spot.absolute) else { return Ok(()) };
        let judged = self.judge_reading(real, &spot.relative);
        judged.and_then(|real| self.judge_writing(&real, &spot.relative)).map_err(io::Error::other)
    }

    /// The file itself, or what the project's `AGENTS.md` is a link to.
    fn is_guidance(&self, spot: &ProjectPath) -> bool {
        let linked = self.root.join(GUIDANCE);
        is_guidance(&spot.relative)
            || linked.is_symlink() && linked.canonicalize().is_ok_and(|target| target == spot.absolute)
    }

    pub(super) fn is_hidden(&self, absolute: &Path) -> bool {
        self.hidden_paths.is_path_hidden(absolute)
    }

    /// The form that is shown; `None` outside the project.
    pub(super) fn relative_path(&self, absolute: &Path) -> Option<String> {
        let inside = absolute.strip_prefix(&self.root).ok()?.to_string_lossy();
        Some(if inside.is_empty() { ".".to_owned() } else { inside.into_owned() })
    }

    /// Walks component by component, so that `link/..` means what the system makes of it, and a target that does not
    /// exist yet is judged by the deepest directory that does.
    fn resolve_path(&self, path: &str) -> Result<PathBuf, PathError> {
        let asked = Path::new(path);
        let (mut at, rest) = match asked.strip_prefix(&self.given_root) {
            Ok(rest) => (self.root.clone(), rest),
            Err(_) if asked.is_absolute() => (PathBuf::from("/"), asked),
            Err(_) => (self.root.clone(), asked),
        };
        for part in rest.components() {
            match part {
                Component::ParentDir => {
                    at.pop();
                }
                Component::Normal(name) => at = self.resolve_step(path, at.join(name))?,
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        if at.starts_with(&self.root) { Ok(at) } else { Err(PathError::Outside(self.display_as_asked(path))) }
    }

    fn resolve_step(&self, path: &str, next: PathBuf) -> Result<PathBuf, PathError> {
        let refuse = |error: &io::Error| {
            if !next.starts_with(&self.root) {
                PathError::Outside(self.display_as_asked(path))
            } else if error.kind() == io::ErrorKind::NotFound {
                PathError::DeadLink(self.display_as_asked(path))
            } else {
                PathError::Unreachable(self.display_as_asked(path), error_reason(error))
            }
        };
        match next.symlink_metadata() {
            Ok(found) if found.is_symlink() => next.canonicalize().map_err(|error| refuse(&error)),
            Ok(_) => Ok(next),
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(next),
            Err(error) => Err(refuse(&error)),
        }
    }

    /// The path as the model wrote it, without the project's own place on the machine.
    fn display_as_asked(&self, path: &str) -> String {
        let inside = Path::new(path)
            .strip_prefix(&self.given_root)
            .or_else(|_| Path::new(path).strip_prefix(&self.root));
        inside.map_or_else(|_| path.to_owned(), |rest| rest.to_string_lossy().into_owned())
    }
}

/// The system's reason for a failure, in words that name no path.
pub(super) fn error_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a directory".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::InvalidFilename => "the name is too long or not allowed".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::sandbox_places::SandboxPlaces;
    use crate::tools::load_file::load_bytes;
    use std::fs;
    use std::os::unix::fs::symlink;
    use synthdev_domain::sandbox::SandboxSettings;

    /// A project with `d/a` and a hidden directory, and the same names outside.
    fn scene() -> (tempfile::TempDir, ProjectPathGuard, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let (root, outside) = (top.join("project"), top.join("outside"));
        for (path, text) in
            [("project/d/a", "inside"), ("project/secrets/d/a", "SECRET"), ("outside/a", "SECRET")]
        {
            fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
            fs::write(top.join(path), text).unwrap();
        }
        let settings = SandboxSettings { hidden: vec!["secrets".to_owned()], ..SandboxSettings::default() };
        let sandbox = CommandSandbox::new(settings, SandboxPlaces::for_project(&root));
        (directory, ProjectPathGuard::new(&root, &[], Some(Arc::new(sandbox))), outside)
    }

    #[test]
    fn a_directory_that_is_swapped_after_the_check_leads_nowhere_else() {
        for hidden in [false, true] {
            let (_keep, fence, outside) = scene();
            let root = fence.root().to_owned();
            let (spot, new) =
                (fence.resolve_writable("d/a").unwrap(), fence.resolve_writable("d/x/new").unwrap());
            assert_eq!(load_bytes(&fence, &spot).unwrap(), b"inside");
            let directory = fence.resolve_readable("d").unwrap();
            fs::rename(root.join("d"), root.join("moved")).unwrap();
            let target = if hidden { root.join("secrets/d") } else { outside };
            symlink(&target, root.join("d")).unwrap();
            assert!(load_bytes(&fence, &spot).is_err() && fence.open_file(&spot.absolute).is_err());
            assert!(fence.hold_parent(&spot).is_err() && fence.hold_parent_for_write(&spot).is_err());
            assert!(fence.hold_parent_for_write(&new).is_err() && fence.hold_directory(&directory).is_err());
            assert_eq!(fs::read_dir(&target).unwrap().count(), 1, "nothing was made there");
            assert_eq!(fs::read_to_string(target.join("a")).unwrap(), "SECRET");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn where_the_handle_is_decides() {
        let (_keep, fence, outside) = scene();
        let root = fence.root().to_owned();
        let spot = fence.resolve_writable("d/a").unwrap();
        for (to, readable, writable) in [
            (root.join("other"), true, true),
            (root.join(".git"), true, false),
            (root.join("secrets/moved"), false, false),
            (outside.join("d"), false, false),
        ] {
            let parent = fence.hold_parent(&spot).unwrap();
            fs::rename(root.join("d"), &to).unwrap();
            assert_eq!(fence.still_readable(&spot, parent.real_path()).is_ok(), readable, "{}", to.display());
            assert_eq!(fence.still_writable(&spot, parent.real_path()).is_ok(), writable, "{}", to.display());
            fs::rename(&to, root.join("d")).unwrap();
        }
    }
}
