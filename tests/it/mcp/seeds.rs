//! Every message that a seed document shows, as a transcript that is played in one go and against servers that are
//! killed between any two of its messages (acceptance 1 and 4 of the workflow server).
//!
//! | seed | what it shows | test | where we differ, and why |
//! | --- | --- | --- | --- |
//! | S0.4 | flat resume `{workflowId, ticketKey, ticketUrl}` | `s0_4_*` | accepted where `workflowId` is the token; the id of a run resumes nothing |
//! | S0.5 | `status: partial`, `nextAction` | `s0_5_*` | sent as `awaiting_llm_action` with `action`, as S0.14 has it |
//! | S0.6 | `{resumeToken, stepData}` | `s0_5_*` | |
//! | S0.7 | `{status: completed, ticketKey, audioUrl}` | `s0_5_*` | the fields stand in `data`, as S0.16 has it |
//! | S0.9 | `requestSampling` | `s0_9_*` | as the protocol's `sampling/createMessage`: `systemPrompt`, `messages` for `userPrompt`, `tools` for `availableTools`; `maxTurns` is the agent's `max_tool_rounds` and stays here |
//! | S0.10 | a model client of its own | `s0_10_*` | |
//! | S0.12 | `save`, `load`, `delete` | `s3_8_*`, `s3_11_*` | the token is no time stamp |
//! | S0.14, S0.15 | `PartialResponse`, `action` | `s0_5_*` | more fields: `workflowId`, `workflowName`, `state`, `expiresAt`, `expiresInSeconds` |
//! | S0.16 | `CompletedResponse` | `s0_5_*` | more fields: `output`, `workflowId`, `workflowName`, `completedSteps` |
//! | S0.17 | `FailedResponse`, which the seed does not define | `s0_17_*` | B16 |
//! | S0.18 | the tool `resume_workflow` | `s0_18_*` | |
//! | S0.19 | a step whose outputs are there is skipped | `s3_11_*` | the pause is a record of its own |
//! | S0.23 | `POST /rest/api/2/issue` | `s0_23_*` | |
//! | S1.7, S1.8, S1.9 | the request for a model call | `s1_7_*`, `s1_8_*` | it is the answer of the call that needed it; `message` does not name the seed's product; more fields |
//! | S1.11, S1.12, S1.14 | `agent_llm` with a text | `s1_7_*` | |
//! | S1.13 | with an object | `s1_8_s1_13_*` | |
//! | S1.15 | with the bare object | `s1_15_*` | |
//! | S1.16 | streams, left open | `s1_16_*` | the answer is whole |
//! | S1.17 | `errorDetails` | `s1_17_*` | a retry is a new interaction |
//! | S1.18 | `projectRoot` | `s1_18_*` | it must be the server's (C11) |
//! | S1.22 | the confirmation | `s1_7_*` | with `run`, how the run goes on |
//! | S3.7 | the partial answer | `s3_7_*` | `workflowId` is the run's, `workflowName` the workflow's; every path begins with `start` |
//! | S3.8 | the token | `s3_8_*` | |
//! | S3.10 | the tool `resume_workflow` | `s0_18_*`, `s3_7_*` | |
//! | S3.11, S3.18, S3.19 | merge, go on, skip what was done | `s3_11_*` | only declared outputs are merged |
//! | S3.12 | both calls of the example | `s3_7_*` | |
//! | S3.13 | approvals | `s3_13_*` | only where the server was started with `--remote-approvals` |
//! | S3.14 | a bad and a good instruction | `s3_14_*` | |
//! | S3.15 | `Missing required output: NAME` | `s3_15_*` | all of them are named |
//! | S3.17 | `Resume token expired or invalid. …` | `s3_17_*`, `pausing::s3_17_*` | the run of an expired one still waits |
//! | S3.20, S3.21 | the warning, the time to live | `pausing::s3_17_*` | seconds, at least one |
//! | S3.22 | start, pause, resume | `s3_7_*` | |
//! | S4.2 to S4.6 | the three tools | `s4_2_*` | more fields of a step: `state`, `attempt`, `state_version`; `waiting` |
//! | S4.8, S4.9 | the prompt | `s4_9_*`, `sub_agents::prompts` | nothing is acknowledged |
//! | S4.12, S4.13 | the child's state, who does what | `s4_2_*` | |
//! | S4.17 to S4.19 | what a result needs | `s4_17_*`, `s4_18_*`, `s4_19_*` | types are checked as well |
//! | S4.22 | the four errors | `s4_22_*` | each with a code |

mod s0;
mod s1;
mod s3;
mod s4;
