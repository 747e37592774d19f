//! Names of a test against its workflow: states, agents, tools. A slip here would make a test that cannot fail.

use std::ops::Range;

use super::{ANY_TOOL, TestScenario, test_file_diagnostic};
use crate::did_you_mean;
use crate::json::{JsonNode, JsonNodeKind};
use crate::source::SourceFile;
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::workflow::{WorkflowProgram, without_item_index};

impl TestScenario {
    /// The workflow that the test, or the name of its file, is for does not exist (T05).
    pub fn unknown_workflow(&self, file: &SourceFile, name: &str, known: &[&str]) -> Diagnostic {
        let span = self.workflow.as_ref().map_or(self.span.clone(), |name| name.span.clone());
        let message = format!("there is no workflow `{name}`");
        let hint = did_you_mean::suggestion_hint(name, known.iter().copied())
            .unwrap_or_else(|| "name it: \"workflow\": \"…\"; `synthdev workflows` lists them".to_owned());
        test_file_diagnostic(file, "T05", span, message, Some(hint))
    }

    /// The file beside the test file holds the workflow, or would if it could be read (T05).
    pub fn broken_workflow(&self, file: &SourceFile, name: &str, beside: &str) -> Diagnostic {
        let span = self.workflow.as_ref().map_or(self.span.clone(), |name| name.span.clone());
        let message = format!("the workflow `{name}` cannot be tested: {beside} has errors");
        test_file_diagnostic(
            file,
            "T05",
            span,
            message,
            Some("correct them first: they are shown here, too".to_owned()),
        )
    }

    /// Every name that the program, its children and `tools` do not have (T04).
    pub fn unknown_names(
        &self,
        file: &SourceFile,
        program: &WorkflowProgram,
        tools: &[&str],
    ) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mut check = |what: &str, name: &str, span: &Range<usize>, known: &[&str]| {
            let hint = did_you_mean::suggest_or_list(name, "there are", known);
            found.push(test_file_diagnostic(
                file,
                "T04",
                span.clone(),
                format!("there is no {what} `{name}`"),
                hint,
            ));
        };
        let root = |at: usize| at == 0;
        let states: Vec<(bool, &str)> = program
            .workflows
            .iter()
            .enumerate()
            .flat_map(|(at, workflow)| {
                workflow.states.iter().map(move |state| (root(at), state.name.as_str()))
            })
            .collect();
        let known: Vec<&str> = states.iter().filter(|(root, _)| *root).map(|(_, name)| *name).collect();
        for state in self.expect.states().filter(|state| !is_state(&state.value, &states)) {
            check("state", &state.value, &state.span, &known);
        }
        let agents: Vec<&str> = program
            .workflows
            .iter()
            .flat_map(|workflow| workflow.agents.iter().map(|agent| agent.id.as_str()))
            .collect();
        let replies = self.node.get("replies").and_then(JsonNode::members).unwrap_or_default();
        for member in replies.iter().filter(|member| !agents.contains(&member.key.as_str())) {
            check("agent", &member.key, &member.key_span, &agents);
        }
        let known_tool = |tool: &str| tool == ANY_TOOL || tools.contains(&tool);
        for (tool, _) in self.results.iter().filter(|(tool, _)| !known_tool(&tool.value)) {
            check("tool", &tool.value, &tool.span, tools);
        }
        for (name, span) in
            self.asking_states().chain(self.said_states()).filter(|(name, _)| !is_state(name, &states))
        {
            check("state", name, span, &known);
        }
        found
    }

    /// `state` of what the user says.
    fn said_states(&self) -> impl Iterator<Item = (&str, &Range<usize>)> {
        let said = self.node.get("said").and_then(JsonNode::items).unwrap_or_default();
        said.iter().filter_map(|message| {
            let node = message.get("state")?;
            Some((node.as_str()?, &node.span))
        })
    }

    /// `state` of the answers.
    fn asking_states(&self) -> impl Iterator<Item = (&str, &Range<usize>)> {
        let answers = self.node.get("answers").and_then(JsonNode::items).unwrap_or_default();
        answers.iter().filter_map(|answer| {
            let node =
                answer.get("state").filter(|_| answer.get("answer").or(answer.get("timeout")).is_some())?;
            if let JsonNodeKind::String(name) = &node.kind { Some((name.as_str(), &node.span)) } else { None }
        })
    }
}

/// A state of the workflow itself, or `child/state`, `child/grandchild/state` of those that it calls.
fn is_state(name: &str, states: &[(bool, &str)]) -> bool {
    let name = &*without_item_index(name);
    let below = |state: &str| name.strip_suffix(state).is_some_and(|before| before.ends_with('/'));
    states.iter().any(|(root, state)| if *root { *state == name } else { below(state) })
}
