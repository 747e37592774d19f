//! `simulate` and `test`: compares the events of a scripted run with the expectations, and reports the result.
//!
//! `run_facts` folds events into what can be asserted, `expectations` compares, `diff` shows differences. Refuses to
//! run anything: it reads the events of a finished run.

pub mod diff;
pub mod expectations;
pub mod report;
pub mod run_facts;
