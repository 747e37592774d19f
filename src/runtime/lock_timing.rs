//! When runs take the project's lock: a fact of the process that drives them.

/// When runs take the project's lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LockTiming {
    /// When they start; a start beside another run is refused.
    #[default]
    AtStart,
    /// Before they change files. A start is refused while another run holds the project, unless it `waits`.
    BeforeChanges { waits: bool },
}
