//! The schema of the answer to a model call that a client may make.
//!
//! Owns which calls get one. Refuses to add it where a model server answers: its request stays as it is.

use std::sync::Arc;

use synthdev_domain::model::{DELEGATED_MODEL, ModelChoice};
use synthdev_engine::effect::Effect;
use synthdev_engine::machine::Machine;

/// Adds the schema, if the provider of the call, or one that can take its place, is the client.
pub(super) fn add_answer_schema(effect: &mut Effect, machine: &Machine) {
    let Effect::CallModel { call, request } = effect else { return };
    let is_client = |choice: &ModelChoice| choice.provider == DELEGATED_MODEL;
    if !is_client(&request.choice) && !request.choice.fallback.iter().any(is_client) {
        return;
    }
    if let Some(schema) = machine.answer_schema_for_call(*call) {
        Arc::make_mut(request).answer_schema = Some(schema);
    }
}
