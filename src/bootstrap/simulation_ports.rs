//! What scripted runs are played with: scripted models and tools, and the script host.

use std::sync::Arc;

use serde_json::Value;

use synthdev_adapters::javascript::ScriptWorkerPool;
use synthdev_adapters::providers::mock_model::MockModel;
use synthdev_adapters::providers::scripted::{RepliesFileProblem, ScriptedModel};
use synthdev_adapters::tools::scripted::ScriptedTools;
use synthdev_domain::mock_results::MockToolResult;
use synthdev_domain::tool::ToolSpec;
use synthdev_ports::script::ScriptPort;
use synthdev_ports::simulation::{
    ScriptedModelPort, ScriptedReplyProblem, ScriptedToolPort, SimulationPorts,
};

/// The ports of this process; runs that share them share the threads of the script host.
#[derive(Default)]
pub struct LocalSimulationPorts {
    scripts: ScriptWorkerPool,
}

impl SimulationPorts for LocalSimulationPorts {
    fn scripted_models(
        &self,
        replies: &Value,
    ) -> Result<Arc<dyn ScriptedModelPort>, Vec<ScriptedReplyProblem>> {
        match ScriptedModel::from_value(replies) {
            Ok(model) => Ok(Arc::new(model.without_delays())),
            Err(bad) => Err(bad.problems.into_iter().map(reply_problem).collect()),
        }
    }

    fn improvising_models(&self) -> Arc<dyn ScriptedModelPort> {
        Arc::new(MockModel::default())
    }

    fn scripted_tools(
        &self,
        specs: Vec<ToolSpec>,
        results: Vec<(String, Vec<MockToolResult>)>,
        any: &str,
    ) -> Box<dyn ScriptedToolPort> {
        Box::new(ScriptedTools::new(specs, results, any))
    }

    fn scripts(&self) -> &dyn ScriptPort {
        &self.scripts
    }
}

fn reply_problem(problem: RepliesFileProblem) -> ScriptedReplyProblem {
    let message = problem.to_string();
    ScriptedReplyProblem {
        pointer: problem.value_path.json_pointer,
        message,
        unknown_key: problem.unknown_key,
    }
}
