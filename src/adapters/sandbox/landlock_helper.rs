//! The layer of the kernel: this program, started once more, gives up what the policy does not allow and becomes the command.
//!
//! A right that was given to a directory holds for all below it and cannot be taken back there. So what is read is given
//! path by path around what is hidden, and what is protected within the project is looked at again after a command.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use serde::{Deserialize, Serialize};

use super::launch::{HELPER_COMMAND, SandboxLaunch, SandboxedCommand, TERMINAL_COMMAND};
use super::policy::{PathAccess, SandboxPolicy};
use super::process_keeper::{self, ProcessKeeper};
use super::syscall_filter::{self, SocketPolicy};

/// What is used of Landlock, where the kernel has it.
const VERSION: ABI = ABI::V6;

/// What the helper reads.
#[derive(Serialize, Deserialize)]
struct LandlockRestrictions {
    writable: Vec<PathBuf>,
    /// Directories with something hidden in them: what is made there can be written, and read by later commands. Nothing is
    /// moved there.
    made: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    directory: PathBuf,
    environment: Vec<(String, String)>,
    network: bool,
}

/// Devices that every program may use.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The first version that keeps files from being emptied.
const OLDEST: u32 = 3;

/// The first version in which a command's signals stay within it.
pub const SIGNALS_HELD: u32 = 6;

/// # Errors
/// The kernel has none, or one that holds too little: why.
pub fn landlock_version() -> Result<u32, String> {
    let known = [ABI::V6, ABI::V5, ABI::V4, ABI::V3, ABI::V2, ABI::V1];
    let mut reason = String::new();
    for abi in known {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let rules = rules.handle_access(AccessFs::from_all(abi));
        let scopes = Scope::from_all(abi);
        let rules = if scopes.is_empty() { rules } else { rules.and_then(|rules| rules.scope(scopes)) };
        match rules.and_then(Ruleset::create) {
            Ok(_) if abi as u32 >= OLDEST => return Ok(abi as u32),
            Ok(_) => {
                return Err(format!(
                    "landlock: version {} of the kernel holds too little, {OLDEST} is needed",
                    abi as u32
                ));
            }
            Err(error) => reason = error.to_string(),
        }
    }
    Err(format!("landlock: {reason}"))
}

/// # Errors
/// What the helper reads cannot be written.
pub fn wrap_command(
    helper: &Path,
    launch: &SandboxLaunch<'_>,
    arguments: &[OsString],
) -> io::Result<SandboxedCommand> {
    let policy = launch.policy;
    let temporary = launch.private.temporary_path().to_owned();
    let text = temporary.display().to_string();
    let mut environment = vec![("TMPDIR".to_owned(), text.clone()), ("TMP".to_owned(), text.clone())];
    environment.push(("TEMP".to_owned(), text));
    environment.extend_from_slice(launch.environment);
    let (mut writable, made) = writable_paths(policy);
    writable.extend(DEVICES.map(PathBuf::from));
    writable.retain(|path| path.exists());
    let restrictions = LandlockRestrictions {
        writable,
        made,
        readable: readable_paths(policy),
        directory: launch.directory.to_owned(),
        environment,
        network: launch.network,
    };
    let mounted = [&restrictions.writable, &restrictions.made, &restrictions.readable];
    let mounted = mounted.into_iter().flatten().cloned().collect();
    let text = serde_json::to_vec(&restrictions)?;
    let file = launch.private.layer_file(&format!("landlock-{:016x}", text_digest(&text)), || Ok(text))?;
    let mut line = vec![helper.into(), HELPER_COMMAND.into(), file.into()];
    if launch.terminal {
        line.extend([helper.into(), TERMINAL_COMMAND.into()]);
    }
    line.extend_from_slice(arguments);
    Ok(SandboxedCommand {
        arguments: line,
        files: Vec::new(),
        last_process: None,
        mounted_paths: mounted,
        forwarded_ports: BTreeSet::new(),
    })
}

/// The same restrictions are written once.
fn text_digest(text: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn hidden_paths(policy: &SandboxPolicy) -> Vec<&Path> {
    let hidden = policy.with_access(PathAccess::Hidden).map(|rule| rule.path.as_path());
    hidden.filter(|path| path.exists()).chain([Path::new("/dev")]).collect()
}

/// What may be written whole, and directories with something hidden in them.
fn writable_paths(policy: &SandboxPolicy) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let hidden = hidden_paths(policy);
    let (mut whole, mut made) = (Vec::new(), Vec::new());
    for rule in policy.with_access(PathAccess::Write).filter(|rule| rule.path.exists()) {
        if hidden.iter().any(|path| path.starts_with(&rule.path)) {
            made.push(rule.path.clone());
        }
        push_visible_around(&rule.path, &hidden_below(&hidden, &rule.path), &mut whole);
    }
    (whole, made)
}

fn hidden_below<'a>(hidden: &[&'a Path], path: &Path) -> Vec<&'a Path> {
    hidden.iter().copied().filter(|hidden| *hidden != path && hidden.starts_with(path)).collect()
}

/// Everything but the hidden paths, in as few paths as that takes.
fn readable_paths(policy: &SandboxPolicy) -> Vec<PathBuf> {
    let hidden = hidden_paths(policy);
    let mut open = Vec::new();
    push_visible_around(Path::new("/"), &hidden, &mut open);
    // what is open within something hidden
    for rule in policy.rules.iter().filter(|rule| rule.access != PathAccess::Hidden && rule.path.exists()) {
        if hidden.iter().any(|path| rule.path.starts_with(path)) {
            push_visible_around(&rule.path, &hidden_below(&hidden, &rule.path), &mut open);
        }
    }
    open
}

fn push_visible_around(directory: &Path, hidden: &[&Path], open: &mut Vec<PathBuf>) {
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
            push_visible_around(&entry.path(), hidden, open);
        }
    }
}

/// Becomes the command, or waits for it: then the answer is its exit code.
///
/// # Errors
/// What is missing: the command was not started.
pub fn become_command(arguments: &[OsString]) -> io::Result<u8> {
    match prepare_command(arguments)? {
        (command, Some(keeper)) => keeper.run_to_end(command),
        (mut command, None) => Err(command.exec()),
    }
}

fn prepare_command(arguments: &[OsString]) -> io::Result<(Command, Option<ProcessKeeper>)> {
    let [file, program, rest @ ..] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
    let text = std::fs::read(file)?;
    let restrictions: LandlockRestrictions = serde_json::from_slice(&text)?;
    let mut command = Command::new(program);
    command.args(rest).current_dir(&restrictions.directory);
    let variables: BTreeMap<&str, &str> =
        restrictions.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    command.envs(variables);
    process_keeper::drop_capabilities()?;
    let keeper = process_keeper::start_keeper()?;
    restrict_files(&restrictions)?;
    let sockets = if restrictions.network { SocketPolicy::Internet } else { SocketPolicy::None };
    let mut filters = vec![syscall_filter::missing_calls_filter()?, syscall_filter::denying_filter(sockets)?];
    if sockets == SocketPolicy::None {
        filters.push(syscall_filter::no_network()?);
    }
    if keeper.is_none() {
        filters.push(syscall_filter::signals_to_all()?);
    }
    for filter in filters {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok((command, keeper))
}

/// The paths have no links in them: one that is there by now was put there by a command, and is not followed.
fn open_without_links(path: &Path) -> io::Result<(OwnedFd, bool)> {
    use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let is_directory = FileType::from_raw_mode(fstat(&opened)?.st_mode).is_dir();
    Ok((opened, is_directory))
}

fn restrict_files(restrictions: &LandlockRestrictions) -> io::Result<()> {
    let all = AccessFs::from_all(VERSION);
    let read = AccessFs::from_read(VERSION);
    let other = |error: landlock::RulesetError| io::Error::other(error);
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))
        .and_then(|rules| rules.scope(Scope::from_all(VERSION)))
        .and_then(Ruleset::create)
        .map_err(other)?;
    // names may be listed everywhere
    let listing = BitFlags::from(AccessFs::ReadDir);
    // for root, a device of its own would be the disk
    let all = all & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    // what is hidden would be read where it is moved to
    let moving = AccessFs::RemoveDir | AccessFs::RemoveFile | AccessFs::Refer;
    let making = all & !(AccessFs::ReadFile | AccessFs::Execute | moving);
    let given = std::iter::once((Path::new("/"), listing))
        .chain(restrictions.readable.iter().map(|path| (path.as_path(), read)))
        .chain(restrictions.made.iter().map(|path| (path.as_path(), making)))
        .chain(restrictions.writable.iter().map(|path| (path.as_path(), all)));
    for (path, access) in given {
        let Ok((opened, is_directory)) = open_without_links(path) else { continue };
        let access = if is_directory { access } else { access & AccessFs::from_file(VERSION) };
        rules = rules.add_rule(PathBeneath::new(opened, access)).map_err(other)?;
    }
    let status = rules.restrict_self().map_err(other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::other("the kernel does not enforce landlock"));
    }
    Ok(())
}
