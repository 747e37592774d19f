//! `runs list`, `cost`, `search`, `diff`, `export`, `import`, `gc` and `du`: the words around the history as a whole.

pub mod columns;
pub mod contexts;
pub mod costs;
pub mod diff;
pub mod disk_usage;
pub mod import_export;
pub mod list;
pub mod markdown;
pub mod search;
pub mod time_filter;
