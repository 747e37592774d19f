//! The provider catalogue: URLs, key names, window sizes, prices, what each model accepts (CFG-8).
//! Unknown stays unknown: no price is ever guessed.

pub mod address;
pub mod catalogue;
pub mod home;
pub mod homes;
pub mod read;
pub mod resolve;
pub mod servers;
pub mod wish;
