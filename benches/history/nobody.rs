//! A world in which nothing happens: a past run is opened without any of it.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use synthdev::adapters::git::GitSnapshots;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::adapters::system_clock::{SystemClock, SystemIds};
use synthdev::domain::model::{ModelError, ModelReply, ModelRequest};
use synthdev::domain::script::{ScriptError, ScriptJob, ScriptOutcome};
use synthdev::domain::tool::{
    InterruptedCallStatus, PlannedFileEdit, RerunPolicy, ToolInvocation, ToolOutcome, ToolPreview, ToolSpec,
};
use synthdev::ports::model::{DeltaSink, ModelPort};
use synthdev::ports::script::ScriptPort;
use synthdev::ports::tool::ToolPort;
use synthdev::runtime::handle::{RuntimeHandle, RuntimeOptions, RuntimePorts};

/// The product's way in, on a store of its own.
pub fn handle(file: &Path) -> RuntimeHandle {
    let directory = file.parent().unwrap().to_owned();
    let clock = Arc::new(SystemClock);
    let ports = RuntimePorts {
        models: Arc::new(Nobody),
        tools: Arc::new(Nobody),
        scripts: Arc::new(Nobody),
        snapshots: Arc::new(GitSnapshots::open(directory.clone(), directory, Vec::new(), clock.clone())),
        store: Arc::new(SqliteStore::new(file.to_owned())),
        lock: None,
        clock,
        ids: Arc::new(SystemIds),
    };
    RuntimeHandle::new(ports, RuntimeOptions::default())
}

struct Nobody;

impl ModelPort for Nobody {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        panic!("a run that is only opened asked a model: {request:?}")
    }
}

impl ScriptPort for Nobody {
    fn evaluate(&self, job: ScriptJob) -> BoxFuture<'_, Result<ScriptOutcome, ScriptError>> {
        panic!("a run that is only opened ran a script: {job:?}")
    }
}

impl ToolPort for Nobody {
    fn specs(&self) -> &[ToolSpec] {
        &[]
    }

    fn preview_call<'a>(&'a self, _: &'a ToolInvocation) -> BoxFuture<'a, Option<ToolPreview>> {
        panic!("a run that is only opened previewed a tool")
    }

    fn plan_file_edit<'a>(&'a self, _: &'a ToolInvocation) -> BoxFuture<'a, Option<PlannedFileEdit>> {
        panic!("a run that is only opened foresaw a tool")
    }

    fn check_interrupted_call<'a>(
        &'a self,
        _: &'a ToolInvocation,
        _: &'a PlannedFileEdit,
    ) -> BoxFuture<'a, InterruptedCallStatus> {
        panic!("a run that is only opened examined a tool")
    }

    fn rerun_policy(&self, _: &ToolInvocation) -> RerunPolicy {
        panic!("a run that is only opened asked about a tool")
    }

    fn run<'a>(&'a self, _: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        panic!("a run that is only opened ran a tool")
    }
}
