//! What one job of scripts may use.

use std::time::Duration;

/// What one job may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptLimits {
    /// For all scripts of one job together, conversions included.
    pub time: Duration,
    /// Bytes, for the runtime with everything in it.
    pub memory: usize,
    /// Bytes of what one job gives: its values and the data that it has changed. All of that is recorded.
    pub result: usize,
    /// Bytes of stack that JavaScript may use.
    pub stack: usize,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self { time: Duration::from_millis(250), memory: 32 << 20, result: 8 << 20, stack: 512 * 1024 }
    }
}
