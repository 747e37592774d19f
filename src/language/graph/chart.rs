//! A workflow as boxes and arrows on a grid of cells: texts and their places. `window` draws it with characters, `svg`
//! as an image.
//!
//! What a run did changes neither texts nor places: there is room for it from the start. Refuses: colours.

mod body_chart;
mod detail;
mod navigation;
mod parts;
mod text_cells;
pub mod window;

pub use self::detail::ChartDetail;
pub use self::navigation::ChartDirection;
pub use self::parts::{ChartBox, ChartFrame, ChartWire, GraphChart};
