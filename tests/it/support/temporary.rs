//! Directories that tests work in.

use std::path::Path;
use std::sync::OnceLock;

use tempfile::TempDir;

/// A directory of its own, which goes with the value: in memory where there is room for it. Histories and snapshots are
/// written through to the disk again and again; without a disk that costs nothing, and no test can see the difference.
/// Where `TMPDIR` is set, it is there.
pub fn temp_directory() -> TempDir {
    static IN_MEMORY: OnceLock<Option<&Path>> = OnceLock::new();
    match IN_MEMORY.get_or_init(memory_directory) {
        Some(place) => tempfile::tempdir_in(place).unwrap(),
        None => tempfile::tempdir().unwrap(),
    }
}

/// Containers often have one that is much too small, or one that runs no programs.
#[cfg(target_os = "linux")]
fn memory_directory() -> Option<&'static Path> {
    use rustix::fs::{StatVfsMountFlags, access, statfs, statvfs};
    const TMPFS: u64 = 0x0102_1994;
    const ROOM: u64 = 2 << 30;
    let place = Path::new("/dev/shm");
    let about = statvfs(place).ok().filter(|_| std::env::var_os("TMPDIR").is_none())?;
    let room = about.f_bavail.saturating_mul(about.f_frsize);
    let runs_programs = !about.f_flag.contains(StatVfsMountFlags::NOEXEC);
    let in_memory = u64::try_from(statfs(place).ok()?.f_type).ok()? == TMPFS;
    let writable = access(place, rustix::fs::Access::WRITE_OK).is_ok();
    (in_memory && writable && runs_programs && room >= ROOM).then_some(place)
}

#[cfg(not(target_os = "linux"))]
fn memory_directory() -> Option<&'static Path> {
    None
}
