//! Colours: the terminal's own foreground, dim, and a few names; with `NO_COLOR` attributes only. The only place that
//! knows a colour.

use ratatui::style::{Color, Modifier, Style};

use crate::config::graph::terminal::Tone;
use crate::domain::context::Side;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Theme {
    /// `NO_COLOR` is set, or the theme `plain` is wanted: no colours, bold, dim and reverse stay.
    pub plain: bool,
    pub ground: Ground,
}

/// What the text stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ground {
    /// The sixteen colours of the terminal, as they look good on black.
    #[default]
    Dark,
    /// Dark ones of the 256, readable on white.
    Light,
    /// Of the sixteen, those that are readable on white.
    Light16,
}

/// What the terminal says of itself, in the variables that it sets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Terminal {
    pub no_color: bool,
    pub colorfgbg: Option<String>,
    pub term: Option<String>,
    pub colorterm: Option<String>,
}

/// Names of themes, as the setting and `/theme` take them.
pub const NAMES: [&str; 5] = ["auto", "dark", "light", "light16", "plain"];

/// Which is used, and which there are.
pub fn list(used: Theme) -> String {
    format!("{} is used; there are {}", used.name(), NAMES.join(", "))
}

impl Theme {
    /// A theme by its name; `None`: there is no such theme. `NO_COLOR` wins over every name.
    pub fn named(name: &str, terminal: &Terminal) -> Option<Self> {
        let light = || if terminal.has_256() { Ground::Light } else { Ground::Light16 };
        let ground = match name {
            "auto" if terminal.is_light() => light(),
            "auto" | "dark" | "plain" => Ground::Dark,
            "light" => light(),
            "light16" => Ground::Light16,
            _ => return None,
        };
        Some(Self { plain: terminal.no_color || name == "plain", ground })
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self.ground {
            _ if self.plain => "plain",
            Ground::Dark => "dark",
            Ground::Light => "light",
            Ground::Light16 => "light16",
        }
    }

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
        self.colour([Color::Green, Color::Indexed(28), Color::Green])
    }

    pub fn bad(self) -> Style {
        self.colour([Color::Red, Color::Indexed(160), Color::Red])
    }

    pub fn warning(self) -> Style {
        self.colour([Color::Yellow, Color::Indexed(130), Color::Red])
    }

    pub fn accent(self) -> Style {
        self.colour([Color::Cyan, Color::Indexed(30), Color::Blue])
    }

    /// The person at the terminal.
    pub fn human(self) -> Style {
        self.colour([Color::Magenta, Color::Indexed(90), Color::Magenta]).add_modifier(Modifier::BOLD)
    }

    /// An agent's name, by its seat.
    pub fn seat(self, side: Side) -> Style {
        let colours = match side {
            Side::Assistant => [Color::Cyan, Color::Indexed(30), Color::Blue],
            Side::User => [Color::Blue, Color::Indexed(25), Color::Magenta],
        };
        self.colour(colours).add_modifier(Modifier::BOLD)
    }

    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A part of a drawn graph.
    pub fn graph(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => self.text(),
            Tone::Current => self.warning().add_modifier(Modifier::BOLD),
            Tone::Done => self.good(),
            Tone::Dim => self.dim(),
            Tone::Edge => self.accent(),
        }
    }

    /// One of each ground's.
    fn colour(self, [dark, light, light16]: [Color; 3]) -> Style {
        match self.ground {
            _ if self.plain => Style::new(),
            Ground::Dark => Style::new().fg(dark),
            Ground::Light => Style::new().fg(light),
            Ground::Light16 => Style::new().fg(light16),
        }
    }
}

impl Terminal {
    /// `15;0` is white on black: the last number is the ground. 7 and 9 to 15 are light.
    fn is_light(&self) -> bool {
        let last = self.colorfgbg.as_deref().and_then(|value| value.rsplit(';').next());
        last.and_then(|number| number.parse::<u8>().ok()).is_some_and(|number| matches!(number, 7 | 9..=15))
    }

    fn has_256(&self) -> bool {
        let many = |value: &Option<String>, words: &[&str]| {
            value.as_deref().is_some_and(|value| words.iter().any(|word| value.contains(word)))
        };
        many(&self.term, &["256", "direct", "kitty", "alacritty"])
            || many(&self.colorterm, &["truecolor", "24bit"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_decides_what_auto_is() {
        let check = |name: &str, no_color: bool, colorfgbg: &str, term: &str, expected: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let terminal =
                Terminal { no_color, colorfgbg: some(colorfgbg), term: some(term), colorterm: None };
            let found = Theme::named(name, &terminal).map_or("none", Theme::name);
            assert_eq!(found, expected, "{name} {no_color} {colorfgbg} {term}");
        };
        check("auto", false, "", "xterm-256color", "dark");
        check("auto", false, "15;0", "xterm-256color", "dark");
        check("auto", false, "0;15", "xterm-256color", "light");
        check("auto", false, "0;default;15", "xterm-256color", "light");
        check("auto", false, "0;7", "xterm", "light16");
        check("auto", false, "7;8", "xterm", "dark");
        check("auto", false, "0;default", "xterm", "dark");
        check("auto", true, "0;15", "xterm", "plain");
        check("light", false, "", "xterm-256color", "light");
        check("light", false, "", "linux", "light16");
        check("light", true, "", "linux", "plain");
        check("plain", false, "", "", "plain");
        check("solarised", false, "", "", "none");
    }

    #[test]
    fn plain_has_no_colour() {
        let theme = Theme { plain: true, ground: Ground::Light };
        for style in
            [theme.good(), theme.accent(), theme.human(), theme.seat(Side::User), theme.graph(Tone::Current)]
        {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
