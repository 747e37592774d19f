//! The project and the session in it: facts, trust, files, and what is kept for later sessions.

use std::sync::PoisonError;

use super::catalog_lines::can_read_files;
use super::error_text::no_model;
use super::{TuiBackend, answer_blocking, config_problems, ui_settings};
use crate::system_context;
use synthdev_bootstrap::{config_sources, logs, trust, wiring};
use synthdev_language::model_selector::ModelSelector;
use synthdev_service::session::{
    ProjectRequest, ProjectResponse, ServiceAnswer, StandingPermission, StatusFacts,
};
use synthdev_settings::roles::tools_for;
use synthdev_settings::trust::TrustVerdict;

/// Most files that can be mentioned with `@`: in a longer list a few letters find nothing.
const FILES: usize = 20_000;

impl TuiBackend {
    pub(crate) fn answer_project_request(&self, request: ProjectRequest) -> ServiceAnswer<ProjectResponse> {
        match request {
            ProjectRequest::Status => ServiceAnswer::now(ProjectResponse::Status(self.status_facts())),
            ProjectRequest::RoleTools(role) => {
                let catalog = self.current_catalog();
                let found = catalog.roles().find_role(&role).ok();
                let tools_available = found.map_or(0, |role| tools_for(role, catalog.tools()).0.len());
                let tools_total = catalog.tools().len();
                ServiceAnswer::now(ProjectResponse::RoleTools { role, tools_available, tools_total })
            }
            ProjectRequest::TrustQuestion => {
                ServiceAnswer::now(ProjectResponse::TrustQuestion(self.untrusted_definitions()))
            }
            ProjectRequest::Trust(trusted) => {
                let result = self.answer_trust_question(trusted);
                ServiceAnswer::now(ProjectResponse::Trusted { trusted, result })
            }
            ProjectRequest::Files => {
                let project = self.context.project.clone();
                answer_blocking(
                    move || Ok(system_context::list_files(&project, FILES).0),
                    ProjectResponse::Files,
                )
            }
            ProjectRequest::AllowAlways(permission) => {
                let saved = self.save_permission(permission.clone(), true);
                ServiceAnswer::later(async move { ProjectResponse::AllowedAlways(permission, saved.await) })
            }
            ProjectRequest::RevokeAlways(rule) => {
                let saved = self.save_permission(StandingPermission::Rule(rule), false);
                ServiceAnswer::later(async move { ProjectResponse::RevokedAlways(saved.await) })
            }
            ProjectRequest::Recall => {
                let found = self.load_input_history();
                ServiceAnswer::later(async move { ProjectResponse::Recalled(found.await) })
            }
            ProjectRequest::Remember(text) => match self.save_to_input_history(&text) {
                Ok(()) => ServiceAnswer::nothing(),
                Err(reason) => ServiceAnswer::now(ProjectResponse::NotKept(reason)),
            },
            ProjectRequest::Verbosity(wanted) => {
                let level = wanted.map_or_else(logs::current_verbosity, logs::set_verbosity);
                let log = logs::log_file(&self.context.dirs.data).display().to_string();
                ServiceAnswer::now(ProjectResponse::Verbosity(level, log))
            }
        }
    }

    pub(crate) fn status_facts(&self) -> StatusFacts {
        let catalog = self.current_catalog();
        let role = catalog.settings().default_role().to_owned();
        let found = catalog.roles().find_role(&role).ok();
        let choice = found.map(|role| catalog.select_model(&ModelSelector::for_role(role)));
        let notice = match &choice {
            Some(Err(missing)) => Some(no_model(&missing.message)),
            _ => None,
        };
        let mut branch = self.branch.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = found.map(|role| tools_for(role, catalog.tools()).0).unwrap_or_default();
        StatusFacts {
            tools_available: tools.len(),
            reads_files: can_read_files(&tools),
            tools_total: catalog.tools().len(),
            model: choice.and_then(Result::ok).map_or_else(|| "no model".to_owned(), |choice| choice.model),
            environment: catalog.environment_files().map(str::to_owned).collect(),
            branch: branch.get_or_insert_with(|| ui_settings::current_branch(&self.context.project)).clone(),
            notice,
            role,
        }
    }

    /// A yes loads the project's own definitions, and returns their errors.
    fn answer_trust_question(&self, yes: bool) -> Result<Vec<String>, String> {
        if !yes {
            self.exclude_project_definitions();
            return Ok(Vec::new());
        }
        let told = |error: anyhow::Error| format!("{error:#}");
        let changed =
            || "the files changed while the question was open: restart synthdev to review them".to_owned();
        let files = trust::project_files(&self.context.project);
        if !files.same_as(&self.shown_files.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Err(changed());
        }
        trust::decide_trust(&self.context, &files, true).map_err(told)?;
        let gathered =
            config_sources::gather_sources(&self.context, self.overrides.clone(), false).map_err(told)?;
        if gathered.trust != TrustVerdict::Trusted {
            return Err(changed());
        }
        let catalog = wiring::load_catalog(&self.context, gathered.sources);
        let known = config_problems(&self.current_catalog());
        let new = config_problems(&catalog).into_iter().filter(|line| !known.contains(line)).collect();
        self.apply_catalog(catalog);
        Ok(new)
    }
}
