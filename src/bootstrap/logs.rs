//! The log goes to a file, never to the screen; it is opened by the first line.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The process has one log: what it takes in is changed while the process runs.
static SWITCH: OnceLock<Box<dyn Fn(u8) + Send + Sync>> = OnceLock::new();
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// Starts logging at `verbosity` 0 (nothing) to 5 (everything) into the data directory.
pub fn start_logging(data: &Path, verbosity: u8) {
    let writer = LogFile { path: log_file(data), file: Arc::default() };
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(writer);
    let log = log.with_env_filter(log_filter(verbosity)).with_filter_reloading();
    let handle = log.reload_handle();
    // A second start in one process (tests) keeps the first subscriber.
    if log.try_init().is_ok() {
        let switch = move |level| drop(handle.reload(log_filter(level)));
        drop(SWITCH.set(Box::new(switch)));
    }
    set_verbosity(verbosity);
}

/// Another verbosity from now on; gives it.
pub fn set_verbosity(verbosity: u8) -> u8 {
    LEVEL.store(verbosity, Ordering::Relaxed);
    if let Some(switch) = SWITCH.get() {
        switch(verbosity);
    }
    verbosity
}

/// The verbosity in force.
pub fn current_verbosity() -> u8 {
    LEVEL.load(Ordering::Relaxed)
}

/// The log of the program.
pub fn log_file(data: &Path) -> PathBuf {
    data.join("synthdev.log")
}

fn log_filter(verbosity: u8) -> EnvFilter {
    let level = match verbosity {
        0 => LevelFilter::OFF,
        1 => LevelFilter::ERROR,
        2 => LevelFilter::WARN,
        3 => LevelFilter::INFO,
        4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // the protocol's library would log whole messages, with tokens and all
    EnvFilter::new(format!("{level},rmcp=off"))
}

#[derive(Clone)]
struct LogFile {
    path: PathBuf,
    file: Arc<Mutex<Option<File>>>,
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.is_none() {
            synthdev_adapters::file_io::ensure_private_directory(
                self.path.parent().unwrap_or(Path::new(".")),
            )?;
            *guard = Some(open_log_file(&self.path)?);
        }
        match guard.as_mut() {
            Some(file) => file.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Readable by the owner only: a log shows what was worked on. Closes a file from an earlier version to others as well.
fn open_log_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_owner_reads_the_log_even_one_that_was_open_to_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data/synthdev.log");
        for earlier in [None, Some(0o644)] {
            if let Some(mode) = earlier {
                std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            }
            LogFile { path: path.clone(), file: Arc::default() }.write_all(b"line\n").unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "line\nline\n");
    }
}
