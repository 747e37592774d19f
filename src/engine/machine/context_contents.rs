//! What is in the conversations of a run, in numbers.

use super::Machine;
use crate::branch::Branch;
use crate::conversation::LiveConversation;
use synthdev_domain::context::statistics::ContextStatistics;
use synthdev_domain::workflow::Workflow;

impl Machine {
    /// Every conversation that there is now, those of the workflow itself first. A child workflow and a branch take
    /// theirs with them when they end.
    pub fn context_statistics(&self) -> Vec<ContextStatistics> {
        let mut found = Vec::new();
        for branch in self.core.branches.sorted() {
            for (at, frame) in branch.frames.iter().enumerate() {
                let Some(workflow) = self.core.spec.program.workflows.get(frame.workflow.0) else { continue };
                let path = self.path_before(branch, at);
                for (spec, conversation) in workflow.contexts.iter().zip(&frame.conversations) {
                    found.push(conversation_statistics(
                        format!("{path}{}", spec.name),
                        workflow,
                        conversation,
                    ));
                }
            }
        }
        found
    }

    /// What stands before the names of a frame's states.
    fn path_before(&self, branch: &Branch, at: usize) -> String {
        let state = self.core.state_path_in(branch, at);
        state.rsplit_once('/').map_or_else(String::new, |(path, _)| format!("{path}/"))
    }
}

fn conversation_statistics(
    name: String,
    workflow: &Workflow,
    conversation: &LiveConversation,
) -> ContextStatistics {
    let role_of = |id: &str| Some(workflow.agents.iter().find(|agent| agent.id == id)?.role.clone());
    let pinned = conversation.pinned_entries.iter().map(|(_, entry)| entry);
    let entries = pinned.chain(&conversation.log.entries);
    let mut found = ContextStatistics::from_entries(name, entries, role_of);
    found.left_out = conversation.length().saturating_sub(found.messages);
    found.messages = conversation.length();
    found.summarized = conversation.summary.as_ref().map_or(0, |summary| summary.replaced_count);
    found
}
