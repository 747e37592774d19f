//! The user's input in this project, kept between sessions (without any of our secrets).

use std::sync::atomic::Ordering;

use futures_util::future::BoxFuture;

use super::{TuiBackend, run_blocking};
use synthdev_bootstrap::local_files::input_history::InputHistoryFile;
use synthdev_service::session::RecalledInput;

impl TuiBackend {
    fn input_history_file(&self) -> InputHistoryFile {
        InputHistoryFile::new(&self.context.dirs.state, &self.context.project)
    }

    /// The demo leaves nothing behind.
    pub(crate) fn load_input_history(&self) -> BoxFuture<'static, Result<RecalledInput, String>> {
        if self.context.shipped_only {
            return Box::pin(std::future::ready(Ok(RecalledInput::default())));
        }
        let typed = self.input_history_file();
        run_blocking(move || {
            let file = typed.file().display().to_string();
            let found = typed.load_history().map_err(|error| format!("{file} cannot be read: {error}"))?;
            let note = (found.damaged_lines > 0).then(|| {
                let (lines, verb) =
                    if found.damaged_lines == 1 { ("1 line", "is") } else { ("some lines", "are") };
                format!("{lines} of {file} cannot be read and {verb} left out")
            });
            Ok(RecalledInput { texts: found.texts, note })
        })
    }

    /// Reports an error once. Saves at once, so that a user who leaves with the next key loses nothing.
    pub(crate) fn save_to_input_history(&self, text: &str) -> Result<(), String> {
        if self.context.shipped_only
            || adds_server(text)
            || self.current_runtime().handle.without_keys(text.to_owned()) != text
        {
            return Ok(());
        }
        let typed = self.input_history_file();
        typed.append_text(text).or_else(|error| {
            let told = self.history_failure_reported.swap(true, Ordering::Relaxed);
            let file = typed.file().display();
            if told { Ok(()) } else { Err(format!("what you type is not kept: {file}: {error}")) }
        })
    }
}

/// A line that adds an MCP server: its headers, variables, arguments and address may hold a key, also where it is wrong.
fn adds_server(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("/mcp") && words.next() == Some("add")
}
