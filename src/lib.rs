//! Multi-agent workflows, declared in JSON and run as state machines. This page is the map of the code.
//!
//! # The idea
//!
//! 1. A run is a pure state machine: [`engine::machine::Machine`] takes one input and the time, and answers with the
//!    effects it wants and the events that happened.
//! 2. Whatever can fail, wait or differ from run to run comes back as an [`engine::input::Input`]: replies of models,
//!    results of tools and scripts, approvals, snapshots, cancels.
//! 3. A small driver in [`runtime`] performs the effects through the traits of [`ports`]; [`adapters`] implement them
//!    and touch disk, network, clock and processes; besides them only [`bootstrap`],
//!    [`commands`] and the borders of [`tui`] and [`mcp`] do.
//! 4. The inputs are written down before a snapshot, model call or tool that follows from them begins, so the journal
//!    is the run: history is the same inputs fed to a new machine, without a model, a tool or a script.
//! 5. Users' files become checked values in [`language`] and [`settings`], with every mistake found in one pass and
//!    shown with its place. After checking, names are replaced by indices, so a reference to an unknown state cannot
//!    occur in later layers.
//! 6. The screen, the command line and the workflow server are equals: all start runs, send commands and read one
//!    stream of [`engine::event::RunEvent`]s, and none knows the others.
//!
//! # The layers, low to high
//!
//! Each is a member of the workspace, a crate of its own in `src/`; this crate re-exports all of them.
//!
//! | member | may import | never imports or contains |
//! | --- | --- | --- |
//! | [`domain`] | – | `async`, files, network, processes, clocks, randomness |
//! | [`language`] | domain | reading of files: text in, checked workflows and findings out |
//! | [`settings`] | domain, language | reading of files: text in, values and their layers out |
//! | [`engine`] | domain | `async`, ports |
//! | [`ports`] | domain | implementations |
//! | [`runtime`] | domain, engine, ports | adapters, terminals |
//! | [`service`] | domain, language, settings, engine, ports, runtime | rules of the screen, parsing of the command line |
//! | [`adapters`] | domain, ports | the engine, the runtime |
//! | [`tui`], [`cli`], [`mcp`] | domain, service | each other; types of lower layers that `service` does not re-export |
//! | [`bootstrap`] | all of the above but the front-ends | commands, texts of a front-end: it is wiring, below 1,500 lines |
//! | `restate` (only with the feature of that name) | domain, engine, ports, runtime | rules of runs: it moves their rows |
//! | [`session`] | all but adapters, mcp, commands | adapters; rules of runs or of the screen: it answers what the screen asks |
//! | [`commands`] | all but adapters, tui | adapters; rules of runs or of file formats: it has the commands of the command line |
//!
//! The compiler enforces this table: the manifest of a member names what it may import. `tests/it/architecture.rs` checks
//! the manifests, and fails on import cycles between the files of a member, on sizes, on names, and on forbidden calls.
//!
//! # Reading order
//!
//! 1. [`domain::workflow`], [`domain::script`] and [`domain::context`]: what is run.
//! 2. [`engine::input`], [`engine::effect`], [`engine::event`]: everything that goes into a run and comes out.
//! 3. [`engine::machine`], then the files below it: `scheduler`, `next_handler` and `advance` are the loop; in the order of
//!    a state's visit: `enter_state`, `run_turn`, `on_model_reply`, `tool_calls`, `action_states`, `on_script_result`,
//!    `state_output`, `finish`; `spawn_branches` and `join` for branches and loops, `error_recovery` for errors.
//! 4. [`runtime::handle`] and beside it `driver`, `effect_executor`, `journal`: how effects are performed and recorded.
//! 5. [`language::workflow_file`] (what is written), [`language::check`] (what is wrong), [`language::lower`] (what is run).
//! 6. One adapter of your choice; then [`bootstrap`], which puts all of it together.
//!
//! # Where to find what
//!
//! | you want to change | look at |
//! | --- | --- |
//! | where a workflow key is declared: what a workflow file may say | a search for `declared_key("NAME")` with the key's name finds its file in `language/workflow_file/`; the table in `declared_keys.rs` there says which file has the keys of which object and type of state; then `language/check/` and `language/lower/` |
//! | a setting, its names and default | the table in `settings/layers/rules.rs` |
//! | what a branch does next | `engine/machine/{next_handler,advance}.rs` |
//! | branches and loops | `engine/{branch,parallel,merge}.rs`, `engine/machine/{branch_set,scheduler,spawn_branches,join}.rs` |
//! | errors of a state: its retry rule and delay, catch, fallback | `engine/machine/{error_recovery,on_failure}.rs` |
//! | retry of a model call: how often, and the retry delay | `runtime/retry.rs`; the values: `retry.*` in `settings/layers/rules.rs` |
//! | limits, budgets | `engine/machine/{limits,budgets}.rs` |
//! | approvals, and what a denied tool call does | `engine/machine/tool_calls.rs` (an agent's call, and the text for the model), `engine/machine/action_states.rs` (a state's action); their types: `domain/approval.rs` |
//! | step lists and handlers | `language/workflow_file/{steps,handlers}.rs`: rewritten as states |
//! | drawings of workflows | `language/graph/`: texts and boxes in `chart/`, places and lines in `layout/`; the pane: `tui/pane/graph.rs`, `tui/view/graph_pane.rs` |
//! | schemas | `settings/schema/` (made of the declarations) |
//! | what a model call has cost: price, ledger | `domain/cost.rs`, `engine/machine/cost_accounting.rs`; of a model that answered in place of another: `adapters/providers/pricing.rs` |
//! | what a run can cost at most, before it starts | `language/cost_estimate.rs` |
//! | what is asked and written when a model is set up | `settings/setup/`, `service/model_setup.rs`, `tui/setup.rs` |
//! | what a model server lists | `adapters/providers/model_listing.rs`, `settings/models/server_list.rs`, `cli/models.rs` |
//! | the window of a model that only its server knows | `adapters/providers/context_windows.rs`, `session/context_windows.rs` |
//! | which server a key may be sent to | `settings/models/key_scopes.rs`, `adapters/providers/api_keys.rs` |
//! | `doctor` | `commands/doctor/`, `adapters/system_info.rs` |
//! | how a conversation is trimmed | `engine/prompt/window.rs` (the oldest messages are left out), `engine/prompt/truncate.rs` (tool results and texts are shortened), `engine/prompt/summary.rs` (`trim: "summarize"`, asked for in `engine/machine/context_summary.rs`); what happens when: `engine/machine/build_prompt.rs`; how long a prompt may be: `engine/prompt/sources.rs`; the last check before sending: `runtime/context_window.rs` |
//! | the prompt of an agent: which part of a conversation it sees | `engine/prompt.rs` |
//! | the system context of agents | `settings/system_context.rs`, `config/environment.md` |
//! | how a model's answer is judged | `engine/machine/on_model_reply.rs` |
//! | a decision that is missing: reminder, structured output; what is remembered of a model | `engine/machine/missing_decision.rs`, `domain/model/{tool_choice,decision_memory}.rs`, `domain/required_schema.rs` (after an answer that was cut), `runtime/decision_memory.rs` |
//! | what happens while a server stays down | `engine/machine/model_fallback.rs`, the retries in `runtime/retry.rs` |
//! | interrupting a workflow with guidance | `engine/machine/on_interrupt.rs`, `tui/update/interrupt.rs` |
//! | delegation: which tasks sub-agents do, their queue, leases, results | `engine/machine/delegated_tasks.rs`; the queue: `runtime/task_queue/{broker,run_tasks}.rs`; leases: `runtime/leases.rs`; on the wire: `mcp/steps/` |
//! | model calls that a client makes (`agentllm`) | `runtime/delegated_calls.rs`; on the wire: `mcp/response/llm_directive.rs`, `mcp/llm_reply.rs` |
//! | checkpoints of a sub-agent's task | `engine/machine/checkpoints.rs`, `mcp/calls/checkpoint.rs` |
//! | time limits of states and workflows, and when they are suspended | `engine/time_limit.rs`, `engine/machine/{timers,timeout_suspension}.rs` |
//! | HTTP timeouts: model servers, `http` steps | `adapters/providers/timeouts.rs`, `adapters/tools/http_request.rs`; the values: `timeouts.*` in `settings/layers/rules.rs` |
//! | loading a run, from its stored state or its journal | `runtime/load_for_resume.rs`, `runtime/state_snapshot.rs` |
//! | run lock: which process owns a run (the claim) | `adapters/sqlite/{run_ownership,process_liveness,liveness_lock}.rs`; held until the commands of a killed process have ended: `adapters/liveness_handle.rs`, the watcher in `adapters/tools/process/start.rs` |
//! | rewind, fork, undo | `runtime/time_travel.rs` (rewind, fork), `runtime/file_restore.rs` (undo, and the files of a rewind), `service/time_travel.rs` (when it is allowed, what the user is told); the machine afterwards: `engine/machine/on_rewound.rs` |
//! | pausing and ending a run: when it makes sense, how long is waited | `service/run_control.rs` |
//! | from which project a run can be resumed, rewound or undone, and what to do elsewhere | `service/run_place.rs` |
//! | resuming and retrying: which run, which answer for which question | `service/run_resume.rs`, `service/run_resume/answers.rs`; a run from a file: `service/run_resume/local_models.rs` |
//! | runs on a Restate server (cargo feature `restate`) | `restate/`: its `lib.rs` names the files in order; the commands: `commands/{restate_runs,server_runs,backend_command,worker_command,worker_host,shared_run_files}.rs` |
//! | a run that works at a server, as other machines follow, answer and end it | `runtime/{server_runs,followed_run,server_copy}.rs`, `ports/run_server.rs`; its server: `restate/run_server.rs`, `commands/run_servers.rs`; the worker's side: `restate/{run_news,transient_events}.rs` |
//! | conversations that are left and reopened: which can be, and what is refused | `service/conversations.rs`; the machine: `engine/machine/{leave_conversation,conversation_title,compact_conversation}.rs`; `--continue`, `--resume`: `commands/conversation_command.rs`; the list: `tui/resume_picker.rs` |
//! | lists of runs and searches: what can be asked for | `service/run_list.rs` |
//! | a run as a file, what runs cost, old runs, the files of a step | `service/{run_export,run_costs,history_cleanup,run_files}.rs`; costs of what the screen has open: `service/session_costs.rs` |
//! | starting a run: on which files, with what | `service/run_start.rs`; which workflow, and whether it can start: `service/start_check.rs` |
//! | a recording made from a run of the history | `service/run_recording.rs` |
//! | data of a run that a user sets: `NAME=VALUE` | `service/data_assignments.rs` |
//! | merge and discard of a worktree | `service/worktree_merge.rs` |
//! | snapshots: what a restore does, and when it may | `service/project_snapshots.rs` |
//! | git's index, when a snapshot reads it | `adapters/git/user_index.rs`, `adapters/git/index_summary.rs` |
//! | time that waits for the user | `tui/run_view/run_times.rs` |
//! | when a run shares an earlier snapshot | `adapters/git/snapshot_creation.rs` |
//! | old snapshots that go by themselves | `runtime/snapshot_limits.rs`; the settings: `settings/layers/snapshot_rules.rs` |
//! | what is in the conversations of a run, in numbers | `domain/context/statistics.rs`, `engine/machine/context_contents.rs` |
//! | what `check` and the editor check | `service/definition_check.rs` |
//! | when a run takes the project's lock | `runtime/{lock_timing,run_project_lock}.rs`, `adapters/project_lock.rs` |
//! | compaction of a long run's conversations | `engine/machine/compaction.rs`, `domain/context/compressed_entries.rs` |
//! | templates, new definitions, and dry runs with generated answers | `service/definition_edit/{templates,create_definition}.rs`, `service/workflow_tests/dry_run.rs` |
//! | what scripts can see and do | `adapters/javascript/prelude.js`, `adapters/javascript/scope_json.rs`, limits in `adapters/javascript/limits.rs` |
//! | a tool | its file in `adapters/tools/` |
//! | long answers of tools, kept whole for `read_output` | `adapters/tools/{retained_output,held_output,read_output}.rs` |
//! | tools that users and projects define | `settings/own_tools.rs`; how they run: `adapters/tools/own_tool.rs` |
//! | MCP servers of others, whose tools agents use: connection, calls, lists that are stored | `adapters/mcp_client/`; what is said of them: `service/mcp_servers.rs`; their resources and prompts in the input line: `service/mcp_texts.rs`, `tui/update/mcp_texts.rs` |
//! | what a workflow requires before it starts | `service/workflow_requirements.rs`; looked up here: `session/requirement_gate.rs` |
//! | several tool calls in one (`multicall`), calls that run side by side | `engine/machine/{multicall,concurrent_calls}.rs` |
//! | commands in the background: their output, input, end | `adapters/tools/background_{commands,supervisor}.rs`; their terminals: `adapters/tools/process/pseudo_terminal.rs`; when they end with their run: `runtime/running_effects.rs` |
//! | how a command is started, ahead of time too, and ended | `adapters/tools/process/` |
//! | files that commands may swap meanwhile | `adapters/open_beneath.rs`, `adapters/tools/path_guard.rs` |
//! | which files and network commands can reach, and how the sandbox enforces it | `domain/sandbox.rs`, `adapters/sandbox/`, `bootstrap/sandbox_setup.rs` |
//! | ports of the machine that a workflow declares | `language/workflow_file/ports.rs`, `adapters/sandbox/port_{listener,forwarder}.rs` |
//! | command lines that are always refused, and warnings of commands | `domain/refused_commands.rs` |
//! | the text of a question, and its marks | `domain/question_text.rs` |
//! | what a project may change, and what its files can do | `settings/layers/project_restriction.rs`, `settings/trust/capabilities.rs` |
//! | the network for a command that lacks it | `runtime/network_access.rs`; of a role: `NetworkAccess` in `domain/sandbox.rs` |
//! | commands where no sandbox works | `runtime/unsandboxed_commands.rs`, `tui/dialog/sandbox_questions.rs` |
//! | images that conversations show: what stands for one, where it is kept | `domain/image_reference.rs`, `adapters/image_store.rs`; which are sent: `adapters/providers/attached_images.rs`; those that the user names: `adapters/tools/user_images.rs` |
//! | where an answer is cut | `adapters/providers/reply_guard.rs` |
//! | how ignore files are read | `adapters/ignore_files.rs` |
//! | what a repository may open outside of itself | `adapters/{repository_bounds,git_entries}.rs`, `adapters/git/open_repository.rs` |
//! | what is no regular file among the objects of a repository | `adapters/git/object_directories.rs` |
//! | snapshots and restored files that reach the disk | `adapters/git/disk_sync.rs` |
//! | where a path leads through its links | `adapters/link_walk.rs` |
//! | the protocols of model servers | `adapters/providers/{openai,responses,anthropic}/` |
//! | recordings of model calls (cassettes) | `adapters/providers/recording/{recorder,player,matcher}.rs`, their format: `adapters/providers/recording/format.rs`; `--record` and `--replay`: `commands/recordings.rs`; recordings of tests: `commands/recorded_tests.rs` |
//! | a recording that is hidden from the file tools and snapshots of its run | `adapters/hidden_recording.rs` |
//! | the words for an event of a run, on the screen, the command line and in MCP | `service/event_description.rs` |
//! | commands in errors and hints: as slash commands, as tools of MCP | `session/error_text.rs`, `mcp/client_hints.rs` |
//! | `simulate`, `test` and their files | `language/test_file/`, `runtime/simulation.rs`, `service/workflow_tests/` |
//! | snapshots and undo | `adapters/git/` |
//! | what is kept of a run | `runtime/journal.rs`, `adapters/sqlite/` |
//! | the preview of a long run | `runtime/preview.rs`, `tui/update/open_run.rs` |
//! | commands to a run that is being read and resumed | `tui/update/open_run.rs`, `tui/update/resuming.rs` |
//! | a run that is ended for good | `service/run_control.rs`, `runtime/cancel.rs` |
//! | a question that is withdrawn with its run | `tui/update/withdrawn_dialog.rs` |
//! | requests of other processes about a run | `runtime/control_requests.rs`, `adapters/control_socket.rs` |
//! | the editor of workflows and roles | `tui/editor/`, `tui/update/editor/`, `service/definition_edit.rs` |
//! | files that change while the screen is open | `session/reload.rs` |
//! | what front-ends may use of the layers below | published by `service/{run_events,run_steering,run_reports,delegated_work,definition_views,setting_values}.rs` |
//! | what the screen can ask the program, the answers, where they are shown | `service/session.rs` and its subjects in `service/session/`, `session/lib.rs` and the files beside it, `tui/update/answers.rs`; what is answered with types of the screen: `tui/display.rs` |
//! | what gets a key, a paste or the mouse first, what is drawn over what, who has the cursor | the order: `tui/layers.rs`; the way down it: `tui/update/layer_input.rs`; up it: `tui/view.rs` |
//! | keys, slash commands, drawing | `tui/keymap.rs`, `tui/update/{session,question,input}_keys.rs`, `tui/slash.rs` and its groups in `tui/slash/`, `tui/view/` |
//! | `/cmd`, and a query to a model outside of the runs | `tui/update/shell_commands.rs`, `domain/command_suggestion.rs`, `runtime/one_shot_query.rs` |
//! | how far work on many files is: snapshots, worktrees | counted: `domain/file_progress.rs`; shown: `runtime/snapshot_limits.rs`, `tui/update/file_work.rs`, `commands/file_progress.rs` |
//! | what the screen waits for, and for how long | `tui/wait_clock.rs` |
//! | the index of a project: scan, descriptions, search, storage | `domain/project_index/`, `service/project_indexing.rs`, `runtime/indexing.rs`, `adapters/project_index/` |
//! | `/task` | `domain/task_list.rs`, `adapters/task_list.rs`, `tui/update/tasks.rs` |
//! | timeline: bars of calls, tools and waits | what they are: `tui/run_view/timeline/`; drawn: `tui/pane/timeline_chart.rs` |
//! | pane of costs, its bars and curves | `tui/pane/costs.rs`, `tui/pane/bar_text.rs` |
//! | history on screen: list, last runs of a workflow, two runs compared, the graph of a run | `tui/history_browser/{run_list,workflow_trend,run_comparison,browsed_graph}.rs` |
//! | colours: themes, the file of one's own; colour and mark of an agent | `tui/theme.rs`, `tui/theme/theme_file.rs`; `tui/agent_identity.rs` |
//! | mouse, selecting with it, copying | `tui/update/mouse.rs`, `tui/mouse_selection.rs`, `tui/terminal/clipboard.rs` |
//! | keys shown by F1; notifications | `tui/key_help.rs`; `tui/notification.rs` |
//! | pictures of the documentation | `tests/it/tui/pictures.rs`, drawn by `just pictures` |
//! | messages on screen: Markdown as it comes, code in colours, diffs, what is folded | `tui/transcript/` |
//! | panes: their drawing, content, layout, and view of a run | `tui/view/pane.rs`, `tui/pane/`, `tui/layout.rs`, `tui/run_view/` |
//! | breakpoints, step mode, values that the user sets | `engine/machine/{breakpoint_control,continue_from_breakpoint,on_steered}.rs`, their types: `engine/steering.rs`; those of the command line: `commands/breakpoints.rs` |
//! | the history on screen | `tui/history_browser/`, `tui/update/history_browser/`, `session/history_queries.rs` |
//! | watching the history for writes of other processes | `adapters/file_watch.rs`, `tui/program/store_watch.rs` |
//! | lines instead of a screen | `tui/line_mode.rs` |
//! | how the workflow server is reached | `mcp/transport.rs`, `commands/mcp/http_server.rs` |
//! | answers to clients of the workflow server | `mcp/response.rs`, `mcp/tools.rs` |
//! | exit codes, errors, limits | `cli/exit.rs`, [`domain::run_error`], `docs/exit-codes-and-limits.md` |
//!
//! # Specification
//!
//! The rules that the code keeps, each with the files that hold it and the tests that guard it:
//!
//! - `docs/spec/engine.md`: states, transitions, branches, agent turns, errors, limits, budgets, questions, breakpoints
//! - `docs/spec/scripts.md`: JavaScript: what it sees, its limits, determinism, isolation
//! - `docs/spec/contexts.md`: shared conversations, the prompt of one agent, trimming, summaries, compaction
//! - `docs/spec/journal.md`: rows, the order of writing, versions, replay, resume, rewind, fork, undo, snapshots
//! - `docs/spec/delegation.md`: resume tokens, model calls of clients, tasks of sub-agents, recovery, acknowledgement
//! - `docs/spec/sandbox.md`: policy, layers, protected paths, network, denials, trust
//!
//! Words are explained in `docs/glossary.md`, tests in `docs/test-harness.md`, everyday work in `CONTRIBUTING.md`.
//!
//! # Rules in force
//!
//! - The engine emits effects and performs none. The time and the random seed come from outside; the machine counts its
//!   own ids.
//! - One concept a file (`foo.rs` with `foo/` beside it), in the machine, one kind of input or one concern a file. Files stay below 500 lines
//!   without tests, functions below 60. A file begins with what it owns and what it refuses.
//! - Effects are data. An answer to a call that no branch waits for is dropped.
//! - An error is one of three things: a finding in the user's file, a failed run with a hint, or a bug that ends one run only.
//! - No panics, `unwrap` or `unsafe` outside of tests; an exception from a lint carries its reason.
//! - Only [`adapters`], [`bootstrap`], [`commands`] and the borders of [`tui`] and [`mcp`] touch the disk, the clock, the environment and
//!   processes; clippy's `disallowed-methods` enforces that.
//! - Keys are never printed, logged, stored or put into an effect; effects carry the names of keys.
//! - A test is a row. Pure code has its rows beside it; what goes through two layers lives in `tests/it`, against real
//!   files, real git, a real database and a real socket.
pub use synthdev_adapters as adapters;
pub use synthdev_bootstrap as bootstrap;
pub use synthdev_cli as cli;
pub use synthdev_commands as commands;
pub use synthdev_domain as domain;
pub use synthdev_engine as engine;
pub use synthdev_language as language;
pub use synthdev_mcp as mcp;
pub use synthdev_ports as ports;
#[cfg(feature = "restate")]
pub use synthdev_restate as restate;
pub use synthdev_runtime as runtime;
pub use synthdev_service as service;
pub use synthdev_session as session;
pub use synthdev_settings as settings;
pub use synthdev_tui as tui;
