//! One attempt, what must be intact after it, and the tool's answer about it.

/// What holds the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    Bubblewrap,
    Landlock,
    /// `--no-sandbox`: shows that a row can fail.
    Nothing,
}

/// Which layers tell of an attempt in a line of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// Something was denied.
    Always,
    /// Nothing is denied: what was looked for is not there, or is empty.
    Never,
    LandlockOnly,
}

#[derive(Clone, Copy)]
pub struct Row {
    pub name: &'static str,
    /// Read by `sh` in the project, after `prelude.sh`. Prints `ESCAPED` where the outside is reached.
    pub script: &'static str,
    /// Run by `sh` outside, after `check.sh`: succeeds if all is intact. Empty: the printed text is enough.
    pub intact_check: &'static str,
    pub message: Told,
    /// What the line of the sandbox says.
    pub message_words: &'static str,
    /// It must print this: the sandbox is not in the way.
    pub expected_output: &'static str,
    /// Without a sandbox it need not be seen to escape.
    pub has_no_effect: bool,
    pub only_layer: Option<Layer>,
    /// Not tried without a sandbox: it would end the test itself.
    pub held_only: bool,
}

impl Row {
    pub const fn new(name: &'static str, script: &'static str) -> Self {
        let (told, words) = (Told::Always, "");
        Self {
            name,
            script,
            intact_check: "",
            message: told,
            message_words: words,
            expected_output: "",
            has_no_effect: false,
            only_layer: None,
            held_only: false,
        }
    }

    pub const fn with_intact(self, intact: &'static str) -> Self {
        Self { intact_check: intact, ..self }
    }

    pub const fn words(self, words: &'static str) -> Self {
        Self { message_words: words, ..self }
    }

    pub const fn without_message(self) -> Self {
        Self { message: Told::Never, ..self }
    }

    pub const fn told_by_landlock(self) -> Self {
        Self { message: Told::LandlockOnly, ..self }
    }

    pub const fn without_effect(self) -> Self {
        Self { has_no_effect: true, ..self }
    }

    pub const fn only_on(self, layer: Layer) -> Self {
        Self { only_layer: Some(layer), ..self }
    }

    pub const fn only_held(self) -> Self {
        Self { held_only: true, ..self }
    }

    pub const fn expect_works(self, works: &'static str) -> Self {
        Self { expected_output: works, message: Told::Never, has_no_effect: true, ..self }
    }

    pub fn is_message_expected(&self, layer: Layer) -> bool {
        match self.message {
            Told::Always => true,
            Told::Never => false,
            Told::LandlockOnly => layer == Layer::Landlock,
        }
    }
}

/// Rows that are run in one project by one process of the program.
pub struct Group {
    pub name: &'static str,
    pub rows: &'static [Row],
    /// Read by `sh` in the project before.
    pub setup: &'static str,
    /// More of the user's `sandbox` settings, as members of a JSON object.
    pub settings: &'static str,
    pub arguments: &'static str,
    /// Before the rows, one state of the workflow: a command with these variables.
    pub shell: Option<(&'static str, &'static [(&'static str, &'static str)])>,
    /// That state is stopped by its time limit.
    pub stopped: bool,
    /// Rows leave processes behind that act later.
    pub late: bool,
    /// The attempts would hurt the other rows or the test itself if nothing held them.
    pub held_only: bool,
    /// Which ports of the machine's loopback the workflow declares.
    pub ports: &'static [u16],
    /// The rows are in a workflow that it calls, which declares none.
    pub called: bool,
}

impl Group {
    pub const fn new(name: &'static str, rows: &'static [Row]) -> Self {
        Self {
            name,
            rows,
            setup: "",
            settings: "",
            arguments: "",
            shell: None,
            stopped: false,
            late: false,
            held_only: false,
            ports: &[],
            called: false,
        }
    }

    pub fn rows(&self, layer: Layer) -> Vec<&'static Row> {
        let fits = |row: &&Row| match layer {
            Layer::Nothing => !row.held_only && !self.held_only,
            _ => row.only_layer.is_none_or(|only| only == layer),
        };
        self.rows.iter().filter(fits).collect()
    }
}
