//! Tests of workflows: scripted runs without side effects, compared with what is expected of them.
//!
//! `test_plan` chooses the tests of files and `scripted_run` plays one. `run_facts` folds the events of the run into
//! what can be expected, and `expectations` compares. `dry_run` plays a workflow for the editor. Refuses to call models
//! and tools: what answers comes from [`SimulationPorts`](synthdev_ports::simulation::SimulationPorts).

pub mod dry_run;
pub mod expectations;
pub mod replies_file;
pub mod run_facts;
pub mod scripted_run;
pub mod test_plan;

use serde_json::{Value, json};

use expectations::ExpectationFailure;
use run_facts::SimulationFacts;

/// One scripted run, judged.
#[derive(Clone, Debug)]
pub struct SimulationVerdict {
    pub facts: SimulationFacts,
    pub problems: Vec<ExpectationFailure>,
}

/// One test of a test file, judged.
#[derive(Clone, Debug)]
pub struct TestCaseReport {
    pub file: String,
    pub workflow: String,
    pub name: String,
    pub result: TestResult,
}

#[derive(Clone, Debug)]
pub enum TestResult {
    Ran(Box<SimulationVerdict>),
    /// Why it was not run.
    Skipped(String),
}

impl SimulationVerdict {
    /// Nothing is known of the run but this.
    pub fn broken_run(why: &str) -> Self {
        let why = why.to_owned();
        let problem = ExpectationFailure {
            what: "run".to_owned(),
            expected: Value::Null,
            actual: json!(why),
            text: why.clone(),
        };
        Self { facts: SimulationFacts::default(), problems: vec![problem] }
    }
}
