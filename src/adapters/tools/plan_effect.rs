//! The effect of a call on files, worked out before it runs: which tools have one.

use synthdev_domain::tool::{PlannedFileEdit, ToolInvocation};

use super::planned_change::PlannedFileChange;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use super::{ProjectTools, apply_patch, edit_file, expected_effect, write_file};

impl ProjectTools {
    pub(super) async fn expected_effect(&self, invocation: &ToolInvocation) -> Option<PlannedFileEdit> {
        match invocation.tool.as_str() {
            write_file::NAME => {
                let arguments = self.read_arguments(invocation).ok()?;
                self.preview_file_change(write_file::NAME, move |project| {
                    write_file::predict_effect(project, &arguments)
                })
                .await
            }
            edit_file::NAME => {
                let arguments = self.read_arguments(invocation).ok()?;
                self.preview_file_change(edit_file::NAME, move |project| {
                    edit_file::predict_effect(project, &arguments)
                })
                .await
            }
            apply_patch::NAME => {
                let arguments = self.read_arguments(invocation).ok()?;
                let planned = self.run_blocking(move |project| {
                    let (plan, told) = apply_patch::predict_effect(project, &arguments).ok()?;
                    expected_effect::from_patch(&plan, told, project.cap)
                });
                planned.await.flatten()
            }
            _ => None,
        }
    }

    async fn preview_file_change(
        &self,
        tool: &'static str,
        predict: impl FnOnce(&ToolContext) -> Result<(PlannedFileChange, ToolAnswer), String> + Send + 'static,
    ) -> Option<PlannedFileEdit> {
        let planned = self.run_blocking(move |project| {
            let (change, told) = predict(project).ok()?;
            Some(expected_effect::from_change(&change, told, tool, project.cap))
        });
        planned.await.flatten()
    }
}
