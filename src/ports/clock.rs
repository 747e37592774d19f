//! Time and random numbers for the driver; the machine gets both as inputs.

use synthdev_domain::ids::{RunId, Timestamp};

pub trait ClockPort: Send + Sync {
    fn now(&self) -> Timestamp;
}

pub trait IdSource: Send + Sync {
    /// A new id that sorts after earlier ones.
    fn run_id(&self) -> RunId;
    /// A seed for a script's `Math.random`.
    fn seed(&self) -> u64;
}
