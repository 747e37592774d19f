//! `condition`, `while`, `break`, `continue`: states that only choose.
//!
//! A loop counts its turns in the data under `_loops`, where its body reads them as `loop`. The count comes before the
//! condition is asked once more, and the condition always sees what the last step left.

use super::super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::fields::{read_choice, read_count, report_wrong_type};
use super::json_nodes::{json_member, list_node, strip_braces, text_node};
use super::keys::ON_MAX;
use super::lowering::{EnclosingLoop, StepLowering, StepSource};

/// Turns of a loop that does not say how many there may be.
const MOST_TURNS: u32 = 100;

impl StepLowering<'_, '_> {
    /// `if`, `then`, `else`.
    pub(super) fn lower_condition(&mut self, step: &StepSource<'_>, states: &mut Vec<JsonNode>) {
        let Some(test) =
            self.require_key(step, "if", "\"state.count > 0\"").map(|one| strip_braces(&one.value))
        else {
            return;
        };
        let mut inside = Vec::new();
        let mut entry = |flow: &mut Self, key: &str| match step.member(key) {
            Some(branch) => {
                let place =
                    step.list_scope.nested_scope(&format!("{}.{key}", step.step_name()), &step.next_state);
                let (entry, mut more) = flow.lower_list(&branch.value, &place);
                inside.append(&mut more);
                entry
            }
            None => step.next_state.clone(),
        };
        let (then, other) = (entry(self, "then"), entry(self, "else"));
        if step.member("then").is_none() && step.member("else").is_none() {
            self.require_key(step, "then", "[{\"type\": …}]");
        }
        let span = &test.span.clone();
        let transitions = vec![
            self.build_transition(&then, Some(test), None, span),
            self.build_transition(&other, None, None, step.span()),
        ];
        let members = vec![json_member("transition", list_node(transitions, step.span()))];
        states.push(self.build_state(step, step.name.clone(), members));
        states.append(&mut inside);
    }

    /// `while`: the loop itself, `.again` after each turn, `.limit` when all turns are used up.
    pub(super) fn while_loop(&mut self, step: &StepSource<'_>, states: &mut Vec<JsonNode>) {
        let test =
            self.require_key(step, "condition", "\"state.count < 3\"").map(|one| strip_braces(&one.value));
        let body = self.require_key(step, "steps", "[{\"type\": …}]");
        let most = step
            .member("max_iterations")
            .and_then(|_| read_count(step.node, "max_iterations", self.findings));
        let most = most.unwrap_or(MOST_TURNS);
        let output = self.output_key(step);
        let goes_on = self.continues_at_limit(step);
        let (Some(test), Some(body)) = (test, body) else { return };
        let name = step.step_name().to_owned();
        let turning =
            EnclosingLoop { name: name.clone(), next_state: step.next_state.clone(), output, max_runs: most };
        let mut place = step.list_scope.nested_scope(&name, &format!("{name}.again"));
        place.loops.push(turning.clone());
        let (entry, mut inside) = self.lower_list(&body.value, &place);
        // the states of the loop itself are visited once more than its body
        let around = StepSource {
            list_scope: &place,
            node: step.node,
            kind: step.kind,
            name: step.name.clone(),
            next_state: step.next_state.clone(),
        };
        let depth = step.list_scope.loops.len();
        let turn = self.build_transition(
            &entry,
            Some(test.clone()),
            Some(format!("__flow.turn({depth})")),
            step.span(),
        );
        let done = self.build_transition(
            &step.next_state,
            None,
            Some(turning.loop_end_script(depth, "done")),
            step.span(),
        );
        let begin = text_node(format!("__flow.begin({depth}, \"{name}\")"), step.span());
        let action = json_member(
            "action",
            super::json_nodes::object_node(vec![json_member("script", begin)], step.span()),
        );
        // without a condition there is no other way out than `break` and `return`
        let way_out =
            if test.as_str().is_some_and(|test| test.trim() == "true") { None } else { Some(done.clone()) };
        let ways = |before: Vec<JsonNode>| [before, way_out.clone().into_iter().collect()].concat();
        let first = json_member("transition", list_node(ways(vec![turn.clone()]), step.span()));
        states.push(self.build_state(step, step.name.clone(), vec![action, first]));
        states.append(&mut inside);
        let over = text_node(format!("__flow.turns({depth}) >= {most}"), step.span());
        let over = self.build_transition(&format!("{name}.limit"), Some(over), None, step.span());
        let again = json_member("transition", list_node(ways(vec![over, turn]), step.span()));
        states.push(self.build_state(&around, text_node(format!("{name}.again"), step.span()), vec![again]));
        self.loop_limit_state(
            step,
            test,
            way_out,
            goes_on.then(|| turning.loop_end_script(depth, "max_iterations")),
            most,
            states,
        );
    }

    /// All turns are used up: that is no failure if the condition does not hold any more either.
    fn loop_limit_state(
        &mut self,
        step: &StepSource<'_>,
        test: JsonNode,
        done: Option<JsonNode>,
        goes_on: Option<String>,
        most: u32,
        states: &mut Vec<JsonNode>,
    ) {
        let name = step.step_name();
        let exceeded = format!("{name}.exceeded");
        let more = match &goes_on {
            Some(end) => self.build_transition(&step.next_state, Some(test), Some(end.clone()), step.span()),
            None => self.build_transition(&exceeded, Some(test), None, step.span()),
        };
        let choices =
            json_member("transition", list_node(std::iter::once(more).chain(done).collect(), step.span()));
        states.push(self.build_state(step, text_node(format!("{name}.limit"), step.span()), vec![choices]));
        if goes_on.is_none() {
            let cause = format!("the loop `{name}` has made its {most} turns, and its condition still holds");
            let members = vec![
                json_member("type", text_node("fail", step.span())),
                json_member("error", text_node("max_iterations", step.span())),
                json_member("cause", text_node(cause, step.span())),
            ];
            states.push(self.build_state(step, text_node(exceeded, step.span()), members));
        }
    }

    fn continues_at_limit(&mut self, step: &StepSource<'_>) -> bool {
        read_choice(step.node, "on_max", &ON_MAX, self.findings).is_some_and(|word| word.value)
    }

    /// `break`, `continue`.
    pub(super) fn break_or_continue(&mut self, step: &StepSource<'_>, states: &mut Vec<JsonNode>) {
        let depth = step.list_scope.loops.len().saturating_sub(1);
        let Some(inner) = step.list_scope.loops.last() else {
            let around = if step.list_scope.is_inside_body { " of this body" } else { "" };
            let message = format!("`{}` stands outside of every loop{around}", step.kind.word);
            let hint = "it belongs into the `steps` of a `while`";
            self.findings.add_error("E10", step.span().clone(), message, Some(hint.to_owned()));
            return;
        };
        let to = if step.kind.word == "break" {
            self.build_transition(
                &inner.next_state,
                None,
                Some(inner.loop_end_script(depth, "stopped")),
                step.span(),
            )
        } else {
            self.build_transition(&format!("{}.again", inner.name), None, None, step.span())
        };
        let members = vec![json_member("transition", list_node(vec![to], step.span()))];
        states.push(self.build_state(step, step.name.clone(), members));
    }

    /// The key of the data that `output_to` (or `store_result`) names.
    pub(super) fn output_key(&mut self, step: &StepSource<'_>) -> Option<String> {
        let (first, second) = (step.member("output_to"), step.member("store_result"));
        if let (Some(_), Some(second)) = (first, second) {
            let message = "`output_to` and `store_result` are two names of one key";
            self.findings.add_error(
                "E10",
                second.key_span.clone(),
                message,
                Some("keep one of the two".to_owned()),
            );
        }
        self.member_key(first.or(second)?)
    }

    fn member_key(&mut self, named: &JsonMember) -> Option<String> {
        let Some(path) = named.value.as_str() else {
            report_wrong_type(&named.value, &format!("`{}` must be a string", named.key), self.findings);
            return None;
        };
        let key = ["state.", "common_data."].iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path);
        let read_only = ["inputs.", "loop."].iter().any(|root| path.starts_with(root));
        let plain =
            !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$' || c == '-');
        if plain && !read_only {
            return Some(key.to_owned());
        }
        let (code, message) = if read_only {
            ("E13", format!("`{path}` cannot be written: `inputs` and `loop` are only read"))
        } else {
            ("E10", format!("`{path}` is no key of the state"))
        };
        let hint = "name one key of the state, as in \"result\"";
        self.findings.add_error(code, named.value.span.clone(), message, Some(hint.to_owned()));
        None
    }

    /// `output` of the state that does the step's work.
    pub(super) fn output_member(&mut self, step: &StepSource<'_>) -> Option<JsonMember> {
        let named = step.member("output_to").or_else(|| step.member("store_result"))?;
        let span = named.value.span.clone();
        let key = self.output_key(step)?;
        let value = JsonNode {
            span: span.clone(),
            kind: JsonNodeKind::Object(vec![json_member("as", text_node(key, &span))]),
        };
        Some(json_member("output", value))
    }
}

impl EnclosingLoop {
    /// What is done when the loop is left.
    fn loop_end_script(&self, depth: usize, status: &str) -> String {
        match &self.output {
            Some(key) => {
                format!("__flow.end({depth}, \"{status}\", {})", serde_json::Value::from(key.as_str()))
            }
            None => format!("__flow.end({depth}, \"{status}\")"),
        }
    }
}
