//! Steps of a step-list workflow.

use super::shape::Table;

pub(super) fn tables() -> Vec<&'static Table> {
    Vec::new()
}
