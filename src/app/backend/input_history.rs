//! What the person typed in this project, kept between sessions (no secret of ours is in it).

use std::sync::atomic::Ordering;

use futures_util::future::BoxFuture;

use super::{TuiBackend, away};
use synthdev_adapters::input_history::InputHistoryFile;
use synthdev_tui::backend::RecalledInput;

impl TuiBackend {
    fn typed(&self) -> InputHistoryFile {
        InputHistoryFile::new(&self.world.dirs.state, &self.world.project)
    }

    /// The demo leaves nothing behind.
    pub(super) fn recalled(&self) -> BoxFuture<'static, Result<RecalledInput, String>> {
        if self.world.shipped_only {
            return Box::pin(std::future::ready(Ok(RecalledInput::default())));
        }
        let typed = self.typed();
        away(move || {
            let file = typed.file().display().to_string();
            let found = typed.read().map_err(|error| format!("{file} cannot be read: {error}"))?;
            let note = (found.damaged > 0).then(|| {
                let (lines, verb) = if found.damaged == 1 { ("1 line", "is") } else { ("some lines", "are") };
                format!("{lines} of {file} cannot be read and {verb} left out")
            });
            Ok(RecalledInput { texts: found.texts, note })
        })
    }

    /// Says once what is in the way. At once: who leaves with the next key has it kept.
    pub(super) fn keep_typed(&self, text: &str) -> Result<(), String> {
        if self.world.shipped_only || self.wired().handle.without_keys(text.to_owned()) != text {
            return Ok(());
        }
        let typed = self.typed();
        typed.add(text).or_else(|error| {
            let told = self.unkept.swap(true, Ordering::Relaxed);
            let file = typed.file().display();
            if told { Ok(()) } else { Err(format!("what you type is not kept: {file}: {error}")) }
        })
    }
}
