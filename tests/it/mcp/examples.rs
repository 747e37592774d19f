//! Every message of the examples that clients were written after, as a transcript: it is played in one go, and against
//! servers that are killed between any two of its messages.
//!
//! | the example shows | test | where the server differs, and why |
//! | --- | --- | --- |
//! | results beside the token: `{workflowId, ticketKey, ticketUrl}` | `ticket::the_results_may_stand_beside_the_token`, `ticket::the_id_of_a_run_is_no_token` | accepted where `workflowId` is the token; the id of a run resumes nothing |
//! | `status: partial`, `nextAction` | `ticket::a_partial_answer_is_resumed_with_step_data` | sent as `awaiting_llm_action` with `action`; more fields: `workflowId`, `workflowName`, `state`, `expiresAt`, `expiresInSeconds` |
//! | `{resumeToken, stepData}` | the same | |
//! | `{status: completed, ticketKey, audioUrl}` | the same | the fields stand in `data`; more fields: `output`, `workflowId`, `workflowName`, `completedSteps` |
//! | `requestSampling` | `ticket::a_client_that_samples_is_asked_during_the_call` | the protocol's `sampling/createMessage`: `systemPrompt`, `messages` for `userPrompt`, `tools` for `availableTools`; `maxTurns` is the agent's `max_tool_rounds` and stays here |
//! | a model client of the server's own | `ticket::a_model_of_our_own_makes_it_one_call` | |
//! | `FailedResponse`, not defined there | `ticket::a_failed_answer` | code and hint of the error |
//! | the tool `resume_workflow` | `ticket::resume_workflow_is_a_tool_of_its_own` | |
//! | `POST /rest/api/2/issue` | `ticket::an_http_request_in_its_place_is_one_call` | |
//! | the request for a model call | `model_calls::a_text_is_asked_for_and_given` | it is the answer of the call that needed it; `message` does not name another product; more fields |
//! | `agent_llm` with a text, the confirmation | the same | with `run`, how the run continues |
//! | `agent_llm` with an object, with the bare object | `model_calls::an_object_is_asked_for_with_its_schema`, `model_calls::the_object_may_be_the_data_itself` | |
//! | streams, left open | `model_calls::an_answer_in_pieces_is_refused_and_the_whole_one_taken` | the answer is whole |
//! | `errorDetails` | `model_calls::an_error_of_the_agents_call_is_the_workflows` | a retry is a new interaction |
//! | `projectRoot` | `model_calls::the_project_root_must_be_the_runs` | it must be the server's |
//! | start, pause, resume; both calls | `pauses::the_two_calls_of_the_example` | `workflowId` is the run's, `workflowName` the workflow's; every path begins with `start` |
//! | the token | `pauses::a_token_is_the_name_of_the_workflow_and_luck` | it is no time stamp |
//! | merge, continue, skip what was done | `pauses::what_was_done_before_each_pause_is_not_done_again` | only declared outputs are merged; the pause is a record of its own |
//! | approvals | `pauses::an_approval_is_a_pause_like_any_other` | only where the server was started with `--remote-approvals` |
//! | a bad and a good instruction | `pauses::instructions_must_be_concrete` | |
//! | `Missing required output: NAME` | `pauses::missing_required_output` | all of them are named |
//! | `Resume token expired or invalid. …` | `pauses::an_unknown_token`, `pausing::*` | the run of an expired one still waits; the time to live is in seconds, at least one |
//! | the three tools of sub-agents, the child's state | `tasks::a_task_from_its_prompt_to_its_result` | more fields of a step: `state`, `attempt`, `state_version`; `waiting` |
//! | the prompt | `tasks::the_prompt_is_the_template_but_for_what_the_server_does_itself`, `sub_agents::prompts` | nothing is acknowledged |
//! | what a result needs | `tasks::a_shell_result_needs_its_three`, `tasks::an_mcp_result_needs_data_or_an_error`, `tasks::a_prompt_result_needs_what_its_type_asks_for` | types are checked as well |
//! | the four errors | `tasks::what_is_refused` | each with a code |

mod model_calls;
mod pauses;
mod tasks;
mod ticket;
