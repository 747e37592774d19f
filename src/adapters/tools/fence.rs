//! Which paths a file tool may touch (ERR-6): those that lie in the project once every link is followed, as far as the
//! policy of the sandbox allows them to commands.
//! Refuses without saying what is on the other side. A process that swaps a directory for a link between this check
//! and the use is not defended against: it could as well write the file itself.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::adapters::sandbox::policy::PathAccess;
use crate::adapters::sandbox::{Sandbox, of_file_tool};
use crate::domain::brief::{GUIDANCE, is_guidance};

/// A project's own definitions.
const DEFINITIONS: &str = ".synthdev";

/// The project's border.
pub(super) struct Fence {
    root: PathBuf,
    given_root: PathBuf,
    hidden: HiddenPaths,
}

/// What does not exist for the file tools.
#[derive(Clone)]
pub(super) struct HiddenPaths {
    /// Of this program.
    own: Vec<PathBuf>,
    /// What commands can reach; `None`: the user asks, whom no policy holds.
    sandbox: Option<Arc<Sandbox>>,
}

impl HiddenPaths {
    /// Whether nothing is shown of a path that is free of links, nor of what is below it.
    pub(super) fn contain(&self, absolute: &Path) -> bool {
        let policy = self.sandbox.as_ref().and_then(|sandbox| sandbox.file_policy());
        self.are_own(absolute) || policy.is_some_and(|policy| policy.hides(absolute))
    }

    fn are_own(&self, absolute: &Path) -> bool {
        self.own.iter().any(|hidden| absolute.starts_with(hidden))
    }
}

/// A place inside the project; it need not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spot {
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

impl Fence {
    /// `sandbox`: whose policy holds; `None` for what the user typed.
    pub(super) fn new(root: &Path, hidden: &[PathBuf], sandbox: Option<Arc<Sandbox>>) -> Self {
        let given_root = root.to_owned();
        let root = root.canonicalize().unwrap_or_else(|_| given_root.clone());
        let own = hidden.iter().map(|path| root.join(path)).map(|p| p.canonicalize().unwrap_or(p)).collect();
        Self { root, given_root, hidden: HiddenPaths { own, sandbox } }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn hidden(&self) -> &HiddenPaths {
        &self.hidden
    }

    /// Where `path` really is, for reading.
    pub(super) fn readable(&self, path: &str) -> Result<Spot, PathError> {
        if path.is_empty() || path.contains('\0') {
            return Err(PathError::Malformed);
        }
        let absolute = self.follow(path)?;
        if self.hidden.are_own(&absolute) {
            return Err(PathError::Hidden(self.as_asked(path)));
        }
        let relative = self.relative(&absolute).ok_or_else(|| PathError::Outside(self.as_asked(path)))?;
        let spot = Spot { absolute, relative };
        self.allowed(&spot, |access| access != PathAccess::Hidden)?;
        Ok(spot)
    }

    /// Whether the policy grants what is `enough`, as it does for commands.
    fn allowed(&self, spot: &Spot, enough: impl Fn(PathAccess) -> bool) -> Result<(), PathError> {
        let policy = self.hidden.sandbox.as_ref().and_then(|sandbox| sandbox.file_policy());
        let Some(policy) = policy else { return Ok(()) };
        match policy.access_resolved(&spot.absolute) {
            (access, _) if enough(access) => Ok(()),
            (access, reason) => Err(PathError::Denied(of_file_tool(policy, &spot.relative, access, reason))),
        }
    }

    /// Where `path` really is, for writing: git's own files are refused too.
    pub(super) fn writable(&self, path: &str) -> Result<Spot, PathError> {
        let spot = self.readable(path)?;
        let in_git = |part: &OsStr| part.to_str().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        // The whole path: a project that lies in git's directory is no project.
        if spot.absolute.iter().any(in_git) {
            return Err(PathError::Git(spot.relative));
        }
        let own = |part: &OsStr| part.to_str().is_some_and(|name| name.eq_ignore_ascii_case(DEFINITIONS));
        if Path::new(&spot.relative).iter().any(own) {
            return Err(PathError::Definitions(spot.relative));
        }
        if self.is_guidance(&spot) && !is_guidance(path) {
            return Err(PathError::Guidance(self.as_asked(path)));
        }
        self.allowed(&spot, |access| access == PathAccess::Write)?;
        Ok(spot)
    }

    /// The file itself, or what the project's `AGENTS.md` is a link to.
    fn is_guidance(&self, spot: &Spot) -> bool {
        let linked = self.root.join(GUIDANCE);
        is_guidance(&spot.relative)
            || linked.is_symlink() && linked.canonicalize().is_ok_and(|target| target == spot.absolute)
    }

    pub(super) fn is_hidden(&self, absolute: &Path) -> bool {
        self.hidden.contain(absolute)
    }

    /// The form that is shown; `None` outside the project.
    pub(super) fn relative(&self, absolute: &Path) -> Option<String> {
        let inside = absolute.strip_prefix(&self.root).ok()?.to_string_lossy();
        Some(if inside.is_empty() { ".".to_owned() } else { inside.into_owned() })
    }

    /// Walks component by component, so that `link/..` means what the system makes of it, and a target that does not
    /// exist yet is judged by the deepest directory that does.
    fn follow(&self, path: &str) -> Result<PathBuf, PathError> {
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
                Component::Normal(name) => at = self.step(path, at.join(name))?,
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        if at.starts_with(&self.root) { Ok(at) } else { Err(PathError::Outside(self.as_asked(path))) }
    }

    fn step(&self, path: &str, next: PathBuf) -> Result<PathBuf, PathError> {
        let refuse = |error: &io::Error| {
            if !next.starts_with(&self.root) {
                PathError::Outside(self.as_asked(path))
            } else if error.kind() == io::ErrorKind::NotFound {
                PathError::DeadLink(self.as_asked(path))
            } else {
                PathError::Unreachable(self.as_asked(path), reason(error))
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
    fn as_asked(&self, path: &str) -> String {
        let inside = Path::new(path)
            .strip_prefix(&self.given_root)
            .or_else(|_| Path::new(path).strip_prefix(&self.root));
        inside.map_or_else(|_| path.to_owned(), |rest| rest.to_string_lossy().into_owned())
    }
}

/// Why the system said no, in words that name no path.
pub(super) fn reason(error: &io::Error) -> String {
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
