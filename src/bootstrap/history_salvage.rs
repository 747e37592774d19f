//! A damaged history becomes a new one with all that can be read.

pub use synthdev_adapters::sqlite::salvage::{
    SalvageReport, finish_replacement, replace_store, salvage_store,
};
