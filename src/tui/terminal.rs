//! The only file that meets the terminal: raw mode, alternate screen, one write per frame, and everything
//! back as it was at the end, also after a panic.
//!
//! Asks the terminal nothing: no cursor, colour or keyboard queries, so a terminal that never answers costs
//! no time. Its size comes from the kernel.

use std::cell::Cell;
use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::domain::ids::Timestamp;

/// The screen is ours right now.
static ACTIVE: AtomicBool = AtomicBool::new(false);

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

/// The terminal while it is ours. Dropping gives it back.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<FrameBytes>>,
    bytes: FrameBytes,
    size: (u16, u16),
}

impl Screen {
    /// Takes the terminal over.
    /// # Errors
    /// There is no terminal, or it cannot be switched.
    pub fn open() -> io::Result<Self> {
        let size = size()?;
        hook_panics();
        enable_raw_mode()?;
        ACTIVE.store(true, Ordering::SeqCst);
        let bytes = FrameBytes::default();
        let viewport = Viewport::Fixed(Rect::new(0, 0, size.0, size.1));
        // a program that was killed here has left its picture on this screen
        let clean = Clear(ClearType::All);
        let opened = execute!(io::stdout(), EnterAlternateScreen, clean, EnableBracketedPaste, Hide)
            .and_then(|()| {
                Terminal::with_options(CrosstermBackend::new(bytes.clone()), TerminalOptions { viewport })
            });
        match opened {
            Ok(terminal) => Ok(Self { terminal, bytes, size }),
            Err(error) => {
                restore();
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
    pub fn resize(&mut self, columns: u16, rows: u16) -> io::Result<()> {
        if self.size != (columns, rows) {
            self.size = (columns, rows);
            self.terminal.resize(Rect::new(0, 0, columns, rows))?;
        }
        Ok(())
    }

    /// The next frame writes every cell.
    /// # Errors
    /// The terminal is gone.
    pub fn repaint(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    /// Draws one frame: only changed cells, as one synchronized write.
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        queue!(self.bytes, BeginSynchronizedUpdate)?;
        self.terminal.draw(view)?;
        queue!(self.bytes, EndSynchronizedUpdate)?;
        let frame = std::mem::take(&mut *self.bytes.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut out = io::stdout().lock();
        out.write_all(&frame)?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// What the person does. A thread of its own waits for it, so that a dead terminal cannot stall the loop.
pub fn events() -> UnboundedReceiver<Event> {
    let (sender, receiver) = unbounded_channel();
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.send(event).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Runs a part of the loop in which a panic must give the terminal back first.
pub fn guarded<T>(part: impl FnOnce() -> T) -> T {
    DRAWING.set(true);
    let value = part();
    DRAWING.set(false);
    value
}

#[expect(clippy::disallowed_methods, reason = "the border: the time of a key comes in here")]
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Ends when the program is asked to end from outside, or its terminal goes away. From the call on these
/// signals no longer kill: call it before the screen is opened.
#[cfg(unix)]
pub fn asked_to_end() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    async move {
        let waits = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        let _ = futures_util::future::select_all(waits).await;
    }
}

#[cfg(not(unix))]
pub async fn asked_to_end() {
    let _ = tokio::signal::ctrl_c().await;
}

fn restore() {
    if ACTIVE.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing back.
        let _ =
            execute!(io::stdout(), EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, Show);
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
                restore();
                earlier(info);
            } else {
                tracing::error!("{info}");
            }
        }));
    });
}
