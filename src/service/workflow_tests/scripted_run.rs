//! A scripted run from its test to its verdict. Every port is a scripted one, so it has no side effects.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use synthdev_domain::approval::ApprovalPolicy;
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::mock_results::{MockToolResult, MockUserAnswer, MockUserMessage};
use synthdev_domain::schema_sample::sample_value;
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::workflow::{SnapshotPolicy, Workflow, WorkflowParameter, WorkflowProgram, plain_text};
use synthdev_engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev_engine::steering::BreakpointSet;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file::{ANY_TOOL, NEW_YEAR, TestExpectation, TestScenario};
use synthdev_ports::model::ModelPort;
use synthdev_ports::simulation::{
    ScriptedModelPort, ScriptedReplyProblem, ScriptedToolPort, SimulationPorts,
};
use synthdev_runtime::simulation::{SimulationOutcome, SimulationSetup, simulate_run};
use synthdev_settings::catalog::ConfigCatalog;

use super::SimulationVerdict;
use super::expectations::{ExpectationFailure, UnusedScriptParts, check_expectations};
use super::run_facts::SimulationFacts;

/// Steps that workflows take through tools that no agent has.
const STEPS: [&str; 3] = ["shell", "http_request", "mcp"];

/// A scripted run that can be played.
pub struct ScriptedRun {
    spec: RunSpec,
    model: Arc<dyn ScriptedModelPort>,
    tools: Box<dyn ScriptedToolPort>,
    answers: Vec<MockUserAnswer>,
    said: Vec<MockUserMessage>,
    improvises: bool,
    start_time: Timestamp,
    expect: TestExpectation,
}

impl ScriptedRun {
    /// Without a script: models answer with fitting made-up values, every tool and step succeeds.
    pub fn with_improvised_answers(
        ports: &dyn SimulationPorts,
        catalog: &ConfigCatalog,
        program: &WorkflowProgram,
    ) -> Self {
        let parameters = program.workflows.first().map(|root| root.inputs.as_slice()).unwrap_or_default();
        let step = |name: &str, data: Value| (name.to_owned(), vec![repeated_result("", Some(data))]);
        let shell = json!({"exit_code": 0, "stdout": "(simulated output)", "stderr": "", "timed_out": false, "duration_ms": 0});
        let request =
            json!({"status": 200, "headers": {}, "body": null, "timed_out": false, "duration_ms": 0});
        let results = vec![
            step("shell", shell),
            step("http_request", request),
            (ANY_TOOL.to_owned(), vec![repeated_result("ok", None)]),
        ];
        Self {
            spec: simulation_spec(for_simulation(program, None), improvised_inputs(parameters)),
            model: ports.improvising_models(),
            tools: ports.scripted_tools(catalog.tools().to_vec(), results, ANY_TOOL),
            answers: Vec::new(),
            said: Vec::new(),
            improvises: true,
            start_time: NEW_YEAR,
            expect: TestExpectation::default(),
        }
    }

    /// `inputs`: instead of those of the file. `models`: instead of its replies.
    ///
    /// # Errors
    /// Everything in the file that does not fit the workflow.
    pub fn new(
        ports: &dyn SimulationPorts,
        catalog: &ConfigCatalog,
        file: &SourceFile,
        scenario: &TestScenario,
        program: &WorkflowProgram,
        inputs: Option<Map<String, Value>>,
        models: Option<Arc<dyn ScriptedModelPort>>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let tools: Vec<&str> = catalog.tools().iter().map(|tool| tool.name.as_str()).chain(STEPS).collect();
        let mut found = scenario.unknown_names(file, program, &tools);
        let models = match models {
            Some(models) => Some(models),
            None => ports
                .scripted_models(&scenario.replies_json())
                .map_err(|problems| found.extend(reply_diagnostics(file, scenario, &problems)))
                .ok(),
        };
        let root = program.workflows.first();
        let parameters = root.map(|root| root.inputs.as_slice()).unwrap_or_default();
        let inputs = inputs.map_or_else(|| scenario.input_values(file, parameters), Ok);
        let inputs = inputs.map_err(|problem| found.push(*problem)).ok();
        let (models, inputs) = match (models, inputs, found.is_empty()) {
            (Some(models), Some(inputs), true) => (models, inputs),
            _ => return Err(found),
        };
        let results =
            scenario.results.iter().map(|(tool, list)| (tool.value.clone(), list.clone())).collect();
        Ok(Self {
            spec: simulation_spec(for_simulation(program, scenario.prices), inputs),
            model: models,
            tools: ports.scripted_tools(catalog.tools().to_vec(), results, ANY_TOOL),
            answers: scenario.answers.clone(),
            said: scenario.said.clone(),
            improvises: false,
            start_time: scenario.start_time,
            expect: scenario.expect.clone(),
        })
    }

    /// Plays it to its end and judges it.
    pub async fn play_to_end(self, ports: &dyn SimulationPorts) -> SimulationVerdict {
        self.play_with_model(ports, |model| model).await
    }

    /// The same with something between the run and its models.
    pub async fn play_with_model(
        self,
        ports: &dyn SimulationPorts,
        around: impl FnOnce(Arc<dyn ModelPort>) -> Arc<dyn ModelPort>,
    ) -> SimulationVerdict {
        let models = around(self.model.clone());
        let root = self.spec.program.workflows.first().cloned();
        let missing = || self.tools.missing_result();
        let props = SimulationSetup {
            models: models.as_ref(),
            tools: self.tools.as_ref(),
            scripts: ports.scripts(),
            missing_tool_result: &missing,
            answers: self.answers,
            said: self.said,
            improvises: self.improvises,
            now: self.start_time,
        };
        let played = simulate_run(self.spec, props).await;
        let facts = root.map_or_else(SimulationFacts::default, |root| {
            SimulationFacts::from_events(&root, &played.events)
        });
        let loose = unused_script_parts(played, self.model.as_ref(), self.tools.as_ref());
        let mut problems = check_expectations(&self.expect, &facts, &loose);
        // a recording of a test that fails is worth less than the one before
        let unrecorded = self.model.end_recording(problems.is_empty());
        problems.extend(unrecorded.map(|text| ExpectationFailure::other_failure("cassette", text)));
        SimulationVerdict { problems, facts }
    }
}

fn simulation_spec(program: WorkflowProgram, inputs: Map<String, Value>) -> RunSpec {
    RunSpec {
        machine_version: MACHINE_VERSION,
        program,
        inputs,
        approvals: ApprovalPolicy::default().approving_all(),
        // a test is the same in every directory and on every day
        brief: SystemContext::default(),
        stops: BreakpointSet::default(),
        interactive: true,
    }
}

/// However often it is asked for.
fn repeated_result(content: &str, data: Option<Value>) -> MockToolResult {
    let content = data.as_ref().map_or_else(|| content.to_owned(), plain_text);
    MockToolResult { arguments_pattern: None, ok: true, content, data, delay_ms: 0, is_repeatable: true }
}

/// Something for every input that has to be given.
fn improvised_inputs(parameters: &[WorkflowParameter]) -> Map<String, Value> {
    let value = |one: &WorkflowParameter| {
        let by_type = json!({"type": one.kind.as_str()});
        one.default
            .clone()
            .unwrap_or_else(|| sample_value(one.schema.as_ref().unwrap_or(&by_type), &one.name, 0))
    };
    parameters.iter().map(|one| (one.name.clone(), value(one))).collect()
}

/// Without snapshots, and with these prices.
fn for_simulation(program: &WorkflowProgram, prices: Option<TokenPrice>) -> WorkflowProgram {
    let mut program = program.clone();
    for workflow in &mut program.workflows {
        let workflow: &mut Workflow = Arc::make_mut(workflow);
        workflow.snapshot = SnapshotPolicy::Off;
        for agent in &mut workflow.agents {
            agent.choice.price = prices.or(agent.choice.price);
        }
    }
    program
}

fn reply_diagnostics(
    file: &SourceFile,
    scenario: &TestScenario,
    problems: &[ScriptedReplyProblem],
) -> Vec<Diagnostic> {
    let diagnostic = |problem: &ScriptedReplyProblem| {
        let unknown = problem.unknown_key.as_ref().map(|(key, known)| (key.as_str(), *known));
        scenario.reply_problem(file, &problem.pointer, &problem.message, unknown)
    };
    problems.iter().map(diagnostic).collect()
}

fn unused_script_parts(
    played: SimulationOutcome,
    models: &dyn ScriptedModelPort,
    tools: &dyn ScriptedToolPort,
) -> UnusedScriptParts {
    let results =
        tools.unused_results().into_iter().map(|(tool, at)| format!("result {} of tool `{tool}`", at + 1));
    let answers = played.unused_answers.iter().map(|at| format!("answer {}", at + 1));
    let unsaid = played.unsaid.iter().map(|at| format!("message {} of `said`", at + 1));
    UnusedScriptParts {
        unused_replies: models
            .unused_replies()
            .into_iter()
            .chain(results)
            .chain(answers)
            .chain(unsaid)
            .collect(),
        script_gap: played.gap,
        unanswered_questions: played.unanswered,
    }
}
