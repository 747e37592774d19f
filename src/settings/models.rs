//! The provider catalogue: URLs, key names, window sizes, prices, what each model accepts.
//! Unknown stays unknown: no price is ever guessed.

pub mod base_url;
pub mod key_scope;
pub mod key_scopes;
pub mod models_file;
pub mod provider_catalog;
pub mod resolve;
pub mod server_list;
