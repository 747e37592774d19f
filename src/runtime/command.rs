//! What a front-end asks of a running run.

use super::network_access::NetworkAnswer;
use serde::{Deserialize, Serialize};

use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::CallId;
use synthdev_engine::input::UserAnswer;
use synthdev_engine::steering::SteeringAction;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunCommand {
    /// Stops the current work: ends a workflow, ends only the current turn of a chat.
    Cancel,
    /// Stops the models of a workflow in the middle of a reply: the run stops there, and the user's answer is the
    /// guidance for the next call.
    Interrupt,
    /// Ends the run whatever it is.
    End,
    /// Stops driving the run, which can be resumed: a workflow stays as it is, a conversation waits for its next message.
    Leave,
    Approve {
        call: CallId,
        decision: ApprovalDecision,
    },
    Answer {
        call: CallId,
        answer: UserAnswer,
    },
    /// Whether a command that the sandbox kept from the network has it.
    AllowNetwork {
        call: CallId,
        answer: NetworkAnswer,
    },
    /// Whether a command is executed although no sandbox works on this machine: this one, and no other.
    AllowUnsandboxed {
        call: CallId,
        allowed: bool,
    },
    /// Sets where the run stops, lets it continue, or changes what it continues with.
    Steer(SteeringAction),
    /// The user sent a message that no state asked for.
    Say {
        text: String,
    },
}

/// What any process may ask of the driver of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlAction {
    /// Work in progress completes and nothing new begins; then the driver releases the run.
    Pause,
    /// It ends for good.
    Cancel,
}

/// The process that sends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlOrigin {
    /// This process.
    Own,
    Others,
}
