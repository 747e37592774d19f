//! Lines on stderr that say how far long work on files is, in a terminal only.

use std::io::{BufRead, IsTerminal as _, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use synthdev_cli::output::print_stderr;
use synthdev_domain::file_progress::FileProgress;

/// Between two lines; work that is over sooner prints none.
const INTERVAL: Duration = Duration::from_secs(2);

/// Does the work, which blocks, and prints meanwhile how far it is: `label: reading files …`.
pub(crate) fn with_progress_lines<T>(
    label: &str,
    progress: impl Fn() -> FileProgress + Sync,
    work: impl FnOnce() -> T,
) -> T {
    let (mut stage, mut since) = (FileProgress::default().stage, Instant::now());
    let line = || {
        let now = progress();
        if now.stage != stage || now.done_count == 0 {
            (stage, since) = (now.stage, Instant::now());
        }
        let elapsed = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        format!("{label}: {}", now.text(elapsed))
    };
    with_lines(line, work)
}

/// The same with lines of any kind, each made when it is printed.
pub(crate) fn with_lines<T>(mut line: impl FnMut() -> String + Send, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        // the end of the work closes it
        let (working, ended) = channel::<()>();
        scope.spawn(move || {
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                print_stderr(line());
            }
        });
        let result = work();
        drop(working);
        result
    })
}

/// A file that is read, and how much of it was taken.
pub(crate) struct CountedReader<R> {
    pub(crate) inner: R,
    pub(crate) taken: Arc<AtomicU64>,
}

impl<R: BufRead> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for CountedReader<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        self.inner.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_counted_however_it_is_read() {
        let taken = Arc::new(AtomicU64::new(0));
        let mut reader = CountedReader { inner: &b"one\ntwo\nthree"[..], taken: Arc::clone(&taken) };
        let mut line = String::new();
        assert_eq!((reader.read_line(&mut line).unwrap(), taken.load(Ordering::Relaxed)), (4, 4));
        reader.by_ref().take(2).read_to_string(&mut line).unwrap();
        assert_eq!(taken.load(Ordering::Relaxed), 6);
        reader.read_to_string(&mut line).unwrap();
        assert_eq!((line.as_str(), taken.load(Ordering::Relaxed)), ("one\ntwo\nthree", 13));
    }
}
