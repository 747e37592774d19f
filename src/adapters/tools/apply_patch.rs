//! `apply_patch`: changes several files at once. All of it is done, or nothing: every conflict is found before the first
//! file is written, and a write that fails takes back those before it.

mod hunk_match;
mod patch_plan;
mod patch_text;

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use super::truncated_output::shorten_line;
pub(super) use patch_plan::PatchPlan;
use patch_text::parse_patch;

pub(super) const NAME: &str = "apply_patch";

#[derive(Deserialize)]
pub(super) struct ApplyPatchArguments {
    patch: String,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Change, create, move and delete several files of the project at once: all of the patch is \
            applied, or nothing, and the answer names every conflict. Copy the lines around each change exactly from \
            the file (about three before and after); where they occur more than once, put `@@ ` and a line that stands \
            above them. Example:\n\
            *** Begin Patch\n*** Update File: src/main.rs\n@@ fn main() {\n     let count = 1;\n-    show(count);\n\
            +    print(count);\n*** Add File: src/new.rs\n+pub fn print() {}\n*** Delete File: src/old.rs\n\
            *** Update File: a.txt\n*** Move to: b.txt\n*** End Patch\n\
            A unified diff as `git diff` writes it is understood too."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["patch"],
            "properties": {
                "patch": {"type": "string", "minLength": 1,
                    "description": "The whole patch; paths are relative to the project's directory."}}}),
        risk: ToolRisk::Write,
        repeat: None,
    }
}

/// Why no answer of the user lets this call write there.
pub(super) fn refusal(project: &ToolContext, arguments: &ApplyPatchArguments) -> Option<String> {
    let files = parse_patch(&arguments.patch).ok()?;
    let paths = files.iter().flat_map(patch_plan::touched_paths);
    paths
        .map(|path| project.path_guard.resolve_writable(path))
        .find_map(Result::err)
        .map(|error| error.to_string())
}

/// What the call would do.
///
/// # Errors
/// The patch cannot be read, or it has conflicts: all of them.
pub(super) fn plan_patch(
    project: &ToolContext,
    arguments: &ApplyPatchArguments,
) -> Result<PatchPlan, String> {
    PatchPlan::new(&project.path_guard, parse_patch(&arguments.patch)?)
}

/// What the call would do, and answer.
pub(super) fn predict_effect(
    project: &ToolContext,
    arguments: &ApplyPatchArguments,
) -> Result<(PatchPlan, ToolAnswer), String> {
    let plan = plan_patch(project, arguments)?;
    plan.check_permitted()?;
    let told = patch_answer(&plan);
    Ok((plan, told))
}

pub(super) fn run_tool(project: &ToolContext, arguments: &ApplyPatchArguments) -> ToolAnswer {
    let made = plan_patch(project, arguments)
        .and_then(|plan| plan.apply_changes(&project.path_guard).map(|()| patch_answer(&plan)));
    made.unwrap_or_else(ToolAnswer::failure)
}

fn patch_answer(plan: &PatchPlan) -> ToolAnswer {
    let changes = plan.change_lines();
    let summary = match changes.as_slice() {
        [only] => only.clone(),
        several => format!("{} files: {}", several.len(), several.join(", ")),
    };
    ToolAnswer::success(summary).with_fact("files", changes).with_changed_paths(plan.changed_paths())
}
