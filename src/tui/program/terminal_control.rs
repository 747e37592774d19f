//! What commands do with the terminal itself.

use crate::terminal::TerminalScreen;

/// What a command may want of the terminal.
pub trait TerminalControl {
    fn copy_text(&mut self, text: &str);

    fn set_mouse(&mut self, on: bool);

    /// As a notification of the terminal, and in its title.
    fn notify(&mut self, text: &str);

    /// Another program gets the terminal for a while.
    /// # Errors
    /// Why it cannot have it, or what went wrong there.
    fn run_external(&mut self, act: &mut dyn FnMut() -> Result<String, String>) -> Result<String, String>;
}

impl TerminalControl for TerminalScreen {
    fn copy_text(&mut self, text: &str) {
        // a terminal that cannot do it is no reason to stop
        drop(TerminalScreen::copy_to_clipboard(self, text));
    }

    fn set_mouse(&mut self, on: bool) {
        drop(TerminalScreen::set_mouse(self, on));
    }

    fn notify(&mut self, text: &str) {
        drop(TerminalScreen::show_notification(self, text));
    }

    fn run_external(&mut self, act: &mut dyn FnMut() -> Result<String, String>) -> Result<String, String> {
        self.lend_to_program().map_err(|error| format!("the terminal cannot be handed over: {error}"))?;
        let result = act();
        self.take_back().map_err(|error| format!("the terminal did not come back: {error}"))?;
        result
    }
}
