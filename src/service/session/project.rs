//! The project and the session in it: facts, trust, files, and what is kept for later sessions.

use synthdev_domain::approval::AllowRule;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProjectRequest {
    Status,
    /// How many tools a role has now.
    RoleTools(String),
    /// The question whether the project's own definitions are trusted.
    TrustQuestion,
    /// Answers it; a yes loads the project's own definitions.
    Trust(bool),
    /// Files that tools can see, without hidden and ignored ones; of a large project only the first ones.
    Files,
    /// Allows something permanently, in the user's settings.
    AllowAlways(StandingPermission),
    /// Takes a rule that the session has written out of the settings again.
    RevokeAlways(AllowRule),
    /// The input of earlier sessions; read on first use.
    Recall,
    /// A text is kept for later ones.
    Remember(String),
    /// Sets the log level, 0 to 5; `None`: reports it.
    Verbosity(Option<u8>),
}

#[derive(Clone, Debug)]
pub enum ProjectResponse {
    Status(StatusFacts),
    RoleTools {
        role: String,
        tools_available: usize,
        tools_total: usize,
    },
    /// The question about the project's own definitions, or the note to show if there is nothing to ask.
    TrustQuestion(Result<UntrustedDefinitions, String>),
    Trusted {
        trusted: bool,
        /// The errors of the project's own definitions, one line each; or why they are not used.
        result: Result<Vec<String>, String>,
    },
    /// For `@`.
    Files(Result<Vec<String>, String>),
    /// The setting was saved: where.
    AllowedAlways(StandingPermission, Result<String, String>),
    /// It is out of the settings.
    RevokedAlways(Result<String, String>),
    Recalled(Result<RecalledInput, String>),
    /// A text is not kept: why. Reported once.
    NotKept(String),
    /// How much is logged now, and where.
    Verbosity(u8, String),
}

/// Facts of the start line and the status line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StatusFacts {
    /// The role that plain text talks to at first.
    pub role: String,
    pub model: String,
    pub tools_available: usize,
    pub tools_total: usize,
    /// The role has a tool that reads files.
    pub reads_files: bool,
    pub branch: Option<String>,
    /// The `.env` files that are read, by their names in findings.
    pub environment: Vec<String>,
    /// A notice to show at once: no key found, offline model in use.
    pub notice: Option<String>,
}

/// A project's own definitions that the user has not trusted yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UntrustedDefinitions {
    pub files: Vec<String>,
    /// The changes since the user trusted them last.
    pub changes: String,
}

/// Files of the configuration were changed since they were read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigReload {
    /// New errors in the files, one line each.
    pub problems: Vec<String>,
    /// Another program has changed the project's own files: does the user trust them?
    pub question: Option<UntrustedDefinitions>,
}

/// The input of earlier sessions in this project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecalledInput {
    /// The oldest first.
    pub texts: Vec<String>,
    /// Why it is incomplete.
    pub note: Option<String>,
}

/// What the user allows once for all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StandingPermission {
    /// Calls of tools that a rule covers.
    Rule(AllowRule),
    /// The network for commands.
    Network,
}
