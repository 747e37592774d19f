//! Model calls on screen: agents, streamed text, answers, retries, and the costs.

use crate::model::UiModel;
use crate::run_view::{CallCost, CallSpeaker, ReplySpeaker};
use crate::text::{clean_text, one_line};
use crate::transcript::item::TranscriptItem;
use crate::transcript::open_reply;
use synthdev_domain::cost::CostEntry;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::model::DeltaKind;

pub(super) fn on_model_called(
    model: &mut UiModel,
    run: &RunId,
    at: Timestamp,
    call: CallId,
    speaker: CallSpeaker,
) {
    let Some(view) = model.run_mut(run) else { return };
    view.agent_mut(&speaker.agent, speaker.side).model.clone_from(&speaker.model);
    view.activity = format!("{} thinks", speaker.agent);
    view.busy_since.get_or_insert(at);
    view.speakers.insert(call, speaker.clone());
    view.speaker = Some(speaker);
}

pub(super) fn on_summary_called(model: &mut UiModel, run: &RunId, at: Timestamp, call: CallId, title: &str) {
    let Some(view) = model.run_mut(run) else { return };
    view.activity = one_line(title);
    view.busy_since.get_or_insert(at);
    view.summarizing_calls.insert(call);
}

/// Attempts that brought no answer are paid for, too.
pub(super) fn charge_attempts(model: &mut UiModel, run: &RunId, call: CallId, spent: &[CostEntry]) {
    if let Some(view) = model.run_mut(run) {
        view.charge_all(call, spent);
    }
}

/// A call is over, and this was paid for it.
pub(super) fn record_call_cost(
    model: &mut UiModel,
    run: &RunId,
    call: CallId,
    speaker: ReplySpeaker<'_>,
    cost: CallCost,
) {
    let Some(view) = model.run_mut(run) else { return };
    view.retry.remove(&call);
    view.summarizing_calls.remove(&call);
    let (agent, name) = (one_line(speaker.agent), one_line(speaker.model));
    view.charge_call(call, ReplySpeaker { agent: &agent, model: &name, ..speaker }, cost);
}

/// The call is retried from its start: its streamed text is void. One line counts all attempts.
pub(super) fn on_retry(model: &mut UiModel, run: &RunId, call: CallId, item: TranscriptItem) {
    let Some(view) = model.run_mut(run) else { return };
    let (started, told) = (view.replies.get(&call).copied(), view.retry.get(&call).copied());
    if let Some(speaker) = view.speakers.get(&call) {
        view.activity = format!("{} asks again", speaker.agent);
    }
    if let Some(at) = started {
        model.transcript.edit_item(at, |item| {
            if let TranscriptItem::Reply(reply) = item {
                reply.text.clear();
                reply.reasoning.clear();
                reply.held = [String::new(), String::new()];
            }
        });
    }
    match told {
        Some(at) => model.transcript.edit_item(at, |old| *old = item),
        None => {
            let at = model.add_item(item);
            if let Some(view) = model.run_mut(run) {
                view.retry.insert(call, at);
            }
        }
    }
}

pub(super) fn on_delta(model: &mut UiModel, run: &RunId, call: CallId, kind: DeltaKind, text: &str) {
    let Some(view) = model.runs.iter_mut().find(|view| view.id == *run) else { return };
    if view.summarizing_calls.contains(&call) {
        return;
    }
    let at = match view.replies.get(&call) {
        Some(at) => *at,
        None => {
            let Some(speaker) = view.speakers.get(&call) else { return };
            let branch = view.branch_for_state(&speaker.state).map(|line| line.name.clone());
            let identity = view.roster.identity(&speaker.agent);
            let reply = open_reply(&speaker.agent, identity, speaker.side, &speaker.model, branch.as_deref());
            let at = model.transcript.push(reply);
            view.replies.insert(call, at);
            at
        }
    };
    match kind {
        DeltaKind::Text => {
            if let Some(speaker) = view.speakers.get(&call).filter(|_| !view.activity.ends_with(" writes")) {
                view.activity = format!("{} writes", speaker.agent);
            }
            model.transcript.append_to_reply(at, text);
        }
        DeltaKind::Reasoning => model.transcript.append_reasoning(at, text),
    }
}

/// The whole answer replaces what had streamed; a turn of calls only leaves no empty item.
pub(super) fn on_model_reply(
    model: &mut UiModel,
    run: &RunId,
    call: CallId,
    speaker: ReplySpeaker<'_>,
    text: &str,
    reasoning: &str,
) {
    let Some(view) = model.run_mut(run) else { return };
    let known = view.replies.remove(&call);
    let state = view.speakers.remove(&call).map(|speaker| speaker.state).unwrap_or_default();
    let branch = view.branch_for_state(&state).map(|line| line.name.clone());
    let identity = view.roster.identity(speaker.agent);
    if known.is_none() && text.trim().is_empty() && reasoning.trim().is_empty() {
        return;
    }
    let ReplySpeaker { agent, side, model: name } = speaker;
    let at = known
        .unwrap_or_else(|| model.transcript.push(open_reply(agent, identity, side, name, branch.as_deref())));
    model.transcript.close_reply(
        at,
        &one_line(name),
        clean_text(text.trim_end()),
        clean_text(reasoning.trim_end()),
    );
}
