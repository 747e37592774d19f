//! What several tests share: strict fakes of the world outside.

#[allow(dead_code, reason = "each test uses its part")]
pub mod model_server;
