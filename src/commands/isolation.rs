//! Runs in a git worktree on a branch of their own, and what becomes of it.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};

use super::file_progress::with_progress_lines;
use super::load_config::load_catalog;
use super::read_only::{error_with_hint, open_reader, store_error};
use super::recordings::RecordingMode;
use super::run_to_end::{follow_run, start_error};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, GitWorktrees, RunModels, WorktreeLocation};
use synthdev_cli::headless::{FinalReport, HeadlessOutput};
use synthdev_cli::output::{print_stderr, safe_name};
use synthdev_cli::snapshots::worktree_source_text;
use synthdev_cli::{exit, snapshots};
use synthdev_domain::file_progress::FileWorkCounter;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::snapshot::WorktreeSource;
use synthdev_engine::run_spec::RunSpec;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::run_start::PreparedWorktree;
use synthdev_service::worktree_merge::{
    DiscardLoss, DiscardPlan, MergePlan, WorktreeError, WorktreeService, worktree_of_run,
};
use synthdev_session::isolated_runs::missing_file_lines;
use synthdev_session::system_context::{self, StartPlace};
use synthdev_settings::catalog::ConfigCatalog;

/// Runs a spec in a new worktree. Without one nothing is started.
pub(crate) fn run_in_worktree(
    context: &StartContext,
    catalog: &ConfigCatalog,
    spec: RunSpec,
    models: RunModels,
    tape: RecordingMode,
    show: HeadlessOutput,
) -> Result<FinalReport> {
    let data = &context.dirs.data;
    let counter = Arc::<FileWorkCounter>::default();
    let trees =
        wiring::git_worktrees(&context.project, data, catalog).with_file_counter(Arc::clone(&counter));
    let handle = wiring::wire_runtime(&context.project, data, catalog, RunModels::default()).handle;
    let create = || PreparedWorktree::create(&handle, &trees, &spec.program).map_err(start_error);
    let prepared = match show.progress {
        true => with_progress_lines("worktree", || counter.progress(), create)?,
        false => create()?,
    };
    let tree = prepared.tree.clone();
    for line in missing_file_lines(&prepared.missing) {
        print_stderr(format_args!("warning: {line}"));
    }
    if show.progress {
        print_stderr(format_args!(
            "isolated in {} on branch {}",
            safe_name(&tree.path),
            safe_name(&tree.branch)
        ));
    }
    let place = WorktreeLocation { project: &context.project, worktree: Path::new(&tree.path) };
    let inside = wiring::wire_worktree(place, data, catalog, models);
    let inside = tape.wrap_models(inside, catalog, &[Path::new(&tree.path), &context.project])?;
    let brief = |directory: &Path| {
        let place = StartPlace { directory, project: &context.project, data };
        system_context::build_system_context(catalog, place)
    };
    let start = async |handle: &RuntimeHandle| prepared.start(handle, spec, brief).map(|started| started.run);
    follow_run(&inside, show, async |handle| start(handle).await.map_err(start_error))
}

pub(crate) fn merge_worktree(context: &StartContext, id: &str, dry_run: bool, yes: bool) -> Result<u8> {
    let context = isolated_run_context(context, id)?;
    let service = WorktreeService::new(&context.handle, &context.worktrees);
    let plan = service.plan_merge(&context.summary).map_err(worktree_error)?;
    let source = worktree_source_text(&plan.run.id, &plan.tree, &plan.changes.kept);
    source.iter().for_each(print_stderr);
    if plan.is_empty() {
        let kept = if source.is_some() { "was kept" } else { "the run changed" };
        print_stderr(format_args!("nothing to do: the project has everything that {kept}"));
        return Ok(exit::COMPLETED);
    }
    print_merge_plan(&plan);
    if dry_run {
        let Some(conflict) = plan.conflict() else { return Ok(exit::COMPLETED) };
        bail!("{conflict}\nhint: nothing was changed, and nothing would be without --dry-run");
    }
    let question = format!(
        "bring {} into {}?",
        snapshots::file_count_text(plan.changes.files.len()),
        safe_name(&plan.run.project)
    );
    // one that is refused changes nothing, and need not be asked about
    if plan.conflict().is_none() && !yes && !ask_confirmation(&question)? {
        print_stderr("nothing was changed");
        return Ok(exit::CANCELLED);
    }
    let merged = service.merge(&plan).map_err(worktree_error)?;
    let undo = merged.safety.map_or_else(String::new, |id| format!("; undo: synthdev snapshot restore {id}"));
    print_stderr(format_args!("{} merged{undo}", snapshots::file_count_text(merged.files.len())));
    let is_there = plan.changes.kept == WorktreeSource::Tree;
    let stays = if is_there { "the worktree stays" } else { "the stored files stay" };
    print_stderr(format_args!("{stays} until: synthdev runs discard {}", plan.run.id));
    Ok(exit::COMPLETED)
}

fn print_merge_plan(plan: &MergePlan) {
    if plan.is_interrupted {
        print_stderr("a merge of this run was interrupted: this finishes it");
    }
    print_stderr(format_args!(
        "to merge the changes of run {} into {}:\n{}",
        plan.run.id,
        safe_name(&plan.run.project),
        snapshots::merge_changes_text(&plan.changes.files)
    ));
    if !plan.changes.conflicts.is_empty() {
        print_stderr(snapshots::conflict_lines(&plan.changes.conflicts));
    }
}

/// Says first what would be lost; at a terminal it asks, elsewhere `--yes` is needed.
pub(crate) fn discard_worktree(context: &StartContext, id: &str, force: bool, yes: bool) -> Result<u8> {
    let context = isolated_run_context(context, id)?;
    let service = WorktreeService::new(&context.handle, &context.worktrees);
    let plan = service.plan_discard(&context.summary).map_err(worktree_error)?;
    let branch = safe_name(&plan.tree.branch);
    if let DiscardLoss::Changes(changes) = &plan.loss {
        worktree_source_text(&plan.run.id, &plan.tree, &changes.kept).iter().for_each(print_stderr);
    }
    if !force && plan.needs_consent() {
        print_loss(&plan);
        if !yes && !ask_confirmation(&format!("discard worktree and branch {branch}?"))? {
            print_stderr("nothing was changed");
            return Ok(exit::CANCELLED);
        }
    }
    service.discard(&plan, force).map_err(worktree_error)?;
    let already = if matches!(plan.loss, DiscardLoss::Removed) { " already" } else { "" };
    print_stderr(format_args!("worktree and branch {branch} were removed{already}"));
    Ok(exit::COMPLETED)
}

fn print_loss(plan: &DiscardPlan) {
    let run = &plan.run.id;
    match &plan.loss {
        DiscardLoss::Unknown(reason) => {
            print_stderr(format_args!("cannot determine what would be lost: {}", safe_name(reason)));
        }
        DiscardLoss::Changes(changes) if !changes.files.is_empty() => print_stderr(format_args!(
            "changes of run {run} that are not in the project, and would be lost:\n{}",
            snapshots::merge_changes_text(&changes.files)
        )),
        DiscardLoss::Changes(_) | DiscardLoss::Removed => {}
    }
    if plan.blocks_run() {
        let status = plan.run.progress.status.as_str();
        print_stderr(format_args!("run {run} is {status}: without its worktree it cannot continue"));
    }
}

/// At a terminal it asks; elsewhere `--yes` is needed.
pub(crate) fn ask_confirmation(question: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(anyhow!(
            "nothing was changed: no terminal is attached for the question\nhint: add --yes"
        ));
    }
    print_stderr(format_args!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A run with what is needed of its project.
struct IsolatedRunContext {
    summary: RunSummary,
    worktrees: GitWorktrees,
    /// Of the project, not of the directory in which this was started.
    handle: RuntimeHandle,
}

fn isolated_run_context(context: &StartContext, id: &str) -> Result<IsolatedRunContext> {
    let summary = open_reader(context)?.handle.summary(id).map_err(store_error)?;
    worktree_of_run(&summary).map_err(worktree_error)?;
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let (project, data) = (Path::new(&summary.project), &context.dirs.data);
    let worktrees = wiring::git_worktrees(project, data, &catalog);
    let handle = wiring::wire_runtime(project, data, &catalog, RunModels::default()).handle;
    Ok(IsolatedRunContext { summary, worktrees, handle })
}

fn worktree_error(error: WorktreeError) -> anyhow::Error {
    error_with_hint(&error.to_string(), error.hint().as_deref())
}
