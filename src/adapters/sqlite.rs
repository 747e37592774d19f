//! The journal of every run, in SQLite.
