//! `demo`: a sample project in a temporary directory, scripted words, everything else real.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::run_command::{drive_spec, load_catalog, parse_script, run_spec};
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::scripted_models::ScriptedModel;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels};
use synthdev_bootstrap::{config_sources, machine_facts};
use synthdev_cli::exit;
use synthdev_cli::headless::{FinalReport, HeadlessOutput};
use synthdev_cli::output::{TerminalSafeWriter, cost_text, print_stderr, tokens_text};
use synthdev_domain::workflow::plain_text;
use synthdev_engine::steering::BreakpointSet;
use synthdev_language::inputs;
use synthdev_service::run_start::RunStartRequest;
use synthdev_session::{self, TuiStartup};

const WORKFLOW: &str = "coder_reviewer";
const TASK: &str = "Make slug.sh turn any title into a file name: lower case, words joined by single dashes. \
                    sh test.sh must pass.";

/// What is scripted and what is real: shown before anything happens.
const HONEST: [&str; 2] = [
    "Demo: the model's words are scripted. The workflow, the tools, the files and the git snapshot are real.",
    "For a real model set SYNTHDEV_API_KEY and SYNTHDEV_BASE_MODEL, or point SYNTHDEV_BASE_URL at a local server.",
];

pub(crate) fn run_demo(context: &StartContext, headless: bool) -> Result<u8> {
    let project = make_project()?;
    let context = StartContext {
        project: project.clone(),
        dirs: context.dirs.clone(),
        environment: context.environment.clone(),
        overrides: context.overrides.clone(),
        extra_settings: None,
        trust: false,
        line_mode: context.line_mode,
        shipped_only: true,
    };
    if headless {
        return run_headless(&context, &project);
    }
    let _removed_at_end = SampleProject(project.clone());
    let opening = TuiStartup {
        script: Some((demo_script()?, "demo")),
        start: Some((WORKFLOW.to_owned(), TASK.to_owned())),
        banner: banner_lines(&project, " until you leave"),
        ..TuiStartup::default()
    };
    synthdev_session::run_interactive(context, opening)
}

/// The project of a demo on the screen: what could be done with it later, continuing its run, needs the demo's script.
struct SampleProject(PathBuf);

impl Drop for SampleProject {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            print_stderr(format!(
                "warning: the sample project {} could not be removed: {error}",
                self.0.display()
            ));
        }
    }
}

/// `how_long` the project stays.
fn banner_lines(project: &Path, how_long: &str) -> Vec<String> {
    let mut lines: Vec<String> = HONEST.iter().map(|line| (*line).to_owned()).collect();
    lines.push(format!("The sample project is in {}{how_long}", project.display()));
    lines
}

fn demo_script() -> Result<ScriptedModel> {
    parse_script(
        "built-in:config/demo/replies.json",
        config_sources::shipped_file("demo/replies.json").unwrap_or_default(),
    )
}

fn run_headless(context: &StartContext, project: &Path) -> Result<u8> {
    for line in banner_lines(project, "") {
        print_stderr(line);
    }
    print_stderr("");
    let (catalog, _) = load_catalog(context, context.scripted_overrides("demo"), None)?;
    let program = catalog.program(WORKFLOW).map_err(|found| anyhow::anyhow!("{found:?}"))?;
    let parameters = program.workflows.first().map(|root| root.inputs.clone()).unwrap_or_default();
    let values = inputs::from_text(&parameters, TASK)?;
    let models = RunModels::scripted(demo_script()?);
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, models);
    // The user started the demo to see tools at work in a directory made for it: they are approved.
    let request = RunStartRequest {
        program,
        inputs: values,
        approves_all: true,
        interactive: false,
        stops: BreakpointSet::default(),
    };
    let spec = run_spec(&catalog, context, request);
    let report = drive_spec(&wired, spec, HeadlessOutput { progress: true, ..HeadlessOutput::default() })?;
    write!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{}", ending_text(&report, project))?;
    Ok(exit::exit_code(report.status, report.error.as_ref()))
}

fn ending_text(report: &FinalReport, project: &Path) -> String {
    let mut text = format!("path      {}\n", report.path.join(" > "));
    if let Some(output) = &report.output {
        text.push_str(&format!("summary   {}\n", plain_text(output)));
    }
    if let Some(error) = &report.error {
        text.push_str(&format!("error     {}: {}\n", error.title, error.detail));
    }
    text.push_str(&format!("usage     {}\n", tokens_text(&report.usage)));
    text.push_str(&format!("cost      {} (a scripted model costs nothing)\n", cost_text(report.cost_usd)));
    if let Some(snapshot) = &report.snapshot {
        let at = project.display();
        text.push_str(&format!(
            "snapshot  {snapshot}\nundo      synthdev -C {at} snapshot restore {snapshot}\n"
        ));
    }
    text.push_str(&format!("project   {} (it stays: remove it when you have seen it)\n", project.display()));
    text
}

/// A small git repository with one commit.
fn make_project() -> Result<PathBuf> {
    let stamp = machine_facts::new_run_id();
    let project = std::env::temp_dir().join(format!("synthdev-demo-{stamp}"));
    file_io::create_private_directory(&project)
        .with_context(|| format!("{} cannot be made", project.display()))?;
    for (name, text) in config_sources::demo_project() {
        std::fs::write(project.join(&name), text).with_context(|| format!("{name} cannot be written"))?;
    }
    let committed = run_git(&project, &["init", "-q", "-b", "main"])
        && run_git(&project, &["add", "."])
        && run_git(&project, &["commit", "-q", "-m", "a sample project"]);
    if !committed {
        print_stderr(
            "warning: git is not installed: the sample project is a plain directory (snapshots still work)",
        );
    }
    Ok(std::fs::canonicalize(&project)?)
}

fn run_git(project: &Path, arguments: &[&str]) -> bool {
    let identity =
        ["-c", "user.name=synthdev demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"];
    // neither the user's hooks, templates and watchers nor another repository have a say in the sample project
    let plain = [
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=",
        "-c",
        "init.templateDir=",
        "-c",
        "core.attributesFile=",
    ];
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command.current_dir(project).args(identity).args(plain).args(arguments);
    command.output().is_ok_and(|output| output.status.success())
}
