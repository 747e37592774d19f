//! What a state is in full, field by field, for a user who chose it in a drawing: nothing is shortened.
//!
//! Whatever comes from a file is made printable here; line ends stay.

use super::labels::items_at_once;
use super::model::{GraphNodeDetails, StateField};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::ids::ScriptIx;
use synthdev_domain::terminal_safe;
use synthdev_domain::workflow::{
    ActionSpec, AgentFunction, ForEachSpec, StateBody, StateSpec, ValueSource, WaitSpec, Workflow,
    WorkflowProgram,
};

pub(super) fn state_details(
    program: &WorkflowProgram,
    workflow: &Workflow,
    state: &StateSpec,
) -> GraphNodeDetails {
    let agent = match &state.work {
        StateBody::Agent { agent, .. } => workflow.agent(*agent),
        _ => None,
    };
    let mut fields = FieldList { workflow, list: Vec::new() };
    fields.add_script("script", state.script);
    fields.add_work(program, agent, &state.work);
    fields.add_value("output", &state.output);
    fields.add_text("reads", &state.expects.join(", "));
    if let Some(key) = state.store.as_ref().and_then(|store| store.key.as_ref()) {
        fields.add_text("result in", &format!("common_data.{key}"));
    }
    for rule in &state.recovery.retry {
        fields.add_text("retry", &format!("{}: at most {} times", rule.errors.join(", "), rule.max_attempts));
    }
    if let Some(fallback) = &state.recovery.fallback {
        fields.add_text("fallback", &fallback.to_string());
    }
    if let Some(ms) = state.timeout_ms {
        fields.add_text("time limit", &format!("{} s", ms as f64 / 1_000.0));
    }
    if let Some(visits) = state.max_visits {
        fields.add_text("most visits", &visits.to_string());
    }
    if !state.place.file.is_empty() {
        fields.add_text("file", &format!("{}:{}", state.place.file, state.place.line));
    }
    let agent = agent.map(|agent| terminal_safe::escape_name(&agent.id).into_owned());
    GraphNodeDetails { agent, fields: fields.list }
}

struct FieldList<'w> {
    workflow: &'w Workflow,
    list: Vec<StateField>,
}

impl FieldList<'_> {
    fn add_text(&mut self, name: &'static str, text: &str) {
        if !text.trim().is_empty() {
            let lines: Vec<_> = text.trim_end().lines().map(terminal_safe::escape_name).collect();
            self.list.push(StateField { name, text: lines.join("\n") });
        }
    }

    fn add_script(&mut self, name: &'static str, script: Option<ScriptIx>) {
        let source =
            script.and_then(|at| self.workflow.scripts.get(at.0)).map(|script| script.source.clone());
        self.add_text(name, &source.unwrap_or_default());
    }

    fn add_value(&mut self, name: &'static str, value: &ValueSource) {
        match value {
            ValueSource::Absent => {}
            ValueSource::Text(text) => self.add_text(name, text),
            ValueSource::Value(value) => self.add_text(name, &value.to_string()),
            ValueSource::Script(at) => self.add_script(name, Some(*at)),
            ValueSource::Human => self.add_text(name, "the user's message"),
        }
    }

    fn add_named_values(&mut self, name: &'static str, values: &[(String, ValueSource)]) {
        for (key, value) in values {
            let count = self.list.len();
            self.add_value(name, value);
            if let Some(field) = self.list.get_mut(count) {
                field.text = format!("{} = {}", terminal_safe::escape_name(key), field.text);
            }
        }
    }

    fn add_work(&mut self, program: &WorkflowProgram, agent: Option<&AgentSpec>, work: &StateBody) {
        match work {
            StateBody::None => {}
            StateBody::Agent { function, input, .. } => {
                if let Some(agent) = agent {
                    self.add_text("agent", &format!("{}, role {}", agent.id, agent.role));
                }
                let what = match function {
                    AgentFunction::SendUserMessage => "asks the agent",
                    AgentFunction::Ask => "asks the agent beside its conversation",
                    AgentFunction::AddUserMessage => "adds a message to its conversation",
                    AgentFunction::ClearConversation => "clears its conversation",
                };
                self.add_text("does", what);
                self.add_value("message", input);
            }
            StateBody::Child { workflow, inputs } => {
                let name = program.workflows.get(workflow.0).map_or("?", |child| child.name.as_str());
                self.add_text("workflow", name);
                self.add_named_values("input", inputs);
            }
            StateBody::Parallel(parallel) => {
                let names: Vec<&str> = parallel.branches.iter().map(|branch| branch.name.as_str()).collect();
                self.add_text("branches", &names.join(", "));
            }
            StateBody::ForEach(each) => self.add_loop(program, each),
            StateBody::Action(step) => self.add_action(step),
            StateBody::Pause(pause) => {
                self.add_value("question", &pause.message);
                self.add_text("choices", &pause.choices.join(", "));
            }
            StateBody::Wait(WaitSpec::For(time)) => self.add_value("waits", time),
            StateBody::Wait(WaitSpec::Until(time)) => self.add_value("waits until", time),
            StateBody::Fail { error, cause } => {
                self.add_text("error", error);
                self.add_value("cause", cause);
            }
        }
    }

    fn add_loop(&mut self, program: &WorkflowProgram, each: &ForEachSpec) {
        self.add_value("items", &each.items);
        self.add_text("item", &each.each);
        if let Some(most) = items_at_once(program, each) {
            let wanted = each.max_concurrency.filter(|wanted| *wanted > most);
            let wanted = wanted.map(|wanted| format!(", asks for {wanted}")).unwrap_or_default();
            self.add_text("at once", &format!("{most}{wanted}"));
        }
    }

    fn add_action(&mut self, step: &ActionSpec) {
        self.add_text("tool", &step.tool);
        let arguments = step.arguments.iter().map(|(path, value)| (path.join("."), value.clone()));
        self.add_named_values("argument", &arguments.collect::<Vec<_>>());
    }
}
