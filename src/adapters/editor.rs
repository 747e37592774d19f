//! The person's own editor: gets a text in a file that only the user can read, and the terminal.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};

use super::disk;

/// Tells the files of one process apart.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Waits until the editor has ended; the text as it left it. `command` may have arguments: `code --wait`.
///
/// # Errors
/// It cannot be started, ended with an error, or left no text.
pub fn edit(command: &str, name: &str, text: &str) -> io::Result<String> {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("synthdev-edit-{}-{number}", std::process::id()));
    disk::make_private(&directory)?;
    let path = directory.join(name);
    let done = disk::write_private(&path, text).and_then(|()| start(command, &path)).and_then(|status| {
        if status.success() {
            disk::read(&path)
        } else {
            Err(io::Error::other(format!("{command}: {status}")))
        }
    });
    // best effort: what the person wrote is in our hands by now
    let _ = fs::remove_dir_all(&directory);
    done
}

#[cfg(unix)]
fn start(command: &str, path: &Path) -> io::Result<ExitStatus> {
    Command::new("sh").arg("-c").arg(format!("{command} \"$1\"")).arg(command).arg(path).status()
}

#[cfg(not(unix))]
fn start(command: &str, path: &Path) -> io::Result<ExitStatus> {
    let mut words = command.split_whitespace();
    Command::new(words.next().unwrap_or("notepad")).args(words).arg(path).status()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_out_and_comes_back() {
        assert_eq!(edit("sed -i s/a/b/", "x.json", "{\"a\": 1}").unwrap(), "{\"b\": 1}");
        let failed = edit("false", "x.json", "{}").unwrap_err().to_string();
        assert!(failed.starts_with("false: exit"), "{failed}");
        let missing = edit("no-such-editor-here", "x.json", "{}").unwrap_err().to_string();
        assert!(missing.contains("127"), "{missing}");
        let names = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let own = format!("synthdev-edit-{}-", std::process::id());
        assert_eq!(names.filter(|file| file.file_name().to_string_lossy().starts_with(&own)).count(), 0);
    }
}
