//! Use cases: what a user can ask of the program, each once, for every front-end.
//!
//! A use case takes a typed request. One that changes something first makes a plan, which changes nothing and says what
//! would happen; the front-end shows the plan and asks. Front-ends parse requests and put plans, outcomes and errors
//! into words; they decide no rule. Hints name commands of the command line; the screen translates them. What happened in
//! a run is put into words here, too.

pub mod event_description;
pub mod session;
pub mod time_travel;
