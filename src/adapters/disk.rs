//! Reading users' files and writing small ones atomically.
