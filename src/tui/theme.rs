//! Colours: the terminal's own foreground, dim, and a few ANSI names; with `NO_COLOR` attributes only.

use ratatui::style::{Color, Modifier, Style};

use crate::domain::context::Side;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Theme {
    /// `NO_COLOR` is set: no colours, bold, dim and reverse stay.
    pub plain: bool,
}

impl Theme {
    pub fn text(self) -> Style {
        Style::new()
    }

    pub fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn good(self) -> Style {
        self.colour(Color::Green)
    }

    pub fn bad(self) -> Style {
        self.colour(Color::Red)
    }

    pub fn warning(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub fn accent(self) -> Style {
        self.colour(Color::Cyan)
    }

    /// The person at the terminal.
    pub fn human(self) -> Style {
        self.colour(Color::Magenta).add_modifier(Modifier::BOLD)
    }

    /// An agent's name, by its seat.
    pub fn seat(self, side: Side) -> Style {
        let colour = match side {
            Side::Assistant => Color::Cyan,
            Side::User => Color::Blue,
        };
        self.colour(colour).add_modifier(Modifier::BOLD)
    }

    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn colour(self, colour: Color) -> Style {
        if self.plain { Style::new() } else { Style::new().fg(colour) }
    }
}
