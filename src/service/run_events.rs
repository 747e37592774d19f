//! The events of a run, as front-ends follow and replay them: their types, the stream, and what is read from them.

pub use synthdev_engine::event::{DEFINITION_WARNING, PublishedEvent, RunEvent, StepEvent};
pub use synthdev_engine::trace::{build_trace, record_event};
pub use synthdev_runtime::handle::{EventReceiver, RuntimeHandle};
pub use synthdev_runtime::preview::{OmittedEvents, RunPreview};
