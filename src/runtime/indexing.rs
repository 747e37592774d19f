//! Building the index of a project: describes files, then the directories above them, a few at a time. Each answer is
//! stored as it comes; an interrupted build continues from there next time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{BoxFuture, Shared};
use futures_util::stream::{self, StreamExt as _};

use super::handle::RuntimeHandle;
use super::one_shot_query::{OneShotOutcome, OneShotReport};
use synthdev_domain::cost::CostEntry;
use synthdev_domain::model::{ModelChoice, ModelError, ModelRequest};
use synthdev_domain::project_index::report::{IndexOutcome, IndexReport};
use synthdev_domain::project_index::{
    IndexPlan, ProjectIndexEntries, ProjectIndexEntry, ScannedDirectory, ScannedFile, SizeLimit, path_depth,
    summary_requests,
};
use synthdev_ports::project_index::{IndexWriter, ProjectIndexPort};

/// Questions that are open at a time.
const AT_ONCE: usize = 4;
/// So many refused and none answered: it is not the files.
const HOPELESS: usize = 5;

/// How far it is: of files and directories that are to be described.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexingProgress {
    pub done_count: usize,
    pub total_count: usize,
}

impl IndexingProgress {
    /// Ten lines are enough.
    pub fn is_worth_a_line(self) -> bool {
        let tenth = |done: usize| done * 10 / self.total_count.max(1);
        self.done_count < self.total_count
            && tenth(self.done_count) > tenth(self.done_count.saturating_sub(1))
    }
}

/// Resolves when the caller stops the build.
pub type StopSignal = Shared<BoxFuture<'static, ()>>;

/// The plan of a build, and what it needs.
pub struct IndexingJob {
    pub port: Arc<dyn ProjectIndexPort>,
    pub plan: IndexPlan,
    pub choice: ModelChoice,
}

impl RuntimeHandle {
    /// Executes the plan.
    pub async fn build_index(
        &self,
        work: IndexingJob,
        told: &(dyn Fn(IndexingProgress) + Sync),
        stopped: StopSignal,
    ) -> IndexReport {
        let mut report = IndexReport::from_plan(&work.plan);
        let port = Arc::clone(&work.port);
        let begun = run_blocking(move || Ok((port.writer()?, port.load()?))).await;
        let (writer, index) = match begun {
            Ok(begun) => begun,
            Err(why) => {
                report.outcome = IndexOutcome::Broken(why);
                return report;
            }
        };
        let bench = PathDescriber {
            handle: self,
            port: work.port,
            choice: work.choice,
            stop_signal: stopped,
            is_halted: AtomicBool::new(false),
        };
        let of = work.plan.to_describe.len() + work.plan.directories.len();
        let files = work.plan.to_describe.iter().map(|file| &file.path);
        let behind = files.chain(work.plan.directories.iter().map(|one| &one.path)).cloned().collect();
        let mut book = IndexingRun {
            report,
            index,
            writer,
            on_progress: told,
            progress: IndexingProgress { done_count: 0, total_count: of },
            pending_paths: behind,
        };
        for path in &work.plan.removed_paths {
            book.index.entries.remove(path);
        }
        let limit = work.plan.limit;
        let files = stream::iter(work.plan.to_describe).map(|file| bench.describe_file(file, limit));
        book.record_all(files.buffer_unordered(AT_ONCE), &bench).await;
        bench.describe_directories(work.plan.directories, &mut book).await;
        let IndexingRun { mut report, index, mut writer, .. } = book;
        if let Err(why) = run_blocking(move || writer.replace_index(&index)).await
            && !matches!(report.outcome, IndexOutcome::Broken(_))
        {
            report.outcome = IndexOutcome::Broken(why);
        }
        report
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("this was broken off: {error}")))
}

/// One that was described, or not.
struct DescribedPath {
    path: String,
    end: DescribeOutcome,
    costs: Vec<CostEntry>,
}

enum DescribeOutcome {
    Known(ProjectIndexEntry),
    /// Only this one.
    Failed(String),
    /// Asking for others does not help.
    Broken(String),
    Stopped,
}

struct PathDescriber<'a> {
    handle: &'a RuntimeHandle,
    port: Arc<dyn ProjectIndexPort>,
    choice: ModelChoice,
    stop_signal: StopSignal,
    /// Nothing more is begun.
    is_halted: AtomicBool,
}

impl PathDescriber<'_> {
    async fn describe_file(&self, file: ScannedFile, limit: SizeLimit) -> DescribedPath {
        let path = file.path;
        if self.has_stopped() {
            return DescribedPath { path, end: DescribeOutcome::Stopped, costs: Vec::new() };
        }
        let (port, wanted) = (Arc::clone(&self.port), path.clone());
        let (text, sum) = match run_blocking(move || port.read_file(&wanted, limit)).await {
            Ok(found) => found,
            Err(why) => return DescribedPath { path, end: DescribeOutcome::Failed(why), costs: Vec::new() },
        };
        let entry =
            ProjectIndexEntry { path: path.clone(), directory: false, sum, summary: "empty".to_owned() };
        if text.trim().is_empty() {
            return DescribedPath { path, end: DescribeOutcome::Known(entry), costs: Vec::new() };
        }
        let request = summary_requests::about_file(self.choice.clone(), &path, &entry.sum, &text);
        self.describe_path(request, entry).await
    }

    /// Level by level, the deepest first: the description of a directory is made from those of its entries.
    async fn describe_directories(&self, all: Vec<ScannedDirectory>, book: &mut IndexingRun<'_>) {
        for level in all.chunk_by(|a, b| path_depth(&a.path) == path_depth(&b.path)) {
            if self.has_stopped() {
                return;
            }
            let mut asked = Vec::new();
            for directory in level {
                match book.prepare_directory(directory, &self.choice) {
                    DirectoryPreparation::Ask(request, entry) => asked.push((*request, entry)),
                    DirectoryPreparation::Known(entry) => {
                        let path = entry.path.clone();
                        book.note_outcome(
                            DescribedPath { path, end: DescribeOutcome::Known(entry), costs: Vec::new() },
                            self,
                        );
                    }
                    DirectoryPreparation::Not => book.advance_progress(),
                }
            }
            let asked = stream::iter(asked).map(|(request, entry)| self.describe_path(request, entry));
            book.record_all(asked.buffer_unordered(AT_ONCE), self).await;
        }
    }

    async fn describe_path(&self, request: ModelRequest, entry: ProjectIndexEntry) -> DescribedPath {
        let path = entry.path.clone();
        if self.has_stopped() {
            return DescribedPath { path, end: DescribeOutcome::Stopped, costs: Vec::new() };
        }
        let model = request.choice.model.clone();
        let OneShotReport { outcome: ended, costs: spent } =
            self.handle.ask_model(request, self.stop_signal.clone()).await;
        let end = match ended {
            OneShotOutcome::Answered(reply) => match summary_requests::parse_summary(&reply) {
                Ok(summary) => DescribeOutcome::Known(ProjectIndexEntry { summary, ..entry }),
                Err(why) => DescribeOutcome::Failed(why),
            },
            OneShotOutcome::Failed(error) if is_about_this(&error) => {
                DescribeOutcome::Failed(error.to_string())
            }
            OneShotOutcome::Failed(error) => DescribeOutcome::Broken(
                format!("{model} gave no answer: {error} — {}", error.hint()).replace('\n', " "),
            ),
            OneShotOutcome::Stopped => DescribeOutcome::Stopped,
        };
        DescribedPath { path, end, costs: spent }
    }

    fn has_stopped(&self) -> bool {
        self.is_halted.load(Ordering::Relaxed)
    }
}

/// Another file may well be answered.
fn is_about_this(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::TooLong { .. }
            | ModelError::Refused { .. }
            | ModelError::Protocol { .. }
            | ModelError::Empty { .. }
            | ModelError::Repetition { .. }
            | ModelError::Unfit { .. }
            | ModelError::Drift { .. }
    )
}

enum DirectoryPreparation {
    Ask(Box<ModelRequest>, ProjectIndexEntry),
    Known(ProjectIndexEntry),
    /// Something in it is not described.
    Not,
}

/// The state of a build.
struct IndexingRun<'a> {
    report: IndexReport,
    index: ProjectIndexEntries,
    writer: Box<dyn IndexWriter>,
    on_progress: &'a (dyn Fn(IndexingProgress) + Sync),
    progress: IndexingProgress,
    /// Paths that are still to be described.
    pending_paths: BTreeSet<String>,
}

impl IndexingRun<'_> {
    async fn record_all(
        &mut self,
        described: impl stream::Stream<Item = DescribedPath>,
        bench: &PathDescriber<'_>,
    ) {
        let mut described = std::pin::pin!(described);
        while let Some(one) = described.next().await {
            self.note_outcome(one, bench);
        }
    }

    fn note_outcome(&mut self, one: DescribedPath, bench: &PathDescriber<'_>) {
        self.report.costs.extend(one.costs);
        let ending = match one.end {
            DescribeOutcome::Known(entry) => self.store_entry(entry),
            DescribeOutcome::Failed(why) => {
                self.report.failures.push((one.path, why.clone()));
                let hopeless = self.report.failures.len() >= HOPELESS && self.report.indexed_count == 0;
                if hopeless {
                    IndexOutcome::Broken(format!("no file was described: {why}"))
                } else {
                    IndexOutcome::Whole
                }
            }
            DescribeOutcome::Broken(why) => IndexOutcome::Broken(why),
            DescribeOutcome::Stopped => IndexOutcome::Stopped,
        };
        if ending == IndexOutcome::Whole {
            return self.advance_progress();
        }
        bench.is_halted.store(true, Ordering::Relaxed);
        // the first reason is the one to report
        if self.report.outcome == IndexOutcome::Whole {
            self.report.outcome = ending;
        }
    }

    fn store_entry(&mut self, entry: ProjectIndexEntry) -> IndexOutcome {
        let kept = self.writer.add(&entry);
        if entry.directory {
            self.report.directories += 1;
        } else {
            self.report.indexed_count += 1;
        }
        self.pending_paths.remove(&entry.path);
        self.index.add(entry);
        kept.map_or_else(IndexOutcome::Broken, |()| IndexOutcome::Whole)
    }

    fn advance_progress(&mut self) {
        self.progress.done_count += 1;
        (self.on_progress)(self.progress);
    }

    /// A directory with a single entry takes its description.
    fn prepare_directory(&self, directory: &ScannedDirectory, choice: &ModelChoice) -> DirectoryPreparation {
        let known =
            |path: &String| self.index.entries.get(path).filter(|_| !self.pending_paths.contains(path));
        let children: Option<Vec<&ProjectIndexEntry>> = directory.children.iter().map(known).collect();
        let (path, sum) = (directory.path.clone(), directory.checksum.clone());
        let entry =
            |summary: &str| ProjectIndexEntry { path, directory: true, sum, summary: summary.to_owned() };
        match children.as_deref() {
            None | Some([]) => DirectoryPreparation::Not,
            Some([only]) => DirectoryPreparation::Known(entry(&only.summary)),
            Some(children) => {
                let request = summary_requests::about_directory(choice.clone(), directory, children);
                DirectoryPreparation::Ask(Box::new(request), entry(""))
            }
        }
    }
}
