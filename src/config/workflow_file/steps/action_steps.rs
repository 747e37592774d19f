//! Steps that do something: each becomes one state of the same kind.

use super::super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::fields::{choice, flag, wrong};
use super::json_nodes::{bare, flag as flagged, list, member, moved, number, object, templated, text};
use super::keys::WORK;
use super::lowering::{StepListScope, StepLowering, StepSource};
use super::visible_state::visible_state_input;

impl StepLowering<'_, '_> {
    /// Adds the states of one step.
    pub(super) fn step(&mut self, step: &StepSource<'_>, states: &mut Vec<JsonNode>) {
        match step.kind.word {
            "condition" => self.condition(step, states),
            "while" => self.repeat(step, states),
            "break" | "continue" => self.break_or_continue(step, states),
            _ => {
                if let Some(state) = self.one(step) {
                    states.push(state);
                }
            }
        }
    }

    /// A step that is one state.
    fn one(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        match step.kind.word {
            "set_state" => {
                let updates = self.needed(step, "updates", "{\"count\": 1}")?;
                let set = JsonMember { key: "set_state".to_owned(), ..updates.clone() };
                let set = JsonMember { value: templated(&set.value), ..set };
                Some(self.only(step, vec![member("action", object(vec![set], step.span()))]))
            }
            "script" => {
                let script = self.needed(step, "script", "\"state.count += 1\"")?;
                let action = object(vec![moved("script", script)], step.span());
                Some(self.only(step, vec![member("action", action)]))
            }
            "return" => {
                let mut members = vec![member("type", text("final", step.span()))];
                let value = step.member("value").map(|value| moved("input", value));
                members.extend(value.map(|value| JsonMember { value: templated(&value.value), ..value }));
                Some(self.state(step, step.name.clone(), members))
            }
            "fail" => {
                self.needed(step, "error", "\"no_files\"")?;
                let mut members = self.typed(step, "fail", &["error"], &["cause"]);
                members.extend(self.copy_members(step, &["description"]));
                Some(self.state(step, step.name.clone(), members))
            }
            "shell" => {
                self.working(step, "shell", &["expect_exit", "execution"], &["command", "args", "cwd", "env"])
            }
            "mcp_call" => self.working(step, "mcp", &["server"], &["tool", "arguments"]),
            "tool" => self.working(step, "tool", &["tool"], &["arguments"]),
            "http" => {
                self.working(step, "http", &["method", "expect_status"], &["url", "headers", "query", "body"])
            }
            "agent" => self.agent(step, "input"),
            "sub_workflow" => {
                let mut action = self.copy_members(step, &["sub_workflow"]);
                action.extend(self.templates(step, &["sub_workflow_input"]));
                self.needed(step, "sub_workflow", "\"name of a workflow\"")?;
                let members = vec![member("action", object(action, step.span()))];
                self.finished(step, members)
            }
            "wait" => self.wait(step),
            "prompt" => self.prompt(step),
            "delegate" => self.delegate(step),
            "foreach" => self.foreach(step),
            "parallel" => self.parallel(step),
            _ => None,
        }
    }

    /// A state with a `type`; `plain` keys as they stand, `said` ones with templates.
    fn typed(&mut self, step: &StepSource<'_>, kind: &str, plain: &[&str], said: &[&str]) -> Vec<JsonMember> {
        let mut members = vec![member("type", text(kind, step.span()))];
        members.extend(self.copy_members(step, plain));
        members.extend(self.templates(step, said));
        members
    }

    fn templates(&self, step: &StepSource<'_>, keys: &[&str]) -> Vec<JsonMember> {
        let found = keys.iter().filter_map(|key| step.member(key));
        found.map(|one| JsonMember { value: templated(&one.value), ..one.clone() }).collect()
    }

    fn working(
        &mut self,
        step: &StepSource<'_>,
        kind: &str,
        plain: &[&str],
        said: &[&str],
    ) -> Option<JsonNode> {
        let members = self.typed(step, kind, plain, said);
        self.finished(step, members)
    }

    /// With what every working step may say: its result, and what happens when it fails.
    fn finished(&mut self, step: &StepSource<'_>, mut members: Vec<JsonMember>) -> Option<JsonNode> {
        members.extend(self.output(step));
        let safety: Vec<&str> =
            WORK.into_iter().filter(|key| !["output_to", "store_result"].contains(key)).collect();
        members.extend(self.copy_members(step, &safety));
        members.extend(self.copy_members(step, &["description"]));
        Some(self.only(step, members))
    }

    /// An agent of the workflow is asked; `needs_state` puts parts of the state below its instructions.
    fn agent(&mut self, step: &StepSource<'_>, key: &str) -> Option<JsonNode> {
        self.needed(step, "agent", "\"id of an agent\"")?;
        let mut members = self.copy_members(step, &["agent"]);
        let input =
            step.member(key).map(|said| JsonMember { value: templated(&said.value), ..moved("input", said) });
        members.extend(visible_state_input(step, input, self.findings));
        self.finished(step, members)
    }

    fn wait(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        let mut members = self.typed(step, "wait", &[], &["duration", "until"]);
        members.extend(step.member("duration_seconds").map(|seconds| moved("duration", seconds)));
        if members.len() == 1 {
            self.needed(step, "duration_seconds", "30")?;
        }
        self.finished(step, members)
    }

    /// Somebody is asked. `info` is only shown: nobody has to be there.
    fn prompt(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        self.needed(step, "message", "\"Go on?\"")?;
        let words = [
            ("info", "approval"),
            ("confirm", "approval"),
            ("text", "text"),
            ("number", "number"),
            ("boolean", "boolean"),
            ("choice", "choice"),
        ];
        let said = choice(step.node, "kind", &words, self.findings);
        let listed = step.member("choices").is_some();
        let kind = said.as_ref().map_or(if listed { "choice" } else { "text" }, |found| found.value);
        let mut members = self.typed(step, "pause", &["choices", "default", "schema", "ttl"], &["message"]);
        members.push(member("kind", text(kind, step.span())));
        let only_shown = step.member("kind").and_then(|kind| kind.value.as_str()) == Some("info");
        if only_shown && step.member("default").is_none() {
            members.push(member("default", flagged(true, step.span())));
        }
        self.finished(step, members)
    }

    /// To an agent of the workflow, or to whoever takes the request.
    fn delegate(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        let said = self.needed(step, "instructions", "\"what is to be done\"")?.clone();
        if step.member("agent").is_some() {
            for key in ["required_outputs", "schema", "available_tools", "context", "ttl", "default"] {
                if let Some(other) = step.member(key) {
                    let message =
                        format!("`{key}` is for a request to the outside, `agent` asks one of the workflow");
                    let hint = "remove one of the two".to_owned();
                    self.findings.error("E12", other.key_span.clone(), message, Some(hint));
                }
            }
            return self.agent(step, "instructions");
        }
        let said = JsonMember { value: templated(&said.value), ..moved("prompt", &said) };
        let mut request: Vec<JsonMember> =
            visible_state_input(step, Some(said), self.findings).into_iter().collect();
        if let Some(first) = request.first_mut() {
            first.key = "prompt".to_owned();
        }
        request
            .extend(self.copy_members(step, &["required_outputs", "schema", "available_tools", "context"]));
        if step.member("required_outputs").is_none() {
            let result = list(vec![text("result", step.span())], step.span());
            request.push(member("required_outputs", result));
        }
        let mut members = self.typed(step, "delegate", &["ttl", "default"], &[]);
        members.push(member("action", object(request, step.span())));
        self.finished(step, members)
    }

    fn foreach(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        let items = self.needed(step, "items", "\"state.files\"")?;
        let mut members = self.typed(
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
        members.push(JsonMember { value: bare(&items.value), ..moved("in", items) });
        if flag(step.node, "sequential", self.findings) == Some(true) {
            if let Some(other) = step.member("max_concurrency") {
                let message = "`max_concurrency` stands beside `sequential`";
                let hint = "keep one of the two".to_owned();
                self.findings.error("E12", other.key_span.clone(), message, Some(hint));
            } else {
                members.push(member("max_concurrency", number(1, step.span())));
            }
        }
        if let Some(body) = step.member("steps") {
            members.push(self.inner(body));
        }
        self.finished(step, members)
    }

    fn parallel(&mut self, step: &StepSource<'_>) -> Option<JsonNode> {
        let branches = self.needed(step, "branches", "[{\"name\": \"a\", \"steps\": […]}]")?;
        let mut members = self.typed(step, "parallel", &["join", "max_concurrency", "merge"], &[]);
        let Some(items) = branches.value.items() else {
            wrong(&branches.value, "`branches` must be an array", self.findings);
            return None;
        };
        let all: Vec<JsonNode> = items.iter().map(|branch| self.branch(branch)).collect();
        members.push(JsonMember { value: list(all, &branches.value.span), ..branches.clone() });
        self.finished(step, members)
    }

    /// A branch with its `steps` as `states`; what else it holds stays.
    fn branch(&mut self, branch: &JsonNode) -> JsonNode {
        let JsonNodeKind::Object(own) = &branch.kind else { return branch.clone() };
        let mut members = Vec::with_capacity(own.len());
        for one in own {
            match one.key.as_str() {
                "steps" => members.push(self.inner(one)),
                "input" | "sub_workflow_input" => {
                    members.push(JsonMember { value: templated(&one.value), ..one.clone() });
                }
                _ => members.push(one.clone()),
            }
        }
        object(members, &branch.span)
    }

    /// `states` of a body that is written as `steps`.
    fn inner(&mut self, steps: &JsonMember) -> JsonMember {
        let states = self.body(&steps.value, StepListScope::body());
        self.inside = self.inside.max(self.visits(&states));
        JsonMember { value: list(states, &steps.value.span), ..moved("states", steps) }
    }
}
