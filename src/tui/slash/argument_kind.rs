//! What the argument of a slash command is, for its completion.

/// What completes an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlashArgument {
    None,
    Command,
    Workflow,
    Role,
    RoleGroup,
    Snapshot,
    Status,
    Run,
    /// A run that is not over.
    LiveRun,
    /// A workflow or a role.
    Definition,
    /// Of the run that is shown.
    Agent,
    Theme,
    /// On or off.
    Switch,
    /// 0 to 5.
    Level,
    Pane,
    /// Shell commands of the user.
    Shell,
    Task,
    /// Of files.
    Size,
    /// `add`, `remove`, `test`, and a server.
    McpServer,
    /// A run of this session.
    SessionRun,
    /// One of the open questions, or `revoke` and what is allowed for this session.
    Approval,
    /// One of these; those with a blank at their end are followed by more.
    Words(&'static [(&'static str, &'static str)]),
}
