//! Which cases the conditions of a state leave open: every combination of values that could matter is tried.

use std::collections::HashMap;

use serde_json::Value;

use super::super::script_analysis::{ConditionFormula, ConditionTerm, OrderOperator, ScriptLiteral};
use super::schema_paths::{SchemaPathTarget, requires_path, resolve_path, schema_values};
use super::tool_decisions::path_text;

/// Combinations that are tried; with more, conditions are only compared in pairs.
const MOST: usize = 20_000;
/// Conditions that are tried, over all combinations.
const MOST_TRIED: usize = 400_000;
/// Constants that one term is compared with.
const MOST_CONSTANTS: usize = 2_000;
/// Conditions behind each one that it is compared with.
const PAIRED: usize = 40;
/// Open cases that are named.
const NAMED: usize = 6;

/// The tools that a state's own agent must call one of, with their schemas.
pub(super) type DecisionSchemas<'d> = [(&'d str, &'d Value)];

/// Terms of which a schema says all that they can be, as they are written.
pub(super) type KnownTermSchemas = [(String, Value)];

/// What a term can be.
#[derive(Clone, PartialEq, Debug)]
enum TermCase {
    Is(ScriptLiteral),
    /// Any other value that holds in a condition, or does not.
    Other(bool),
}

/// A term with all that it can be.
struct TermDomain {
    term: ConditionTerm,
    cases: Vec<TermCase>,
    /// Its cases are all known.
    closed: bool,
}

/// `None` if one of the conditions always holds; else what is known of the cases in which none does: descriptions
/// of the values, empty if there is nothing certain to say.
pub(super) fn open_cases(
    tests: &[&ConditionFormula],
    decisions: &DecisionSchemas<'_>,
    known: &KnownTermSchemas,
) -> Option<Vec<String>> {
    match enumerate_open_cases(tests, decisions, known) {
        Some(open) => open,
        // too many to try: two conditions that exclude and complete each other are enough
        None => {
            let pairs = tests
                .iter()
                .enumerate()
                .flat_map(|(at, one)| tests[at + 1..].iter().take(PAIRED).map(move |two| [*one, *two]));
            let complete =
                pairs.into_iter().any(|pair| enumerate_open_cases(&pair, decisions, known) == Some(None));
            if complete { None } else { Some(Vec::new()) }
        }
    }
}

/// `None`: too many cases.
fn enumerate_open_cases(
    tests: &[&ConditionFormula],
    decisions: &DecisionSchemas<'_>,
    known: &KnownTermSchemas,
) -> Option<Option<Vec<String>>> {
    let mut mentions = TermMentions::default();
    for test in tests {
        collect_mentions(test, &mut mentions);
    }
    let mut subjects: Vec<TermDomain> = Vec::with_capacity(mentions.list.len());
    let mut count = 1_usize;
    for mention in mentions.list {
        if mention.equal_literals.len() + mention.compared_numbers.len() > MOST_CONSTANTS {
            return None;
        }
        let subject = term_domain(mention, decisions, known);
        count = count.checked_mul(subject.cases.len())?;
        if count > MOST || count.saturating_mul(tests.len()) > MOST_TRIED {
            return None;
        }
        subjects.push(subject);
    }
    let mut missed = Vec::new();
    for number in 0..count {
        let mut rest = number;
        let values: Vec<&TermCase> = subjects
            .iter()
            .map(|one| {
                let case = &one.cases[rest % one.cases.len()];
                rest /= one.cases.len();
                case
            })
            .collect();
        if is_possible(&subjects, &values, decisions)
            && !tests.iter().any(|test| formula_holds(test, &subjects, &values))
        {
            missed.push(values);
        }
    }
    Some((!missed.is_empty()).then(|| describe_open_cases(&subjects, &missed)))
}

/// A term with the constants that it is compared with.
struct TermMention<'t> {
    term: &'t ConditionTerm,
    equal_literals: Vec<&'t ScriptLiteral>,
    compared_numbers: Vec<f64>,
    has_order: bool,
}

#[derive(Default)]
struct TermMentions<'t> {
    list: Vec<TermMention<'t>>,
    index: HashMap<&'t str, usize>,
}

fn collect_mentions<'t>(test: &'t ConditionFormula, mentions: &mut TermMentions<'t>) {
    match test {
        ConditionFormula::Constant(_) => {}
        ConditionFormula::Not(one) => collect_mentions(one, mentions),
        ConditionFormula::All(list) | ConditionFormula::Any(list) => {
            list.iter().for_each(|one| collect_mentions(one, mentions))
        }
        ConditionFormula::Holds(term) => {
            mention_of_term(term, mentions);
        }
        ConditionFormula::Same(term, literal) => {
            let mention = mention_of_term(term, mentions);
            mention.equal_literals.push(literal);
            if let ScriptLiteral::Number(number) = literal {
                mention.compared_numbers.push(*number);
            }
        }
        ConditionFormula::Order(term, _, number) => {
            let mention = mention_of_term(term, mentions);
            mention.has_order = true;
            mention.compared_numbers.push(*number);
        }
    }
}

fn mention_of_term<'m, 't>(
    term: &'t ConditionTerm,
    mentions: &'m mut TermMentions<'t>,
) -> &'m mut TermMention<'t> {
    let TermMentions { list, index } = mentions;
    let at = *index.entry(&term.text).or_insert_with(|| {
        list.push(TermMention {
            term,
            equal_literals: Vec::new(),
            compared_numbers: Vec::new(),
            has_order: false,
        });
        list.len() - 1
    });
    &mut list[at]
}

fn term_domain(
    mention: TermMention<'_>,
    decisions: &DecisionSchemas<'_>,
    known: &KnownTermSchemas,
) -> TermDomain {
    let term = mention.term.clone();
    let answered =
        known.iter().find(|(text, _)| *text == term.text).and_then(|(_, schema)| schema_values(schema));
    if let Some(all) = answered {
        return TermDomain { term, cases: all.into_iter().map(TermCase::Is).collect(), closed: true };
    }
    if let Some((cases, closed)) = decided_cases(&mention, decisions) {
        return TermDomain { term, cases, closed };
    }
    let mut cases: Vec<TermCase> = Vec::new();
    let add = |case: TermCase, cases: &mut Vec<TermCase>| {
        if !cases.contains(&case) {
            cases.push(case);
        }
    };
    for literal in &mention.equal_literals {
        add(TermCase::Is((*literal).clone()), &mut cases);
    }
    if mention.has_order {
        // a length is a whole number and never negative
        let length = term.text.ends_with(".length");
        let step = if length { 1.0 } else { 0.5 };
        for number in &mention.compared_numbers {
            for value in [number - step, *number, number + step] {
                if !length || value >= 0.0 {
                    add(TermCase::Is(ScriptLiteral::Number(value)), &mut cases);
                }
            }
        }
    } else {
        cases.extend([TermCase::Other(true), TermCase::Other(false)]);
    }
    TermDomain { term, cases, closed: false }
}

/// The cases of an argument of a decision, from its schema; and whether these are all.
fn decided_cases(
    mention: &TermMention<'_>,
    decisions: &DecisionSchemas<'_>,
) -> Option<(Vec<TermCase>, bool)> {
    let (tool, path) = mention.term.argument.as_ref()?;
    let (_, schema) = decisions.iter().find(|(name, _)| name == tool)?;
    let several = decisions.len() > 1;
    let absent = TermCase::Is(ScriptLiteral::Undefined);
    if path.is_empty() {
        let mut cases = vec![TermCase::Other(true)];
        cases.extend(several.then_some(absent));
        return Some((cases, true));
    }
    let SchemaPathTarget::To(found) = resolve_path(schema, path) else { return None };
    let all = schema_values(found)?;
    let mut cases: Vec<TermCase> = all.into_iter().map(TermCase::Is).collect();
    if several || !requires_path(schema, path) {
        cases.push(absent);
    }
    Some((cases, true))
}

/// One of the decisions is made: its required arguments are there, or none of its arguments are.
fn is_possible(subjects: &[TermDomain], values: &[&TermCase], decisions: &DecisionSchemas<'_>) -> bool {
    let absent = |case: &TermCase| *case == TermCase::Is(ScriptLiteral::Undefined);
    let mut one_made = decisions.len() < 2;
    for (tool, schema) in decisions {
        let own = subjects.iter().zip(values).filter_map(|(subject, value)| {
            let (name, path) = subject.term.argument.as_ref()?;
            (name == tool && subject.closed).then_some((path, *value))
        });
        let must: Vec<bool> =
            own.filter(|(path, _)| requires_path(schema, path)).map(|(_, value)| absent(value)).collect();
        if must.iter().any(|one| *one != must[0]) {
            return false;
        }
        one_made |= must.first() != Some(&true);
    }
    one_made
}

fn formula_holds(test: &ConditionFormula, subjects: &[TermDomain], values: &[&TermCase]) -> bool {
    let case = |term: &ConditionTerm| {
        let at = subjects.iter().position(|one| one.term.text == term.text);
        at.map_or(&TermCase::Other(false), |at| values[at])
    };
    match test {
        ConditionFormula::Constant(flag) => *flag,
        ConditionFormula::Holds(term) => match case(term) {
            TermCase::Is(literal) => literal.is_truthy(),
            TermCase::Other(truthy) => *truthy,
        },
        ConditionFormula::Same(term, literal) => {
            matches!(case(term), TermCase::Is(value) if value == literal)
        }
        ConditionFormula::Order(term, order, than) => satisfies_order(case(term), *order, *than),
        ConditionFormula::Not(one) => !formula_holds(one, subjects, values),
        ConditionFormula::All(list) => list.iter().all(|one| formula_holds(one, subjects, values)),
        ConditionFormula::Any(list) => list.iter().any(|one| formula_holds(one, subjects, values)),
    }
}

fn satisfies_order(case: &TermCase, order: OrderOperator, than: f64) -> bool {
    match case {
        TermCase::Is(ScriptLiteral::Number(value)) => order.compare_values(*value, than),
        TermCase::Is(_) | TermCase::Other(_) => false,
    }
}

/// Says which cases are open: all of them where one decision is all that counts, else an example of what is known.
fn describe_open_cases(subjects: &[TermDomain], missed: &[Vec<&TermCase>]) -> Vec<String> {
    let describe = |subject: &TermDomain, case: &TermCase| {
        let name = match &subject.term.argument {
            Some((tool, path)) => path_text(tool, path),
            None => format!("`{}`", subject.term.text),
        };
        match case {
            TermCase::Is(ScriptLiteral::Undefined) => Some(format!("{name} is missing")),
            TermCase::Is(literal) => Some(format!("{name} is {literal}")),
            TermCase::Other(_) => None,
        }
    };
    match subjects {
        [only] if only.closed => {
            missed.iter().filter_map(|values| describe(only, values[0])).take(NAMED).collect()
        }
        _ => {
            let Some(values) = missed.first() else { return Vec::new() };
            let known = subjects.iter().zip(values).filter(|(subject, _)| subject.closed);
            let parts: Vec<String> = known.filter_map(|(subject, case)| describe(subject, case)).collect();
            if parts.is_empty() { Vec::new() } else { vec![parts.join(" and ")] }
        }
    }
}
