//! Servers of models that are asked beside the runs: what they list, the windows of their models, whether one answers.

pub use synthdev_adapters::providers::{ModelProviders, ModelTimeouts};
use synthdev_settings::catalog::ConfigCatalog;

/// Those of a configuration, with its keys, which go to their homes only.
pub fn model_providers(catalog: &ConfigCatalog, timeouts: ModelTimeouts) -> ModelProviders {
    ModelProviders::new(catalog.key_ring().clone(), timeouts).with_key_servers(catalog.key_origins())
}
