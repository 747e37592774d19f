//! What a front-end asks of a run, as the input that the machine takes.

use std::sync::PoisonError;

use super::command::RunCommand;
use super::driver_message::{DriverMessage, PartialReplies};
use super::redact::SecretRedactor;
use super::runtime_context::RuntimeContext;
use synthdev_domain::ids::CallId;
use synthdev_engine::input::{Input, UserAnswer};
use synthdev_engine::steering::SteeringAction;

/// As [`message_to_input`]; what the user says brings the images that it names.
pub(super) async fn input_with_images(
    message: DriverMessage,
    partial: &PartialReplies,
    context: &RuntimeContext,
) -> Option<Input> {
    match message_to_input(message, partial, &context.redactor)? {
        Input::Answered { call, answer: UserAnswer::Text { text } } if text.contains('@') => {
            let text = context.ports.tools.attach_images(text).await;
            Some(Input::Answered { call, answer: UserAnswer::Text { text } })
        }
        input => Some(input),
    }
}

/// `None`: it is no input of the run.
pub(super) fn message_to_input(
    mail: DriverMessage,
    partial: &PartialReplies,
    redactor: &SecretRedactor,
) -> Option<Input> {
    Some(match mail {
        DriverMessage::EffectPanicked
        | DriverMessage::NotBegun(..)
        | DriverMessage::Submitted(_)
        | DriverMessage::MayRepeat { .. }
        | DriverMessage::Control(..)
        | DriverMessage::ProjectLock(_)
        | DriverMessage::Command(
            RunCommand::Leave | RunCommand::AllowNetwork { .. } | RunCommand::AllowUnsandboxed { .. },
        ) => {
            return None;
        }
        DriverMessage::Input(input) => {
            if let Input::Replied { call, .. } | Input::ModelFailed { call, .. } = &input {
                partial.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
            }
            input
        }
        DriverMessage::Command(RunCommand::Cancel) => cancel_input(partial, redactor, false),
        DriverMessage::Command(RunCommand::Interrupt) => interrupt_input(partial, redactor),
        DriverMessage::Command(RunCommand::End) => cancel_input(partial, redactor, true),
        DriverMessage::Command(RunCommand::Approve { call, decision }) => Input::Approved { call, decision },
        DriverMessage::Command(RunCommand::Answer { call, answer }) => Input::Answered { call, answer },
        DriverMessage::Command(RunCommand::Steer(steering)) => Input::Steered(Box::new(steering)),
        DriverMessage::Command(RunCommand::Say { text }) => Input::Said { text },
    })
}

/// The user leaves a conversation.
pub(super) fn leave_input(partial: &PartialReplies, redactor: &SecretRedactor) -> Input {
    Input::Steered(Box::new(SteeringAction::Leave { partial: partial_texts(partial, redactor) }))
}

fn interrupt_input(partial: &PartialReplies, redactor: &SecretRedactor) -> Input {
    Input::Steered(Box::new(SteeringAction::Interrupt { partial: partial_texts(partial, redactor) }))
}

/// What the calls used is asked for when they are stopped.
fn partial_texts(partial: &PartialReplies, redactor: &SecretRedactor) -> Vec<(CallId, String)> {
    let all = partial.lock().unwrap_or_else(PoisonError::into_inner);
    let texts = all.iter().filter_map(|(call, streamed)| Some((*call, streamed.redacted_text(redactor)?)));
    texts.collect()
}

fn cancel_input(partial: &PartialReplies, redactor: &SecretRedactor, end: bool) -> Input {
    let all = std::mem::take(&mut *partial.lock().unwrap_or_else(PoisonError::into_inner));
    let (mut texts, mut used) = (Vec::new(), Vec::new());
    for (call, streamed) in all {
        texts.extend(streamed.redacted_text(redactor).map(|text| (call, text)));
        used.extend(streamed.total_usage().into_iter().map(|used| (call, used)));
    }
    Input::Cancelled { partial: texts, end, used }
}
