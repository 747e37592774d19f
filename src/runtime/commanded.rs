//! What a front-end asks of a run, as the input that the machine takes.

use std::sync::PoisonError;

use super::command::Command;
use super::mail::{Mail, Partial};
use super::redact::Redactor;
use crate::engine::input::Input;
use crate::engine::steering::Steering;

/// `None`: it is no input of the run.
pub(super) fn as_input(mail: Mail, partial: &Partial, redactor: &Redactor) -> Option<Input> {
    Some(match mail {
        Mail::Broken
        | Mail::Unbegun(..)
        | Mail::Submitted(_)
        | Mail::Repeats { .. }
        | Mail::Control(..)
        | Mail::Files(_)
        | Mail::Command(Command::Leave | Command::AllowNetwork { .. } | Command::AllowUnsandboxed { .. }) => {
            return None;
        }
        Mail::Input(input) => {
            if let Input::Replied { call, .. } | Input::ModelFailed { call, .. } = &input {
                partial.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
            }
            input
        }
        Mail::Command(Command::Cancel) => cancelled(partial, redactor, false),
        Mail::Command(Command::Interrupt) => interrupted(partial, redactor),
        Mail::Command(Command::End) => cancelled(partial, redactor, true),
        Mail::Command(Command::Approve { call, decision }) => Input::Approved { call, decision },
        Mail::Command(Command::Answer { call, answer }) => Input::Answered { call, answer },
        Mail::Command(Command::Steer(steering)) => Input::Steered(Box::new(steering)),
        Mail::Command(Command::Say { text }) => Input::Said { text },
    })
}

/// What they used is asked for when their calls are stopped.
fn interrupted(partial: &Partial, redactor: &Redactor) -> Input {
    let all = partial.lock().unwrap_or_else(PoisonError::into_inner);
    let texts = all.iter().filter_map(|(call, streamed)| Some((*call, streamed.said(redactor)?)));
    let partial = texts.collect();
    Input::Steered(Box::new(Steering::Interrupt { partial }))
}

fn cancelled(partial: &Partial, redactor: &Redactor, end: bool) -> Input {
    let all = std::mem::take(&mut *partial.lock().unwrap_or_else(PoisonError::into_inner));
    let (mut texts, mut used) = (Vec::new(), Vec::new());
    for (call, streamed) in all {
        texts.extend(streamed.said(redactor).map(|text| (call, text)));
        used.extend(streamed.all().into_iter().map(|used| (call, used)));
    }
    Input::Cancelled { partial: texts, end, used }
}
