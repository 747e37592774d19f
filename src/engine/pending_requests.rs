//! Effects that a run waits for, with the time that each has waited so far.
//!
//! A driver and a replay keep the same list: what is in it when a process dies is what a resume has to do again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::effect::Effect;
use super::input::Input;
use super::machine::{Machine, MachineOutput};
use synthdev_domain::ids::{CallId, Timestamp};

/// An effect that was never answered.
#[derive(Clone, Debug)]
pub struct PendingEffect {
    pub effect: Effect,
    pub at: Timestamp,
    /// Milliseconds since then in which the run was driven.
    pub driven_ms: i64,
}

/// The effects of a run that have no answer yet, by call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PendingRequests {
    by_call: BTreeMap<CallId, PendingRequest>,
    /// Milliseconds in which the run was driven.
    driven_ms: i64,
    last_input: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct PendingRequest {
    /// `None`: a driver's copy of something that has no stored form; see [`PendingRequests::can_be_stored`].
    effect: Option<Effect>,
    at: Timestamp,
    /// `driven_ms` at that time.
    began_ms: i64,
    /// How often it was requested.
    attempts: u32,
}

impl PendingRequest {
    fn is_complete(&self) -> bool {
        match &self.effect {
            Some(
                Effect::CallModel { .. }
                | Effect::AskApproval { .. }
                | Effect::AskPerson { .. }
                | Effect::SetTimer { .. },
            ) => true,
            Some(
                Effect::TakeSnapshot { .. }
                | Effect::Evaluate { .. }
                | Effect::CheckTool { .. }
                | Effect::RunTool { .. }
                | Effect::Abort { .. }
                | Effect::Finish,
            )
            | None => false,
        }
    }
}

impl PendingRequests {
    /// Takes note of an input before the machine gets it.
    pub fn before_input(&mut self, at: Timestamp, input: &Input) {
        let is_reopened = matches!(input, Input::Resumed(_) | Input::Rewound(_));
        let passed = self.last_input.map_or(0, |last| at.0.saturating_sub(last.0).max(0));
        self.driven_ms += if is_reopened { 0 } else { passed };
        self.last_input = Some(at);
        if let Input::Resumed(resumed) = input {
            // a present user is asked again
            self.by_call.retain(|_, request| {
                !matches!(request.effect, Some(Effect::AskPerson { .. } | Effect::AskApproval { .. }))
            });
            for (call, attempt) in &resumed.again {
                if let Some(request) = self.by_call.get_mut(call) {
                    request.attempts = *attempt;
                }
            }
        }
    }

    /// Drops the call that the input has answered, unless the machine still waits for it.
    pub fn after_input(&mut self, answered: Option<CallId>, machine: &Machine) {
        if let Some(call) = answered.filter(|call| !machine.awaits_call(*call)) {
            self.by_call.remove(&call);
        }
    }

    /// Takes an effect of the last input.
    pub fn add_effect(&mut self, effect: Effect) {
        match (&effect, effect.call()) {
            (Effect::Abort { call }, _) => drop(self.by_call.remove(call)),
            (_, Some(call)) => self.insert(call, Some(effect)),
            (_, None) => {}
        }
    }

    /// Gives the machine an input, and takes note of what it answers and requests. For a driver, which performs the
    /// effects itself: jobs of scripts and calls of tools are not copied.
    pub fn handle_input(&mut self, machine: &mut Machine, at: Timestamp, input: Input) -> MachineOutput {
        self.before_input(at, &input);
        let answered = input.answered_call();
        let output = machine.handle_input(at, input);
        self.after_input(answered, machine);
        output.effects.iter().for_each(|effect| self.copy_effect(effect));
        output
    }

    fn copy_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Evaluate { call, .. }
            | Effect::CheckTool { call, .. }
            | Effect::RunTool { call, .. }
            | Effect::TakeSnapshot { call, .. } => self.insert(*call, None),
            Effect::CallModel { .. }
            | Effect::Abort { .. }
            | Effect::AskApproval { .. }
            | Effect::AskPerson { .. }
            | Effect::SetTimer { .. }
            | Effect::Finish => self.add_effect(effect.clone()),
        }
    }

    fn insert(&mut self, call: CallId, effect: Option<Effect>) {
        let at = self.last_input.unwrap_or_default();
        self.by_call.insert(call, PendingRequest { effect, at, began_ms: self.driven_ms, attempts: 1 });
    }

    /// Whether the list is complete without the journal: no script, check, tool or file snapshot is under way. Jobs of scripts
    /// have no stored form; whether a tool has begun is written in the journal alone.
    pub fn can_be_stored(&self, machine: &Machine) -> bool {
        self.awaited(machine).all(|(_, request)| request.is_complete())
    }

    /// How often each pending call was requested.
    pub fn attempts(&self) -> BTreeMap<CallId, u32> {
        self.by_call.iter().map(|(call, request)| (*call, request.attempts)).collect()
    }

    /// The effects, in the order of their requests.
    pub fn effects<'a>(&'a self, machine: &'a Machine) -> impl Iterator<Item = &'a Effect> {
        self.awaited(machine).filter_map(|(_, request)| request.effect.as_ref())
    }

    fn awaited<'a>(&'a self, machine: &'a Machine) -> impl Iterator<Item = (&'a CallId, &'a PendingRequest)> {
        self.by_call.iter().filter(|(call, _)| machine.awaits_call(**call))
    }

    /// The same with their times.
    pub fn pending(&self, machine: &Machine) -> Vec<PendingEffect> {
        self.awaited(machine)
            .filter_map(|(_, PendingRequest { effect, at, began_ms, .. })| {
                let driven_ms = self.driven_ms - began_ms;
                Some(PendingEffect { effect: effect.clone()?, at: *at, driven_ms })
            })
            .collect()
    }
}
