//! Text files that a workflow file names: script files, prompts. They are in the workflow file's own directory or below
//! it, and are written with `/` on every system. Never reads a file.

use std::fmt;
use std::sync::Arc;

use super::source::SourceFile;

/// What is wrong with a path, and a hint.
pub type CompanionPathError = (String, Option<String>);

/// The name of the file that `path` means in a workflow file: `user:workflows/x.json` and `x/script.js` give
/// `user:workflows/x/script.js`.
///
/// # Errors
/// The path is absolute, leaves the directory, or is no path at all.
pub fn companion_path(file: &SourceFile, path: &str) -> Result<String, CompanionPathError> {
    let hint = "name a file in the workflow file's own directory or below it, as in \"prompts/review.md\"";
    let refuse = |why: &str| Err((format!("`{path}` {why}"), Some(hint.to_owned())));
    if path.trim().is_empty() || path.contains('\0') {
        return refuse("is no path");
    }
    if path.starts_with(['/', '\\']) || path.contains(':') {
        return refuse("is not relative to the workflow file");
    }
    let mut name = directory_part(&file.name).to_owned();
    let mut parts = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").peekable();
    if parts.peek().is_none() {
        return refuse("is no path");
    }
    while let Some(part) = parts.next() {
        if part == ".." {
            return refuse("leaves the directory of the workflow file");
        }
        name.push_str(part);
        if parts.peek().is_some() {
            name.push('/');
        }
    }
    Ok(name)
}

/// The file of a workflow's functions if it names no script file: `NAME/script.js` for `NAME.json`.
pub fn default_script_path(file: &SourceFile) -> String {
    let own = &file.name[directory_part(&file.name).len()..];
    format!("{}/script.js", own.strip_suffix(".json").unwrap_or(own))
}

/// The part of a file's name up to its last `/`.
fn directory_part(name: &str) -> &str {
    let end = name.rfind(['/', '\\']).or_else(|| name.find(':')).map_or(0, |at| at + 1);
    &name[..end]
}

/// Reads files beside a workflow file that the command line names. Takes the workflow file and a path that
/// [`companion_path`] accepted. `Ok(None)`: there is no such file.
#[derive(Clone)]
pub struct CompanionReader(Arc<CompanionReadFn>);

type CompanionReadFn = dyn Fn(&SourceFile, &str) -> Result<Option<String>, String> + Send + Sync;

impl CompanionReader {
    pub fn new(
        read: impl Fn(&SourceFile, &str) -> Result<Option<String>, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(read))
    }

    /// # Errors
    /// Why the file cannot be read.
    pub fn read_companion(&self, file: &SourceFile, path: &str) -> Result<Option<String>, String> {
        (self.0)(file, path)
    }
}

impl PartialEq for CompanionReader {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CompanionReader {}

impl fmt::Debug for CompanionReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::source_location::ConfigLayer;

    #[test]
    fn paths_stay_beside_the_workflow_file() {
        let of = |file: &str, path: &str| companion_path(&SourceFile::new(ConfigLayer::User, file, ""), path);
        for (file, path, expected) in [
            ("user:workflows/x.json", "x/script.js", "user:workflows/x/script.js"),
            ("w.json", "./lib.js", "lib.js"),
            ("/tmp/a/w.json", "p/./q.md", "/tmp/a/p/q.md"),
            ("built-in:workflows/sub/x.json", "x.js", "built-in:workflows/sub/x.js"),
        ] {
            assert_eq!(of(file, path), Ok(expected.to_owned()), "{path}");
        }
        for path in [
            "",
            " ",
            "/etc/passwd",
            "../x.js",
            "a/../../x.js",
            "C:\\x.js",
            "\\\\host\\x",
            ".",
            "a\0b",
            "a\\..\\x",
        ] {
            assert!(of("user:workflows/x.json", path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_workflow_has_a_script_of_its_own_name() {
        for (file, expected) in
            [("w.json", "w/script.js"), ("user:a/b.json", "b/script.js"), ("x", "x/script.js")]
        {
            assert_eq!(
                default_script_path(&SourceFile::new(ConfigLayer::User, file, "")),
                expected,
                "{file}"
            );
        }
    }
}
