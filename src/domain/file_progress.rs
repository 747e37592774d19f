//! How far long work on a project's files is: the threads that do it count, and front-ends read it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::progress_text::{progress_text, short_progress_texts};

/// What is done with the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FileWorkStage {
    /// Their content is read and stored.
    #[default]
    Reading,
    /// They are written into a directory.
    Writing,
}

/// Files that are done, and all that are to be done. No total: they are still looked for, or what was read is still stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileProgress {
    pub stage: FileWorkStage,
    pub done_count: u64,
    pub total_count: u64,
}

/// Counts files of one piece of work at a time.
#[derive(Debug, Default)]
pub struct FileWorkCounter {
    is_writing: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

/// The work is over when this goes.
#[must_use]
pub struct CountedFileWork<'c>(&'c FileWorkCounter);

impl FileProgress {
    /// `reading files ▓▓▓░░░░░░░ 30 of 100 · 2.0/s · 35 s left`. `elapsed_ms`: since this stage began.
    pub fn text(self, elapsed_ms: u64) -> String {
        if self.total_count == 0 {
            return "working on the files".to_owned();
        }
        format!("{} {}", self.stage_text(), progress_text(self.done_count, self.total_count, elapsed_ms))
    }

    /// The same and what has fewer columns, the longest first; all of them have the counts and the remaining time.
    pub fn text_forms(self, elapsed_ms: u64) -> Vec<String> {
        let mut forms = vec![self.text(elapsed_ms)];
        if self.total_count > 0 {
            let [with_bar, counts] = short_progress_texts(self.done_count, self.total_count, elapsed_ms);
            let what = self.stage_text();
            forms.extend([format!("{what} {with_bar}"), format!("{what} {counts}"), counts]);
        }
        forms
    }

    fn stage_text(self) -> &'static str {
        match self.stage {
            FileWorkStage::Reading => "reading files",
            FileWorkStage::Writing => "writing files",
        }
    }
}

impl FileWorkCounter {
    /// Begins to count `total` files.
    pub fn begin_work(&self, stage: FileWorkStage, total: usize) -> CountedFileWork<'_> {
        self.is_writing.store(stage == FileWorkStage::Writing, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total as u64, Ordering::Relaxed);
        CountedFileWork(self)
    }

    /// One more is done; any thread may say so.
    pub fn add_file(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    pub fn progress(&self) -> FileProgress {
        let stage = match self.is_writing.load(Ordering::Relaxed) {
            true => FileWorkStage::Writing,
            false => FileWorkStage::Reading,
        };
        let total_count = self.total.load(Ordering::Relaxed);
        FileProgress { stage, done_count: self.done.load(Ordering::Relaxed).min(total_count), total_count }
    }
}

impl Drop for CountedFileWork<'_> {
    fn drop(&mut self) {
        self.0.total.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_counted_until_the_work_is_over() {
        let counter = FileWorkCounter::default();
        let check = |ms: u64, expected: &str| assert_eq!(counter.progress().text(ms), expected);
        check(0, "working on the files");
        let work = counter.begin_work(FileWorkStage::Reading, 10);
        check(5_000, "reading files ░░░░░░░░░░ 0 of 10");
        std::thread::scope(|scope| (0..5).for_each(|_| drop(scope.spawn(|| counter.add_file()))));
        check(0, "reading files ▓▓▓▓▓░░░░░ 5 of 10");
        check(2_000, "reading files ▓▓▓▓▓░░░░░ 5 of 10 · 2.5/s · 2 s left");
        let forms = counter.progress().text_forms(2_000);
        let short = [
            "reading files ▓▓▓▓▓░░░░░ 5 of 10 · 2 s left",
            "reading files 5 of 10 · 2 s left",
            "5 of 10 · 2 s left",
        ];
        assert_eq!(
            (forms[0].as_str(), &forms[1..]),
            ("reading files ▓▓▓▓▓░░░░░ 5 of 10 · 2.5/s · 2 s left", &short.map(str::to_owned)[..])
        );
        drop(work);
        check(0, "working on the files");
        let _work = counter.begin_work(FileWorkStage::Writing, 2);
        check(0, "writing files ░░░░░░░░░░ 0 of 2");
    }
}
