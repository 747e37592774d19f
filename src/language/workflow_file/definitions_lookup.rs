//! What `use` gives names to, looked up by those names.

use std::ops::Range;

use serde_json::Value;

use super::super::did_you_mean::suggest_or_list;
use super::super::source::FileDiagnostics;
use super::recovery_forms::RetryForm;
use super::spanned::{InputForm, SpannedText, StepArguments};

#[derive(Default)]
pub(super) struct NamedDefinitions {
    pub(super) retries: Vec<(String, Vec<RetryForm>)>,
    pub(super) timeouts: Vec<(String, u64)>,
    pub(super) prompts: Vec<(String, InputForm)>,
    pub(super) schemas: Vec<(String, Value)>,
    pub(super) tools: Vec<(String, (SpannedText, StepArguments))>,
}

impl NamedDefinitions {
    pub(super) fn find_retry(
        &self,
        name: &str,
        span: &Range<usize>,
        findings: &mut FileDiagnostics<'_>,
    ) -> Vec<RetryForm> {
        find_definition(&self.retries, "retry", "retries", name, span, findings).unwrap_or_default()
    }

    pub(super) fn has_timeout(&self, name: &str) -> bool {
        self.timeouts.iter().any(|(known, _)| known == name)
    }

    pub(super) fn find_timeout(
        &self,
        name: &str,
        span: &Range<usize>,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<u64> {
        find_definition(&self.timeouts, "timeout", "timeouts", name, span, findings)
    }

    pub(super) fn find_prompt(
        &self,
        name: &str,
        span: &Range<usize>,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<InputForm> {
        find_definition(&self.prompts, "prompt", "prompts", name, span, findings)
    }

    pub(super) fn find_schema(
        &self,
        name: &str,
        span: &Range<usize>,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<Value> {
        find_definition(&self.schemas, "schema", "schemas", name, span, findings)
    }

    /// A tool call of this name, if there is one: other names are those of tools.
    pub(super) fn find_tool(&self, name: &str) -> Option<&(SpannedText, StepArguments)> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, call)| call)
    }
}

fn find_definition<T: Clone>(
    list: &[(String, T)],
    what: &str,
    key: &str,
    name: &str,
    span: &Range<usize>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<T> {
    if let Some((_, found)) = list.iter().find(|(known, _)| known == name) {
        return Some(found.clone());
    }
    let known: Vec<&str> = list.iter().map(|(known, _)| known.as_str()).collect();
    let hint = suggest_or_list(name, "known", &known)
        .unwrap_or_else(|| format!("add it to the workflow: \"use\": {{\"{key}\": {{\"{name}\": …}}}}"));
    findings.add_error(
        "E05",
        span.clone(),
        format!("there is no {what} `{name}` in `use.{key}`"),
        Some(hint),
    );
    None
}
