//! Which other processes have a file open. Empty if the system cannot say.

use std::path::Path;
use std::thread;
use std::time::Duration;

use synthdev_ports::run_store::StoreError;

/// A process that is just being started has all files of its parent open, until its program begins.
const START_LOOK: Duration = Duration::from_millis(5);
const START_LOOKS: u32 = 40;

/// Refuses while another process could still write.
pub(super) fn ensure_unused(path: &Path) -> Result<(), StoreError> {
    let holders = processes_using(path);
    if holders.is_empty() {
        return Ok(());
    }
    let list = holders.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    Err(StoreError {
        message: format!("process {list} has the run history {} open", path.display()),
        hint: Some("nothing was changed; end that synthdev first".to_owned()),
    })
}

/// Ids of other processes that have the database or its log open, as far as this user may see them.
fn processes_using(path: &Path) -> Vec<u32> {
    let Ok(whole) = std::fs::canonicalize(path) else { return Vec::new() };
    let Some(name) = whole.to_str() else { return Vec::new() };
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut found: Vec<u32> = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != std::process::id() && has_open(*pid, name))
        .collect();
    for _ in 0..START_LOOKS {
        if found.is_empty() {
            break;
        }
        thread::sleep(START_LOOK);
        found.retain(|pid| has_open(*pid, name));
    }
    found.sort_unstable();
    found
}

fn has_open(pid: u32, name: &str) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|target| {
        let target = target.to_string_lossy();
        target.strip_prefix(name).is_some_and(|rest| matches!(rest, "" | "-wal" | "-shm"))
    })
}
