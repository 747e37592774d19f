//! Steps that do something: each becomes one state of the same kind.

use super::super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::fields::{read_choice, read_flag, report_wrong_type};
use super::json_nodes::{
    flag_node as flagged, json_member, list_node, number_node, object_node, rename_member, strip_braces,
    text_node, with_templates,
};
use super::keys::{PROMPT_KIND, SAFETY};
use super::lowering::{StepListScope, StepLowering, StepSource};
use super::visible_state::visible_state_input;

impl StepLowering<'_, '_> {
    /// Adds the states of one step.
    pub(super) fn lower_step(&mut self, step: &StepSource<'_>, states: &mut Vec<JsonNode>) {
        match step.kind.word {
            "condition" => self.lower_condition(step, states),
            "while" => self.while_loop(step, states),
            "break" | "continue" => self.break_or_continue(step, states),
            _ => {
                if let Some(state) = self.lower_single(step) {
                    states.push(state);
                }
            }
        }
    }

    /// A step that is one state.
    fn lower_single(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        match step.kind.word {
            "set_state" => {
                let updates = self.require_key(step, "updates", "{\"count\": 1}")?;
                let set = JsonMember { key: "set_state".to_owned(), ..updates.clone() };
                let set = JsonMember { value: with_templates(&set.value), ..set };
                Some(
                    self.single_state(step, vec![json_member("action", object_node(vec![set], step.span()))]),
                )
            }
            "script" => {
                let script = self.require_key(step, "script", "\"state.count += 1\"")?;
                let action = object_node(vec![rename_member("script", script)], step.span());
                Some(self.single_state(step, vec![json_member("action", action)]))
            }
            "return" => {
                let mut members = vec![json_member("type", text_node("final", step.span()))];
                let value = step.member("value").map(|value| rename_member("input", value));
                members
                    .extend(value.map(|value| JsonMember { value: with_templates(&value.value), ..value }));
                Some(self.build_state(step, step.name.clone(), members))
            }
            "fail" => {
                self.require_key(step, "error", "\"no_files\"")?;
                let mut members = self.typed_state(step, "fail", &["error"], &["cause"]);
                members.extend(self.copy_members(step, &["description"]));
                Some(self.build_state(step, step.name.clone(), members))
            }
            "shell" => self.working_state(
                step,
                "shell",
                &["expect_exit", "execution"],
                &["command", "args", "cwd", "env"],
            ),
            "mcp_call" => self.working_state(step, "mcp", &["server"], &["tool", "arguments"]),
            "tool" => self.working_state(step, "tool", &["tool"], &["arguments"]),
            "http" => self.working_state(
                step,
                "http",
                &["method", "expect_status"],
                &["url", "headers", "query", "body"],
            ),
            "agent" => self.lower_agent(step, "input"),
            "sub_workflow" => {
                let mut action = self.copy_members(step, &["sub_workflow"]);
                action.extend(self.template_members(step, &["sub_workflow_input"]));
                self.require_key(step, "sub_workflow", "\"name of a workflow\"")?;
                let members = vec![json_member("action", object_node(action, step.span()))];
                self.finish_working_state(step, members)
            }
            "wait" => self.lower_wait(step),
            "prompt" => self.lower_prompt(step),
            "delegate" => self.lower_delegate(step),
            "foreach" => self.lower_for_each(step),
            "parallel" => self.lower_parallel(step),
            _ => None,
        }
    }

    /// A state with a `type`; `plain` keys are copied unchanged, `said` ones with templates.
    fn typed_state(
        &mut self,
        step: &StepSource<'_>,
        kind: &str,
        plain: &[&str],
        said: &[&str],
    ) -> Vec<JsonMember> {
        let mut members = vec![json_member("type", text_node(kind, step.span()))];
        members.extend(self.copy_members(step, plain));
        members.extend(self.template_members(step, said));
        members
    }

    fn template_members(&self, step: &StepSource<'_>, keys: &[&str]) -> Vec<JsonMember> {
        let found = keys.iter().filter_map(|key| step.member(key));
        found.map(|one| JsonMember { value: with_templates(&one.value), ..one.clone() }).collect()
    }

    fn working_state(
        &mut self,
        step: &StepSource<'_>,
        kind: &str,
        plain: &[&str],
        said: &[&str],
    ) -> Option<JsonNode> {
        let members = self.typed_state(step, kind, plain, said);
        self.finish_working_state(step, members)
    }

    /// With what every working step may say: its result, and what happens when it fails.
    fn finish_working_state(
        &mut self,
        step: &StepSource<'_>,
        mut members: Vec<JsonMember>,
    ) -> Option<JsonNode> {
        members.extend(self.output_member(step));
        let safety: Vec<&str> = SAFETY.iter().map(|key| key.name).collect();
        members.extend(self.copy_members(step, &safety));
        members.extend(self.copy_members(step, &["description"]));
        Some(self.single_state(step, members))
    }

    /// An agent of the workflow is asked; `needs_state` puts parts of the state below its instructions.
    fn lower_agent(&mut self, step: &StepSource<'_>, key: &str) -> Option<JsonNode> {
        self.require_key(step, "agent", "\"id of an agent\"")?;
        let mut members = self.copy_members(step, &["agent"]);
        let input = step
            .member(key)
            .map(|said| JsonMember { value: with_templates(&said.value), ..rename_member("input", said) });
        members.extend(visible_state_input(step, input, self.findings));
        self.finish_working_state(step, members)
    }

    fn lower_wait(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        let mut members = self.typed_state(step, "wait", &[], &["duration", "until"]);
        members.extend(step.member("duration_seconds").map(|seconds| rename_member("duration", seconds)));
        if members.len() == 1 {
            self.require_key(step, "duration_seconds", "30")?;
        }
        self.finish_working_state(step, members)
    }

    /// A question to the user. `info` is only shown: the run continues without a user.
    fn lower_prompt(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        self.require_key(step, "message", "\"Go on?\"")?;
        let said = read_choice(step.node, "kind", &PROMPT_KIND, self.findings);
        let listed = step.member("choices").is_some();
        let kind = said.as_ref().map_or(if listed { "choice" } else { "text" }, |found| found.value);
        let mut members =
            self.typed_state(step, "pause", &["choices", "default", "schema", "ttl"], &["message"]);
        members.push(json_member("kind", text_node(kind, step.span())));
        let only_shown = step.member("kind").and_then(|kind| kind.value.as_str()) == Some("info");
        if only_shown && step.member("default").is_none() {
            members.push(json_member("default", flagged(true, step.span())));
        }
        self.finish_working_state(step, members)
    }

    /// To an agent of the workflow, or to a client outside of it.
    fn lower_delegate(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        let said = self.require_key(step, "instructions", "\"what is to be done\"")?.clone();
        if step.member("agent").is_some() {
            for key in ["required_outputs", "schema", "available_tools", "context", "ttl", "default"] {
                if let Some(other) = step.member(key) {
                    let message =
                        format!("`{key}` is for a request to the outside, `agent` asks one of the workflow");
                    let hint = "remove one of the two".to_owned();
                    self.findings.add_error("E12", other.key_span.clone(), message, Some(hint));
                }
            }
            return self.lower_agent(step, "instructions");
        }
        let said = JsonMember { value: with_templates(&said.value), ..rename_member("prompt", &said) };
        let mut request: Vec<JsonMember> =
            visible_state_input(step, Some(said), self.findings).into_iter().collect();
        if let Some(first) = request.first_mut() {
            first.key = "prompt".to_owned();
        }
        request
            .extend(self.copy_members(step, &["required_outputs", "schema", "available_tools", "context"]));
        if step.member("required_outputs").is_none() {
            let result = list_node(vec![text_node("result", step.span())], step.span());
            request.push(json_member("required_outputs", result));
        }
        let mut members = self.typed_state(step, "delegate", &["ttl", "default"], &[]);
        members.push(json_member("action", object_node(request, step.span())));
        self.finish_working_state(step, members)
    }

    fn lower_for_each(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        let items = self.require_key(step, "items", "\"state.files\"")?;
        let mut members = self.typed_state(
            step,
            "foreach",
            &[
                "each",
                "at",
                "sub_workflow",
                "agent",
                "needs_state",
                "max_concurrency",
                "tolerated_failures",
                "tolerated_percent",
            ],
            &["sub_workflow_input", "input"],
        );
        members.push(JsonMember { value: strip_braces(&items.value), ..rename_member("in", items) });
        if read_flag(step.node, "sequential", self.findings) == Some(true) {
            if let Some(other) = step.member("max_concurrency") {
                let message = "`max_concurrency` stands beside `sequential`";
                let hint = "keep one of the two".to_owned();
                self.findings.add_error("E12", other.key_span.clone(), message, Some(hint));
            } else {
                members.push(json_member("max_concurrency", number_node(1, step.span())));
            }
        }
        if let Some(body) = step.member("steps") {
            members.push(self.lower_inner_steps(body));
        }
        self.finish_working_state(step, members)
    }

    fn lower_parallel(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        let branches = self.require_key(step, "branches", "[{\"name\": \"a\", \"steps\": […]}]")?;
        let mut members = self.typed_state(step, "parallel", &["join", "max_concurrency", "merge"], &[]);
        let Some(items) = branches.value.items() else {
            report_wrong_type(&branches.value, "`branches` must be an array", self.findings);
            return None;
        };
        let all: Vec<JsonNode> = items.iter().map(|branch| self.lower_branch(branch)).collect();
        members.push(JsonMember { value: list_node(all, &branches.value.span), ..branches.clone() });
        self.finish_working_state(step, members)
    }

    /// A branch with its `steps` as `states`; its other keys are kept.
    fn lower_branch(&mut self, branch: &JsonNode) -> JsonNode {
        let JsonNodeKind::Object(own) = &branch.kind else { return branch.clone() };
        let mut members = Vec::with_capacity(own.len());
        for one in own {
            match one.key.as_str() {
                "steps" => members.push(self.lower_inner_steps(one)),
                "input" | "sub_workflow_input" => {
                    members.push(JsonMember { value: with_templates(&one.value), ..one.clone() });
                }
                _ => members.push(one.clone()),
            }
        }
        object_node(members, &branch.span)
    }

    /// `states` of a body that is written as `steps`.
    fn lower_inner_steps(&mut self, steps: &JsonMember) -> JsonMember {
        let states = self.lower_body(&steps.value, StepListScope::body());
        self.largest_body = self.largest_body.max(self.count_visits(&states));
        JsonMember { value: list_node(states, &steps.value.span), ..rename_member("states", steps) }
    }
}
