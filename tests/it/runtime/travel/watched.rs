//! Ports that take down what passes through them: what models and scripts are shown, and the files after every tool.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use synthdev::adapters::javascript::ScriptWorkerPool;
use synthdev::adapters::providers::scripted::ScriptedModel;
use synthdev::adapters::tools::{ProjectTools, ToolSettings};
use synthdev::domain::model::{ModelError, ModelReply, ModelRequest};
use synthdev::domain::script::{ScriptError, ScriptJob, ScriptOutcome};
use synthdev::domain::tool::{ToolInvocation, ToolOutcome};
use synthdev::ports::model::{DeltaSink, ModelPort};
use synthdev::ports::script::ScriptPort;
use synthdev::ports::tool::ToolPort;

use crate::support::tools::as_other_tools;

/// Path; kind with permissions, and bytes.
pub type Tree = BTreeMap<String, (String, Vec<u8>)>;

/// Everything but git's own directory; what is ignored is left out.
pub fn tree(project: &Path) -> Tree {
    let mut seen = Tree::new();
    let mut open = vec![project.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(project).unwrap().display().to_string();
            let about = fs::symlink_metadata(&path).unwrap();
            if name == ".git" || name.ends_with(".log") {
                continue;
            }
            if about.is_dir() {
                open.push(path);
            } else if about.is_symlink() {
                let target = fs::read_link(&path).unwrap().display().to_string().into_bytes();
                seen.insert(name, ("link".to_owned(), target));
            } else {
                let executable = about.permissions().mode() & 0o111 != 0;
                let kind = if executable { "executable" } else { "file" };
                seen.insert(name, (kind.to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    seen
}

/// What went to models and scripts.
#[derive(Clone, Default)]
pub struct Shown(Arc<Mutex<Vec<Value>>>);

impl Shown {
    pub fn take_values(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn add_value(&self, value: Value) {
        self.0.lock().unwrap().push(value);
    }
}

/// If the project has a file `hold.log`, it writes `asked.log` when it is called, and answers once there is a `go.log`.
pub struct Model {
    pub script: ScriptedModel,
    pub shown_values: Shown,
    pub project: PathBuf,
}

impl ModelPort for Model {
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.shown_values
            .add_value(json!({"agent": request.agent, "state": request.state, "messages": request.messages}));
        Box::pin(async move {
            if self.project.join("hold.log").exists() {
                fs::write(self.project.join("asked.log"), "").unwrap();
                while !self.project.join("go.log").exists() {
                    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                }
            }
            self.script.answer_request(request, sink).await
        })
    }
}

pub struct Scripts {
    pub host: ScriptWorkerPool,
    pub shown_values: Shown,
}

impl ScriptPort for Scripts {
    fn evaluate(&self, job: ScriptJob) -> BoxFuture<'_, Result<ScriptOutcome, ScriptError>> {
        let scope = &job.scope;
        self.shown_values.add_value(json!({
            "state": scope.state, "data": *scope.common_data, "contexts": scope.contexts, "inputs": *scope.inputs,
        }));
        self.host.evaluate(job)
    }
}

pub struct Tools {
    inner: ProjectTools,
    project: PathBuf,
    pub trees: Arc<Mutex<Vec<Tree>>>,
}

impl Tools {
    pub fn for_project(project: &Path) -> Self {
        let trees = Arc::new(Mutex::new(vec![tree(project)]));
        Self { inner: ProjectTools::new(ToolSettings::new(project)), project: project.to_owned(), trees }
    }
}

impl ToolPort for Tools {
    as_other_tools!(inner);

    fn run<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async {
            let mut outcome = self.inner.run(invocation).await;
            self.trees.lock().unwrap().push(tree(&self.project));
            // its duration differs each time, and models see it
            outcome.content = without_times(&outcome.content);
            outcome
        })
    }
}

/// Without what is another thing each time: how long it took, and whether a command's last process was gone already.
fn without_times(content: &str) -> String {
    let notice = ",\"notice\":\"processes were still running in the background and have been stopped\"";
    let (content, key) = (content.replace(notice, ""), "\"time_ms\":");
    let mut parts = content.split(key);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(key);
        text.push('0');
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    text
}
