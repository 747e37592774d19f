//! Settings, models, roles and trust: the user's other files, and which layer a value comes from. Never reads a file.

pub mod catalog;
pub mod dotenv;
pub mod file_kind;
pub mod layers;
pub mod mcp_environment;
pub mod mcp_servers;
pub mod models;
pub mod own_tools;
pub mod redaction;
pub mod role_file;
pub mod roles;
pub mod schema;
pub mod setup;
pub mod system_context;
pub mod trust;
