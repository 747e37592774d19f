//! How wide the terminal is that the user reads.

use std::io::IsTerminal;

/// Columns of the terminal that stdout is. `None`: it is none, or does not know its size.
pub(crate) fn terminal_columns() -> Option<usize> {
    let size = std::io::stdout().is_terminal().then(crossterm::terminal::size);
    let columns = size.and_then(Result::ok).map(|(columns, _)| usize::from(columns));
    // some terminals do not know their size and say 0
    columns.filter(|columns| *columns > 0)
}
