//! One workflow while it is being loaded: its file form, its scripts, its cast.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::super::script_analysis::{ScriptFacts, ScriptLibrary};
use super::super::source::SourceFile;
use super::super::workflow_file::{AgentForm, FunctionForm, SpannedText, StateForm, WorkflowForm};
use synthdev_domain::model::ModelChoice;
use synthdev_domain::role::Role;
use synthdev_domain::script::ScriptKind;
use synthdev_domain::source_location::SourceLocation;
use synthdev_domain::tool::ToolSpec;
use synthdev_domain::workflow::AgentFunction;

pub struct CompilationUnit {
    pub form: WorkflowForm,
    /// As `form.states`.
    pub states: Vec<StateScripts>,
    /// As `form.agents`; `None` where the role or its model is missing.
    pub resolved_agents: Vec<Option<ResolvedAgent>>,
    /// As `form.contexts`: the model that sums up, where one is named.
    pub summaries: Vec<Option<ModelChoice>>,
    /// The script file, if there is a sound one.
    pub library: Option<ScriptFile>,
    /// The first agent of each name.
    agents: HashMap<String, usize>,
}

/// A script file with what it offers.
pub struct ScriptFile {
    pub file: SourceFile,
    pub library: ScriptLibrary,
}

/// An agent's role with its model and tools resolved.
#[derive(Clone)]
pub struct ResolvedAgent {
    pub role: Role,
    pub choice: ModelChoice,
    pub tools: Vec<ToolSpec>,
}

/// A script that parses.
pub struct ParsedScript {
    pub kind: ScriptKind,
    pub text: SpannedText,
    pub facts: Rc<ScriptFacts>,
    /// Position of the text if it is in another file; positions in `facts` then mean nothing.
    pub place: Option<SourceLocation>,
}

#[derive(Default)]
pub enum InputScript {
    #[default]
    Absent,
    Text(String),
    Value(Value),
    Script(Box<ParsedScript>),
}

#[derive(Default)]
pub struct StateScripts {
    pub script: Option<ParsedScript>,
    /// As `StateForm::updates`: their values.
    pub updates: Vec<InputScript>,
    pub input: InputScript,
    /// As `StateForm::sub_inputs`.
    pub sub_inputs: Vec<InputScript>,
    /// As `WorkForm::inputs`.
    pub work: Vec<InputScript>,
    /// As `StateForm::catch`: its `before`.
    pub catch: Vec<Option<ParsedScript>>,
    /// As `StateForm::transitions`.
    pub transitions: Vec<TransitionScripts>,
}

#[derive(Default)]
pub struct TransitionScripts {
    /// `None` holds always.
    pub condition: Option<ParsedScript>,
    pub before_script: Option<ParsedScript>,
}

impl InputScript {
    pub fn script(&self) -> Option<&ParsedScript> {
        if let Self::Script(script) = self { Some(script) } else { None }
    }
}

impl StateScripts {
    /// Scripts that run when the state is entered, before its work.
    pub fn entry_scripts(&self) -> impl Iterator<Item = &ParsedScript> {
        let inputs = self.updates.iter().chain([&self.input]).chain(&self.sub_inputs).chain(&self.work);
        self.script.iter().chain(inputs.filter_map(InputScript::script))
    }

    /// Scripts that run when the state is left.
    pub fn exit_scripts(&self) -> impl Iterator<Item = &ParsedScript> {
        self.transitions.iter().flat_map(|one| one.condition.iter().chain(&one.before_script))
    }
}

impl CompilationUnit {
    pub fn new(
        form: WorkflowForm,
        states: Vec<StateScripts>,
        cast: Vec<Option<ResolvedAgent>>,
        summaries: Vec<Option<ModelChoice>>,
        library: Option<ScriptFile>,
    ) -> Self {
        let named = form.agents.iter().enumerate().rev();
        let agents = named.map(|(at, agent)| (agent.id.value.clone(), at)).collect();
        Self { form, states, resolved_agents: cast, summaries, library, agents }
    }

    /// The agent that a state names.
    pub fn find_agent(&self, state: &StateForm) -> Option<(usize, &AgentForm)> {
        let name = state.agent.as_ref()?;
        let at = *self.agents.get(&name.value)?;
        Some((at, self.form.agents.get(at)?))
    }

    /// The agent whose model answers in a state: it is then the last speaker.
    pub fn speaker(&self, state: &StateForm) -> Option<usize> {
        let sends = match &state.function {
            None => true,
            Some(function) => matches!(
                function.value,
                FunctionForm::Agent(AgentFunction::SendUserMessage | AgentFunction::Ask)
            ),
        };
        if sends { self.find_agent(state).map(|(at, _)| at) } else { None }
    }

    /// The tools whose decisions a function of the script file reads.
    pub fn decision_calls(&self, function: &str) -> &[String] {
        let offers = self.library.iter().flat_map(|scripts| &scripts.library.exports);
        offers.into_iter().find(|offer| offer.name == function).map_or(&[], |offer| &offer.calls)
    }

    /// What the script file touches, if one of its names is used (W08).
    pub fn library_facts(&self) -> Option<&ScriptFacts> {
        let library = self.library.as_ref()?;
        self.scripts().any(|script| !script.facts.library_names.is_empty()).then_some(&library.library.facts)
    }

    /// Keys of `common_data` that something writes while it runs: scripts, results that are kept, caught errors,
    /// answers, items.
    pub(super) fn written_keys(&self) -> HashSet<&str> {
        let facts = self.scripts().map(|script| &*script.facts).chain(self.library_facts());
        let mut keys: HashSet<&str> =
            facts.flat_map(|facts| &facts.data_writes).map(|key| key.name.as_str()).collect();
        keys.extend(self.form.states.iter().flat_map(StateForm::written_keys));
        keys
    }

    /// Whether a script may write any key.
    pub(super) fn is_opaque(&self) -> bool {
        self.scripts().map(|script| &*script.facts).chain(self.library_facts()).any(|facts| facts.opaque)
    }

    /// Every script, state by state.
    pub fn scripts(&self) -> impl Iterator<Item = &ParsedScript> {
        self.states.iter().flat_map(|state| {
            state.entry_scripts().chain(state.exit_scripts()).chain(state.catch.iter().flatten())
        })
    }
}
