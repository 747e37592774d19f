//! The user's configuration files, and the models that are tried before they are written.

use std::sync::Arc;
use std::time::Duration;

use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::model_servers::{ModelTimeouts, model_providers};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::{config_sources, wiring};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::source::SourceFile;
use synthdev_ports::model::ModelPort;
use synthdev_service::model_setup::{SetupError, SetupPorts, UserConfigFile, UserConfigText};
use synthdev_service::session::SetupRequest;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::read_layers::SettingOverrides;
use synthdev_settings::setup::KEYS_FILE;

/// A model may have to be loaded first.
const PATIENCE: ModelTimeouts = ModelTimeouts {
    connect_timeout: Duration::from_secs(10),
    idle_timeout: Duration::from_secs(60),
    call_timeout: Duration::from_secs(300),
    window_timeout: Duration::from_secs(2),
};

/// The files of this user.
pub struct LocalSetupPorts {
    pub context: StartContext,
    /// What the command line of this process says.
    pub overrides: SettingOverrides,
}

impl SetupPorts for LocalSetupPorts {
    fn read_user_file(&self, name: &str) -> Result<UserConfigFile, SetupError> {
        let path = self.context.dirs.config.join(name);
        let shown = path.display().to_string();
        match file_io::read_file_if_exists(&path) {
            Ok(text) => Ok(UserConfigFile { path: shown, text }),
            Err(error) => Err(SetupError(format!("{shown} cannot be read: {error}"))),
        }
    }

    fn write_user_file(&self, name: &str, text: &str) -> Result<(), SetupError> {
        let path = self.context.dirs.config.join(name);
        file_io::write_private(&path, text)
            .map_err(|error| SetupError(format!("{} cannot be written: {error}", path.display())))
    }

    fn load_catalog(&self, replaced: &[UserConfigText]) -> Result<ConfigCatalog, SetupError> {
        let (context, overrides) = (&self.context, self.overrides.clone());
        let mut gathered = config_sources::gather_sources(context, overrides, context.trust)
            .map_err(|error| SetupError(format!("{error:#}")))?;
        let settings = &mut gathered.sources.settings;
        for file in replaced {
            let label = format!("user:{}", file.name);
            settings.retain(|known| known.name != label);
            settings.push(SourceFile::new(ConfigLayer::User, label, file.text.as_str()));
        }
        // within a layer the later file wins: keys come last
        settings.sort_by_key(|file| file.name.ends_with(KEYS_FILE));
        Ok(wiring::load_catalog(context, gathered.sources))
    }

    fn model_port(&self, catalog: &ConfigCatalog) -> Arc<dyn ModelPort> {
        Arc::new(model_providers(catalog, PATIENCE))
    }
}

/// What a session begins with: the dialog alone if that is all that was wanted, or unbidden where no model is set.
/// `plays`: a script answers, or something starts by itself.
pub(crate) fn initial_setup_request(
    catalog: &ConfigCatalog,
    alone: bool,
    plays: bool,
) -> Option<SetupRequest> {
    let unset = !plays && catalog.model_for_level("base").is_err();
    (alone || unset).then(|| SetupRequest::Open {
        level: "base".to_owned(),
        at_first_start: !alone,
        exits_after: alone,
    })
}
