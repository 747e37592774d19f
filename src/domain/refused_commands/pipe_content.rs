//! What a command hands on to the next one through a pipe, a substitution or a heredoc.

/// Longer texts are not followed, in bytes.
const LONGEST: usize = 256 * 1024;

#[derive(Clone, Default)]
pub(super) enum PipeContent {
    #[default]
    Unknown,
    Text(String),
    /// What `find` lists: the paths where it begins, as nothing narrows it.
    Paths(Vec<String>),
    /// It came over the network.
    Downloaded,
}

impl PipeContent {
    /// Of commands one after the other.
    #[must_use]
    pub(super) fn followed_by(self, next: Self) -> Self {
        match (self, next) {
            (Self::Downloaded, _) | (_, Self::Downloaded) => Self::Downloaded,
            (Self::Text(first), Self::Text(second)) if first.len() + second.len() < LONGEST => {
                Self::Text(first + &second)
            }
            (Self::Text(_), Self::Text(_)) => Self::Unknown,
            (first @ (Self::Text(_) | Self::Paths(_)), Self::Unknown) => first,
            (_, next) => next,
        }
    }

    /// Behind a program that changes what it reads.
    #[must_use]
    pub(super) fn through_filter(self) -> Self {
        if matches!(self, Self::Downloaded) { self } else { Self::Unknown }
    }
}
