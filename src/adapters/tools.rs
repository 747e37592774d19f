//! Tools that run in the project.
