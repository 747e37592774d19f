//! Tools that are never run: every call gets the next scripted result that fits it.
//!
//! Owns which results are used up and which call found none. Refuses to touch files, processes or the network.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use synthdev_domain::mock_results::MockToolResult;
use synthdev_domain::tool::{
    InterruptedCallStatus, PlannedFileEdit, RerunPolicy, ToolInvocation, ToolOutcome, ToolPreview, ToolSpec,
};
use synthdev_ports::simulation::ScriptedToolPort;
use synthdev_ports::tool::ToolPort;

use super::arguments;

/// The caller of a step: it has no agent.
const WORKFLOW: &str = "workflow";

/// The results of one run.
pub struct ScriptedTools {
    specs: Vec<ToolSpec>,
    results: Vec<(String, Vec<MockToolResult>)>,
    default_agent: String,
    state: Mutex<ScriptedToolsState>,
}

#[derive(Default)]
struct ScriptedToolsState {
    /// Per tool and result: whether it was used.
    used_results: Vec<Vec<bool>>,
    missing_result: Option<String>,
}

impl ScriptedTools {
    /// `specs`: the real tools, whose arguments are checked as usual. `any` is the name under which `results` holds the
    /// answers for tools without results of their own.
    pub fn new(specs: Vec<ToolSpec>, results: Vec<(String, Vec<MockToolResult>)>, any: &str) -> Self {
        let used = results.iter().map(|(_, list)| vec![false; list.len()]).collect();
        Self {
            specs,
            results,
            default_agent: any.to_owned(),
            state: Mutex::new(ScriptedToolsState { used_results: used, missing_result: None }),
        }
    }

    fn state(&self) -> MutexGuard<'_, ScriptedToolsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_call(&self, invocation: &ToolInvocation) -> ToolOutcome {
        if let Err(problem) = self.check_call(invocation) {
            return failed_outcome(&problem);
        }
        let mut state = self.state();
        for name in [&invocation.tool, &self.default_agent] {
            if let Some(result) =
                take_result(&self.results, &mut state.used_results, name, &invocation.arguments)
            {
                return to_outcome(result);
            }
        }
        let problem = self.without_result(invocation);
        state.missing_result.get_or_insert(problem.clone());
        failed_outcome(&problem)
    }

    /// A call that the real tool would refuse is refused here, too; it uses up no result.
    fn check_call(&self, invocation: &ToolInvocation) -> Result<(), String> {
        let offered = self.specs.iter().find(|spec| spec.name == invocation.tool);
        let schema =
            offered.map_or_else(|| super::action_schema(&invocation.tool), |spec| spec.parameters.clone());
        if schema.is_null() {
            return Ok(());
        }
        arguments::parse_arguments::<Map<String, Value>>(&schema, &invocation.arguments).map(|_| ())
    }

    fn without_result(&self, invocation: &ToolInvocation) -> String {
        let list = self.results.iter().find(|(name, _)| *name == invocation.tool);
        let there = match list.map_or(0, |(_, list)| list.len()) {
            0 => "the script has no results for it".to_owned(),
            1 => "its one scripted result is used or does not fit".to_owned(),
            count => format!("its {count} scripted results are used or do not fit"),
        };
        let (tool, arguments) = (&invocation.tool, &invocation.arguments);
        let what = match invocation.agent.as_str() {
            WORKFLOW => format!("the step `{tool}`"),
            agent => format!("the tool `{tool}` of `{agent}`"),
        };
        format!("{what} was called with {arguments}, but {there}")
    }
}

impl ScriptedToolPort for ScriptedTools {
    fn missing_result(&self) -> Option<String> {
        self.state().missing_result.clone()
    }

    fn unused_results(&self) -> Vec<(String, usize)> {
        let state = self.state();
        let mut left = Vec::new();
        for ((tool, list), used) in self.results.iter().zip(&state.used_results) {
            let open = list
                .iter()
                .zip(used)
                .enumerate()
                .filter(|(_, (result, used))| !result.is_repeatable && !**used);
            left.extend(open.map(|(at, _)| (tool.clone(), at)));
        }
        left
    }
}

impl ToolPort for ScriptedTools {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn preview_call<'a>(&'a self, _: &'a ToolInvocation) -> BoxFuture<'a, Option<ToolPreview>> {
        std::future::ready(None).boxed()
    }

    fn plan_file_edit<'a>(&'a self, _: &'a ToolInvocation) -> BoxFuture<'a, Option<PlannedFileEdit>> {
        std::future::ready(None).boxed()
    }

    fn check_interrupted_call<'a>(
        &'a self,
        _: &'a ToolInvocation,
        _: &'a PlannedFileEdit,
    ) -> BoxFuture<'a, InterruptedCallStatus> {
        std::future::ready(InterruptedCallStatus::NotBegun).boxed()
    }

    /// Nothing outside ever happens.
    fn rerun_policy(&self, _: &ToolInvocation) -> RerunPolicy {
        RerunPolicy::Safe
    }

    fn run<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        std::future::ready(self.answer_call(invocation)).boxed()
    }
}

fn take_result<'r>(
    results: &'r [(String, Vec<MockToolResult>)],
    used: &mut [Vec<bool>],
    name: &str,
    arguments: &Value,
) -> Option<&'r MockToolResult> {
    let at = results.iter().position(|(tool, _)| tool == name)?;
    let (list, used) = (&results[at].1, &mut used[at]);
    let fits = |result: &MockToolResult| {
        result.arguments_pattern.as_ref().is_none_or(|fit| fit.matches_arguments(arguments))
    };
    let chosen = list
        .iter()
        .zip(used.iter())
        .position(|(result, used)| (result.is_repeatable || !used) && fits(result))?;
    used[chosen] = true;
    list.get(chosen)
}

fn to_outcome(result: &MockToolResult) -> ToolOutcome {
    ToolOutcome {
        ok: result.ok,
        content: result.content.clone(),
        summary: "scripted".to_owned(),
        duration_ms: result.delay_ms,
        changed: Vec::new(),
        data: result.data.clone(),
        network_denied: false,
        lacks_sandbox: false,
    }
}

fn failed_outcome(problem: &str) -> ToolOutcome {
    ToolOutcome {
        ok: false,
        content: problem.to_owned(),
        summary: problem.to_owned(),
        ..ToolOutcome::default()
    }
}
