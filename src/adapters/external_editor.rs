//! Runs the user's own editor on a text in a file that only the user can read, and hands it the terminal.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::file_io;

/// Waits until the editor has ended; the text as it left it. `command` may have arguments: `code --wait`. `runtime` is the
/// user's own directory for what does not last, if the system has one.
///
/// # Errors
/// It cannot be started, ended with an error, or left no text.
pub fn edit_text(command: &str, name: &str, text: &str, runtime: Option<&Path>) -> io::Result<String> {
    let directory = fresh_directory(runtime)?;
    let path = directory.join(Path::new(name).file_name().unwrap_or("text".as_ref()));
    let done = file_io::write_new_private(&path, text).and_then(|()| start_editor(command, &path)).and_then(
        |status| {
            if status.success() {
                file_io::read_text_file(&path)
            } else {
                Err(io::Error::other(format!("{command}: {status}")))
            }
        },
    );
    // best effort: the user's text is read already
    let _ = fs::remove_dir_all(&directory);
    done
}

/// Others may write to the directory for temporary files: what is ours in it is new, and its name is not known before.
fn fresh_directory(runtime: Option<&Path>) -> io::Result<PathBuf> {
    const PREFIX: &str = "synthdev-edit-";
    // one that is full, or that is none, is no reason not to edit
    let made = runtime.filter(|directory| directory.is_absolute());
    let made = made.and_then(|directory| file_io::create_random_directory(directory, PREFIX).ok());
    made.map_or_else(|| file_io::create_random_directory(&std::env::temp_dir(), PREFIX), Ok)
}

#[cfg(unix)]
fn start_editor(command: &str, path: &Path) -> io::Result<ExitStatus> {
    Command::new("sh").arg("-c").arg(format!("{command} \"$1\"")).arg(command).arg(path).status()
}

#[cfg(not(unix))]
fn start_editor(command: &str, path: &Path) -> io::Result<ExitStatus> {
    let mut words = command.split_whitespace();
    Command::new(words.next().unwrap_or("notepad")).args(words).arg(path).status()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_out_and_comes_back() {
        let runtime = tempfile::tempdir().unwrap();
        let edit = |command: &str| edit_text(command, "x.json", "{\"a\": 1}", Some(runtime.path()));
        assert_eq!(edit("sed -i s/a/b/").unwrap(), "{\"b\": 1}");
        let failed = edit("false").unwrap_err().to_string();
        assert!(failed.starts_with("false: exit"), "{failed}");
        let missing = edit("no-such-editor-here").unwrap_err().to_string();
        assert!(missing.contains("127"), "{missing}");
        assert_eq!(fs::read_dir(runtime.path()).unwrap().count(), 0, "nothing is left");
    }

    /// The fake editor reports the path and the mode of its file.
    #[test]
    fn its_file_is_new_and_private() {
        let runtime = tempfile::tempdir().unwrap();
        let tell = "f() { { stat -c '%a %n' \"$(dirname \"$1\")\" \"$1\"; } > \"$1.told\"; mv \"$1.told\" \"$1\"; }; f";
        let mut seen = std::collections::BTreeSet::new();
        for (place, within) in [
            (Some(runtime.path()), runtime.path().to_owned()),
            (None, std::env::temp_dir()),
            (Some(Path::new("relative")), std::env::temp_dir()),
            (Some(Path::new("/no/such/directory")), std::env::temp_dir()),
        ] {
            let told = edit_text(tell, "../up/x.json", "text", place).unwrap();
            let (directory, file) = told.trim_end().split_once('\n').unwrap();
            let directory = Path::new(directory.strip_prefix("700 ").unwrap());
            assert_eq!(directory.parent(), Some(within.as_path()), "{told}");
            assert_eq!(file.strip_prefix("600 ").map(Path::new), Some(directory.join("x.json").as_path()));
            assert!(seen.insert(directory.to_owned()), "{told}");
        }
    }
}
