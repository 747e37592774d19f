//! Runs the user's own editor on a text in a file that only the user can read, and hands it the terminal.

use std::ffi::OsString;
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
    let done = file_io::write_new_private(&path, text)
        .and_then(|()| start_editor(command, &[path.clone().into()]))
        .and_then(|status| {
            if status.success() {
                file_io::read_text_file(&path)
            } else {
                Err(io::Error::other(format!("{command}: {status}")))
            }
        });
    // best effort: the user's text is read already
    let _ = fs::remove_dir_all(&directory);
    done
}

/// A file of the project that a text names. Texts of models name files: only those of the project are opened.
///
/// # Errors
/// The project has no such file.
pub fn find_project_file(project: &Path, name: &str) -> Result<PathBuf, String> {
    let missing = || format!("{name}: there is no such file in the project");
    let root = project.canonicalize().map_err(|error| format!("{}: {error}", project.display()))?;
    let file = root.join(name).canonicalize().map_err(|_| missing())?;
    if file.starts_with(&root) && file.is_file() { Ok(file) } else { Err(missing()) }
}

/// Opens a file in the user's editor, at a line where the editor is known to take one, and waits until it has ended.
///
/// # Errors
/// It cannot be started, or ended with an error.
pub fn open_file(command: &str, file: &Path, line: Option<u32>) -> io::Result<()> {
    let status = start_editor(command, &file_arguments(command, file, line))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command}: {status}"))) }
}

/// How an editor is told the line: by its program's name.
fn file_arguments(command: &str, file: &Path, line: Option<u32>) -> Vec<OsString> {
    let program = command.split_whitespace().next().unwrap_or_default();
    let program = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(line) = line else { return vec![file.into()] };
    let with_line = || {
        let mut name = file.as_os_str().to_owned();
        name.push(format!(":{line}"));
        name
    };
    match program {
        "vi" | "vim" | "nvim" | "view" | "nano" | "emacs" | "emacsclient" | "micro" | "kak" | "joe"
        | "ne" | "mg" | "gedit" => vec![format!("+{line}").into(), file.into()],
        "hx" | "helix" | "subl" | "zed" => vec![with_line()],
        "code" | "codium" | "code-insiders" | "cursor" => vec!["--goto".into(), with_line()],
        _ => vec![file.into()],
    }
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
fn start_editor(command: &str, arguments: &[OsString]) -> io::Result<ExitStatus> {
    Command::new("sh").arg("-c").arg(format!("{command} \"$@\"")).arg(command).args(arguments).status()
}

#[cfg(not(unix))]
fn start_editor(command: &str, arguments: &[OsString]) -> io::Result<ExitStatus> {
    let mut words = command.split_whitespace();
    Command::new(words.next().unwrap_or("notepad")).args(words).args(arguments).status()
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

    #[test]
    fn a_file_opens_at_its_line_where_the_editor_can() {
        let check = |command: &str, line: Option<u32>, expected: &[&str]| {
            assert_eq!(file_arguments(command, Path::new("/p/a.rs"), line), expected, "{command}");
        };
        check("vim", Some(12), &["+12", "/p/a.rs"]);
        check("/usr/bin/nvim -n", Some(3), &["+3", "/p/a.rs"]);
        check("hx", Some(3), &["/p/a.rs:3"]);
        check("code --wait", Some(3), &["--goto", "/p/a.rs:3"]);
        check("unknown-editor", Some(3), &["/p/a.rs"]);
        check("vim", None, &["/p/a.rs"]);
    }

    #[test]
    fn only_files_of_the_project_are_opened() {
        let root = tempfile::tempdir().unwrap();
        let (project, seen) = (root.path().join("project"), root.path().join("seen"));
        fs::create_dir_all(project.join("src")).unwrap();
        fs::write(project.join("src/a b.rs"), "x").unwrap();
        fs::write(root.path().join("outside.rs"), "x").unwrap();
        std::os::unix::fs::symlink(root.path().join("outside.rs"), project.join("link.rs")).unwrap();
        for name in ["../outside.rs", "link.rs", "src", "none.rs", "/etc/hostname"] {
            let refused = find_project_file(&project, name).unwrap_err();
            assert_eq!(refused, format!("{name}: there is no such file in the project"));
        }
        let file = find_project_file(&project, "src/a b.rs").unwrap();
        let editor = format!("f() {{ printf '%s\\n' \"$@\" > '{}'; }}; f", seen.display());
        open_file(&editor, &file, Some(2)).unwrap();
        assert_eq!(fs::read_to_string(&seen).unwrap().trim_end(), file.to_str().unwrap());
        assert!(open_file("false", &file, None).is_err());
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
