//! What a front-end asks of a running run.

use super::network_access::NetworkAnswer;
use serde::{Deserialize, Serialize};

use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::CallId;
use synthdev_engine::input::UserAnswer;
use synthdev_engine::steering::SteeringAction;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunCommand {
    /// Stop what is running: ends a workflow, ends only the current turn of a chat.
    Cancel,
    /// Stop the models of a workflow in the middle of a word: it stands still there, and what the answer to that says
    /// they are told when they are asked again.
    Interrupt,
    /// End the run whatever it is (leaving chat, leaving the program).
    End,
    /// Stop driving the run and leave it as it is: it can be taken up again (the terminal went away).
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
    /// Whether a command is executed although no sandbox works here: this one, and no other.
    AllowUnsandboxed {
        call: CallId,
        allowed: bool,
    },
    /// Where it stands still, that it goes on, or what it goes on with.
    Steer(SteeringAction),
    /// The person said something that nobody had asked for.
    Say {
        text: String,
    },
}

/// What any process may ask of the driver of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlAction {
    /// What is under way ends, and nothing new begins; then nobody drives it.
    Pause,
    /// It ends for good.
    Cancel,
}

/// Who wants that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlOrigin {
    /// This process.
    Own,
    Others,
}
