//! The layer of the kernel: this program, started once more, gives up what the policy does not allow and becomes the command.
//!
//! A right that was given to a directory holds for all below it and cannot be taken back there. So what is read is given
//! path by path around what is hidden, and what is protected within the project is looked at again after a command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use serde::{Deserialize, Serialize};

use super::launch::{HELPER_COMMAND, Launch, SandboxedCommand};
use super::policy::{PathAccess, SandboxPolicy};
use super::syscall_filter::{self, Sockets};

/// What is used of Landlock, where the kernel has it.
const VERSION: ABI = ABI::V6;

/// What the helper reads.
#[derive(Serialize, Deserialize)]
struct Restrictions {
    writable: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    directory: PathBuf,
    environment: Vec<(String, String)>,
    network: bool,
}

/// Devices that every program may use.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// # Errors
/// The kernel has none: why.
pub fn version() -> Result<u32, String> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create);
    match status {
        Ok(_) => Ok(1),
        Err(error) => Err(format!("landlock: {error}")),
    }
}

/// # Errors
/// What the helper reads cannot be written.
pub fn wrap(helper: &Path, launch: &Launch<'_>, arguments: &[OsString]) -> io::Result<SandboxedCommand> {
    let policy = launch.policy;
    let temporary = launch.private.temporary().to_owned();
    let text = temporary.display().to_string();
    let mut environment = vec![("TMPDIR".to_owned(), text.clone()), ("TMP".to_owned(), text.clone())];
    environment.push(("TEMP".to_owned(), text));
    environment.extend_from_slice(launch.environment);
    let writable = policy.with_access(PathAccess::Write).map(|rule| rule.path.clone());
    let restrictions = Restrictions {
        writable: writable.chain(DEVICES.map(PathBuf::from)).filter(|path| path.exists()).collect(),
        readable: readable(policy),
        directory: launch.directory.to_owned(),
        environment,
        network: launch.network,
    };
    let text = serde_json::to_vec(&restrictions)?;
    let file = launch.private.layer_file(&format!("landlock-{:016x}", digest(&text)), &text)?;
    let mut line = vec![helper.into(), HELPER_COMMAND.into(), file.into()];
    line.extend_from_slice(arguments);
    Ok(SandboxedCommand { arguments: line, files: Vec::new() })
}

/// The same restrictions are written once.
fn digest(text: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Everything but the hidden paths, in as few paths as that takes.
fn readable(policy: &SandboxPolicy) -> Vec<PathBuf> {
    let hidden: Vec<&Path> = policy
        .with_access(PathAccess::Hidden)
        .map(|rule| rule.path.as_path())
        .filter(|path| path.exists())
        .collect();
    let mut open = Vec::new();
    around(Path::new("/"), &hidden, &mut open);
    // what is open within something hidden
    open.extend(
        policy.rules.iter().filter(|rule| rule.access != PathAccess::Hidden).map(|rule| rule.path.clone()),
    );
    open.retain(|path| path.exists());
    open
}

fn around(directory: &Path, hidden: &[&Path], open: &mut Vec<PathBuf>) {
    if hidden.contains(&directory) {
        return;
    }
    if !hidden.iter().any(|path| path.starts_with(directory)) {
        open.push(directory.to_owned());
        return;
    }
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        // a link is followed when it is used: the right is needed where it leads
        if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            around(&entry.path(), hidden, open);
        }
    }
}

/// Becomes the command. Returns only if that fails.
///
/// # Errors
/// What is missing: the command was not started.
pub fn become_command(arguments: &[OsString]) -> io::Error {
    match prepare(arguments) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

fn prepare(arguments: &[OsString]) -> io::Result<Command> {
    let [file, program, rest @ ..] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
    let text = std::fs::read(file)?;
    let restrictions: Restrictions = serde_json::from_slice(&text)?;
    let mut command = Command::new(program);
    command.args(rest).current_dir(&restrictions.directory);
    let variables: BTreeMap<&str, &str> =
        restrictions.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    command.envs(variables);
    restrict_files(&restrictions)?;
    let sockets = if restrictions.network { Sockets::Internet } else { Sockets::None };
    for filter in [syscall_filter::missing()?, syscall_filter::denied(sockets)?] {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok(command)
}

fn restrict_files(restrictions: &Restrictions) -> io::Result<()> {
    let all = AccessFs::from_all(VERSION);
    let read = AccessFs::from_read(VERSION);
    let other = |error: landlock::RulesetError| io::Error::other(error);
    let mut rules = Ruleset::default()
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::from_all(VERSION)))
        .and_then(Ruleset::create)
        .map_err(other)?;
    // names may be listed everywhere
    let listing = BitFlags::from(AccessFs::ReadDir);
    let given = std::iter::once((Path::new("/"), listing))
        .chain(restrictions.readable.iter().map(|path| (path.as_path(), read)))
        .chain(restrictions.writable.iter().map(|path| (path.as_path(), all)));
    for (path, access) in given {
        let Ok(opened) = PathFd::new(path) else { continue };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(VERSION) };
        rules = rules.add_rule(PathBeneath::new(opened, access)).map_err(other)?;
    }
    let status = rules.restrict_self().map_err(other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("the kernel does not enforce landlock"));
    }
    Ok(())
}
