//! Scripts of the current state are evaluated with the data, contexts and queued messages of its frame.

use std::sync::Arc;

use super::{CallId, Effect, Machine};
use crate::replay_skips::SkippedCallKind;
use crate::script_scope;
use synthdev_domain::script::{ScriptJob, ScriptTask};

impl Machine {
    pub(super) fn evaluate_script(&mut self, task: ScriptTask) -> CallId {
        let call = self.core.next_call();
        let said = self.messages.offer(&self.core, call);
        let (seed, now, spared) =
            (self.core.seed, self.core.now, self.core.replay_skips.skips_call(call, SkippedCallKind::Script));
        if let (Some(workflow), Some(frame), false) = (self.core.workflow(), self.core.frame_mut(), spared) {
            let mut scope = Box::new(script_scope::build_scope(frame, &workflow, seed, call, now));
            scope.said = said;
            let job = ScriptJob { scripts: Arc::clone(&workflow.scripts), scope, task };
            self.core.push_effect(Effect::Evaluate { call, job });
        }
        call
    }
}
