//! The sandbox is not in the way of ordinary work.
