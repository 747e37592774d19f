//! Where the boxes of a drawing are and how the lines between them run: a layered layout on a grid of cells.
//!
//! Cycles are broken, boxes are put into layers from top to bottom, each line gets a column of its own in the layers
//! that it passes, crossings are reduced, columns are chosen so that lines are straight where they can be, and what is
//! not straight gets rows of its own between two layers. Lines that lead up run at the right side.
//!
//! The same input gives the same layout. Refuses: texts, characters, colours.

mod channels;
mod columns;
mod geometry;
mod layering;
mod ordering;
mod returns;
mod routes;

pub use self::geometry::{ArrowHead, CellRect, CellSize, EdgeRoute, GraphLayout, LayoutEdge, LayoutInput};
pub use self::layering::{EdgeCourse, GraphLayering, assign_layers};

pub fn lay_out_graph(input: &LayoutInput<'_>) -> GraphLayout {
    if input.boxes.is_empty() {
        return GraphLayout::default();
    }
    let mut cells = ordering::LayeredCells::from_input(input);
    cells.reduce_crossings();
    let returns = returns::ReturnPlan::from_cells(&mut cells, input);
    let columns = columns::assign_columns(&mut cells, &returns);
    routes::draw_routes(input, &cells, &columns, returns)
}
