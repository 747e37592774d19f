//! A `parallel` state but for the bodies of its branches.

use std::collections::BTreeMap;

use super::super::did_you_mean::suggest_or_list;
use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{self, Count, Either, List, Map, Ref, Text, Words};
use super::super::key_declaration::{
    KeyDeclaration, WordChoice, WordMeaning, declared_choice, declared_key, word_meanings,
};
use super::super::source::FileDiagnostics;
use super::fields::{non_null_member, read_choice, read_count, read_text, report_wrong_type};
use super::spanned::SpannedText;
use synthdev_domain::workflow::{BranchErrors, JoinPolicy, MergeRule, ParallelSpec};

pub(super) const PARALLEL: &[KeyDeclaration] = &[
    declared_key("branches")
        .with_value(
            List(&Ref("branch")),
            "What runs at the same time. The result is an object of their outputs by name.",
        )
        .required(),
    declared_key("join").with_value(
        Either(&[Words(JOIN_WORDS), Count]),
        "How many branches must succeed; the others are then stopped.",
    ),
    declared_key("max_concurrency").with_value(Count, "How many run at once."),
    declared_key("merge").with_value(
        MERGES,
        "What becomes of keys of `common_data` that several branches write; without it that is an error.",
    ),
];

/// `on_error`, which here also says what a failing branch means to the others.
pub(super) const BRANCH_ERRORS: KeyDeclaration = declared_key("on_error").with_value(
    Either(&[Words(POLICY_WORDS), Text]),
    "What a failed branch means to the others; or, as everywhere, a state's name, `fail` or `continue`.",
);

const JOIN: [WordChoice<JoinPolicy>; 2] = [
    declared_choice("all", JoinPolicy::All, "All of them (default)."),
    declared_choice("any", JoinPolicy::Any, "The first one."),
];
pub(super) const JOIN_WORDS: &[WordMeaning] = &word_meanings(&JOIN);

const POLICY: [WordChoice<BranchErrors>; 2] = [
    declared_choice(
        "fail_fast",
        BranchErrors::FailFast,
        "As soon as too few can still succeed, the others are stopped and the state fails (default).",
    ),
    declared_choice(
        "collect",
        BranchErrors::Collect,
        "A failed branch stops no other; its failure stands in the result.",
    ),
];
const POLICY_WORDS: &[WordMeaning] = &word_meanings(&POLICY);

const MERGE: [WordChoice<MergeRule>; 5] = [
    declared_choice("first", MergeRule::First, "The first branch that wrote it wins."),
    declared_choice("last", MergeRule::Last, "The last branch that wrote it wins."),
    declared_choice("append", MergeRule::Append, "Lists are joined, in the order of the branches."),
    declared_choice("sum", MergeRule::Sum, "The changes of the numbers are added up."),
    declared_choice("object", MergeRule::Object, "Objects are joined; later branches win key by key."),
];
const MERGE_WORDS: &[WordMeaning] = &word_meanings(&MERGE);
/// Keys of the data with the rule of each.
pub(super) const MERGES: ValueShape = Map(&Words(MERGE_WORDS));

#[derive(Clone, PartialEq, Debug)]
pub struct ParallelForm {
    /// The name of each with the full name of its first state.
    pub branches: Vec<(SpannedText, String)>,
    /// As it runs, but for the branches.
    pub spec: ParallelSpec,
}

/// Everything but the branches, of which there are so many.
pub(super) fn read_parallel_spec(
    node: &JsonNode,
    branches: usize,
    findings: &mut FileDiagnostics<'_>,
) -> ParallelSpec {
    let policy = read_text(node, "on_error", findings)
        .and_then(|word| POLICY.iter().find(|known| known.word == word.value).map(|known| known.value));
    ParallelSpec {
        branches: Vec::new(),
        join: read_join(node, branches, findings),
        on_error: policy.unwrap_or_default(),
        max_concurrency: read_max_concurrency(node, findings),
        merge: read_merge(node, findings),
    }
}

/// Whether `on_error` says what a failing branch means to the others.
pub(super) fn is_branch_policy(node: &JsonNode) -> bool {
    let word = node.get("on_error").and_then(JsonNode::as_str);
    POLICY.iter().any(|known| Some(known.word) == word)
}

fn read_join(node: &JsonNode, branches: usize, findings: &mut FileDiagnostics<'_>) -> JoinPolicy {
    let Some(value) = non_null_member(node, "join") else { return JoinPolicy::All };
    match &value.kind {
        JsonNodeKind::String(_) => {
            read_choice(node, "join", &JOIN, findings).map_or(JoinPolicy::All, |found| found.value)
        }
        JsonNodeKind::Number(_) => {
            let Some(wanted) = read_count(node, "join", findings) else { return JoinPolicy::All };
            if branches > 0 && wanted as usize > branches {
                let message = format!("`join` waits for {wanted} of {branches} branches");
                findings.add_error("E10", value.span.clone(), message, None);
            }
            JoinPolicy::Count(wanted)
        }
        JsonNodeKind::Null | JsonNodeKind::Bool(_) | JsonNodeKind::Array(_) | JsonNodeKind::Object(_) => {
            report_wrong_type(value, "`join` must be \"all\", \"any\" or a number", findings);
            JoinPolicy::All
        }
    }
}

pub(super) fn read_max_concurrency(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<u32> {
    non_null_member(node, "max_concurrency")?;
    read_count(node, "max_concurrency", findings)
}

fn read_merge(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> BTreeMap<String, MergeRule> {
    let Some(value) = non_null_member(node, "merge") else { return BTreeMap::new() };
    let Some(members) = value.members() else {
        report_wrong_type(
            value,
            "`merge` must be an object of keys and ways, such as {\"notes\": \"append\"}",
            findings,
        );
        return BTreeMap::new();
    };
    let mut all = BTreeMap::new();
    for member in members {
        let found = member.value.as_str().and_then(|word| MERGE.iter().find(|known| known.word == word));
        match found {
            Some(rule) => {
                all.insert(member.key.clone(), rule.value);
            }
            None => {
                let known: Vec<&str> = MERGE.iter().map(|rule| rule.word).collect();
                let hint = suggest_or_list(member.value.as_str().unwrap_or_default(), "it is one of", &known);
                let message = format!("`{}` cannot be merged like this", member.key);
                findings.add_error("E10", member.value.span.clone(), message, hint);
            }
        }
    }
    all
}
