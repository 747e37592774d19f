//! A workflow as a graph: built once from the checked program, drawn for a terminal, as Mermaid or as DOT (FSM-25).
//!
//! Owns what a drawing shows and how conditions are shortened for it. Refuses to look at anything but the program and
//! the trail of a run: no event, no file, no colour (a front-end decides what a tone looks like).

mod build;
pub mod dot;
mod groups;
pub mod mermaid;
pub mod model;
mod order;
mod tally;
pub mod terminal;
mod words;

pub use model::{Edge, EdgeKind, Graph, Group, Handler, Node, NodeKind, Standing, Tally};

#[cfg(test)]
mod tests;
