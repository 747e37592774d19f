//! Steps of a step-list workflow.

use super::shape::Definition;

pub(super) fn definitions() -> Vec<Definition> {
    Vec::new()
}
