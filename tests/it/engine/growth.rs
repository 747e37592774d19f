//! What a run leaves in its journal grows with what changes, not with what there is.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use synthdev::adapters::javascript::{ScriptIsolate, ScriptLimits};
use synthdev::domain::ids::Timestamp;
use synthdev::engine::effect::Effect;
use synthdev::engine::input::Input;
use synthdev::engine::machine::Machine;

use super::super::support::stage::{Stage, spec};

const STEPS: usize = 1_000;

/// 10 KB of variables, one of which counts the steps.
fn workflow() -> Value {
    let ballast: Map<String, Value> =
        (0..10).map(|at| (format!("v{at}"), json!("x".repeat(1_000)))).collect();
    let mut variables = ballast;
    variables.insert("count".to_owned(), json!(0));
    json!({
        "workflow_name": "growing",
        "snapshot": "off",
        "limits": {"max_steps": 5_000, "max_visits": 5_000},
        "variables": variables,
        "states": [
            {"name": "start", "action": {"script": "common_data.count += 1"}, "transition": [
                {"target": "stop", "condition": format!("common_data.count >= {STEPS}")},
                {"target": "start"}]},
            {"name": "stop"}]
    })
}

#[test]
fn a_thousand_steps_with_ten_kilobytes_of_variables_stay_below_a_megabyte() {
    let texts = super::texts(&workflow(), json!({}));
    let stage = Stage::new(&texts);
    let program = stage.catalog.program("growing").unwrap_or_else(|found| panic!("{found:#?}"));
    let mut machine = Machine::new(Arc::new(spec(program, Map::new())));
    let mut world = ScriptIsolate::new(ScriptLimits::default());
    let (mut written, mut steps) = (0, 0);
    let mut input = Input::Started { seed: 1 };
    while !machine.is_over_or_suspended() {
        written += serde_json::to_string(&input).unwrap().len();
        let output = machine.handle_input(Timestamp(0), input.clone());
        for effect in output.effects {
            if let Effect::Evaluate { call, job } = effect {
                steps += 1;
                input = Input::Evaluated { call, outcome: world.evaluate_job(job).unwrap() };
            }
        }
    }
    assert!(steps >= 2 * STEPS, "{steps} scripts ran");
    assert!(written < 1_000_000, "{written} bytes for {STEPS} steps");
}
