//! The demo, whose words are scripted.

use super::TuiBackend;
use super::error_text::HOW_TO_SET;
use synthdev_bootstrap::scripted_models::ScriptedModel;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_settings::layers::read_layers::SettingOverrides;

/// What a start overrides whose models answer from a script. The screen names the script, not a model that is configured
/// and not asked.
pub(crate) fn start_overrides(
    context: &StartContext,
    script: Option<&(ScriptedModel, &'static str)>,
) -> SettingOverrides {
    let Some((script, flag)) = script else { return context.overrides.clone() };
    let mut overrides = context.scripted_overrides(flag);
    for level in ["base", "smart", "fast"] {
        overrides.set_override(&format!("levels.{level}.model"), script.model_name(), flag);
    }
    overrides
}

impl TuiBackend {
    /// The demo's script plays one workflow, again and again.
    pub(crate) fn prepare_demo(&self, name: &str, program: &WorkflowProgram) -> Result<(), String> {
        let wired = self.current_runtime();
        let (Some(script), Some(played)) = (wired.providers.scripted_model(), &self.demo) else {
            return Ok(());
        };
        let agents = program.workflows.iter().flat_map(|workflow| &workflow.agents);
        if let Some(unknown) = agents.map(|agent| &agent.id).find(|id| !script.has_replies_for(id)) {
            return Err(format!(
                "the demo has no scripted replies for {unknown} of {name}: it plays {played}\n{HOW_TO_SET}"
            ));
        }
        script.rewind_replies();
        Ok(())
    }
}
