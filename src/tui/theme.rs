//! Colours: the terminal's own foreground, dim, and a few names; with `NO_COLOR` attributes only. The only place that
//! knows a colour. A theme is a palette; what means something has a sign or an attribute beside its colour.

use ratatui::style::{Color, Modifier, Style};

use synthdev_service::definition_views::graph::terminal::GraphTone;

mod theme_file;

pub use self::theme_file::{FILE, read_theme_file};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ColorTheme {
    kind: ThemeKind,
    palette: ThemePalette,
}

/// What a theme is called, and which background it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ThemeKind {
    /// On black, with agents' colours of the 256.
    #[default]
    Dark,
    /// The sixteen colours of the terminal, as they look good on black.
    Dark16,
    /// Dark ones of the 256, readable on white.
    Light,
    /// Of the sixteen, those that are readable on white.
    Light16,
    /// The brightest on black; nothing is dim.
    ContrastDark,
    /// The darkest on white; nothing is dim.
    ContrastLight,
    /// `NO_COLOR` is set, or no colours are wanted: bold, dim and reverse stay.
    Plain,
    /// The user's own file.
    Own,
}

/// Agents with colours of their own; the next one begins again.
pub const AGENT_COLORS: usize = 6;

/// The colours of a theme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThemePalette {
    pub good: Color,
    pub bad: Color,
    pub warning: Color,
    /// What has the keys, and what moves.
    pub accent: Color,
    /// What needs the user.
    pub attention: Color,
    /// A colour in place of the terminal's dim; `None`: its dim.
    pub dim: Option<Color>,
    /// No two are the same.
    pub agents: [Color; AGENT_COLORS],
    /// `None`: added and removed lines have no background of their own.
    pub diff: Option<DiffBackbackgrounds>,
}

/// What is behind the lines of a diff. The colours of the words of a language are readable on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiffBackbackgrounds {
    pub added: Color,
    pub removed: Color,
    /// In place of the terminal's dim, which is too faint there.
    pub dim: Color,
}

const DARK16: ThemePalette = ThemePalette {
    good: Color::Green,
    bad: Color::Red,
    warning: Color::Yellow,
    accent: Color::Cyan,
    attention: Color::Magenta,
    dim: None,
    agents: [
        Color::Cyan,
        Color::LightMagenta,
        Color::LightBlue,
        Color::LightGreen,
        Color::LightYellow,
        Color::LightRed,
    ],
    diff: None,
};

const DARK: ThemePalette = ThemePalette {
    agents: indexed([80, 177, 111, 114, 215, 211]),
    diff: Some(DiffBackbackgrounds {
        added: Color::Indexed(22),
        removed: Color::Indexed(52),
        dim: Color::Indexed(250),
    }),
    ..DARK16
};

const LIGHT: ThemePalette = ThemePalette {
    good: Color::Indexed(28),
    bad: Color::Indexed(160),
    warning: Color::Indexed(130),
    accent: Color::Indexed(30),
    attention: Color::Indexed(90),
    dim: None,
    agents: indexed([30, 90, 25, 64, 130, 161]),
    diff: Some(DiffBackbackgrounds {
        added: Color::Indexed(194),
        removed: Color::Indexed(224),
        dim: Color::Indexed(240),
    }),
};

const LIGHT16: ThemePalette = ThemePalette {
    good: Color::Green,
    bad: Color::Red,
    warning: Color::Red,
    accent: Color::Blue,
    attention: Color::Magenta,
    dim: None,
    agents: [Color::Blue, Color::Magenta, Color::Green, Color::Red, Color::Cyan, Color::Black],
    diff: None,
};

const CONTRAST_DARK: ThemePalette = ThemePalette {
    good: Color::LightGreen,
    bad: Color::LightRed,
    warning: Color::LightYellow,
    accent: Color::LightCyan,
    attention: Color::LightMagenta,
    dim: Some(Color::Reset),
    agents: [
        Color::LightCyan,
        Color::LightMagenta,
        Color::LightYellow,
        Color::LightGreen,
        Color::LightBlue,
        Color::LightRed,
    ],
    diff: None,
};

const CONTRAST_LIGHT: ThemePalette = ThemePalette {
    good: Color::Indexed(22),
    bad: Color::Indexed(88),
    warning: Color::Indexed(94),
    accent: Color::Indexed(18),
    attention: Color::Indexed(53),
    dim: Some(Color::Reset),
    agents: indexed([18, 53, 22, 88, 94, 23]),
    diff: None,
};

/// Colours of the 256.
const fn indexed(numbers: [u8; AGENT_COLORS]) -> [Color; AGENT_COLORS] {
    let mut colors = [Color::Reset; AGENT_COLORS];
    let mut at = 0;
    while at < AGENT_COLORS {
        colors[at] = Color::Indexed(numbers[at]);
        at += 1;
    }
    colors
}

impl Default for ThemePalette {
    fn default() -> Self {
        DARK
    }
}

/// What the terminal says of itself, in the variables that it sets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TerminalEnvironment {
    pub no_color: bool,
    pub colorfgbg: Option<String>,
    pub term: Option<String>,
    pub colorterm: Option<String>,
}

/// Names of themes, as the setting and `/theme` take them.
pub const NAMES: [&str; 8] = ["auto", "dark", "light", "dark16", "light16", "high-contrast", "plain", OWN];

/// The name of the theme in the user's own file.
pub const OWN: &str = "own";

/// Which is used, and which there are.
pub fn theme_list_text(used: ColorTheme) -> String {
    format!("{} is used; there are {}", used.name(), NAMES.join(", "))
}

/// Whether the terminal's background decides what the theme of this name is.
pub fn follows_background(name: &str) -> bool {
    matches!(name, "auto" | "high-contrast")
}

impl ColorTheme {
    /// A built-in theme by its name; `None`: there is no such theme. `NO_COLOR` wins over every name.
    pub fn find_theme(name: &str, terminal: &TerminalEnvironment) -> Option<Self> {
        let many = terminal.has_256();
        let dark = if many { ThemeKind::Dark } else { ThemeKind::Dark16 };
        let light = if many { ThemeKind::Light } else { ThemeKind::Light16 };
        let kind = match name {
            "auto" if terminal.is_light() => light,
            "auto" | "dark" => dark,
            "light" => light,
            "dark16" => ThemeKind::Dark16,
            "light16" => ThemeKind::Light16,
            "high-contrast" if terminal.is_light() => ThemeKind::ContrastLight,
            "high-contrast" => ThemeKind::ContrastDark,
            "plain" => ThemeKind::Plain,
            _ => return None,
        };
        Some(if terminal.no_color { Self::plain() } else { Self::of_kind(kind) })
    }

    /// The colours of the user's own file, as far as this terminal has them.
    pub fn own_theme(palette: ThemePalette, terminal: &TerminalEnvironment) -> Self {
        if terminal.no_color {
            return Self::plain();
        }
        let palette = if terminal.has_all_colors() { palette } else { palette.without_rgb() };
        // the backgrounds are of the 256
        let diff = palette.diff.filter(|_| terminal.has_256());
        let palette = ThemePalette { diff, ..palette };
        Self { kind: ThemeKind::Own, palette }
    }

    /// Without colours.
    pub fn plain() -> Self {
        Self::of_kind(ThemeKind::Plain)
    }

    fn of_kind(kind: ThemeKind) -> Self {
        let palette = match kind {
            ThemeKind::Dark | ThemeKind::Own => DARK,
            ThemeKind::Dark16 | ThemeKind::Plain => DARK16,
            ThemeKind::Light => LIGHT,
            ThemeKind::Light16 => LIGHT16,
            ThemeKind::ContrastDark => CONTRAST_DARK,
            ThemeKind::ContrastLight => CONTRAST_LIGHT,
        };
        Self { kind, palette }
    }

    /// The same for a light background.
    pub fn on_light_background(self) -> Self {
        match self.kind {
            ThemeKind::Dark => Self::of_kind(ThemeKind::Light),
            ThemeKind::Dark16 => Self::of_kind(ThemeKind::Light16),
            ThemeKind::ContrastDark => Self::of_kind(ThemeKind::ContrastLight),
            _ => self,
        }
    }

    /// Its name, for display.
    pub fn name(self) -> &'static str {
        match self.kind {
            ThemeKind::Dark => "dark",
            ThemeKind::Dark16 => "dark16",
            ThemeKind::Light => "light",
            ThemeKind::Light16 => "light16",
            ThemeKind::ContrastDark | ThemeKind::ContrastLight => "high-contrast",
            ThemeKind::Plain => "plain",
            ThemeKind::Own => OWN,
        }
    }

    pub fn text(self) -> Style {
        Style::new()
    }

    pub fn dim_style(self) -> Style {
        match self.palette.dim {
            Some(color) => Style::new().fg(color),
            None => Style::new().add_modifier(Modifier::DIM),
        }
    }

    pub fn bold_style(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn good_style(self) -> Style {
        self.colour(self.palette.good)
    }

    pub fn bad_style(self) -> Style {
        self.colour(self.palette.bad)
    }

    pub fn warning_style(self) -> Style {
        self.colour(self.palette.warning)
    }

    pub fn accent_style(self) -> Style {
        self.colour(self.palette.accent)
    }

    /// Marks what needs the user at the terminal.
    pub fn user_attention(self) -> Style {
        self.colour(self.palette.attention).add_modifier(Modifier::BOLD)
    }

    /// An agent's colour, by its place among the agents; after [`AGENT_COLORS`] they begin again.
    pub fn agent_style(self, index: usize) -> Style {
        self.colour(self.palette.agents[index % AGENT_COLORS]).add_modifier(Modifier::BOLD)
    }

    /// A part of a line that another version of the line does not have.
    pub fn changed_style(self, line: Style) -> Style {
        line.add_modifier(Modifier::REVERSED)
    }

    /// Added and removed lines of a diff have a background of their own.
    pub fn has_diff_backgrounds(self) -> bool {
        self.palette.diff.is_some() && self.kind != ThemeKind::Plain
    }

    /// A part of a diff's line that begins with this sign.
    pub fn on_diff_background(self, style: Style, sign: char) -> Style {
        let Some(backgrounds) = self.palette.diff.filter(|_| self.has_diff_backgrounds()) else {
            return style;
        };
        let background = match sign {
            '+' => backgrounds.added,
            '-' => backgrounds.removed,
            _ => return style,
        };
        let style = style.bg(background);
        match style.add_modifier.contains(Modifier::DIM) {
            true => style.remove_modifier(Modifier::DIM).fg(backgrounds.dim),
            false => style,
        }
    }

    /// One look for the whole row, whatever the looks of its parts.
    pub fn selected_style(self) -> Style {
        let plain = Style::new().fg(Color::Reset).bg(Color::Reset).remove_modifier(Modifier::DIM);
        let style = plain.add_modifier(Modifier::REVERSED);
        if self.is_contrast() { style.add_modifier(Modifier::BOLD) } else { style }
    }

    /// A part of a drawn graph.
    pub fn graph(self, tone: GraphTone) -> Style {
        match tone {
            GraphTone::Plain => self.text(),
            GraphTone::Current => self.warning_style().add_modifier(Modifier::BOLD),
            GraphTone::Done => self.good_style(),
            GraphTone::Dim => self.dim_style(),
            GraphTone::Edge => self.accent_style(),
            GraphTone::Breakpoint => self.bad_style(),
        }
    }

    fn is_contrast(self) -> bool {
        matches!(self.kind, ThemeKind::ContrastDark | ThemeKind::ContrastLight)
    }

    fn colour(self, color: Color) -> Style {
        if self.kind == ThemeKind::Plain { Style::new() } else { Style::new().fg(color) }
    }
}

impl ThemePalette {
    /// The built-in colours that a file changes; `None`: no theme with colours of its own has this name.
    fn base_palette(name: &str) -> Option<Self> {
        Some(match name {
            "dark" => DARK,
            "light" => LIGHT,
            "dark16" => DARK16,
            "light16" => LIGHT16,
            "high-contrast" => CONTRAST_DARK,
            _ => return None,
        })
    }

    /// The nearest of the 256, for a terminal that knows no others.
    fn without_rgb(self) -> Self {
        Self {
            good: nearest_indexed(self.good),
            bad: nearest_indexed(self.bad),
            warning: nearest_indexed(self.warning),
            accent: nearest_indexed(self.accent),
            attention: nearest_indexed(self.attention),
            dim: self.dim.map(nearest_indexed),
            agents: self.agents.map(nearest_indexed),
            diff: self.diff,
        }
    }
}

/// Of the cube of 216 colours and the 24 greys.
fn nearest_indexed(color: Color) -> Color {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let Color::Rgb(red, green, blue) = color else { return color };
    let level = |part: u8| (0_u8..6).min_by_key(|at| LEVELS[usize::from(*at)].abs_diff(part)).unwrap_or(0);
    let cube = [level(red), level(green), level(blue)];
    let grey = ((u16::from(red) + u16::from(green) + u16::from(blue)) / 3).saturating_sub(8) / 10;
    let grey = u8::try_from(grey.min(23)).unwrap_or(0);
    let far = |one: [u8; 3]| -> u32 {
        let parts = one.into_iter().zip([red, green, blue]);
        parts.map(|(one, wanted)| u32::from(one.abs_diff(wanted)).pow(2)).sum()
    };
    let cube_color = cube.map(|at| LEVELS[usize::from(at)]);
    if far([8 + 10 * grey; 3]) < far(cube_color) {
        return Color::Indexed(232 + grey);
    }
    Color::Indexed(16 + 36 * cube[0] + 6 * cube[1] + cube[2])
}

impl TerminalEnvironment {
    /// `15;0` is white on black: the last number is the background. 7 and 9 to 15 are light.
    fn is_light(&self) -> bool {
        let last = self.colorfgbg.as_deref().and_then(|value| value.rsplit(';').next());
        last.and_then(|number| number.parse::<u8>().ok()).is_some_and(|number| matches!(number, 7 | 9..=15))
    }

    fn has_256(&self) -> bool {
        let many = ["256", "direct", "kitty", "alacritty", "ghostty"];
        self.has_all_colors()
            || self.term.as_deref().is_some_and(|term| many.iter().any(|word| term.contains(word)))
    }

    /// Red, green and blue as they are written.
    fn has_all_colors(&self) -> bool {
        let all = |value: &str| value.contains("truecolor") || value.contains("24bit");
        self.colorterm.as_deref().is_some_and(all)
            || self.term.as_deref().is_some_and(|term| term.contains("direct"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(no_color: bool, colorfgbg: &str, term: &str) -> TerminalEnvironment {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        TerminalEnvironment { no_color, colorfgbg: some(colorfgbg), term: some(term), colorterm: None }
    }

    #[test]
    fn the_terminal_decides_what_auto_is() {
        let check = |name: &str, no_color: bool, colorfgbg: &str, term: &str, expected: &str| {
            let theme = ColorTheme::find_theme(name, &terminal(no_color, colorfgbg, term));
            assert_eq!(
                theme.map_or("none", ColorTheme::name),
                expected,
                "{name} {no_color} {colorfgbg} {term}"
            );
        };
        check("auto", false, "", "xterm-256color", "dark");
        check("auto", false, "15;0", "xterm-256color", "dark");
        check("auto", false, "0;15", "xterm-256color", "light");
        check("auto", false, "0;default;15", "xterm-256color", "light");
        check("auto", false, "0;7", "xterm", "light16");
        check("auto", false, "7;8", "xterm", "dark16");
        check("auto", false, "0;default", "xterm", "dark16");
        check("auto", true, "0;15", "xterm", "plain");
        check("light", false, "", "xterm-256color", "light");
        check("light", false, "", "linux", "light16");
        check("light", true, "", "linux", "plain");
        check("high-contrast", false, "", "linux", "high-contrast");
        check("high-contrast", true, "", "linux", "plain");
        check("plain", false, "", "", "plain");
        check("solarised", false, "", "", "none");
    }

    #[test]
    fn every_theme_tells_six_agents_and_its_meanings_apart() {
        let all = [DARK, DARK16, LIGHT, LIGHT16, CONTRAST_DARK, CONTRAST_LIGHT];
        for palette in all {
            for (at, color) in palette.agents.iter().enumerate() {
                assert!(!palette.agents[..at].contains(color), "{palette:?}");
            }
            assert!(palette.good != palette.bad && palette.accent != palette.attention, "{palette:?}");
        }
        let names = NAMES.into_iter().filter(|name| *name != OWN);
        for theme in
            names.filter_map(|name| ColorTheme::find_theme(name, &terminal(false, "", "xterm-256color")))
        {
            let plain = theme.name() == "plain";
            assert_eq!(theme.agent_style(0) == theme.agent_style(1), plain, "{theme:?}");
            assert_eq!(theme.agent_style(0), theme.agent_style(AGENT_COLORS));
        }
    }

    #[test]
    fn high_contrast_dims_nothing_and_follows_the_background() {
        let dark = ColorTheme::find_theme("high-contrast", &terminal(false, "", "xterm")).unwrap();
        let light = ColorTheme::find_theme("high-contrast", &terminal(false, "0;15", "xterm")).unwrap();
        assert_eq!(dark.on_light_background(), light);
        assert!(dark != light && follows_background("high-contrast"));
        for theme in [dark, light] {
            assert!(!theme.dim_style().add_modifier.contains(Modifier::DIM));
            assert!(theme.selected_style().add_modifier.contains(Modifier::BOLD));
        }
        assert_eq!(ColorTheme::plain().on_light_background(), ColorTheme::plain());
    }

    #[test]
    fn plain_has_no_colour() {
        let theme = ColorTheme::plain();
        for style in [
            theme.good_style(),
            theme.accent_style(),
            theme.user_attention(),
            theme.agent_style(1),
            theme.graph(GraphTone::Current),
            theme.agent_style(3),
            theme.dim_style(),
        ] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }

    #[test]
    fn a_terminal_with_256_colours_gets_the_nearest_of_them() {
        let check = |wanted: (u8, u8, u8), expected: u8| {
            let (red, green, blue) = wanted;
            assert_eq!(nearest_indexed(Color::Rgb(red, green, blue)), Color::Indexed(expected), "{wanted:?}");
        };
        check((255, 0, 0), 196);
        check((0, 0, 0), 16);
        check((255, 255, 255), 231);
        check((128, 128, 128), 244);
        check((95, 135, 175), 67);
        let palette = ThemePalette { good: Color::Rgb(255, 0, 0), ..DARK };
        let old = ColorTheme::own_theme(palette, &terminal(false, "", "xterm-256color"));
        assert_eq!(old.good_style().fg, Some(Color::Indexed(196)));
        let all = TerminalEnvironment { colorterm: Some("truecolor".into()), ..terminal(false, "", "xterm") };
        assert_eq!(ColorTheme::own_theme(palette, &all).good_style().fg, Some(palette.good));
        assert_eq!(ColorTheme::own_theme(palette, &terminal(true, "", "")), ColorTheme::plain());
    }

    /// Red, green and blue of the named colours as xterm has them, and of the cube and the greys.
    fn rgb(color: Color) -> [u8; 3] {
        match color {
            Color::Green => [0, 205, 0],
            Color::Yellow => [205, 205, 0],
            Color::Cyan => [0, 205, 205],
            Color::Indexed(number @ 232..) => [8 + 10 * (number - 232); 3],
            Color::Indexed(number @ 16..) => {
                let level = |part: u8| [0, 95, 135, 175, 215, 255][usize::from(part)];
                let cube = number - 16;
                [level(cube / 36), level(cube / 6 % 6), level(cube % 6)]
            }
            other => unreachable!("{other:?}"),
        }
    }

    /// Of two colours, 1 to 21.
    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let light = |color: [u8; 3]| {
            let part = |at: usize| (f64::from(color[at]) / 255.0).powf(2.2);
            0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2) + 0.05
        };
        light(one).max(light(other)) / light(one).min(light(other))
    }

    #[test]
    fn every_colour_of_code_is_readable_on_the_backgrounds_of_a_diff() {
        for (palette, text) in [(DARK, [229; 3]), (LIGHT, [0; 3])] {
            let backgrounds = palette.diff.unwrap();
            for background in [backgrounds.added, backgrounds.removed] {
                let colors = [palette.good, palette.warning, palette.accent, backgrounds.dim].map(rgb);
                for color in colors.into_iter().chain([text]) {
                    let found = contrast(color, rgb(background));
                    assert!(found >= 3.0, "{color:?} on {background:?}: {found:.1}");
                }
            }
        }
    }
}
