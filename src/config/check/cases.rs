//! Which cases the conditions of a state leave open: every combination of values that could matter is tried.

use std::collections::HashMap;

use serde_json::Value;

use super::super::script_facts::{Literal, Order, Term, Test};
use super::decisions::described;
use super::schema::{Leads, follow, requires, values};

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
pub(super) type Decisions<'d> = [(&'d str, &'d Value)];

/// Terms of which a schema says all that they can be, as they are written.
pub(super) type Known = [(String, Value)];

/// What a term can be.
#[derive(Clone, PartialEq, Debug)]
enum Case {
    Is(Literal),
    /// Any other value that holds in a condition, or does not.
    Other(bool),
}

/// A term with all that it can be.
struct Subject {
    term: Term,
    cases: Vec<Case>,
    /// Its cases are all known.
    closed: bool,
}

/// `None` if one of the conditions always holds; else what is known of the cases in which none does: descriptions
/// of the values, empty if there is nothing certain to say.
pub(super) fn open(tests: &[&Test], decisions: &Decisions<'_>, known: &Known) -> Option<Vec<String>> {
    match tried(tests, decisions, known) {
        Some(open) => open,
        // too many to try: two conditions that exclude and complete each other are enough
        None => {
            let pairs = tests
                .iter()
                .enumerate()
                .flat_map(|(at, one)| tests[at + 1..].iter().take(PAIRED).map(move |two| [*one, *two]));
            let complete = pairs.into_iter().any(|pair| tried(&pair, decisions, known) == Some(None));
            if complete { None } else { Some(Vec::new()) }
        }
    }
}

/// `None`: too many cases.
fn tried(tests: &[&Test], decisions: &Decisions<'_>, known: &Known) -> Option<Option<Vec<String>>> {
    let mut mentions = Mentions::default();
    for test in tests {
        collect(test, &mut mentions);
    }
    let mut subjects: Vec<Subject> = Vec::with_capacity(mentions.list.len());
    let mut count = 1_usize;
    for mention in mentions.list {
        if mention.same.len() + mention.numbers.len() > MOST_CONSTANTS {
            return None;
        }
        let subject = subject(mention, decisions, known);
        count = count.checked_mul(subject.cases.len())?;
        if count > MOST || count.saturating_mul(tests.len()) > MOST_TRIED {
            return None;
        }
        subjects.push(subject);
    }
    let mut missed = Vec::new();
    for number in 0..count {
        let mut rest = number;
        let values: Vec<&Case> = subjects
            .iter()
            .map(|one| {
                let case = &one.cases[rest % one.cases.len()];
                rest /= one.cases.len();
                case
            })
            .collect();
        if possible(&subjects, &values, decisions)
            && !tests.iter().any(|test| holds(test, &subjects, &values))
        {
            missed.push(values);
        }
    }
    Some((!missed.is_empty()).then(|| told(&subjects, &missed)))
}

/// A term with the constants that it is compared with.
struct Mention<'t> {
    term: &'t Term,
    same: Vec<&'t Literal>,
    numbers: Vec<f64>,
    ordered: bool,
}

#[derive(Default)]
struct Mentions<'t> {
    list: Vec<Mention<'t>>,
    index: HashMap<&'t str, usize>,
}

fn collect<'t>(test: &'t Test, mentions: &mut Mentions<'t>) {
    match test {
        Test::Constant(_) => {}
        Test::Not(one) => collect(one, mentions),
        Test::All(list) | Test::Any(list) => list.iter().for_each(|one| collect(one, mentions)),
        Test::Holds(term) => {
            mention(term, mentions);
        }
        Test::Same(term, literal) => {
            let mention = mention(term, mentions);
            mention.same.push(literal);
            if let Literal::Number(number) = literal {
                mention.numbers.push(*number);
            }
        }
        Test::Order(term, _, number) => {
            let mention = mention(term, mentions);
            mention.ordered = true;
            mention.numbers.push(*number);
        }
    }
}

fn mention<'m, 't>(term: &'t Term, mentions: &'m mut Mentions<'t>) -> &'m mut Mention<'t> {
    let Mentions { list, index } = mentions;
    let at = *index.entry(&term.text).or_insert_with(|| {
        list.push(Mention { term, same: Vec::new(), numbers: Vec::new(), ordered: false });
        list.len() - 1
    });
    &mut list[at]
}

fn subject(mention: Mention<'_>, decisions: &Decisions<'_>, known: &Known) -> Subject {
    let term = mention.term.clone();
    let answered = known.iter().find(|(text, _)| *text == term.text).and_then(|(_, schema)| values(schema));
    if let Some(all) = answered {
        return Subject { term, cases: all.into_iter().map(Case::Is).collect(), closed: true };
    }
    if let Some((cases, closed)) = decided(&mention, decisions) {
        return Subject { term, cases, closed };
    }
    let mut cases: Vec<Case> = Vec::new();
    let add = |case: Case, cases: &mut Vec<Case>| {
        if !cases.contains(&case) {
            cases.push(case);
        }
    };
    for literal in &mention.same {
        add(Case::Is((*literal).clone()), &mut cases);
    }
    if mention.ordered {
        // a length is a whole number and never negative
        let length = term.text.ends_with(".length");
        let step = if length { 1.0 } else { 0.5 };
        for number in &mention.numbers {
            for value in [number - step, *number, number + step] {
                if !length || value >= 0.0 {
                    add(Case::Is(Literal::Number(value)), &mut cases);
                }
            }
        }
    } else {
        cases.extend([Case::Other(true), Case::Other(false)]);
    }
    Subject { term, cases, closed: false }
}

/// The cases of an argument of a decision, from its schema; and whether these are all.
fn decided(mention: &Mention<'_>, decisions: &Decisions<'_>) -> Option<(Vec<Case>, bool)> {
    let (tool, path) = mention.term.argument.as_ref()?;
    let (_, schema) = decisions.iter().find(|(name, _)| name == tool)?;
    let several = decisions.len() > 1;
    let absent = Case::Is(Literal::Undefined);
    if path.is_empty() {
        let mut cases = vec![Case::Other(true)];
        cases.extend(several.then_some(absent));
        return Some((cases, true));
    }
    let Leads::To(found) = follow(schema, path) else { return None };
    let all = values(found)?;
    let mut cases: Vec<Case> = all.into_iter().map(Case::Is).collect();
    if several || !requires(schema, path) {
        cases.push(absent);
    }
    Some((cases, true))
}

/// One of the decisions is made: its required arguments are there, or none of its arguments are.
fn possible(subjects: &[Subject], values: &[&Case], decisions: &Decisions<'_>) -> bool {
    let absent = |case: &Case| *case == Case::Is(Literal::Undefined);
    let mut one_made = decisions.len() < 2;
    for (tool, schema) in decisions {
        let own = subjects.iter().zip(values).filter_map(|(subject, value)| {
            let (name, path) = subject.term.argument.as_ref()?;
            (name == tool && subject.closed).then_some((path, *value))
        });
        let must: Vec<bool> =
            own.filter(|(path, _)| requires(schema, path)).map(|(_, value)| absent(value)).collect();
        if must.iter().any(|one| *one != must[0]) {
            return false;
        }
        one_made |= must.first() != Some(&true);
    }
    one_made
}

fn holds(test: &Test, subjects: &[Subject], values: &[&Case]) -> bool {
    let case = |term: &Term| {
        let at = subjects.iter().position(|one| one.term.text == term.text);
        at.map_or(&Case::Other(false), |at| values[at])
    };
    match test {
        Test::Constant(flag) => *flag,
        Test::Holds(term) => match case(term) {
            Case::Is(literal) => literal.truthy(),
            Case::Other(truthy) => *truthy,
        },
        Test::Same(term, literal) => matches!(case(term), Case::Is(value) if value == literal),
        Test::Order(term, order, than) => ordered(case(term), *order, *than),
        Test::Not(one) => !holds(one, subjects, values),
        Test::All(list) => list.iter().all(|one| holds(one, subjects, values)),
        Test::Any(list) => list.iter().any(|one| holds(one, subjects, values)),
    }
}

fn ordered(case: &Case, order: Order, than: f64) -> bool {
    match case {
        Case::Is(Literal::Number(value)) => order.holds(*value, than),
        Case::Is(_) | Case::Other(_) => false,
    }
}

/// Says which cases are open: all of them where one decision is all that counts, else an example of what is known.
fn told(subjects: &[Subject], missed: &[Vec<&Case>]) -> Vec<String> {
    let describe = |subject: &Subject, case: &Case| {
        let name = match &subject.term.argument {
            Some((tool, path)) => described(tool, path),
            None => format!("`{}`", subject.term.text),
        };
        match case {
            Case::Is(Literal::Undefined) => Some(format!("{name} is missing")),
            Case::Is(literal) => Some(format!("{name} is {literal}")),
            Case::Other(_) => None,
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
