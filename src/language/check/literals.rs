//! Literal values of typed states that can never work (E10): lengths of time, and times.

use super::super::source::FileDiagnostics;
use super::super::workflow_file::{InputForm, WaitForm, WorkForm};
use super::{CompilationUnit, InputScript};
use synthdev_domain::duration::{duration_text_ms, instant_ms};

pub(super) fn check_literals(unit: &CompilationUnit, findings: &mut FileDiagnostics<'_>) {
    for (state, scripts) in unit.form.states.iter().zip(&unit.states) {
        let WorkForm::Wait(wait) = &state.work else { continue };
        if let Some(InputScript::Text(text)) = scripts.work.first() {
            check_wait_text(wait, text, findings);
        }
    }
}

/// A text that is neither an expression nor what it should be.
fn check_wait_text(wait: &WaitForm, text: &str, findings: &mut FileDiagnostics<'_>) {
    let span = match &wait.input {
        InputForm::Auto(text) | InputForm::Words(text) | InputForm::Text(text) => text.span.clone(),
        InputForm::Expression(_)
        | InputForm::Template(_)
        | InputForm::File(_)
        | InputForm::Value(_)
        | InputForm::Request(_) => return,
    };
    if wait.until_time {
        if let Err(why) = instant_ms(&text.into()) {
            let hint = "write a time such as \"2030-01-31T09:00:00Z\", or an expression";
            findings.add_error("E10", span, why, Some(hint.to_owned()));
        }
    } else if let Err(why) = duration_text_ms(text) {
        let hint = "write seconds, an ISO 8601 duration such as \"PT5M\", or an expression";
        findings.add_error("E10", span, why, Some(hint.to_owned()));
    }
}
