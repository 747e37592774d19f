//! The cheap, cloneable way in: start runs, steer them, watch them, read history and snapshots.
