//! Making the index of a project: files are described, then the directories above them, a few at a time. Each answer
//! is kept as soon as it is there; whatever ends it, the next time goes on from there.

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
    IndexPlan, ProjectIndexEntries, ProjectIndexEntry, ScannedDirectory, ScannedFile, SizeLimit, depth,
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
    pub done: usize,
    pub of: usize,
}

impl IndexingProgress {
    /// Ten lines are enough.
    pub fn is_worth_a_line(self) -> bool {
        let tenth = |done: usize| done * 10 / self.of.max(1);
        self.done < self.of && tenth(self.done) > tenth(self.done.saturating_sub(1))
    }
}

/// Over when nobody wants it any more.
pub type StopSignal = Shared<BoxFuture<'static, ()>>;

/// What is to be done, and with what.
pub struct IndexingJob {
    pub port: Arc<dyn ProjectIndexPort>,
    pub plan: IndexPlan,
    pub choice: ModelChoice,
}

impl RuntimeHandle {
    /// Does what the plan says.
    pub async fn build_index(
        &self,
        work: IndexingJob,
        told: &(dyn Fn(IndexingProgress) + Sync),
        stopped: StopSignal,
    ) -> IndexReport {
        let mut report = IndexReport::from_plan(&work.plan);
        let port = Arc::clone(&work.port);
        let begun = away(move || Ok((port.writer()?, port.load()?))).await;
        let (writer, index) = match begun {
            Ok(begun) => begun,
            Err(why) => {
                report.ending = IndexOutcome::Broken(why);
                return report;
            }
        };
        let bench = PathDescriber {
            handle: self,
            port: work.port,
            choice: work.choice,
            stopped,
            halted: AtomicBool::new(false),
        };
        let of = work.plan.changed.len() + work.plan.directories.len();
        let files = work.plan.changed.iter().map(|file| &file.path);
        let behind = files.chain(work.plan.directories.iter().map(|one| &one.path)).cloned().collect();
        let mut book =
            IndexingRun { report, index, writer, told, progress: IndexingProgress { done: 0, of }, behind };
        for path in &work.plan.gone {
            book.index.entries.remove(path);
        }
        let limit = work.plan.limit;
        let files = stream::iter(work.plan.changed).map(|file| bench.file(file, limit));
        book.take(files.buffer_unordered(AT_ONCE), &bench).await;
        bench.directories(work.plan.directories, &mut book).await;
        let IndexingRun { mut report, index, mut writer, .. } = book;
        if let Err(why) = away(move || writer.keep(&index)).await
            && !matches!(report.ending, IndexOutcome::Broken(_))
        {
            report.ending = IndexOutcome::Broken(why);
        }
        report
    }
}

async fn away<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("this was broken off: {error}")))
}

/// One that was described, or not.
struct DescribedPath {
    path: String,
    end: DescribeOutcome,
    spent: Vec<CostEntry>,
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
    stopped: StopSignal,
    /// Nothing more is begun.
    halted: AtomicBool,
}

impl PathDescriber<'_> {
    async fn file(&self, file: ScannedFile, limit: SizeLimit) -> DescribedPath {
        let path = file.path;
        if self.is_over() {
            return DescribedPath { path, end: DescribeOutcome::Stopped, spent: Vec::new() };
        }
        let (port, wanted) = (Arc::clone(&self.port), path.clone());
        let (text, sum) = match away(move || port.text(&wanted, limit)).await {
            Ok(found) => found,
            Err(why) => return DescribedPath { path, end: DescribeOutcome::Failed(why), spent: Vec::new() },
        };
        let entry =
            ProjectIndexEntry { path: path.clone(), directory: false, sum, summary: "empty".to_owned() };
        if text.trim().is_empty() {
            return DescribedPath { path, end: DescribeOutcome::Known(entry), spent: Vec::new() };
        }
        let request = summary_requests::about_file(self.choice.clone(), &path, &entry.sum, &text);
        self.ask(request, entry).await
    }

    /// Level by level: what is above is described by what is in it.
    async fn directories(&self, all: Vec<ScannedDirectory>, book: &mut IndexingRun<'_>) {
        for level in all.chunk_by(|a, b| depth(&a.path) == depth(&b.path)) {
            if self.is_over() {
                return;
            }
            let mut asked = Vec::new();
            for directory in level {
                match book.prepared(directory, &self.choice) {
                    DirectoryPreparation::Ask(request, entry) => asked.push((*request, entry)),
                    DirectoryPreparation::Known(entry) => {
                        let path = entry.path.clone();
                        book.note(
                            DescribedPath { path, end: DescribeOutcome::Known(entry), spent: Vec::new() },
                            self,
                        );
                    }
                    DirectoryPreparation::Not => book.goes_on(),
                }
            }
            let asked = stream::iter(asked).map(|(request, entry)| self.ask(request, entry));
            book.take(asked.buffer_unordered(AT_ONCE), self).await;
        }
    }

    async fn ask(&self, request: ModelRequest, entry: ProjectIndexEntry) -> DescribedPath {
        let path = entry.path.clone();
        if self.is_over() {
            return DescribedPath { path, end: DescribeOutcome::Stopped, spent: Vec::new() };
        }
        let model = request.choice.model.clone();
        let OneShotReport { ended, spent } = self.handle.ask_model(request, self.stopped.clone()).await;
        let end = match ended {
            OneShotOutcome::Answered(reply) => match summary_requests::summary(&reply) {
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
        DescribedPath { path, end, spent }
    }

    fn is_over(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
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

/// What is known by now.
struct IndexingRun<'a> {
    report: IndexReport,
    index: ProjectIndexEntries,
    writer: Box<dyn IndexWriter>,
    told: &'a (dyn Fn(IndexingProgress) + Sync),
    progress: IndexingProgress,
    /// What is to be described and is not yet.
    behind: BTreeSet<String>,
}

impl IndexingRun<'_> {
    async fn take(
        &mut self,
        described: impl stream::Stream<Item = DescribedPath>,
        bench: &PathDescriber<'_>,
    ) {
        let mut described = std::pin::pin!(described);
        while let Some(one) = described.next().await {
            self.note(one, bench);
        }
    }

    fn note(&mut self, one: DescribedPath, bench: &PathDescriber<'_>) {
        self.report.spent.extend(one.spent);
        let ending = match one.end {
            DescribeOutcome::Known(entry) => self.keep(entry),
            DescribeOutcome::Failed(why) => {
                self.report.failed.push((one.path, why.clone()));
                let hopeless = self.report.failed.len() >= HOPELESS && self.report.indexed == 0;
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
            return self.goes_on();
        }
        bench.halted.store(true, Ordering::Relaxed);
        // the first reason is the one to tell
        if self.report.ending == IndexOutcome::Whole {
            self.report.ending = ending;
        }
    }

    fn keep(&mut self, entry: ProjectIndexEntry) -> IndexOutcome {
        let kept = self.writer.add(&entry);
        if entry.directory {
            self.report.directories += 1;
        } else {
            self.report.indexed += 1;
        }
        self.behind.remove(&entry.path);
        self.index.add(entry);
        kept.map_or_else(IndexOutcome::Broken, |()| IndexOutcome::Whole)
    }

    fn goes_on(&mut self) {
        self.progress.done += 1;
        (self.told)(self.progress);
    }

    /// One thing alone in a directory says what the directory is.
    fn prepared(&self, directory: &ScannedDirectory, choice: &ModelChoice) -> DirectoryPreparation {
        let known = |path: &String| self.index.entries.get(path).filter(|_| !self.behind.contains(path));
        let children: Option<Vec<&ProjectIndexEntry>> = directory.children.iter().map(known).collect();
        let (path, sum) = (directory.path.clone(), directory.sum.clone());
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
