//! A project under git, a runtime with all its real parts, and one run that was recorded in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use synthdev::adapters::git::GitSnapshots;
use synthdev::adapters::javascript::ScriptWorkerPool;
use synthdev::adapters::project_lock::FileLock;
use synthdev::adapters::providers::scripted::ScriptedModel;
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::adapters::system_clock::{SystemClock, SystemIds};
use synthdev::bootstrap::wiring;
use synthdev::domain::approval::ApprovalPolicy;
use synthdev::domain::ids::RunId;
use synthdev::domain::journal::RunStatus;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::system_context::SystemContext;
use synthdev::domain::workflow::WorkflowProgram;
use synthdev::engine::event::RunEvent;
use synthdev::engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev::language::source::SourceFile;
use synthdev::runtime::handle::{EventReceiver, RuntimeHandle, RuntimeOptions, RuntimePorts};
use synthdev::runtime::resume::ResumeRequest;
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};
use synthdev::settings::layers::read_layers::SettingOverrides;

use super::watched::{Model, Scripts, Shown, Tools, Tree, tree};
use crate::runtime::PATIENCE;

const SETTINGS: &str = include_str!("../../../../config/settings.json");
const MODELS: &str = include_str!("../../../../config/models.json");
const SHARED: &str = include_str!("../../../data/conformance/shared.json");

pub struct Stage {
    directory: tempfile::TempDir,
    pub handle: RuntimeHandle,
    /// What `handle` was made of.
    pub ports: RuntimePorts,
    events: EventReceiver,
    model: Arc<Model>,
    pub model_requests: Shown,
    pub script_scopes: Shown,
    pub trees: Arc<Mutex<Vec<Tree>>>,
}

/// The first workflow with those that it calls.
pub fn program(workflows: &[Value]) -> WorkflowProgram {
    let built_in = |name: &str, text: &str| SourceFile::new(ConfigLayer::BuiltIn, name, text);
    let roles = serde_json::from_str::<Value>(SHARED).unwrap()["roles"].to_string();
    let files = workflows.iter().enumerate().map(|(at, one)| {
        SourceFile::new(ConfigLayer::User, format!("w{at}.json"), serde_json::to_string_pretty(one).unwrap())
    });
    let mut command_line = SettingOverrides::default();
    for level in ["base", "smart", "fast"] {
        command_line.set_override(&format!("levels.{level}.provider"), "scripted", "--replies");
    }
    let sources = ConfigSources {
        settings: vec![built_in("built-in:config/settings.json", SETTINGS)],
        models: vec![built_in("built-in:config/models.json", MODELS)],
        roles: vec![SourceFile::new(ConfigLayer::Project, "roles.json", roles)],
        workflows: files.collect(),
        command_line,
        ..ConfigSources::default()
    };
    let catalog = ConfigCatalog::load(sources, wiring::tool_specs(Path::new("/")));
    let name = workflows[0]["workflow_name"].as_str().unwrap();
    catalog.program(name).unwrap_or_else(|found| panic!("{found:#?}"))
}

impl Stage {
    /// Tracked, staged, untracked and ignored files, one that is executable, one that is a link.
    pub fn new(replies: &Value) -> Self {
        let directory = crate::support::temporary::temp_directory();
        let (project, data) = (directory.path().join("project"), directory.path().join("data"));
        for path in [&project.join("src"), &data] {
            fs::create_dir_all(path).unwrap();
        }
        let project = fs::canonicalize(project).unwrap();
        let put = |name: &str, text: &str| fs::write(project.join(name), text).unwrap();
        put(".gitignore", "*.log\n");
        put("src/tracked.txt", "one\ntwo\nthree\n");
        put("src/tool.sh", "true\n");
        fs::set_permissions(project.join("src/tool.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("src/tracked.txt", project.join("link")).unwrap();
        git(&project, &["init", "-q", "-b", "main"]);
        git(&project, &["add", "."]);
        git(&project, &["commit", "-q", "-m", "first"]);
        put("staged.txt", "staged\n");
        git(&project, &["add", "staged.txt"]);
        put("staged.txt", "staged, then changed\n");
        put("untracked.txt", "untracked\n");
        put("ignored.log", "ignored\n");

        let (models_saw, scripts_saw) = (Shown::default(), Shown::default());
        let script = ScriptedModel::from_value(&json!({"replies": replies})).unwrap();
        let model = Arc::new(Model { script, shown_values: models_saw.clone(), project: project.clone() });
        let tools = Tools::for_project(&project);
        let trees = Arc::clone(&tools.trees);
        let clock = Arc::new(SystemClock);
        let ports = RuntimePorts {
            models: model.clone(),
            tools: Arc::new(tools),
            scripts: Arc::new(Scripts {
                host: ScriptWorkerPool::default(),
                shown_values: scripts_saw.clone(),
            }),
            snapshots: Arc::new(GitSnapshots::open(project.clone(), data.clone(), Vec::new(), clock.clone())),
            store: Arc::new(SqliteStore::new(data.join("runs.sqlite"))),
            lock: Some(Arc::new(FileLock::open(project.clone(), &data))),
            clock,
            ids: Arc::new(SystemIds),
        };
        let options = RuntimeOptions { project: project.display().to_string(), ..RuntimeOptions::default() };
        let handle = RuntimeHandle::new(ports.clone(), options);
        let events = handle.subscribe(false);
        Self {
            directory,
            handle,
            ports,
            events,
            model,
            model_requests: models_saw,
            script_scopes: scripts_saw,
            trees,
        }
    }

    pub fn project(&self) -> PathBuf {
        fs::canonicalize(self.directory.path().join("project")).unwrap()
    }

    pub fn tree(&self) -> Tree {
        tree(&self.project())
    }

    pub fn index(&self) -> Vec<u8> {
        fs::read(self.project().join(".git/index")).unwrap()
    }

    pub async fn record_run(&mut self, program: WorkflowProgram) -> RunId {
        let run = self.handle.start(run_spec(program)).unwrap();
        self.assert_ended(&run).await;
        run
    }

    /// Continues from the run's position, each agent with the replies that it has not given yet.
    pub async fn continue_run(&mut self, run: &RunId) {
        self.model.script.rewind_replies();
        let mut had = std::collections::BTreeMap::<String, usize>::new();
        for (_, event) in self.handle.load_record(run.as_str()).unwrap().events {
            if let RunEvent::Replied { agent, .. } = event.event {
                *had.entry(agent).or_default() += 1;
            }
        }
        for agent in self.handle.agents_answered_before_rewind(run).unwrap() {
            *had.entry(agent).or_default() += 1;
        }
        had.into_iter().for_each(|(agent, replies)| self.model.script.skip_replies(&agent, replies));
        self.handle.resume(run, ResumeRequest::default()).await.unwrap();
        self.assert_ended(run).await;
    }

    pub async fn assert_ended(&mut self, run: &RunId) {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.events.recv()).await.unwrap().unwrap();
            if let RunEvent::Finished { status, error, .. } = next.event {
                assert_eq!((&next.run, status), (run, RunStatus::Completed), "{error:?}");
                break;
            }
        }
        // the next one needs the project to itself
        while !self.handle.running_runs().is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

/// All tools are allowed.
pub fn run_spec(program: WorkflowProgram) -> RunSpec {
    RunSpec {
        machine_version: MACHINE_VERSION,
        program,
        inputs: Map::from_iter([("task".to_owned(), json!("go"))]),
        approvals: ApprovalPolicy::default().approving_all(),
        brief: SystemContext::default(),
        stops: Default::default(),
        interactive: false,
    }
}

pub fn git(project: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(project).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", project).env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]);
    let done = command.args(arguments).output().unwrap();
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}
