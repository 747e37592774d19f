//! `synthdev limits`: the table of limits, which is the reference page itself, kept true by tests.

const PAGE: &str = include_str!("../../docs/exit-codes-and-limits.md");

/// The part of the page that is about limits.
pub fn limits_page() -> &'static str {
    PAGE.find("## Limits of a workflow").map_or(PAGE, |start| &PAGE[start..])
}
