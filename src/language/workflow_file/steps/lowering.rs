//! Lists of steps in order: what each is called, what comes after it, what it is skipped for.

use std::ops::Range;

use super::super::super::did_you_mean::suggest_or_list;
use super::super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::super::key_declaration::TypeDeclaration;
use super::super::super::source::FileDiagnostics;
use super::super::fields::report_wrong_type;
use super::json_nodes::{
    json_member, list_node, number_node, object_node, rename_member, strip_braces, text_node,
};
use super::keys::{ALIASES, STEP_TYPES};

/// The scope of a list: the prefix of its steps' names, and the state after its end.
#[derive(Clone)]
pub(super) struct StepListScope {
    /// Before the names of steps without an `id`: `poll.` for the steps of the loop `poll`.
    pub(super) prefix: String,
    /// The state after the last step.
    pub(super) next_state: String,
    /// Loops around it that keep a count, outermost first.
    pub(super) loops: Vec<EnclosingLoop>,
    /// It is the body of a `foreach` or a branch.
    pub(super) is_inside_body: bool,
}

/// A `while` around a step.
#[derive(Clone)]
pub(super) struct EnclosingLoop {
    pub(super) name: String,
    /// The state after the loop.
    pub(super) next_state: String,
    /// Where the result of the loop goes.
    pub(super) output: Option<String>,
    pub(super) max_runs: u32,
}

impl StepListScope {
    pub(super) fn root_scope() -> Self {
        Self {
            prefix: String::new(),
            next_state: "stop".to_owned(),
            loops: Vec::new(),
            is_inside_body: false,
        }
    }

    /// The body of a `foreach` or a branch: an end of its own, and loops of its own.
    pub(super) fn body() -> Self {
        Self { is_inside_body: true, ..Self::root_scope() }
    }

    /// A list inside a step of this list.
    pub(super) fn nested_scope(&self, step: &str, next: &str) -> Self {
        Self { prefix: format!("{step}."), next_state: next.to_owned(), ..self.clone() }
    }

    /// How often one step of this list may run, as far as loops can make it.
    fn max_runs(&self) -> u64 {
        self.loops.iter().fold(1, |all, one| all.saturating_mul(u64::from(one.max_runs) + 1))
    }
}

/// One step while it is rewritten.
pub(super) struct StepSource<'n> {
    pub(super) node: &'n JsonNode,
    pub(super) kind: &'static TypeDeclaration,
    /// Its `id` or number, as a text of the file.
    pub(super) name: JsonNode,
    /// The state after it.
    pub(super) next_state: String,
    pub(super) list_scope: &'n StepListScope,
}

impl StepSource<'_> {
    pub(super) fn member(&self, key: &str) -> Option<&JsonMember> {
        let found = self.node.members()?.iter().find(|member| member.key == key)?;
        (found.value.kind != JsonNodeKind::Null).then_some(found)
    }

    pub(super) fn step_name(&self) -> &str {
        self.name.as_str().unwrap_or_default()
    }

    /// The position for findings about the step as a whole.
    pub(super) fn span(&self) -> &Range<usize> {
        &self.name.span
    }
}

pub(super) struct StepLowering<'f, 'a> {
    pub(super) findings: &'f mut FileDiagnostics<'a>,
    /// Visits that the largest body may need.
    pub(super) largest_body: u64,
}

impl<'f, 'a> StepLowering<'f, 'a> {
    pub(super) fn new(findings: &'f mut FileDiagnostics<'a>) -> Self {
        Self { findings, largest_body: 0 }
    }

    /// The states of a whole workflow or body: one of them is called `start`.
    pub(super) fn lower_body(&mut self, steps: &JsonNode, place: StepListScope) -> Vec<JsonNode> {
        let (entry, mut states) = self.lower_list(steps, &place);
        if entry != "start" {
            let to = self.build_transition(&entry, None, None, &steps.span);
            let span = steps.span.start..steps.span.start + 1;
            let name = json_member("name", text_node("start", &span));
            states.insert(
                0,
                object_node(vec![name, json_member("transition", list_node(vec![to], &span))], &span),
            );
        }
        states
    }

    /// The states of a list, and the first of them.
    pub(super) fn lower_list(&mut self, steps: &JsonNode, place: &StepListScope) -> (String, Vec<JsonNode>) {
        let Some(items) = steps.items() else {
            report_wrong_type(steps, "`steps` must be an array", self.findings);
            return (place.next_state.clone(), Vec::new());
        };
        if items.is_empty() && place.prefix.is_empty() {
            let hint = "add a step: {\"type\": \"shell\", \"command\": \"…\"}";
            self.findings.add_error("E10", steps.span.clone(), "there are no steps", Some(hint.to_owned()));
        }
        let sound: Vec<(usize, &JsonNode, &'static TypeDeclaration)> = items
            .iter()
            .enumerate()
            .filter_map(|(at, item)| Some((at, item, self.read_step_kind(item)?)))
            .collect();
        let names: Vec<JsonNode> =
            sound.iter().map(|(at, item, _)| self.step_name_node(item, *at, place)).collect();
        let entry = |at: usize| {
            let name = names.get(at).and_then(JsonNode::as_str)?;
            let guarded = sound[at].1.get("when").is_some_and(|when| when.kind != JsonNodeKind::Null);
            Some(if guarded { format!("{name}.when") } else { name.to_owned() })
        };
        let mut states = Vec::new();
        for (at, (_, node, kind)) in sound.iter().enumerate() {
            let next = entry(at + 1).unwrap_or_else(|| place.next_state.clone());
            let step =
                StepSource { node, kind, name: names[at].clone(), next_state: next, list_scope: place };
            self.add_guard_state(&step, &mut states);
            self.lower_step(&step, &mut states);
        }
        (entry(0).unwrap_or_else(|| place.next_state.clone()), states)
    }

    /// What a step is; everything that it cannot be is found here.
    fn read_step_kind(&mut self, item: &JsonNode) -> Option<&'static TypeDeclaration> {
        let Some(members) = item.members() else {
            report_wrong_type(item, "a step must be an object", self.findings);
            return None;
        };
        let words = STEP_TYPES.map(|one| one.word);
        let Some(word) = item.get("type").filter(|word| word.kind != JsonNodeKind::Null) else {
            let span = item.span.start..item.span.start + 1;
            let hint = format!("its types are {}", words.join(", "));
            self.findings.add_error("E10", span, "the step has no `type`", Some(hint));
            return None;
        };
        let Some(kind) = STEP_TYPES.iter().find(|one| Some(one.word) == word.as_str()) else {
            let shown = word.as_str().unwrap_or_default();
            let alias = ALIASES.iter().find(|(alias, _)| *alias == shown);
            let hint = match alias {
                Some((_, word)) => Some(format!("here it is called `{word}`")),
                None => suggest_or_list(shown, "types", &words),
            };
            self.findings.add_error(
                "E10",
                word.span.clone(),
                format!("there is no step type `{shown}`"),
                hint,
            );
            return None;
        };
        let known: Vec<&str> = kind.key_names().collect();
        for one in members {
            if !known.contains(&one.key.as_str()) && !one.key.starts_with("x_") {
                let message = format!("a step of the type `{}` has no key `{}`", kind.word, one.key);
                let hint = suggest_or_list(&one.key, "keys", &known);
                self.findings.add_error("E14", one.key_span.clone(), message, hint);
            }
        }
        Some(kind)
    }

    /// The `id`, or a name after the step's number.
    fn step_name_node(&mut self, item: &JsonNode, at: usize, place: &StepListScope) -> JsonNode {
        let span = item.get("type").map_or(item.span.clone(), |word| word.span.clone());
        let usual = text_node(format!("{}step_{}", place.prefix, at + 1), &span);
        let Some(id) = item.get("id").filter(|id| id.kind != JsonNodeKind::Null) else { return usual };
        let Some(name) = id.as_str() else {
            report_wrong_type(id, "`id` must be a string", self.findings);
            return usual;
        };
        let plain = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let taken = name == "stop" || (name == "start" && (at > 0 || !place.prefix.is_empty()));
        if plain && !taken {
            return id.clone();
        }
        let (message, hint) = if taken {
            (
                format!(
                    "`{name}` means the {} of a workflow",
                    if name == "stop" { "end" } else { "beginning" }
                ),
                "choose another name",
            )
        } else {
            (
                format!("`{name}` is no name of a step"),
                "letters, digits, `_` and `-`, beginning with a letter",
            )
        };
        self.findings.add_error("E10", id.span.clone(), message, Some(hint.to_owned()));
        usual
    }

    /// `when`: a state that goes past the step unless it holds.
    fn add_guard_state(&mut self, step: &StepSource<'_>, states: &mut Vec<JsonNode>) {
        let Some(when) = step.member("when") else { return };
        let span = &when.value.span;
        let to = self.build_transition(step.step_name(), Some(strip_braces(&when.value)), None, span);
        let past = self.build_transition(&step.next_state, None, None, span);
        let name = text_node(format!("{}.when", step.step_name()), step.span());
        states.push(self.build_state(
            step,
            name,
            vec![json_member("transition", list_node(vec![to, past], span))],
        ));
    }

    /// A state that belongs to a step.
    pub(super) fn build_state(
        &self,
        step: &StepSource<'_>,
        name: JsonNode,
        mut members: Vec<JsonMember>,
    ) -> JsonNode {
        members.insert(0, json_member("name", name));
        let turns = step.list_scope.max_runs();
        let ends = members.iter().any(|one| one.key == "type" && one.value.as_str() == Some("final"));
        if turns > 1 && !ends {
            // one more than can be needed: the loop's own count comes first
            let most = u32::try_from(turns.saturating_add(1)).unwrap_or(u32::MAX);
            members.push(json_member("max_visits", number_node(most, step.span())));
        }
        object_node(members, &step.node.span)
    }

    /// The state that has the step's name and continues with the next step.
    pub(super) fn single_state(&self, step: &StepSource<'_>, mut members: Vec<JsonMember>) -> JsonNode {
        members.push(self.next_transition(step));
        self.build_state(step, step.name.clone(), members)
    }

    /// `transition` to what comes after the step.
    pub(super) fn next_transition(&self, step: &StepSource<'_>) -> JsonMember {
        let to = self.build_transition(&step.next_state, None, None, step.span());
        json_member("transition", list_node(vec![to], step.span()))
    }

    pub(super) fn build_transition(
        &self,
        target: &str,
        condition: Option<JsonNode>,
        before: Option<String>,
        span: &Range<usize>,
    ) -> JsonNode {
        let mut members = vec![json_member("target", text_node(target, span))];
        members.extend(condition.map(|condition| json_member("condition", condition)));
        members.extend(before.map(|before| json_member("before", text_node(before, span))));
        object_node(members, span)
    }

    /// How many visits a list of states may need: each at most as often as its own limit says.
    pub(super) fn count_visits(&self, states: &[JsonNode]) -> u64 {
        let most = |state: &JsonNode| {
            let own = state.get("max_visits").and_then(|most| most.to_value().as_u64());
            own.unwrap_or(1)
        };
        states.iter().fold(0, |all, state| most(state).saturating_add(all))
    }

    /// A key that a step cannot do without.
    pub(super) fn require_key<'s>(
        &mut self,
        step: &'s StepSource<'_>,
        key: &str,
        example: &str,
    ) -> Option<&'s JsonMember> {
        let found = step.member(key);
        if found.is_none() {
            let message = format!("a step of the type `{}` needs `{key}`", step.kind.word);
            let hint = Some(format!("add \"{key}\": {example}"));
            self.findings.add_error("E10", step.span().clone(), message, hint);
        }
        found
    }

    /// Keys of the step that a state has under the same name.
    pub(super) fn copy_members(&self, step: &StepSource<'_>, keys: &[&str]) -> Vec<JsonMember> {
        keys.iter().filter_map(|key| step.member(key)).map(|one| rename_member(&one.key, one)).collect()
    }
}
