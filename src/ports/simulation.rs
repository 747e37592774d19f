//! Models and tools of a scripted run: nothing outside of the program is asked, and what is left over is reported.

use std::sync::Arc;

use serde_json::Value;

use synthdev_domain::mock_results::MockToolResult;
use synthdev_domain::tool::ToolSpec;

use super::model::ModelPort;
use super::script::ScriptPort;
use super::tool::ToolPort;

/// Models that answer from a script or a recording.
pub trait ScriptedModelPort: ModelPort {
    /// Replies that no request has used, each in words.
    fn unused_replies(&self) -> Vec<String> {
        Vec::new()
    }

    /// Ends what is being recorded. `keep`: the run went as expected; without it the previous recording stays.
    /// Returns why there is no new recording.
    fn end_recording(&self, _keep: bool) -> Option<String> {
        None
    }
}

/// Tools that answer from a script.
pub trait ScriptedToolPort: ToolPort {
    /// The first call that no scripted result fits, in words. It ends the run.
    fn missing_result(&self) -> Option<String>;

    /// Results that no call has used: the tool, and the position in its list from 0.
    fn unused_results(&self) -> Vec<(String, usize)>;
}

/// One thing in scripted replies that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptedReplyProblem {
    /// JSON pointer to the value.
    pub pointer: String,
    pub message: String,
    /// The unknown key of the object there, and those that are known.
    pub unknown_key: Option<(String, &'static [&'static str])>,
}

/// Makes what scripted runs are played with.
pub trait SimulationPorts: Send + Sync {
    /// Models that say these replies, without the delays between them.
    ///
    /// # Errors
    /// Every problem of the replies at once.
    fn scripted_models(
        &self,
        replies: &Value,
    ) -> Result<Arc<dyn ScriptedModelPort>, Vec<ScriptedReplyProblem>>;

    /// Models that make up an answer that fits each request.
    fn improvising_models(&self) -> Arc<dyn ScriptedModelPort>;

    /// `specs`: the real tools, whose arguments are checked as usual. `any`: the name under which `results` holds the
    /// answers for tools without results of their own.
    fn scripted_tools(
        &self,
        specs: Vec<ToolSpec>,
        results: Vec<(String, Vec<MockToolResult>)>,
        any: &str,
    ) -> Box<dyn ScriptedToolPort>;

    fn scripts(&self) -> &dyn ScriptPort;
}
