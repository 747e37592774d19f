//! Colours: the terminal's own foreground, dim, and a few names; with `NO_COLOR` attributes only. The only place that
//! knows a colour.

use ratatui::style::{Color, Modifier, Style};

use synthdev_service::definition_views::graph::terminal::GraphTone;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ColorTheme {
    /// `NO_COLOR` is set, or the theme `plain` is wanted: no colours, bold, dim and reverse stay.
    pub is_plain: bool,
    pub background: ThemeBackground,
}

/// Background and palette of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThemeBackground {
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
pub struct TerminalEnvironment {
    pub no_color: bool,
    pub colorfgbg: Option<String>,
    pub term: Option<String>,
    pub colorterm: Option<String>,
}

/// How many colours tell agents apart; more agents share them.
pub const AGENT_COLORS: usize = 6;

/// Each for the dark, the light, and the light ground of sixteen colours.
const AGENT_PALETTE: [[Color; 3]; AGENT_COLORS] = [
    [Color::Cyan, Color::Indexed(30), Color::Blue],
    [Color::LightBlue, Color::Indexed(25), Color::Magenta],
    [Color::LightGreen, Color::Indexed(64), Color::Green],
    [Color::LightYellow, Color::Indexed(130), Color::Red],
    [Color::LightMagenta, Color::Indexed(126), Color::Cyan],
    [Color::LightRed, Color::Indexed(88), Color::DarkGray],
];

/// Names of themes, as the setting and `/theme` take them.
pub const NAMES: [&str; 5] = ["auto", "dark", "light", "light16", "plain"];

/// Which is used, and which there are.
pub fn theme_list_text(used: ColorTheme) -> String {
    format!("{} is used; there are {}", used.name(), NAMES.join(", "))
}

impl ColorTheme {
    /// A theme by its name; `None`: there is no such theme. `NO_COLOR` wins over every name.
    pub fn find_theme(name: &str, terminal: &TerminalEnvironment) -> Option<Self> {
        let light = || if terminal.has_256() { ThemeBackground::Light } else { ThemeBackground::Light16 };
        let ground = match name {
            "auto" if terminal.is_light() => light(),
            "auto" | "dark" | "plain" => ThemeBackground::Dark,
            "light" => light(),
            "light16" => ThemeBackground::Light16,
            _ => return None,
        };
        Some(Self { is_plain: terminal.no_color || name == "plain", background: ground })
    }

    /// Its name, for display.
    pub fn name(self) -> &'static str {
        match self.background {
            _ if self.is_plain => "plain",
            ThemeBackground::Dark => "dark",
            ThemeBackground::Light => "light",
            ThemeBackground::Light16 => "light16",
        }
    }

    pub fn text(self) -> Style {
        Style::new()
    }

    pub fn dim_style(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub fn bold_style(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn good_style(self) -> Style {
        self.colour([Color::Green, Color::Indexed(28), Color::Green])
    }

    pub fn bad_style(self) -> Style {
        self.colour([Color::Red, Color::Indexed(160), Color::Red])
    }

    pub fn warning_style(self) -> Style {
        self.colour([Color::Yellow, Color::Indexed(130), Color::Red])
    }

    pub fn accent_style(self) -> Style {
        self.colour([Color::Cyan, Color::Indexed(30), Color::Blue])
    }

    /// Marks what needs the user at the terminal.
    pub fn user_attention(self) -> Style {
        self.colour([Color::Magenta, Color::Indexed(90), Color::Magenta]).add_modifier(Modifier::BOLD)
    }

    /// One of the [`AGENT_COLORS`] looks of agents; a larger number begins again at the first.
    pub fn agent_style(self, number: usize) -> Style {
        self.colour(AGENT_PALETTE[number % AGENT_COLORS]).add_modifier(Modifier::BOLD)
    }

    /// A part of a line that another version of the line does not have.
    pub fn changed_style(self, line: Style) -> Style {
        line.add_modifier(Modifier::REVERSED)
    }

    /// One look for the whole row, whatever the looks of its parts.
    pub fn selected_style(self) -> Style {
        let plain = Style::new().fg(Color::Reset).bg(Color::Reset).remove_modifier(Modifier::DIM);
        plain.add_modifier(Modifier::REVERSED)
    }

    /// A part of a drawn graph.
    pub fn graph(self, tone: GraphTone) -> Style {
        match tone {
            GraphTone::Plain => self.text(),
            GraphTone::Current => self.warning_style().add_modifier(Modifier::BOLD),
            GraphTone::Done => self.good_style(),
            GraphTone::Dim => self.dim_style(),
            GraphTone::Edge => self.accent_style(),
        }
    }

    /// One of each ground's.
    fn colour(self, [dark, light, light16]: [Color; 3]) -> Style {
        match self.background {
            _ if self.is_plain => Style::new(),
            ThemeBackground::Dark => Style::new().fg(dark),
            ThemeBackground::Light => Style::new().fg(light),
            ThemeBackground::Light16 => Style::new().fg(light16),
        }
    }
}

impl TerminalEnvironment {
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
            let terminal = TerminalEnvironment {
                no_color,
                colorfgbg: some(colorfgbg),
                term: some(term),
                colorterm: None,
            };
            let found = ColorTheme::find_theme(name, &terminal).map_or("none", ColorTheme::name);
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
        let theme = ColorTheme { is_plain: true, background: ThemeBackground::Light };
        for style in [
            theme.good_style(),
            theme.accent_style(),
            theme.user_attention(),
            theme.agent_style(1),
            theme.graph(GraphTone::Current),
        ] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
