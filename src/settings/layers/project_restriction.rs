//! What a project's files may do to a setting: one word for each row of the table. `guard` keeps to it.

/// What the files of a project (settings.json and .env) may do to a setting. The user's layers and the command line
/// may always set it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProjectRestriction {
    /// Any value.
    Set,
    /// A text of this list, the loosest first: the user's own value, or one further to the right.
    Tighten(&'static [&'static str]),
    /// A number: the user's own, or a lower one. A flag: to turn it off.
    Lower,
    /// A number: the user's own, or a higher one. A flag: to turn it on.
    Raise,
    /// A list: entries are added to the user's.
    Extend,
    /// Nothing.
    NotSet,
}

/// What approvals may say, the loosest first.
pub const PERMISSIONS: ProjectRestriction = ProjectRestriction::Tighten(&["allow", "ask", "deny"]);
