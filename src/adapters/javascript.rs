//! The host of workflow scripts.
