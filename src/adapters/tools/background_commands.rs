//! Commands of agents that run in the background: which ones a run has, what they print, and that they end.
//!
//! They end with the run, and with this program. The first 16 MiB of each output are kept on disk until the run is
//! over, so that a run that is resumed after a crash can still read them; the last 64 KiB behind them are kept in
//! memory. That holds for each running command, and for the 16 ended commands and long answers that began last. Refuses
//! more than a few running commands at once.

mod command_output;
mod running;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::path_guard::error_reason;
use crate::file_io::{ensure_private_directory, write_private};
use command_output::CommandOutput;
pub(super) use command_output::OutputPiece;
use synthdev_domain::ids::RunId;

/// Commands of a run that run at the same time.
const MOST_RUNNING: usize = 8;

/// Ended commands and retained long answers of a run whose output is kept.
const MOST_ENDED: usize = 16;

/// How long a command may take to read what it is sent.
const LONGEST_WRITE: Duration = Duration::from_secs(10);

/// How long the end of a run waits for its commands. They are killed, so it takes a moment only.
const LONGEST_END: Duration = Duration::from_secs(2);

/// What is kept for a run that is not resumed.
const LONGEST_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// What the end of the input is in a terminal: Ctrl-D.
pub(super) const END_OF_INPUT: &[u8] = b"\x04";

/// What a command reads.
type CommandInput = Box<dyn AsyncWrite + Send + Unpin>;

/// Hides keys in what is kept on disk.
pub type OutputRedaction = Arc<dyn Fn(String) -> String + Send + Sync>;

/// Those of all runs that use the tools of one project.
pub(super) struct BackgroundCommands {
    /// `None`: nothing can be kept, so nothing is started.
    directory: Option<PathBuf>,
    redaction: OutputRedaction,
    runs: Mutex<HashMap<RunId, RunCommands>>,
    cleaned: Once,
}

#[derive(Default)]
struct RunCommands {
    directory: PathBuf,
    last_number: u32,
    commands: BTreeMap<u32, Arc<BackgroundCommand>>,
    /// Tells the end of each of them.
    ends: Arc<Notify>,
}

/// What is stored of a command, to be found after a crash.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct CommandRecord {
    /// The command line; of another tool whose answer is kept, its name.
    pub(super) command: String,
    /// Relative to the project.
    pub(super) directory: String,
    pub(super) terminal: bool,
    /// `None`: it runs, or the program that ran it was killed.
    end: Option<CommandEnd>,
}

impl CommandRecord {
    pub(super) fn new(command: &str, directory: &str, terminal: bool) -> Self {
        Self { command: command.to_owned(), directory: directory.to_owned(), terminal, end: None }
    }
}

/// Whose output is retained, and as what.
#[derive(Clone)]
pub(super) struct OutputOwner<'a> {
    pub(super) run: &'a RunId,
    pub(super) record: CommandRecord,
}

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct CommandEnd {
    /// `exit 0`, `stopped`
    pub(super) description: String,
    pub(super) exit_code: Option<i32>,
    /// It failed for lack of the network.
    #[serde(skip)]
    pub(super) network_denied: bool,
}

impl CommandEnd {
    pub(super) fn new(description: impl Into<String>, exit_code: Option<i32>) -> Self {
        Self { description: description.into(), exit_code, network_denied: false }
    }

    /// The program was killed, and the command with it.
    fn with_program() -> Self {
        Self::new("it ended with the program that ran it, before this run was resumed", None)
    }
}

/// What has happened so far.
#[derive(Clone, Default)]
pub(super) struct CommandProgress {
    /// Bytes.
    pub(super) printed: u64,
    pub(super) end: Option<CommandEnd>,
}

/// One command, running or ended.
pub(super) struct BackgroundCommand {
    number: u32,
    record: CommandRecord,
    record_file: PathBuf,
    output: Mutex<CommandOutput>,
    progress: watch::Sender<CommandProgress>,
    input: tokio::sync::Mutex<Option<CommandInput>>,
    stop: Notify,
    began: Instant,
    /// Those of its run.
    ends: Arc<Notify>,
    /// Where the last reading ended.
    read_up_to: AtomicU64,
}

impl BackgroundCommands {
    pub(super) fn new(directory: Option<PathBuf>, redaction: OutputRedaction) -> Self {
        Self { directory, redaction, runs: Mutex::default(), cleaned: Once::new() }
    }

    /// One more command of the run, started by `start`.
    ///
    /// # Errors
    /// Why it cannot run, for the model.
    pub(super) fn add<T>(
        &self,
        run: Option<&RunId>,
        record: CommandRecord,
        start: impl FnOnce() -> Result<(CommandInput, T), String>,
    ) -> Result<(Arc<BackgroundCommand>, T), String> {
        let run = run.ok_or("only calls of a run can start background commands")?;
        let mut runs = self.lock_runs();
        let of_run = self.commands_of(&mut runs, run)?;
        let running = of_run.commands.values().filter(|command| command.progress().end.is_none()).count();
        if running >= MOST_RUNNING {
            return Err(format!(
                "{running} background commands of this run are running, which is the limit; end one with stop_command first"
            ));
        }
        let (input, started) = start()?;
        Ok((of_run.insert_command(self.redact_record(record), Some(input))?, started))
    }

    /// One that was waited for, to which the caller adds what it has printed. Bytes up to `seen` were read.
    ///
    /// # Errors
    /// Why its output cannot be kept.
    pub(super) fn add_ended(
        &self,
        run: &RunId,
        record: CommandRecord,
        seen: u64,
    ) -> Result<Arc<BackgroundCommand>, String> {
        let mut runs = self.lock_runs();
        let of_run = self.commands_of(&mut runs, run)?;
        let command = of_run.insert_command(self.redact_record(record), None)?;
        command.read_up_to.store(seen, Ordering::Relaxed);
        Ok(command)
    }

    /// For what the commands print.
    pub(super) fn redaction(&self) -> OutputRedaction {
        Arc::clone(&self.redaction)
    }

    /// By what the model calls it.
    ///
    /// # Errors
    /// There is none of this name: which ones there are.
    pub(super) fn find(&self, run: Option<&RunId>, id: &str) -> Result<Arc<BackgroundCommand>, String> {
        let all = self.list(run)?;
        let found = all.iter().find(|command| command.id() == id).cloned();
        found.ok_or_else(|| match all.as_slice() {
            [] => "this run has started no background command (execute_terminal with `background: true`)"
                .to_owned(),
            all => {
                let ids: Vec<String> = all.iter().map(|command| command.id()).collect();
                format!("there is no background command `{id}`; there are: {}", ids.join(", "))
            }
        })
    }

    /// All that a run has started, also before it was resumed.
    ///
    /// # Errors
    /// The call is part of no run.
    pub(super) fn list(&self, run: Option<&RunId>) -> Result<Vec<Arc<BackgroundCommand>>, String> {
        let run = run.ok_or("only calls of a run can use background commands")?;
        let mut runs = self.lock_runs();
        Ok(self.commands_of(&mut runs, run)?.commands.values().cloned().collect())
    }

    /// Ends the commands of a run, and waits for their end. `is_final`: what they printed is removed.
    pub(super) async fn end_run(&self, run: &RunId, is_final: bool) {
        let of_run = self.lock_runs().remove(run);
        let commands = of_run.map(|of_run| of_run.commands).unwrap_or_default();
        commands.values().for_each(|command| command.stop());
        for command in commands.values() {
            command.wait_until(LONGEST_END, |progress| progress.end.is_some()).await;
        }
        if let Some(directory) = self.directory_of(run).filter(|directory| is_final && directory.is_dir()) {
            // what stays goes with the next cleaning
            let _ = fs::remove_dir_all(directory);
        }
    }

    fn lock_runs(&self) -> MutexGuard<'_, HashMap<RunId, RunCommands>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn directory_of(&self, run: &RunId) -> Option<PathBuf> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = Some(run.as_str()).filter(|name| !name.is_empty() && name.chars().all(plain))?;
        Some(self.directory.as_ref()?.join(name))
    }

    fn commands_of<'a>(
        &self,
        runs: &'a mut HashMap<RunId, RunCommands>,
        run: &RunId,
    ) -> Result<&'a mut RunCommands, String> {
        let directory =
            self.directory_of(run).ok_or("background commands have no directory to keep their output")?;
        self.cleaned.call_once(|| remove_forgotten(directory.parent().unwrap_or(&directory)));
        Ok(runs.entry(run.clone()).or_insert_with(|| RunCommands::load(directory)))
    }

    fn redact_record(&self, record: CommandRecord) -> CommandRecord {
        CommandRecord { command: (self.redaction)(record.command), ..record }
    }
}

/// Directories of runs that were neither resumed nor ended for a long time.
fn remove_forgotten(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|found| found.modified());
        let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
        if age.is_some_and(|age| age > LONGEST_KEPT) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl RunCommands {
    /// What an earlier process has left of the run.
    fn load(directory: PathBuf) -> Self {
        let mut commands = BTreeMap::new();
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json")?.parse().ok());
            if let Some((number, command)) =
                number.and_then(|number| Some((number, BackgroundCommand::load(&directory, number)?)))
            {
                commands.insert(number, Arc::new(command));
            }
        }
        let last_number = commands.keys().next_back().copied().unwrap_or(0);
        Self { directory, last_number, commands, ends: Arc::default() }
    }

    /// # Errors
    /// Why its output cannot be kept.
    fn insert_command(
        &mut self,
        record: CommandRecord,
        input: Option<CommandInput>,
    ) -> Result<Arc<BackgroundCommand>, String> {
        let number = self.last_number + 1;
        let command = BackgroundCommand::create(&self.directory, number, record, input)
            .map_err(|error| format!("the output of the command cannot be kept: {error}"))?;
        let command = Arc::new(BackgroundCommand { ends: Arc::clone(&self.ends), ..command });
        self.last_number = number;
        self.commands.insert(number, Arc::clone(&command));
        self.drop_oldest();
        Ok(command)
    }

    fn drop_oldest(&mut self) {
        let ended: Vec<u32> = self
            .commands
            .iter()
            .filter(|(_, command)| command.progress().end.is_some())
            .map(|(number, _)| *number)
            .collect();
        for number in ended.iter().take(ended.len().saturating_sub(MOST_ENDED)) {
            self.commands.remove(number);
            let (record, output) = command_files(&self.directory, *number);
            let _ = fs::remove_file(record);
            let _ = fs::remove_file(output);
        }
    }
}

/// Its record and its output.
fn command_files(directory: &Path, number: u32) -> (PathBuf, PathBuf) {
    (directory.join(format!("{number}.json")), directory.join(format!("{number}.output")))
}

impl BackgroundCommand {
    fn create(
        directory: &Path,
        number: u32,
        record: CommandRecord,
        input: Option<CommandInput>,
    ) -> io::Result<Self> {
        ensure_private_directory(directory)?;
        let (record_file, output_file) = command_files(directory, number);
        write_private(&record_file, &serde_json::to_string(&record)?)?;
        let output = CommandOutput::create(&output_file)?;
        let command = Self::with_progress(number, record, record_file, output, CommandProgress::default());
        Ok(Self { input: tokio::sync::Mutex::new(input), ..command })
    }

    fn load(directory: &Path, number: u32) -> Option<Self> {
        let (record_file, output_file) = command_files(directory, number);
        let record: CommandRecord = serde_json::from_slice(&fs::read(&record_file).ok()?).ok()?;
        let output = CommandOutput::open(&output_file).ok()?;
        let end = Some(record.end.clone().unwrap_or_else(CommandEnd::with_program));
        let progress = CommandProgress { printed: output.total(), end };
        Some(Self::with_progress(number, record, record_file, output, progress))
    }

    fn with_progress(
        number: u32,
        record: CommandRecord,
        record_file: PathBuf,
        output: CommandOutput,
        progress: CommandProgress,
    ) -> Self {
        Self {
            number,
            record,
            record_file,
            output: Mutex::new(output),
            progress: watch::Sender::new(progress),
            input: tokio::sync::Mutex::default(),
            stop: Notify::new(),
            began: Instant::now(),
            ends: Arc::default(),
            read_up_to: AtomicU64::new(0),
        }
    }

    /// What the model calls it.
    pub(super) fn id(&self) -> String {
        format!("c{}", self.number)
    }

    pub(super) fn record(&self) -> &CommandRecord {
        &self.record
    }

    pub(super) fn progress(&self) -> CommandProgress {
        self.progress.borrow().clone()
    }

    /// Waits at most so long; whether it has come true.
    pub(super) async fn wait_until(
        &self,
        longest: Duration,
        wanted: impl FnMut(&CommandProgress) -> bool,
    ) -> bool {
        let mut progress = self.progress.subscribe();
        let waited = timeout(longest, progress.wait_for(wanted)).await;
        waited.is_ok_and(|found| found.is_ok())
    }

    /// Its processes are killed soon. Does nothing where it has ended.
    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Where the next reading begins if nothing else is said.
    pub(super) fn read_position(&self) -> u64 {
        self.read_up_to.load(Ordering::Relaxed)
    }

    /// A part of what it has printed, at most `most` bytes. The next reading goes on behind it.
    ///
    /// # Errors
    /// The file with it cannot be read.
    pub(super) fn read(&self, from: u64, most: usize) -> io::Result<OutputPiece> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let piece = output.read(from, most)?;
        self.read_up_to.store(piece.end(), Ordering::Relaxed);
        Ok(piece)
    }

    /// Sends it something to read; `end`: and that nothing follows.
    ///
    /// # Errors
    /// Why it does not get it.
    pub(super) async fn send(&self, bytes: &[u8], end: bool) -> Result<(), String> {
        let mut input = self.input.lock().await;
        if let Some(end) = self.progress().end {
            return Err(format!("{} has ended: {}", self.id(), end.description));
        }
        let Some(pipe) = input.as_mut() else {
            return Err(format!("the input of {} was ended before", self.id()));
        };
        let writing = async {
            pipe.write_all(bytes).await?;
            match (end, self.record.terminal) {
                (true, true) => pipe.write_all(END_OF_INPUT).await,
                (true, false) => pipe.shutdown().await,
                (false, _) => Ok(()),
            }
        };
        let sent = timeout(LONGEST_WRITE, writing).await;
        if end && !self.record.terminal {
            *input = None;
        }
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("{} does not take input: {}", self.id(), error_reason(&error))),
            Err(_) => Err(format!(
                "{} has not read all of the input within {} s; a part of it may have arrived",
                self.id(),
                LONGEST_WRITE.as_secs()
            )),
        }
    }

    /// Until it is to be stopped.
    pub(super) async fn stop_requested(&self) {
        self.stop.notified().await;
    }

    /// The last bytes that it has printed, at most so many.
    pub(super) fn last_output(&self, most: usize) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let from = output.total().saturating_sub(most as u64);
        output.read(from, most).map(|piece| piece.text).unwrap_or_default()
    }

    /// Its processes have ended: it reads nothing any more.
    pub(super) async fn close_input(&self) {
        drop(self.input.lock().await.take());
    }

    /// It has printed this.
    pub(super) fn append(&self, text: &str) {
        if !text.is_empty() {
            let total = {
                let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                output.append(text);
                output.total()
            };
            self.progress.send_modify(|progress| progress.printed = total);
        }
    }

    /// It has ended, and all that it printed is kept.
    pub(super) fn finish(&self, end: CommandEnd) {
        let record = CommandRecord { end: Some(end.clone()), ..self.record.clone() };
        let written = serde_json::to_string(&record).map_err(io::Error::other);
        if let Err(error) = written.and_then(|text| write_private(&self.record_file, &text)) {
            // the run may be over, and the directory gone
            tracing::debug!("the end of a background command was not kept: {error}");
        }
        self.progress.send_modify(|progress| progress.end = Some(end));
        self.ends.notify_waiters();
    }
}
