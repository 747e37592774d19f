//! The clock and the source of ids.
