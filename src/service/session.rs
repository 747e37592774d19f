//! What a session, on a screen or in lines, asks of the rest of the program: one request, one response, one method.
//!
//! Each subject has its requests, its responses and their data in one file below; the program answers a subject in one
//! file, and the session shows its responses in one. Texts of errors are complete messages for the user: what happened,
//! where, what to do next; several lines are fine. Refuses: types of the screen, and answering anything itself.

mod answer;
mod definitions;
mod editor;
mod lookups;
mod project;
mod runs;
mod setup;
mod start;

pub use answer::ServiceAnswer;
pub use definitions::{ChosenRole, DefinitionRequest, DefinitionResponse, RoleLine, ToolLine, WorkflowLine};
pub use editor::{
    CatalogSymbols, EditFile, EditFileKind, EditorCheckReport, EditorRequest, EditorResponse,
    EditorSaveError, EditorSimulatedRun, FilePosition, NewEditFile, NewFileRequest, NewFileTemplate,
    NewFileTemplates, OpenedEditFile, SavedEditFile, ToolSymbol, definition_file_name,
};
pub use lookups::{
    IndexingRequest, IndexingResponse, LookupPage, LookupRequest, LookupResponse, ShellOutcome,
    ShellSuggestion, ShellSuggestionResponse,
};
pub use project::{
    ConfigReload, ProjectRequest, ProjectResponse, RecalledInput, StandingPermission, StatusFacts,
    UntrustedDefinitions,
};
pub use runs::{
    ActionPreview, FileWorkKind, FileWorkWatch, ResumableRuns, RunFilter, RunListPurpose, RunRequest,
    RunResponse, RunStepList, SearchHitLine, SearchHitPage, SnapshotOperation, TimeTravelOutcome,
    TimeTravelRequest,
};
pub use setup::{SetupModel, SetupRequest, SetupResponse, SetupServer};
pub use start::{PendingStart, StartPreparation, StartRequest, StartResponse};

/// What a session can ask, by subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionRequest {
    Start(StartRequest),
    Definitions(DefinitionRequest),
    Runs(RunRequest),
    Project(ProjectRequest),
    Lookup(LookupRequest),
    /// With the number of the editor.
    Editor(u64, Box<EditorRequest>),
    /// With the number of the dialog; 0 for the question that opens one.
    Setup(u64, Box<SetupRequest>),
}

/// What comes back. A number is that of the request.
#[derive(Clone, Debug)]
pub enum SessionResponse {
    Start(StartResponse),
    Definitions(DefinitionResponse),
    Runs(RunResponse),
    Project(ProjectResponse),
    Lookup(LookupResponse),
    Editor(u64, EditorResponse),
    Setup(u64, SetupResponse),
    /// Files of the configuration have changed; in front of the answer to a request that reads them.
    Reloaded {
        reload: ConfigReload,
        /// The request, which continues after the question is answered.
        held_request: Option<Box<SessionRequest>>,
    },
}

/// Everything behind a session. Cheap to call: what takes a while is in the answer, and runs where that is awaited.
pub trait SessionService: Send + Sync {
    fn answer(&self, request: SessionRequest) -> ServiceAnswer<SessionResponse>;
}

impl SessionRequest {
    /// It begins something with the project's own definitions, or without them.
    pub fn depends_on_trust(&self) -> bool {
        match self {
            Self::Start(request) => !matches!(request, StartRequest::Breakpoints(_)),
            Self::Definitions(DefinitionRequest::ChooseWorkflow(_) | DefinitionRequest::Role(_)) => true,
            _ => false,
        }
    }

    /// It reads workflows, roles or servers of tools as they are now.
    pub fn reads_definitions(&self) -> bool {
        match self {
            Self::Definitions(request) => !matches!(request, DefinitionRequest::Prices(_)),
            Self::Lookup(LookupRequest::Page(LookupPage::McpServers(_) | LookupPage::McpChange(_)))
            | Self::Project(ProjectRequest::RoleTools(_)) => true,
            _ => self.depends_on_trust(),
        }
    }

    /// The user may be asked something before it is answered: never while typing.
    pub fn may_ask_user(&self) -> bool {
        !matches!(
            self,
            Self::Definitions(DefinitionRequest::Names) | Self::Project(ProjectRequest::RoleTools(_))
        )
    }
}

/// What belongs to a subject is a request, or a response, of a session.
macro_rules! subject_conversions {
    ($($subject:ident: $request:ident, $response:ident;)*) => {$(
        impl From<$request> for SessionRequest {
            fn from(request: $request) -> Self {
                Self::$subject(request)
            }
        }

        impl From<$response> for SessionResponse {
            fn from(response: $response) -> Self {
                Self::$subject(response)
            }
        }
    )*};
}

subject_conversions! {
    Start: StartRequest, StartResponse;
    Definitions: DefinitionRequest, DefinitionResponse;
    Runs: RunRequest, RunResponse;
    Project: ProjectRequest, ProjectResponse;
    Lookup: LookupRequest, LookupResponse;
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_engine::steering::BreakpointSet;

    #[test]
    fn what_a_request_depends_on() {
        let name = || "own".to_owned();
        let chat = StartRequest::Chat { role: name() };
        let workflow = StartRequest::Workflow { name: name(), input: String::new() };
        // begins with the project's definitions, reads them, may ask about them
        let rows: &[(SessionRequest, bool, bool, bool)] = &[
            (chat.into(), true, true, true),
            (workflow.into(), true, true, true),
            (StartRequest::Breakpoints(BreakpointSet::default()).into(), false, false, true),
            (DefinitionRequest::ChooseWorkflow(name()).into(), true, true, true),
            (DefinitionRequest::Role(name()).into(), true, true, true),
            (DefinitionRequest::Roles(name()).into(), false, true, true),
            (DefinitionRequest::Workflows.into(), false, true, true),
            (DefinitionRequest::Tools(name()).into(), false, true, true),
            (DefinitionRequest::Names.into(), false, true, false),
            (DefinitionRequest::Prices(Vec::new()).into(), false, false, true),
            (ProjectRequest::Status.into(), false, false, true),
            (ProjectRequest::RoleTools(name()).into(), false, true, false),
            (LookupRequest::Page(LookupPage::McpServers(None)).into(), false, true, true),
            (LookupRequest::Page(LookupPage::Config(None)).into(), false, false, true),
        ];
        for (request, depends, reads, asks) in rows {
            let found = (request.depends_on_trust(), request.reads_definitions(), request.may_ask_user());
            assert_eq!(found, (*depends, *reads, *asks), "{request:?}");
        }
    }
}
