//! Tools that run in the project.

use futures_util::future::BoxFuture;

use crate::domain::tool::{ToolInvocation, ToolOutcome, ToolPreview, ToolSpec};

pub trait ToolPort: Send + Sync {
    /// Every tool there is, in a stable order.
    fn specs(&self) -> &[ToolSpec];

    /// What would happen, for the approval dialog. `None`: nothing worth showing.
    fn preview<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, Option<ToolPreview>>;

    /// Runs the tool. Never fails as a future: what went wrong is in the outcome, for the model to read.
    /// Dropping the future stops the tool and every process it started (TOOL-9).
    fn run<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome>;
}
