//! A workflow as a graph: built once from the checked program, drawn as boxes and arrows, as a list, as an image, as
//! Mermaid or as DOT.
//!
//! Owns what a drawing shows and how conditions are shortened for it. Refuses to look at anything but the program and
//! the trail of a run: no event, no file, no colour (a front-end decides what a tone looks like).

mod bodies;
mod build;
pub mod chart;
pub mod dot;
mod drawing_order;
mod labels;
pub mod layout;
pub mod mermaid;
pub mod model;
mod run_overlay;
mod sketch;
mod state_details;
pub mod svg;
pub mod terminal;

pub use model::{
    EdgeKind, GraphEdge, GraphGroup, GraphHandler, GraphNode, GraphNodeDetails, GraphVisitStatus,
    GraphVisitTally, NodeKind, StateField, WorkflowGraph,
};

#[cfg(test)]
mod tests;
