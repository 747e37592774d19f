//! What ends a session from outside: signals, and a terminal that goes away without one.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::hangup;

/// What ends a session from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExternalShutdown {
    /// SIGHUP, or the terminal went away without a signal.
    Hangup,
    Interrupt,
    Terminate,
}

/// Ends when the program is asked to end from outside, or its terminal goes away. From the call on these
/// signals no longer kill: call it before the screen is opened.
#[cfg(unix)]
pub fn shutdown_signal() -> impl Future<Output = ExternalShutdown> {
    use ExternalShutdown::{Hangup, Interrupt, Terminate};
    or_hangup(first_of(&[Terminate, Hangup, Interrupt]), hangup::wait_hangup(hangup::WatchedTerminal::Any))
}

/// As `shutdown_signal`, where Ctrl+C is a signal that means something else. Lines of a file or a program are taken also
/// when the terminal that the program was started in goes away without a signal.
#[cfg(unix)]
pub fn terminate_signal() -> impl Future<Output = ExternalShutdown> {
    use ExternalShutdown::{Hangup, Terminate};
    or_hangup(first_of(&[Terminate, Hangup]), hangup::wait_hangup(hangup::WatchedTerminal::Stdin))
}

/// The terminal of another session goes away without a signal.
#[cfg(unix)]
async fn or_hangup(
    signals: impl Future<Output = ExternalShutdown>,
    hangup: impl Future<Output = ()>,
) -> ExternalShutdown {
    tokio::select! {
        by = signals => by,
        () = hangup => ExternalShutdown::Hangup,
    }
}

/// Every Ctrl+C, where it is a signal. From the call on it no longer kills.
#[cfg(unix)]
pub fn interrupt_receiver() -> UnboundedReceiver<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (sender, receiver) = unbounded_channel();
    if let Ok(mut signal) = signal(SignalKind::interrupt()) {
        tokio::spawn(async move { while signal.recv().await.is_some() && sender.send(()).is_ok() {} });
    }
    receiver
}

#[cfg(not(unix))]
pub fn interrupt_receiver() -> UnboundedReceiver<()> {
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {} });
    receiver
}

/// The signals are held from the call on, not only once the future is polled.
#[cfg(unix)]
fn first_of(ends: &[ExternalShutdown]) -> impl Future<Output = ExternalShutdown> + use<> {
    use tokio::signal::unix::{SignalKind, signal};
    let held = |end: ExternalShutdown| {
        let kind = match end {
            ExternalShutdown::Hangup => SignalKind::hangup(),
            ExternalShutdown::Interrupt => SignalKind::interrupt(),
            ExternalShutdown::Terminate => SignalKind::terminate(),
        };
        Some((end, signal(kind).ok()?))
    };
    let mut signals: Vec<_> = ends.iter().filter_map(|end| held(*end)).collect();
    async move {
        if signals.is_empty() {
            std::future::pending::<()>().await;
        }
        let waits = signals.iter_mut().map(|(end, signal)| {
            Box::pin(async move {
                signal.recv().await;
                *end
            })
        });
        futures_util::future::select_all(waits).await.0
    }
}

#[cfg(not(unix))]
pub async fn terminate_signal() -> ExternalShutdown {
    std::future::pending().await
}

#[cfg(not(unix))]
pub async fn shutdown_signal() -> ExternalShutdown {
    let _ = tokio::signal::ctrl_c().await;
    ExternalShutdown::Interrupt
}
