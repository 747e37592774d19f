//! From a name to something that runs: the seam between the catalogue and lowering.

use std::sync::Arc;

use super::ConfigCatalog;
use crate::file_kind::FileKind;
use crate::roles::{tools_for, unmatched_patterns};
use synthdev_domain::context::DEFAULT_MAX_LENGTH;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::model::ModelChoice;
use synthdev_domain::role::Role;
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};
use synthdev_domain::tool::ToolSpec;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::companion_files;
use synthdev_language::lower::{
    LinkContext, LookupFailure, StatedModelLookup, chat_program, lower_file, lower_workflow,
    with_spawnable_roles,
};
use synthdev_language::model_selector::{LEVELS, ModelSelector};
use synthdev_language::source::SourceFile;

/// A program with its warnings and notes, or the errors that keep it from running.
pub type ProgramCheckResult = Result<(WorkflowProgram, Vec<Diagnostic>), Vec<Diagnostic>>;

/// As [`ProgramCheckResult`], for the workflows of a file.
pub type FileCheckResult = Result<(Vec<WorkflowProgram>, Vec<Diagnostic>), Vec<Diagnostic>>;

impl ConfigCatalog {
    /// The workflow with everything it calls, ready to run.
    ///
    /// # Errors
    /// All findings, if one of them is an error: first what is wrong with the definition.
    pub fn program(&self, name: &str) -> Result<WorkflowProgram, Vec<Diagnostic>> {
        let checked = self.check_workflow(name).map_err(|mut found| {
            let missing = self.missing_models();
            // a stable sort
            found.sort_by_key(|finding| missing.contains(&finding.message));
            found
        });
        checked.map(|(program, _)| program)
    }

    /// What is said of each level that has no model.
    pub fn missing_models(&self) -> Vec<String> {
        let missing = LEVELS.iter().filter_map(|level| self.model_for_level(level).err());
        missing.map(|found| found.message).collect()
    }

    /// As [`ConfigCatalog::program`], with warnings and notes kept (`synthdev check`).
    ///
    /// # Errors
    /// All findings, if one of them is an error.
    pub fn check_workflow(&self, name: &str) -> ProgramCheckResult {
        self.check_workflow_for(name, None)
    }

    /// As [`ConfigCatalog::check_workflow`]; the program states the models of other settings, where those have them.
    ///
    /// # Errors
    /// All findings, if one of them is an error.
    pub fn check_workflow_for(&self, name: &str, models_of: Option<&Self>) -> ProgramCheckResult {
        let (program, mut found) =
            self.with_link_context(models_of, |surroundings| lower_workflow(name, surroundings))?;
        let stray = self.stray_keys(&program);
        if stray.is_empty() {
            return Ok((program, found));
        }
        found.extend(stray);
        Err(found)
    }

    /// Every workflow of one file, in the file's order; it may call workflows of the catalogue.
    ///
    /// # Errors
    /// All findings, if one of them is an error.
    pub fn check_file(&self, file: &SourceFile) -> FileCheckResult {
        self.check_file_for(file, None)
    }

    /// As [`ConfigCatalog::check_file`]; the programs state the models of other settings, where those have them.
    ///
    /// # Errors
    /// All findings, if one of them is an error.
    pub fn check_file_for(&self, file: &SourceFile, models_of: Option<&Self>) -> FileCheckResult {
        let lowered = self.with_link_context(models_of, |surroundings| lower_file(file, surroundings));
        let (programs, mut found) = lowered
            .map_err(|found| FileKind::reject_as_workflow(file).map_or(found, |foreign| vec![foreign]))?;
        let mut stray: Vec<Diagnostic> =
            programs.iter().flat_map(|program| self.stray_keys(program)).collect();
        stray.dedup();
        if stray.is_empty() {
            return Ok((programs, found));
        }
        found.extend(stray);
        Err(found)
    }

    /// Keys of providers that the workflow would send elsewhere; none of one that is broken otherwise.
    pub(super) fn stray_keys_of(&self, name: &str) -> Vec<Diagnostic> {
        let lowered = self.with_link_context(None, |surroundings| lower_workflow(name, surroundings));
        lowered.map(|(program, _)| self.stray_keys(&program)).unwrap_or_default()
    }

    /// Single-agent mode with a role. Tool rounds follow `max_tool_calls`; the conversation may fill the
    /// model's window instead of a workflow's default length.
    ///
    /// # Errors
    /// What is wrong with the role or with its level's model.
    pub fn chat_program(&self, role: &str) -> Result<WorkflowProgram, Vec<Diagnostic>> {
        let role = self.role(role).map_err(|missing| vec![lookup_diagnostic("C17", missing)])?;
        let choice = self.select_model(&ModelSelector::for_role(&role)).map_err(|found| vec![*found])?;
        let (tools, _) = tools_for(&role, &self.tools);
        let program = chat_program(role.clone(), choice, tools);
        let mut program =
            self.with_link_context(None, |surroundings| with_spawnable_roles(program, &role, surroundings));
        for workflow in &mut program.workflows {
            let workflow = Arc::make_mut(workflow);
            let length = workflow.agents.first().map(|agent| conversation_length(&agent.choice));
            for agent in &mut workflow.agents {
                agent.max_tool_rounds = self.settings.max_tool_calls();
            }
            for context in &mut workflow.contexts {
                context.max_length = length.unwrap_or(context.max_length);
            }
        }
        Ok(program)
    }

    fn with_link_context<T>(&self, models_of: Option<&Self>, work: impl FnOnce(&LinkContext<'_>) -> T) -> T {
        let role = |name: &str| self.role(name);
        let choice =
            |wish: &ModelSelector| self.select_model(wish).map_err(|found| (found.message, found.hint));
        let given =
            |role: &Role, tools: &[ToolSpec]| (tools_for(role, tools).0, unmatched_patterns(role, tools));
        let text = |file: &SourceFile, path: &str| self.companion_file(file, path);
        let role_names: Vec<String> = self.roles.iter().map(Role::full_name).collect();
        let mcp_servers: Vec<String> = self.mcp_servers.keys().cloned().collect();
        let stated = models_of.map(|settings| {
            move |wish: &ModelSelector, judged: &ModelChoice| {
                settings.select_model(wish).unwrap_or_else(|_| without_model(judged))
            }
        });
        work(&LinkContext {
            files: &self.files.workflows,
            unreadable_rival: &|name| self.workflow(name)?.unreadable_rival.clone(),
            role: &role,
            role_names: &role_names,
            agent_limits: self.settings.agent_limits(),
            choice: &choice,
            stated_model: stated.as_ref().map(|stated| stated as &StatedModelLookup<'_>),
            tools: &self.tools,
            mcp_servers: &mcp_servers,
            resolve_role_tools: &given,
            text: &text,
        })
    }

    /// A text file beside a workflow file. The files of the layers are loaded already; a companion of a file that the
    /// command line names is read now.
    ///
    /// # Errors
    /// The path leaves the directory, or the file cannot be read.
    pub fn companion_file(&self, file: &SourceFile, path: &str) -> Result<Option<SourceFile>, LookupFailure> {
        let name = companion_files::companion_path(file, path)?;
        if let Some(known) =
            self.files.texts.iter().find(|text| text.layer == file.layer && text.name == name)
        {
            return Ok(Some(known.clone()));
        }
        let reader = self.files.reader.as_ref().filter(|_| file.layer == ConfigLayer::CommandLine);
        match reader.map(|reader| reader.read_companion(file, path)) {
            None | Some(Ok(None)) => Ok(None),
            Some(Ok(Some(text))) => Ok(Some(SourceFile::new(file.layer, name, text))),
            Some(Err(why)) => Err((format!("`{path}` cannot be read: {why}"), None)),
        }
    }

    fn role(&self, name: &str) -> Result<Role, LookupFailure> {
        self.roles.find_role(name).cloned().map_err(|lookup| (lookup.message(), lookup.hint()))
    }
}

/// No model is set for it: that must not be taken for one without a price.
fn without_model(judged: &ModelChoice) -> ModelChoice {
    let model = format!("the level `{}`, which has no model", judged.level);
    ModelChoice { model, price: None, ..judged.clone() }
}

/// Characters: two for each token of the window, so that prompt, tools and answer still fit; the default
/// where the window is unknown.
pub(super) fn conversation_length(choice: &ModelChoice) -> usize {
    let tokens = choice.context_size.and_then(|tokens| usize::try_from(tokens).ok());
    tokens.map_or(DEFAULT_MAX_LENGTH, |tokens| tokens.saturating_mul(2))
}

fn lookup_diagnostic(code: &str, (message, hint): LookupFailure) -> Diagnostic {
    Diagnostic {
        code: code.to_owned(),
        severity: DiagnosticSeverity::Error,
        message,
        place: SourceLocation { file: "roles".to_owned(), line: 0, column: 0 },
        span: 0..0,
        hint,
    }
}
