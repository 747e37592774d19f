//! The only file that meets the terminal: raw mode, alternate screen, one write per frame, and everything
//! back as it was at the end, also after a panic.
//!
//! Asks the terminal for the colour of its background only, and waits for no answer: a terminal that never answers costs
//! no time. Its size comes from the kernel.

mod background_query;
mod clipboard;
mod frame_change;
mod hangup;
mod shutdown_signals;

use std::cell::Cell;
use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, Event,
};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use self::background_query::BackgroundReplyParser;
pub use self::background_query::TerminalEvent;
use self::frame_change::FrameChangeWatch;
pub use self::shutdown_signals::{ExternalShutdown, interrupt_receiver, shutdown_signal, terminate_signal};
use crate::notification::{NotificationFormat, RESTORE_TITLE};
use synthdev_domain::ids::Timestamp;

/// The screen is ours right now.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// The mouse is ours right now.
static MOUSE: AtomicBool = AtomicBool::new(false);
/// The title is that of a notification.
static TITLE_SET: AtomicBool = AtomicBool::new(false);

/// The present reader of the terminal's input.
static READER: Mutex<TerminalReaderState> = Mutex::new(TerminalReaderState::Ours);
static READER_CHANGED: Condvar = Condvar::new();
/// Time limit until the reader has stopped.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, PartialEq, Eq)]
enum TerminalReaderState {
    Ours,
    /// Another program will read.
    Asked,
    /// It may.
    Lent,
}

/// The terminal was asked for its background and has not answered.
static ASKED: AtomicBool = AtomicBool::new(false);
const ASK_BACKGROUND: &str = "\x1b]11;?\x1b\\";
/// What the terminal answers comes in one piece, or nearly so; keys do not.
const PIECE: Duration = Duration::from_millis(50);

/// An answer that comes later than this after the question comes never.
const ANSWERED: Duration = Duration::from_secs(2);
/// Wait for a reply at the end, so that it does not reach the next reader of the terminal.
pub const LAST_WORD: Duration = Duration::from_millis(50);

/// Clicks, the wheel and movements while a button is down, not every movement: that would wake us for nothing.
const MOUSE_ON: &str = "\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l";

thread_local! {
    /// This thread is updating or drawing: a panic here ends the screen, one elsewhere only a run.
    static DRAWING: Cell<bool> = const { Cell::new(false) };
}

/// Collects a frame's bytes, so that the terminal gets them in one write.
#[derive(Clone, Default)]
struct FrameBytes(Arc<Mutex<Vec<u8>>>);

impl Write for FrameBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What one can use instead of the screen.
fn no_terminal(error: &io::Error) -> io::Error {
    let hint = "`synthdev --linear` talks in lines, through pipes too; `synthdev run WORKFLOW` and `synthdev demo --headless` need \
                no terminal";
    io::Error::new(error.kind(), format!("there is no terminal for the screen ({error})\nhint: {hint}"))
}

/// The terminal while it is ours. Dropping gives it back.
pub struct TerminalScreen {
    terminal: Terminal<CrosstermBackend<FrameBytes>>,
    bytes: FrameBytes,
    change_watch: FrameChangeWatch,
    size: (u16, u16),
    /// The mouse was ours before the terminal was lent.
    mouse_was_ours: bool,
    background_asked_at: Option<Instant>,
    notification_format: NotificationFormat,
}

impl TerminalScreen {
    /// Takes the terminal over.
    /// # Errors
    /// There is no terminal, or it cannot be switched.
    pub fn open() -> io::Result<Self> {
        let size = size().map_err(|error| no_terminal(&error))?;
        hook_panics();
        let bytes = FrameBytes::default();
        let viewport = Viewport::Fixed(Rect::new(0, 0, size.0, size.1));
        let opened = take_over().and_then(|()| {
            Terminal::with_options(CrosstermBackend::new(bytes.clone()), TerminalOptions { viewport })
        });
        match opened {
            Ok(terminal) => {
                let notification_format = NotificationFormat::default();
                let (mouse_was_ours, background_asked_at) = (false, None);
                let change_watch = FrameChangeWatch::default();
                Ok(Self {
                    terminal,
                    bytes,
                    change_watch,
                    size,
                    mouse_was_ours,
                    background_asked_at,
                    notification_format,
                })
            }
            Err(error) => {
                restore_terminal();
                Err(error)
            }
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// # Errors
    /// The terminal is gone.
    pub fn resize_screen(&mut self, columns: u16, rows: u16) -> io::Result<()> {
        if self.size != (columns, rows) {
            self.size = (columns, rows);
            self.terminal.resize(Rect::new(0, 0, columns, rows))?;
        }
        Ok(())
    }

    /// Lends the terminal to another program, input included, until `take_back`.
    /// # Errors
    /// The reader of the input cannot be stopped.
    pub fn lend_to_program(&mut self) -> io::Result<()> {
        stop_reading()?;
        self.mouse_was_ours = MOUSE.load(Ordering::SeqCst);
        restore_terminal();
        Ok(())
    }

    /// The next frame writes every cell.
    /// # Errors
    /// The terminal is gone.
    pub fn take_back(&mut self) -> io::Result<()> {
        let (columns, rows) = size()?;
        take_over()?;
        self.set_mouse(self.mouse_was_ours)?;
        *lock_reader() = TerminalReaderState::Ours;
        READER_CHANGED.notify_all();
        self.resize_screen(columns, rows)?;
        self.repaint_screen()
    }

    /// The next frame writes every cell.
    /// # Errors
    /// The terminal is gone.
    pub fn repaint_screen(&mut self) -> io::Result<()> {
        // `clear` would ask the terminal where its cursor is
        self.terminal.resize(Rect::new(0, 0, self.size.0, self.size.1))
    }

    /// Whether clicks and the wheel come to us; while they do, the terminal selects no text by itself.
    /// # Errors
    /// The terminal is gone.
    pub fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        match (on, MOUSE.swap(on, Ordering::SeqCst)) {
            (true, false) => write_sequence(MOUSE_ON),
            (false, true) => write_sequence(MOUSE_OFF),
            _ => Ok(()),
        }
    }

    /// Queries the colour of the background; the reply comes with the events.
    /// # Errors
    /// The terminal is gone.
    pub fn query_background(&mut self) -> io::Result<()> {
        ASKED.store(true, Ordering::SeqCst);
        self.background_asked_at = Some(current_instant());
        write_sequence(ASK_BACKGROUND)
    }

    /// An answer of the terminal may still come.
    pub fn awaits_background_reply(&self) -> bool {
        let lately = |at: Instant| current_instant().saturating_duration_since(at) < ANSWERED;
        ASKED.load(Ordering::SeqCst) && self.background_asked_at.is_some_and(lately)
    }

    /// Puts a text into the clipboard of the terminal's user (OSC 52); a terminal without this ignores it.
    /// # Errors
    /// The terminal is gone.
    pub fn copy_to_clipboard(&mut self, text: &str) -> io::Result<()> {
        write_sequence(&clipboard::clipboard_sequence(text))
    }

    /// How this terminal shows notifications.
    pub fn set_notification_format(&mut self, format: NotificationFormat) {
        self.notification_format = format;
    }

    /// A notification of the terminal, and a title until the user is back.
    /// # Errors
    /// The terminal is gone.
    pub fn show_notification(&mut self, text: &str) -> io::Result<()> {
        let keeps_title = !TITLE_SET.swap(true, Ordering::SeqCst);
        write_sequence(&self.notification_format.to_sequence(text, keeps_title))
    }

    /// The title from before the first notification.
    /// # Errors
    /// The terminal is gone.
    pub fn restore_title(&mut self) -> io::Result<()> {
        if TITLE_SET.swap(false, Ordering::SeqCst) { write_sequence(RESTORE_TITLE) } else { Ok(()) }
    }

    /// Draws one frame: only changed cells, as one synchronized write. Whether it shows anything new.
    /// # Errors
    /// The terminal is gone.
    pub fn draw_frame(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<bool> {
        queue!(self.bytes, BeginSynchronizedUpdate)?;
        self.terminal.draw(view)?;
        queue!(self.bytes, EndSynchronizedUpdate)?;
        let frame = std::mem::take(&mut *self.bytes.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut out = io::stdout().lock();
        out.write_all(&frame)?;
        out.flush()?;
        Ok(self.change_watch.has_changed(&frame))
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// The user's input. A thread of its own waits for it, so that a dead terminal cannot stall the loop. `known` is the
/// size of the first frame.
pub fn terminal_events(columns: u16, rows: u16) -> UnboundedReceiver<TerminalEvent> {
    let (sender, receiver) = unbounded_channel();
    thread::spawn(move || {
        let mut listener = BackgroundReplyParser::default();
        // resizes are reported from here on; an earlier one is reported now
        let listens = event::poll(Duration::ZERO);
        let size = size().ok().filter(|size| *size != (columns, rows) && listens.is_ok());
        let resized = size.map(|(columns, rows)| TerminalEvent::Event(Event::Resize(columns, rows)));
        if resized.is_some_and(|heard| sender.send(heard).is_err()) {
            return;
        }
        while let Ok(event) = next_event(&mut listener, |heard| sender.send(heard).is_ok()) {
            // this resize only woke the reader, so that it stops reading
            if was_lent_meanwhile() && matches!(event, Event::Resize(..)) {
                continue;
            }
            if !ASKED.load(Ordering::SeqCst) && !listener.has_pending() {
                if sender.send(TerminalEvent::Event(event)).is_err() {
                    break;
                }
                continue;
            }
            let heard = listener.feed_event(event);
            if heard.iter().any(|heard| matches!(heard, TerminalEvent::Light(_))) {
                ASKED.store(false, Ordering::SeqCst);
            }
            if heard.into_iter().any(|heard| sender.send(heard).is_err()) {
                break;
            }
        }
    });
    receiver
}

/// The next event. Keys that could be the start of a terminal's reply are passed on as keys if nothing follows at once.
fn next_event(
    listener: &mut BackgroundReplyParser,
    send: impl Fn(TerminalEvent) -> bool,
) -> io::Result<Event> {
    if listener.has_pending() && !event::poll(PIECE)? && !listener.release_as_keys().into_iter().all(send) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    event::read()
}

/// Runs a part of the loop in which a panic must give the terminal back first.
pub fn run_guarded<T>(part: impl FnOnce() -> T) -> T {
    DRAWING.set(true);
    let value = part();
    DRAWING.set(false);
    value
}

#[expect(clippy::disallowed_methods, reason = "the border: how long ago the terminal was asked")]
fn current_instant() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the border: the time of a key comes in here")]
pub fn current_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Rows of the terminal; those of the smallest usual one where it does not tell.
pub fn visible_rows() -> usize {
    size().map_or(24, |(_, rows)| usize::from(rows))
}

/// Standard input is a terminal that went away: what cannot be read from it is no end that the user typed.
pub fn is_stdin_hung_up() -> bool {
    hangup::is_stdin_hung_up()
}

/// Whether a text cannot be written because the terminal went away.
pub fn is_terminal_gone(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    error.raw_os_error() == Some(EIO)
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    ACTIVE.store(true, Ordering::SeqCst);
    // a program that was killed has left its output on this screen
    let clear = Clear(ClearType::All);
    execute!(io::stdout(), EnterAlternateScreen, clear, EnableBracketedPaste, EnableFocusChange, Hide)
}

fn lock_reader() -> MutexGuard<'static, TerminalReaderState> {
    READER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the terminal was another program's meanwhile.
fn was_lent_meanwhile() -> bool {
    let mut now = lock_reader();
    if *now == TerminalReaderState::Ours {
        return false;
    }
    *now = TerminalReaderState::Lent;
    READER_CHANGED.notify_all();
    while *now != TerminalReaderState::Ours {
        now = READER_CHANGED.wait(now).unwrap_or_else(PoisonError::into_inner);
    }
    true
}

/// The reader sits in a read: a signal without other meaning gets it out of there.
#[cfg(target_os = "linux")]
fn stop_reading() -> io::Result<()> {
    use rustix::process::{Signal, getpid, kill_process};
    let mut now = lock_reader();
    *now = TerminalReaderState::Asked;
    kill_process(getpid(), Signal::WINCH)?;
    let waited = READER_CHANGED.wait_timeout_while(now, PATIENCE, |now| *now == TerminalReaderState::Asked);
    let (mut now, late) = waited.unwrap_or_else(PoisonError::into_inner);
    if late.timed_out() {
        *now = TerminalReaderState::Ours;
        return Err(io::Error::other("the keys are still read here"));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn stop_reading() -> io::Result<()> {
    Err(io::Error::other("not on this system: open the file with your editor beside synthdev"))
}

fn write_sequence(sequence: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(sequence.as_bytes())?;
    out.flush()
}

fn restore_terminal() {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        if MOUSE.swap(false, Ordering::SeqCst) {
            let _ = write_sequence(MOUSE_OFF);
        }
        // A terminal that is gone needs nothing back.
        if TITLE_SET.swap(false, Ordering::SeqCst) {
            let _ = write_sequence(RESTORE_TITLE);
        }
        let _ = execute!(
            io::stdout(),
            EndSynchronizedUpdate,
            DisableFocusChange,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show
        );
        let _ = disable_raw_mode();
    }
}

/// A panic of the screen restores the terminal before its message is printed; one of a run, on whatever
/// thread, goes to the log and not across the picture.
fn hook_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let earlier = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !ACTIVE.load(Ordering::SeqCst) {
                earlier(info);
            } else if DRAWING.get() {
                restore_terminal();
                earlier(info);
            } else {
                tracing::error!("{info}");
            }
        }));
    });
}
