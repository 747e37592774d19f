//! What is checked before a workflow starts, in one order for every front-end: whether there is such a workflow, whether
//! its definition is sound, whether the inputs fit, whether what it requires is there.
//!
//! Owns the first three. The last one asks servers, so it comes when all that is known here is right:
//! `workflow_requirements.rs`. Refuses to start anything.

use serde_json::{Map, Value};

use crate::definition_check::{UnknownWorkflow, find_workflow};
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::workflow::{WorkflowParameter, WorkflowProgram};
use synthdev_language::inputs::InputError;
use synthdev_settings::catalog::ConfigCatalog;

/// Why a workflow cannot be started by its name.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkflowLookupError {
    Unknown(UnknownWorkflow),
    /// Its definition has errors.
    Broken(Vec<Diagnostic>),
}

/// The program of a workflow by its name.
///
/// # Errors
/// There is none of that name, or its definition has errors.
pub fn find_program(catalog: &ConfigCatalog, name: &str) -> Result<WorkflowProgram, WorkflowLookupError> {
    find_workflow(catalog, name).map_err(WorkflowLookupError::Unknown)?;
    catalog.program(name).map_err(WorkflowLookupError::Broken)
}

/// A program with inputs that fit it: only then is looked for what it requires.
#[derive(Clone, PartialEq, Debug)]
pub struct StartableProgram {
    pub program: WorkflowProgram,
    pub inputs: Map<String, Value>,
}

impl StartableProgram {
    /// `read_inputs` takes the declared inputs.
    ///
    /// # Errors
    /// An input is missing or does not fit.
    pub fn with_inputs(
        program: WorkflowProgram,
        read_inputs: impl FnOnce(&[WorkflowParameter]) -> Result<Map<String, Value>, InputError>,
    ) -> Result<Self, InputError> {
        let declared = program.workflows.first().map(|root| root.inputs.as_slice()).unwrap_or_default();
        let inputs = read_inputs(declared)?;
        Ok(Self { program, inputs })
    }
}
