//! What a shell knows while it reads a line.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::placeholders::UNKNOWN;

/// More possible values of one word than this are not followed.
pub(super) const MOST_VALUES: usize = 64;
/// Longer values of one variable are not followed, in bytes.
const LONGEST_VALUES: usize = 16 * 1024;

#[derive(Clone, Default)]
pub(super) struct ShellState {
    /// The working directory, where it is known.
    pub(super) directory: Option<String>,
    pub(super) earlier_directory: Option<String>,
    /// Every value that a variable may have here.
    pub(super) variables: Rc<BTreeMap<String, Vec<String>>>,
    /// The text of each function's body.
    pub(super) functions: Rc<BTreeMap<String, String>>,
    /// `$0`, `$1` and so on.
    pub(super) positional: Vec<String>,
}

impl ShellState {
    /// Of the user: what is in the environment of every command.
    pub(super) fn new(directory: Option<&str>, home: Option<&str>) -> Self {
        let mut shell = Self { directory: directory.map(str::to_owned), ..Self::default() };
        if let Some(home) = home {
            shell.set_variable("HOME", vec![home.to_owned()]);
            let user = home.rsplit('/').next().unwrap_or(home);
            shell.set_variable("USER", vec![user.to_owned()]);
            shell.set_variable("LOGNAME", vec![user.to_owned()]);
        }
        shell
    }

    pub(super) fn set_variable(&mut self, name: &str, mut values: Vec<String>) {
        values.truncate(MOST_VALUES);
        // doubled again and again, a value would take all memory
        if values.iter().map(String::len).sum::<usize>() > LONGEST_VALUES {
            values = vec![UNKNOWN.to_string()];
        }
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), values);
    }

    /// The values of a variable; `None` where it comes from elsewhere.
    pub(super) fn values(&self, name: &str) -> Option<Vec<String>> {
        let directory = |known: &Option<String>| known.clone().map(|known| vec![known]);
        match name {
            "PWD" => directory(&self.directory),
            "OLDPWD" => directory(&self.earlier_directory),
            "@" | "*" => {
                let rest = self.positional.get(1..).unwrap_or_default();
                (!rest.is_empty()).then(|| rest.to_vec())
            }
            name => match name.parse::<usize>() {
                Ok(at) => self.positional.get(at).map(|value| vec![value.clone()]),
                Err(_) => self.variables.get(name).cloned(),
            },
        }
    }

    pub(super) fn enter_directory(&mut self, directory: Option<String>) {
        self.earlier_directory = std::mem::replace(&mut self.directory, directory);
    }
}
