//! Where runs work and are kept: git, the store, what commands can do.

use std::ffi::OsStr;
use std::time::Duration;

use synthdev_bootstrap::machine_facts::system_info::{self, FoundRepository};
use synthdev_bootstrap::machine_facts::{self, OutsideFiles};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::{sandbox_setup, wiring};
use synthdev_cli::doctor::DoctorFinding;
use synthdev_cli::history::columns::bytes_text;
use synthdev_cli::sandbox as policy_words;
use synthdev_domain::sandbox::WITHOUT_LAYER;
use synthdev_session::sandbox_answers::sandbox_report;
use synthdev_settings::catalog::ConfigCatalog;

const PATIENCE: Duration = Duration::from_secs(1);
/// With less, a run may not be recorded to its end. Bytes.
const LEAST_FREE: u64 = 200 << 20;

pub(crate) async fn git_findings(context: &StartContext, outside: OutsideFiles) -> Vec<DoctorFinding> {
    let mut lines = Vec::new();
    let library = system_info::git_library();
    let program = system_info::find_on_path("git", path_variable(context));
    let version = match &program {
        Some(program) => system_info::program_version(program, PATIENCE).await,
        None => None,
    };
    lines.push(match version {
        Some(version) => {
            DoctorFinding::ok_finding("git", format!("{version}; snapshots use the built-in one ({library})"))
        }
        None => DoctorFinding::warning_finding(
            "git",
            format!("no working git program found; snapshots still work (built in: {library})"),
            "install git if agents are to use it",
        ),
    });
    lines.push(match system_info::repository_root(&context.project, outside) {
        FoundRepository::Stuck(why) => DoctorFinding::problem(
            "git",
            format!("the repository of {} is not used: {why}", context.project.display()),
            "remove it if you did not put it there (`rm` takes a link away, not what it leads to)",
        ),
        FoundRepository::LeadsOut(why) => DoctorFinding::warning_finding(
            "git",
            format!(
                "the repository of {} is not opened, snapshots go to a private one: {why}",
                context.project.display()
            ),
            "review everything that it names with `synthdev trust`, then start with --trust",
        ),
        FoundRepository::Usable(top) => {
            DoctorFinding::ok_finding("git", format!("{} is a repository", top.display()))
        }
        FoundRepository::Missing => DoctorFinding::ok_finding(
            "git",
            format!("{} is no repository: snapshots go to a private one", context.project.display()),
        ),
    });
    lines
}

pub(crate) fn store_findings(context: &StartContext) -> Vec<DoctorFinding> {
    let file = wiring::history_path(&context.dirs.data);
    let shown = file.display();
    let mut lines = Vec::new();
    match system_info::file_size(&file) {
        None => lines.push(DoctorFinding::ok_finding(
            "store",
            format!(
                "{shown} is created with the first \
            run"
            ),
        )),
        Some(size) => match machine_facts::history_version(&file) {
            Ok(version) => lines.push(DoctorFinding::ok_finding(
                "store",
                format!("{shown}: {}, version {version}, can be read", bytes_text(size)),
            )),
            Err(error) => {
                let fix =
                    error.hint.unwrap_or_else(|| "`synthdev runs salvage` saves what can be".to_owned());
                lines.push(DoctorFinding::problem("store", error.message, fix));
            }
        },
    }
    if system_info::is_writable(&context.dirs.data) == Some(false) {
        let text = format!("{} cannot be written to: runs cannot be recorded", context.dirs.data.display());
        lines.push(DoctorFinding::problem(
            "store",
            text,
            "change its permissions, or set XDG_DATA_HOME to another directory",
        ));
    }
    if let Some(free) = system_info::free_bytes(&context.dirs.data) {
        let text = format!("{} free on its disk", bytes_text(free));
        lines.push(if free < LEAST_FREE {
            DoctorFinding::warning_finding(
                "store",
                text,
                "make room: `synthdev runs du` and `synthdev runs gc`",
            )
        } else {
            DoctorFinding::ok_finding("store", text)
        });
    }
    lines
}

/// Whether commands of agents are confined, and how.
pub(crate) fn sandbox_finding(context: &StartContext, catalog: &ConfigCatalog) -> DoctorFinding {
    const SANDBOX: &str = "sandbox";
    let report = sandbox_report(
        &sandbox_setup::command_sandbox(&context.project, &context.dirs.data, catalog),
        catalog,
    );
    match (report.mode, report.layer, report.problem) {
        ("off", ..) => DoctorFinding::warning_finding(
            SANDBOX,
            "off: commands of agents and workflows can access everything that you can access",
            "remove `sandbox.mode` from your settings, or --no-sandbox from the command line",
        ),
        (mode, Some(layer), _) => {
            let mut text = format!("{mode}, enforced by {layer}; network {}", report.network);
            for gap in &report.gap_texts {
                text.push_str(&format!("\n{gap}"));
            }
            DoctorFinding::ok_finding(SANDBOX, text)
        }
        (_, None, problem) => DoctorFinding::problem(
            SANDBOX,
            format!("{}: {}", problem.unwrap_or_default(), policy_words::WITHOUT_IT),
            WITHOUT_LAYER,
        ),
    }
}

fn path_variable(context: &StartContext) -> Option<&OsStr> {
    context.environment.get("PATH").map(OsStr::new)
}
