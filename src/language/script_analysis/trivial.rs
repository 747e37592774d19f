//! The scripts that need no parser: `true`, `false` and paths into `common_data`. Most of a file is made of them.

use super::{ConditionFormula, ConditionTerm, ScriptFacts, ScriptLiteral, ScriptName};
use synthdev_domain::script::ScriptForm;

/// The facts of a trivial script, or `None` if it has to be parsed.
pub(super) fn trivial_facts(source: &str) -> Option<ScriptFacts> {
    let text = source.trim();
    let mut facts = ScriptFacts::new(ScriptForm::Expression, source.to_owned());
    facts.constant = match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    };
    if let Some(flag) = facts.constant {
        facts.literal = Some(ScriptLiteral::Bool(flag));
        facts.formula = Some(ConditionFormula::Constant(flag));
        return Some(facts);
    }
    let path = text.strip_prefix("this.").unwrap_or(text);
    let mut keys = path.strip_prefix("common_data.").or_else(|| path.strip_prefix("variables."))?.split('.');
    if !keys.clone().all(is_name) {
        return None;
    }
    let first = keys.next().filter(|key| *key != "variables").or_else(|| keys.next())?;
    let offset = first.as_ptr() as usize - source.as_ptr() as usize;
    facts.data_reads.push(ScriptName { name: first.to_owned(), offset });
    facts.data_path = keys.next().is_none().then(|| first.to_owned());
    facts.formula = Some(ConditionFormula::Holds(ConditionTerm { text: path.to_owned(), argument: None }));
    Some(facts)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$')
}
