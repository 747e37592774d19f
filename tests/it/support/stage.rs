//! A project, a data directory and the real runtime around a scripted model: what a run is played on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use synthdev::adapters::providers::ModelProviders;
use synthdev::adapters::providers::scripted::ScriptedModel;
use synthdev::bootstrap::wiring;
use synthdev::domain::approval::ApprovalPolicy;
use synthdev::domain::ids::RunId;
use synthdev::domain::source_location::ConfigLayer;
use synthdev::domain::workflow::WorkflowProgram;
use synthdev::engine::event::{DEFINITION_WARNING, PublishedEvent, RunEvent, StepEvent};
use synthdev::engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev::language::source::SourceFile;
use synthdev::ports::model::ModelPort;
use synthdev::ports::tool::ToolPort;
use synthdev::runtime::handle::{EventReceiver, RetryPolicy, RuntimeHandle, RuntimeOptions, RuntimePorts};
use synthdev::settings::catalog::{ConfigCatalog, ConfigSources};
use synthdev::settings::layers::read_layers::SettingOverrides;
use tempfile::TempDir;

use super::requests::{self, Recorder};

const SETTINGS: &str = include_str!("../../../config/settings.json");
const MODELS: &str = include_str!("../../../config/models.json");
const ROLES: &str = include_str!("../../../roles/core.json");

/// A hang is a failure; nothing waits this long otherwise.
const PATIENCE: Duration = Duration::from_secs(60);

/// The texts of a stage. Later role files lie above earlier ones.
#[derive(Default)]
pub struct Texts {
    pub roles: Vec<String>,
    pub workflows: Vec<String>,
    /// `{agent: [replies]}`
    pub replies: Value,
    pub files: Map<String, Value>,
    /// Script files and prompts beside the workflows.
    pub beside: Map<String, Value>,
    /// A catalogue of models above the shipped one.
    pub models: Option<String>,
    /// Keys that this process holds.
    pub keys: Vec<String>,
}

pub struct Stage {
    pub handle: RuntimeHandle,
    /// What `handle` was made of.
    pub ports: RuntimePorts,
    pub catalog: ConfigCatalog,
    pub recorder: Arc<Recorder>,
    pub project: TempDir,
    providers: Arc<ModelProviders>,
    events: EventReceiver,
    seen_events: Vec<PublishedEvent>,
    data: TempDir,
}

impl Stage {
    /// Needs a tokio runtime.
    pub fn new(texts: &Texts) -> Self {
        Self::with_model(texts, |model| model)
    }

    /// With something between the runtime and the scripted model.
    pub fn with_model(texts: &Texts, around: impl FnOnce(Arc<dyn ModelPort>) -> Arc<dyn ModelPort>) -> Self {
        Self::with_wrapped_model(texts, around, |tools| tools)
    }

    /// With something between the runtime and the scripted model, and its project's tools.
    pub fn with_wrapped_model(
        texts: &Texts,
        model: impl FnOnce(Arc<dyn ModelPort>) -> Arc<dyn ModelPort>,
        tools: impl FnOnce(Arc<dyn ToolPort>) -> Arc<dyn ToolPort>,
    ) -> Self {
        let project = crate::support::temporary::temp_directory();
        let data = crate::support::temporary::temp_directory();
        for (path, text) in &texts.files {
            let path = project.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.as_str().unwrap()).unwrap();
        }
        let catalog = ConfigCatalog::load(config_sources(texts), wiring::tool_specs(project.path()));
        let replies = if texts.replies.is_null() { json!({}) } else { texts.replies.clone() };
        let script = ScriptedModel::from_value(&json!({ "replies": replies })).unwrap();
        let wired =
            wiring::wire_runtime(project.path(), data.path(), &catalog, wiring::RunModels::scripted(script));
        let heard = Arc::new(Recorder::new(model(wired.providers.clone())));
        let ports = wired.ports;
        let ports = RuntimePorts { models: heard.clone(), tools: tools(ports.tools.clone()), ..ports };
        let retry = RetryPolicy { attempts: 2, first_delay_ms: 1, longest_delay_ms: 1 };
        let keys = texts.keys.clone();
        let options = RuntimeOptions {
            project: "stage".into(),
            pid: 1,
            retry,
            secrets: keys,
            // a run of a few steps goes on from its state as a long one does
            state_interval: 1,
            ..RuntimeOptions::default()
        };
        let handle = RuntimeHandle::new(ports.clone(), options);
        let events = handle.subscribe(true);
        let providers = wired.providers;
        Self {
            handle,
            ports,
            catalog,
            recorder: heard,
            project,
            providers,
            events,
            seen_events: Vec::new(),
            data,
        }
    }

    /// Waits before another attempt as long as a server wishes.
    pub fn waiting_for_servers(self) -> Self {
        let retry = RetryPolicy { longest_delay_ms: u64::MAX, ..RetryPolicy::default() };
        let options = RuntimeOptions { project: "stage".into(), pid: 1, retry, ..RuntimeOptions::default() };
        let handle = RuntimeHandle::new(self.ports.clone(), options);
        let events = handle.subscribe(true);
        Self { handle, events, ..self }
    }

    /// How many events wait that were not looked at yet.
    pub fn waiting_events(&self) -> usize {
        self.events.waiting_events()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.project.path().join(name)
    }

    /// The database of its runs.
    pub fn history_path(&self) -> PathBuf {
        self.data.path().join("runs.sqlite")
    }

    /// From now on no snapshot can be stored: a file takes the place of their directory.
    pub fn break_snapshots(&self) {
        std::fs::write(self.data.path().join("snapshots"), "in the way").unwrap();
    }

    pub fn start_run(&self, spec: RunSpec) -> RunId {
        self.handle.start(spec).unwrap()
    }

    /// The next event of any run.
    pub async fn next_event(&mut self) -> RunEvent {
        let published = match tokio::time::timeout(PATIENCE, self.events.recv()).await {
            Ok(Some(published)) => published,
            end => panic!("no further event ({end:?}) after {:#?}", self.seen_events()),
        };
        self.seen_events.push(published.clone());
        published.event
    }

    /// Waits for an event that `wanted` finds something in.
    pub async fn wait_for<T>(&mut self, mut wanted: impl FnMut(&RunEvent) -> Option<T>) -> T {
        loop {
            let event = self.next_event().await;
            if let Some(found) = wanted(&event) {
                return found;
            }
            if let RunEvent::Finished { .. } = event {
                panic!("the run ended before what was waited for: {:#?}", self.seen_events());
            }
        }
    }

    pub async fn wait_end(&mut self) -> RunEvent {
        self.wait_for(|event| matches!(event, RunEvent::Finished { .. }).then(|| event.clone())).await
    }

    /// Everything that was published so far, in order.
    pub fn seen_events(&self) -> Vec<RunEvent> {
        self.seen_events.iter().map(|published| published.event.clone()).collect()
    }

    /// What holds after every run: all replies used, sound requests, a journal that replays to the same result.
    pub fn run_faults(&self, run: &RunId) -> Vec<String> {
        let unused = self.providers.scripted_model().unwrap().unused_replies();
        let mut faults: Vec<String> =
            unused.iter().map(|(agent, at)| format!("reply {at} of `{agent}` was not used")).collect();
        faults.extend(self.recorder.requests().iter().filter_map(|request| {
            requests::request_fault(request).map(|fault| format!("a request of `{}`: {fault}", request.agent))
        }));
        let told = self
            .seen_events
            .iter()
            .filter(|published| published.run == *run && is_journaled(&published.event));
        let with_step = |published: &PublishedEvent| {
            let PublishedEvent { at, at_step, event, .. } = published.clone();
            (at, StepEvent { at_step, event })
        };
        let told: Vec<_> = told.map(with_step).collect();
        match self.handle.load_record(run.as_str()) {
            Err(error) => faults.push(format!("the journal cannot be read: {}", error.message)),
            Ok(record) if record.events != told => faults.push(format!(
                "replay differs from what was published:\n{:#?}\nreplay:\n{:#?}",
                told, record.events
            )),
            Ok(_) => {}
        }
        faults
    }
}

fn is_journaled(event: &RunEvent) -> bool {
    if let RunEvent::Warning { code, .. } = event {
        return code != DEFINITION_WARNING && code != "risky_command";
    }
    !matches!(
        event,
        RunEvent::Delta { .. }
            | RunEvent::ModelRetry { .. }
            | RunEvent::ApprovalAsked { .. }
            | RunEvent::SnapshotProgress { .. }
    )
}

/// The shipped configuration with every level answered from the script.
pub fn config_sources(texts: &Texts) -> ConfigSources {
    let built_in = |name: &str, text: &str| SourceFile::new(ConfigLayer::BuiltIn, name, text);
    let layers = [ConfigLayer::User, ConfigLayer::Project];
    let roles = texts.roles.iter().zip(layers).enumerate();
    let roles =
        roles.map(|(at, (text, layer))| SourceFile::new(layer, format!("roles{at}.json"), text.as_str()));
    let workflows = texts.workflows.iter().enumerate();
    let workflows =
        workflows.map(|(at, text)| SourceFile::new(ConfigLayer::User, format!("w{at}.json"), text.as_str()));
    let beside = texts.beside.iter().map(|(name, text)| {
        SourceFile::new(ConfigLayer::User, name.as_str(), text.as_str().unwrap_or_default())
    });
    let models =
        texts.models.iter().map(|text| SourceFile::new(ConfigLayer::User, "models.json", text.as_str()));
    let mut command_line = SettingOverrides::default();
    for level in ["base", "smart", "fast"] {
        command_line.set_override(&format!("levels.{level}.provider"), "scripted", "--replies");
    }
    ConfigSources {
        settings: vec![built_in("built-in:config/settings.json", SETTINGS)],
        models: std::iter::once(built_in("built-in:config/models.json", MODELS)).chain(models).collect(),
        roles: std::iter::once(built_in("built-in:roles/core.json", ROLES)).chain(roles).collect(),
        workflows: workflows.collect(),
        texts: beside.collect(),
        command_line,
        ..ConfigSources::default()
    }
}

/// Headless, everything approved.
pub fn spec(program: WorkflowProgram, inputs: Map<String, Value>) -> RunSpec {
    RunSpec {
        machine_version: MACHINE_VERSION,
        program,
        inputs,
        approvals: ApprovalPolicy::default().approving_all(),
        brief: Default::default(),
        stops: Default::default(),
        interactive: false,
    }
}
