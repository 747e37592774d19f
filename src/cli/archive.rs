//! `runs list`, `cost`, `search`, `diff`, `export`, `import`, `gc` and `du`: the words around the history as a whole.

pub mod columns;
pub mod diff;
pub mod list;
pub mod markdown;
pub mod moved;
pub mod search;
pub mod sizes;
pub mod spending;
pub mod when;
