//! States that ask for more branches or items at once than the workflow that is started allows (W12): they get fewer,
//! and would wait without a word.

use super::super::source::FileDiagnostics;
use super::super::workflow_file::{StateForm, WorkForm, WorkflowForm};
use synthdev_domain::workflow::WorkflowLimits;

/// `root`: the workflow that is started, whose limit is for the whole run.
pub(super) fn check_concurrency(
    form: &WorkflowForm,
    root: &WorkflowForm,
    findings: &mut FileDiagnostics<'_>,
) {
    let declared = root.limits.max_concurrency;
    let allowed = declared.unwrap_or(WorkflowLimits::default().max_concurrency);
    for state in &form.states {
        let Some(wanted) = requested_concurrency(state).filter(|wanted| *wanted > allowed) else { continue };
        let (name, root) = (&state.name.value, &root.name.value);
        let what = match declared {
            Some(_) => format!("`limits.max_concurrency` of `{root}` is {allowed}"),
            None => format!("`{root}` sets no `limits.max_concurrency`, which is {allowed} then"),
        };
        let message = format!("`{name}` asks for {wanted} at once and gets {allowed}: {what}");
        let hint =
            format!("write \"limits\": {{\"max_concurrency\": {wanted}}} into `{root}`, or ask for fewer");
        findings.add_warning("W12", state.name.span.clone(), message, Some(hint));
    }
}

/// How many a state wants to run at once. Branches are never more than there are.
fn requested_concurrency(state: &StateForm) -> Option<u32> {
    match &state.work {
        WorkForm::Parallel(form) => {
            let branches = u32::try_from(form.branches.len()).unwrap_or(u32::MAX);
            form.spec.max_concurrency.map(|wanted| wanted.min(branches))
        }
        WorkForm::ForEach(form) => form.spec.max_concurrency,
        WorkForm::Plain
        | WorkForm::Step(_)
        | WorkForm::Pause(_)
        | WorkForm::Wait(_)
        | WorkForm::Fail(_)
        | WorkForm::Final => None,
    }
}
