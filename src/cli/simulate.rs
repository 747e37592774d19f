//! `simulate` and `test`: what a scripted run did, judged by what was expected of it, and told.
//!
//! `facts` folds events into what can be asserted, `judge` compares, `diff` shows differences. Refuses to run
//! anything: it reads the events of a run that is over.

pub mod diff;
pub mod expectations;
pub mod report;
pub mod run_facts;
