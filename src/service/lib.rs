//! Use cases: what a user can ask of the program, each once, for every front-end.
//!
//! A use case takes a typed request. One that changes something first makes a plan, which changes nothing and says what
//! would happen; the front-end shows the plan and asks. Front-ends parse requests and put plans, outcomes and errors
//! into words; they decide no rule. Hints name commands of the command line; the screen translates them. What happened in
//! a run is put into words here, too.
//!
//! A front-end has no other way into the program: types of lower layers that requests, responses and events carry are
//! published here.

pub mod breakpoint_check;
pub mod conversations;
pub mod data_assignments;
pub mod definition_check;
pub mod definition_edit;
pub mod definition_views;
pub mod delegated_work;
pub mod event_description;
pub mod file_mentions;
pub mod history_cleanup;
pub mod mcp_configuration;
pub mod mcp_servers;
pub mod mcp_texts;
pub mod model_setup;
pub mod model_windows;
pub mod named_step;
pub mod project_indexing;
pub mod project_snapshots;
pub mod run_agents;
pub mod run_control;
pub mod run_costs;
pub mod run_events;
pub mod run_export;
pub mod run_files;
pub mod run_list;
pub mod run_place;
pub mod run_recording;
pub mod run_reports;
pub mod run_resume;
pub mod run_start;
pub mod run_steering;
pub mod session;
pub mod session_costs;
pub mod setting_values;
pub mod start_check;
pub mod time_travel;
pub mod workflow_requirements;
pub mod workflow_tests;
pub mod worktree_merge;
