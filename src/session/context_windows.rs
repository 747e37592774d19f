//! Windows that only the models' servers know, before a run begins: an answer is recorded with the run, as if it were
//! set. Asks local servers only, once each, and none that a script or a recording replaces.

use anyhow::Result;
use futures_util::future::join_all;

use synthdev_bootstrap::async_runtime::runtime_with_threads;
use synthdev_bootstrap::model_servers::{ModelProviders, ModelTimeouts, model_providers};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_service::run_resume::WindowLookup;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::catalog::context_windows::{choices_with_unknown_window, set_windows};

/// Asks the servers of a configuration, on threads of its own: nothing runs yet.
pub struct ServerWindowLookup<'c>(pub &'c ConfigCatalog);

/// Asks the servers of a session from one of its blocking threads.
pub struct SessionWindowLookup<'p>(pub &'p ModelProviders);

/// Asks no server: only what one has reported before.
pub struct KnownWindowLookup<'p>(pub &'p ModelProviders);

impl WindowLookup for ServerWindowLookup<'_> {
    fn set_windows(&self, program: &mut WorkflowProgram) -> Result<(), String> {
        ask_windows_before_recording(self.0, program).map_err(|error| format!("{error:#}"))
    }
}

impl WindowLookup for SessionWindowLookup<'_> {
    fn set_windows(&self, program: &mut WorkflowProgram) -> Result<(), String> {
        let session = tokio::runtime::Handle::try_current().map_err(|error| error.to_string())?;
        session.block_on(ask_unknown_windows(self.0, program));
        Ok(())
    }
}

impl WindowLookup for KnownWindowLookup<'_> {
    fn set_windows(&self, program: &mut WorkflowProgram) -> Result<(), String> {
        apply_known_windows(self.0, program);
        Ok(())
    }
}

/// Whether no server has to be asked.
pub fn are_windows_known(providers: &ModelProviders, program: &WorkflowProgram) -> bool {
    choices_with_unknown_window(program).iter().all(|choice| providers.known_window(choice).is_some())
}

/// Sets the windows that servers have reported before.
pub fn apply_known_windows(providers: &ModelProviders, program: &mut WorkflowProgram) {
    set_windows(program, &|choice| providers.known_window(choice).flatten());
}

/// Asks for unknown windows, all servers at once. Dropping the future cancels this.
pub async fn ask_unknown_windows(providers: &ModelProviders, program: &mut WorkflowProgram) {
    let unknown = choices_with_unknown_window(program);
    join_all(unknown.iter().map(|choice| providers.window(choice))).await;
    apply_known_windows(providers, program);
}

/// The same where nothing runs yet: a recording names a program's models before it is run. Ctrl+C ends the process.
pub fn ask_windows_before_recording(catalog: &ConfigCatalog, program: &mut WorkflowProgram) -> Result<()> {
    let providers = model_providers(catalog, ModelTimeouts::default());
    if !are_windows_known(&providers, program) {
        let runtime = runtime_with_threads(1)?;
        runtime.block_on(ask_unknown_windows(&providers, program));
        // a name that is still looked up is not waited for
        runtime.shutdown_background();
    }
    Ok(())
}
