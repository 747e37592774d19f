//! `theme.json`: the user's own colours, over those of a built-in theme.
//!
//! A file with an error is refused as a whole, with the place and a hint; nothing here stops the program.

use ratatui::style::Color;

use super::{AGENT_COLORS, ThemePalette};
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_service::definition_views::did_you_mean::suggest_or_list;
use synthdev_service::definition_views::json::JsonNode;
use synthdev_service::definition_views::source::{FileDiagnostics, SourceFile};

/// Beside the user's settings.json.
pub const FILE: &str = "theme.json";

/// What `base` can be.
const BASES: [&str; 5] = ["dark", "light", "dark16", "light16", "high-contrast"];

/// Keys with one colour.
const MEANINGS: [&str; 6] = ["good", "bad", "warning", "accent", "attention", "dim"];

/// Every key of the file.
const KEYS: [&str; 8] = ["base", "agents", "good", "bad", "warning", "accent", "attention", "dim"];

/// Names of colours: the sixteen of the terminal, and its own foreground.
const COLORS: [(&str, Color); 17] = [
    ("default", Color::Reset),
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("grey", Color::Gray),
    ("dark-grey", Color::DarkGray),
    ("light-red", Color::LightRed),
    ("light-green", Color::LightGreen),
    ("light-yellow", Color::LightYellow),
    ("light-blue", Color::LightBlue),
    ("light-magenta", Color::LightMagenta),
    ("light-cyan", Color::LightCyan),
    ("white", Color::White),
];

/// The colours of the file.
/// # Errors
/// What is wrong with it, each with its place.
pub fn read_theme_file(file: &SourceFile) -> Result<ThemePalette, Vec<Diagnostic>> {
    let mut findings = FileDiagnostics::new(file);
    let palette = read_palette(file, &mut findings);
    match palette.filter(|_| findings.list.is_empty()) {
        Some(palette) => Ok(palette),
        None => Err(findings.list),
    }
}

fn read_palette(file: &SourceFile, findings: &mut FileDiagnostics<'_>) -> Option<ThemePalette> {
    let root = JsonNode::parse(file, findings)?;
    let Some(members) = root.members() else {
        let found = format!("must be an object of colours, found {}", root.kind_name());
        findings.add_error("L01", root.span.clone(), found, None);
        return None;
    };
    let base = members.iter().find(|member| member.key == "base");
    let mut palette =
        base.map_or_else(|| Some(ThemePalette::default()), |member| read_base(&member.value, findings))?;
    for member in members.iter().filter(|member| !matches!(member.key.as_str(), "base" | "$schema")) {
        let key = member.key.as_str();
        if key == "agents" {
            read_agents(&member.value, &mut palette, findings);
        } else if MEANINGS.contains(&key) {
            if let Some(color) = read_color(&member.value, findings) {
                set_color(&mut palette, key, color);
            }
        } else {
            let hint = suggest_or_list(key, "keys", &KEYS);
            findings.add_error("L01", member.key_span.clone(), format!("there is no key `{key}` here"), hint);
        }
    }
    Some(palette)
}

fn read_base(value: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<ThemePalette> {
    let name = value.as_str().unwrap_or_default();
    let palette = ThemePalette::base_palette(name);
    if palette.is_none() {
        let hint = suggest_or_list(name, "themes", &BASES);
        findings.add_error(
            "L01",
            value.span.clone(),
            "there is no such theme to begin with".to_owned(),
            hint,
        );
    }
    palette
}

/// The first agents get these colours; the others keep theirs.
fn read_agents(value: &JsonNode, palette: &mut ThemePalette, findings: &mut FileDiagnostics<'_>) {
    let Some(items) = value.items().filter(|items| items.len() <= AGENT_COLORS) else {
        let message = format!("must be a list of up to {AGENT_COLORS} colours");
        findings.add_error("L01", value.span.clone(), message, None);
        return;
    };
    let mut seen: Vec<Color> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some(color) = read_color(item, findings) else { continue };
        if seen.contains(&color) {
            let hint = Some("give each agent a colour of its own".to_owned());
            findings.add_error("L02", item.span.clone(), "this colour is there twice".to_owned(), hint);
        }
        seen.push(color);
        palette.agents[at] = color;
    }
}

fn set_color(palette: &mut ThemePalette, key: &str, color: Color) {
    match key {
        "good" => palette.good = color,
        "bad" => palette.bad = color,
        "warning" => palette.warning = color,
        "accent" => palette.accent = color,
        "attention" => palette.attention = color,
        _ => palette.dim = Some(color),
    }
}

/// A name, `#rrggbb`, or a number of the 256.
fn read_color(value: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<Color> {
    let found = match value.as_str() {
        Some(text) => color_from_text(text),
        None => value.to_value().as_u64().and_then(|number| u8::try_from(number).ok()).map(Color::Indexed),
    };
    if found.is_none() {
        let names: Vec<&str> = COLORS.iter().map(|(name, _)| *name).collect();
        let written = value.as_str().unwrap_or_default();
        let hint = suggest_or_list(written, "\"#rrggbb\", a number from 0 to 255, or", &names);
        let message = "this is no colour".to_owned();
        findings.add_error("L02", value.span.clone(), message, hint);
    }
    found
}

fn color_from_text(text: &str) -> Option<Color> {
    if let Some(digits) = text.strip_prefix('#') {
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 6)?;
        let part = |shift: u32| u8::try_from(number >> shift & 0xff).unwrap_or(0);
        return Some(Color::Rgb(part(16), part(8), part(0)));
    }
    COLORS.iter().find(|(name, _)| *name == text).map(|(_, color)| *color)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{DARK, LIGHT};
    use synthdev_domain::source_location::ConfigLayer;

    fn read_text(text: &str) -> Result<ThemePalette, Vec<String>> {
        let read = read_theme_file(&SourceFile::new(ConfigLayer::User, "user:theme.json", text));
        read.map_err(|found| {
            let line = |one: Diagnostic| {
                format!("{} {} {} ({})", one.place, one.code, one.message, one.hint.unwrap_or_default())
            };
            found.into_iter().map(line).collect()
        })
    }

    #[test]
    fn a_file_changes_colours_of_a_built_in_theme() {
        let check = |text: &str, expected: ThemePalette| assert_eq!(read_text(text), Ok(expected), "{text}");
        check("{}", DARK);
        check("{\"base\": \"light\"}", LIGHT);
        check("{\"good\": \"#00ff7f\"}", ThemePalette { good: Color::Rgb(0, 255, 127), ..DARK });
        let changed = ThemePalette { dim: Some(Color::DarkGray), bad: Color::Indexed(9), ..LIGHT };
        check("{\"bad\": 9, \"dim\": \"dark-grey\", \"base\": \"light\"}", changed);
        let mut agents = DARK.agents;
        agents[0] = Color::Red;
        check("{\"agents\": [\"red\"]}", ThemePalette { agents, ..DARK });
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_place_and_a_hint() {
        let check = |text: &str, expected: &[&str]| {
            let found = read_text(text).unwrap_err();
            assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.contains(expected), "{text}: {found} instead of {expected}");
            }
        };
        check("[]", &["user:theme.json:1:1 L01 must be an object of colours"]);
        check("{", &["C01"]);
        check(
            "{\n \"godo\": \"red\"}",
            &["user:theme.json:2:2 L01 there is no key `godo` here (did you mean `good`?)"],
        );
        check(
            "{\"base\": \"drak\"}",
            &["user:theme.json:1:10 L01 there is no such theme to begin with (did you mean `dark`?)"],
        );
        check("{\"bad\": \"redd\"}", &["user:theme.json:1:9 L02 this is no colour (did you mean `red`?)"]);
        check("{\"bad\": \"#12345\", \"good\": 256}", &["L02 this is no colour", "L02 this is no colour"]);
        check("{\"agents\": [\"red\", \"red\"]}", &["L02 this colour is there twice"]);
        check("{\"agents\": \"red\"}", &["L01 must be a list of up to 6 colours"]);
    }
}
