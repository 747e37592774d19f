//! Why a run was not written or not taken in.

use synthdev_ports::run_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// What is wrong with the file.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
