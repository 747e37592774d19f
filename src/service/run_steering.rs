//! What a run asks its user, and what it is told: commands, answers, breakpoints.

pub use synthdev_engine::answer_validation::validate_answer;
pub use synthdev_engine::effect::UserQuestion;
pub use synthdev_engine::input::{Input, UserAnswer};
pub use synthdev_engine::steering::{Breakpoint, BreakpointSet, SteeringAction};
pub use synthdev_runtime::command::{ControlAction, RunCommand};
pub use synthdev_runtime::network_access::NetworkAnswer;
