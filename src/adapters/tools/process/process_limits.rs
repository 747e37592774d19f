//! What a command may use: processes, memory, the size of files. Refuses core dumps.

use std::io;

use synthdev_domain::sandbox::ProcessLimits;

/// For a process and all that it starts from then on.
///
/// # Errors
/// The system refuses one.
#[cfg(target_os = "linux")]
pub(super) fn limit_process(process: u32, limits: ProcessLimits) -> io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    const MIB: u64 = 1 << 20;
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let processes = if limits.processes > 0 { limits.processes.saturating_add(running_tasks()) } else { 0 };
    let rows = [
        (Resource::Nproc, processes, 1),
        (Resource::As, limits.memory_mb, MIB),
        (Resource::Fsize, limits.file_mb, MIB),
    ];
    for (resource, most, unit) in rows.into_iter().filter(|(_, most, _)| *most > 0) {
        // the user's own limit may be lower already, and only root may raise it
        let own = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Some(most.saturating_mul(unit).min(own));
        prlimit(pid, resource, Rlimit { current: most, maximum: most })?;
    }
    prlimit(pid, Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}

/// Processes and threads that are there already: the kernel counts those of the user, not those of a command.
#[cfg(target_os = "linux")]
fn running_tasks() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = load.split_whitespace().nth(3).and_then(|tasks| tasks.split_once('/')?.1.parse().ok());
    tasks.unwrap_or_default()
}

/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub(super) fn limit_process(_process: u32, _limits: ProcessLimits) -> io::Result<()> {
    Ok(())
}
