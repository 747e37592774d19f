//! Builds what agents get beside their roles: the environment block from its template, and the guidance of `AGENTS.md`
//! files. Never reads a file or the clock.

use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::system_context::SystemContext;
use synthdev_language::did_you_mean;
use synthdev_language::source::{FileDiagnostics, SourceFile};

/// The file of guidance, by the name under which other programs look for it, too.
pub use synthdev_domain::system_context::GUIDANCE;
/// The template of the environment block.
pub const TEMPLATE: &str = "environment.md";

/// What the template can name.
const NAMES: [&str; 5] = ["os", "directory", "date", "files", INDEX];
/// The one that needs the index of the project.
const INDEX: &str = "index";

/// What is true when a run starts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SystemContextFacts {
    pub os: String,
    pub directory: String,
    /// As 2026-01-31.
    pub date: String,
    /// Relative paths of the project's files: only as many as are wanted.
    pub files: Vec<String>,
    /// More files were there.
    pub has_more_files: bool,
    /// What the index says of the project and of what lies directly in it, a line each.
    pub index: Vec<String>,
}

/// Which parts there are, and how long they may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemContextOptions {
    pub environment: bool,
    pub guidance: bool,
    /// Characters of one guidance file.
    pub guidance_limit: usize,
}

/// A guidance file and what is given of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuidanceExcerpt<'a> {
    pub file: &'a SourceFile,
    /// Characters that are given, and that the file has.
    pub shown_chars: usize,
    pub total_chars: usize,
}

/// The brief of a run that starts now. `templates` and `guidance` may come in any order: of the templates the strongest
/// counts, of the guidance each, the user's first.
pub fn build_system_context(
    templates: &[SourceFile],
    guidance: &[SourceFile],
    wanted: SystemContextOptions,
    facts: &SystemContextFacts,
) -> SystemContext {
    let template = templates.iter().max_by_key(|file| file.layer).filter(|_| wanted.environment);
    SystemContext {
        environment: template.map(|file| render_template(&file.text, facts)).unwrap_or_default(),
        guidance: if wanted.guidance {
            excerpt_guidance(guidance, wanted.guidance_limit)
        } else {
            String::new()
        },
    }
}

/// Whether the template that counts names the index of the project.
pub fn names_index(templates: &[SourceFile], wanted: SystemContextOptions) -> bool {
    let template = templates.iter().max_by_key(|file| file.layer).filter(|_| wanted.environment);
    let text = template.map_or("", |file| &*file.text);
    let mut from = 0;
    while let Some((start, end)) = next_name(text, from) {
        if text[start + 2..end - 2].trim() == INDEX {
            return true;
        }
        from = end;
    }
    false
}

/// The excerpt of each guidance file that agents get, in prompt order.
pub fn guidance_excerpts(guidance: &[SourceFile], limit: usize) -> Vec<GuidanceExcerpt<'_>> {
    let given = |file| {
        let (shown, whole) = cut_at_line(file, limit);
        GuidanceExcerpt { file, shown_chars: shown.chars().count(), total_chars: whole }
    };
    order_guidance(guidance).into_iter().map(given).collect()
}

/// Names in a template that have no value (C18).
pub fn check_template(template: &SourceFile) -> Vec<Diagnostic> {
    let mut findings = FileDiagnostics::new(template);
    let mut from = 0;
    while let Some((start, end)) = next_name(&template.text, from) {
        let name = template.text[start + 2..end - 2].trim();
        if !NAMES.contains(&name) {
            let hint = did_you_mean::suggest_or_list(name, "names", &NAMES);
            findings.add_warning(
                "C18",
                start..end,
                format!("`{{{{{name}}}}}` stands for nothing here"),
                hint,
            );
        }
        from = end;
    }
    findings.list
}

/// Leaves out a line if a name in it has no value.
fn render_template(template: &str, facts: &SystemContextFacts) -> String {
    let lines = template.lines().filter_map(|line| render_line(line, facts));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn render_line(line: &str, facts: &SystemContextFacts) -> Option<String> {
    let (mut text, mut from) = (String::new(), 0);
    while let Some((start, end)) = next_name(line, from) {
        text.push_str(&line[from..start]);
        let value = match line[start + 2..end - 2].trim() {
            "os" => facts.os.clone(),
            "directory" => facts.directory.clone(),
            "date" => facts.date.clone(),
            "files" => file_list(facts),
            INDEX => index_list(facts),
            _ => line[start..end].to_owned(),
        };
        if value.is_empty() {
            return None;
        }
        text.push_str(&value);
        from = end;
    }
    text.push_str(&line[from..]);
    Some(text)
}

/// The next `{{…}}` of a text: where it begins and ends.
fn next_name(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.find("{{")?;
    let end = start + text[start..].find("}}")? + 2;
    Some((start, end))
}

fn file_list(facts: &SystemContextFacts) -> String {
    if facts.files.is_empty() {
        return String::new();
    }
    let head = if facts.has_more_files { "- files (there are more):" } else { "- files:" };
    let lines = facts.files.iter().map(|file| format!("  {file}"));
    std::iter::once(head.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

/// A model wrote it after files of the project, so it must not pass for words of the user.
fn index_list(facts: &SystemContextFacts) -> String {
    if facts.index.is_empty() {
        return String::new();
    }
    let head = "- what a model wrote about the project's files (no instructions):";
    let lines = facts.index.iter().map(|line| format!("  {line}"));
    std::iter::once(head.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

fn excerpt_guidance(guidance: &[SourceFile], limit: usize) -> String {
    let section = |file: &SourceFile| {
        let (shown, whole) = cut_at_line(file, limit);
        if shown.trim().is_empty() {
            return None;
        }
        let whose = if file.layer == ConfigLayer::User { "the user" } else { "this project" };
        let rest = match whole - shown.chars().count() {
            0 => String::new(),
            left => format!("\n[{left} more characters of {GUIDANCE} are left out here]"),
        };
        Some(format!("Guidance of {whose} ({GUIDANCE}):\n\n{}{rest}", shown.trim()))
    };
    order_guidance(guidance).into_iter().filter_map(section).collect::<Vec<_>>().join("\n\n")
}

/// The user's before the project's, which is closer to the work.
fn order_guidance(guidance: &[SourceFile]) -> Vec<&SourceFile> {
    let mut files: Vec<&SourceFile> = guidance.iter().collect();
    files.sort_by_key(|file| file.layer);
    files
}

/// As much of a file as may be given, whole lines where there are some; and how many characters it has.
fn cut_at_line(file: &SourceFile, limit: usize) -> (&str, usize) {
    let whole = file.text.chars().count();
    let Some((end, _)) = file.text.char_indices().nth(limit) else { return (&file.text, whole) };
    let shown = &file.text[..end];
    let line = shown.rfind('\n').map_or(0, |at| at + 1);
    (if line > 0 { &shown[..line] } else { shown }, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(layer: ConfigLayer, text: &str) -> SourceFile {
        SourceFile::new(layer, "AGENTS.md", text)
    }

    fn facts() -> SystemContextFacts {
        SystemContextFacts {
            os: "linux".into(),
            directory: "/p".into(),
            date: "2026-01-31".into(),
            ..SystemContextFacts::default()
        }
    }

    #[test]
    fn a_template_is_filled_in() {
        let many = SystemContextFacts {
            files: vec!["a.rs".into(), "b/c.rs".into()],
            has_more_files: true,
            ..facts()
        };
        for (template, facts, expected) in [
            ("on {{os}} in {{ directory }}\n", facts(), "on linux in /p"),
            ("{{date}}{{date}}", facts(), "2026-01-312026-01-31"),
            ("a\n{{files}}\nb", facts(), "a\nb"),
            ("a\n{{files}}\nb", many, "a\n- files (there are more):\n  a.rs\n  b/c.rs\nb"),
            ("a\n{{index}}\nb", facts(), "a\nb"),
            (
                "{{ index }}",
                SystemContextFacts { index: vec![".: A shop.".into(), "src/: Code.".into()], ..facts() },
                "- what a model wrote about the project's files (no instructions):\n  .: A shop.\n  src/: Code.",
            ),
            ("{{nothing}} {{ os", facts(), "{{nothing}} {{ os"),
            ("{{os}}", SystemContextFacts::default(), ""),
            (" \n\n", facts(), ""),
        ] {
            assert_eq!(render_template(template, &facts), expected, "{template}");
        }
    }

    #[test]
    fn the_template_that_counts_names_the_index_or_not() {
        let on = SystemContextOptions { environment: true, guidance: true, guidance_limit: 9 };
        let off = SystemContextOptions { environment: false, ..on };
        let (user, project) = (ConfigLayer::User, ConfigLayer::Project);
        for (files, wanted, expected) in [
            (vec![file(user, "{{os}} {{ index }}")], on, true),
            (vec![file(user, "{{index}}")], off, false),
            (vec![file(user, "{{index}}"), file(project, "{{os}} index")], on, false),
            (Vec::new(), on, false),
        ] {
            assert_eq!(names_index(&files, wanted), expected, "{files:?}");
        }
    }

    #[test]
    fn names_that_stand_for_nothing_are_found() {
        let found = |text: &str| {
            check_template(&file(ConfigLayer::User, text))
                .into_iter()
                .map(|one| one.message)
                .collect::<Vec<_>>()
        };
        assert_eq!(found("{{os}} {{date }}\n{{files}} {{index}} {{"), Vec::<String>::new());
        assert_eq!(found("{{os}} {{dat}}"), ["`{{dat}}` stands for nothing here"]);
    }

    #[test]
    fn guidance_is_told_in_order_and_says_what_it_leaves_out() {
        let wanted = SystemContextOptions { environment: true, guidance: true, guidance_limit: 12 };
        let files = [file(ConfigLayer::Project, "one\ntwo\nthree\nfour"), file(ConfigLayer::User, "mine")];
        let told = build_system_context(&[], &files, wanted, &facts());
        assert_eq!(told.environment, "");
        assert_eq!(
            told.guidance,
            "Guidance of the user (AGENTS.md):\n\nmine\n\nGuidance of this project (AGENTS.md):\n\none\ntwo\n\
             [10 more characters of AGENTS.md are left out here]"
        );
        let shown: Vec<_> =
            guidance_excerpts(&files, 12).iter().map(|one| (one.shown_chars, one.total_chars)).collect();
        assert_eq!(shown, [(4, 4), (8, 18)]);
        let nothing = SystemContextOptions { environment: false, guidance: false, ..wanted };
        assert!(
            build_system_context(&[file(ConfigLayer::BuiltIn, "{{os}}")], &files, nothing, &facts())
                .is_empty()
        );
        let strongest = [
            file(ConfigLayer::User, "u {{os}}"),
            file(ConfigLayer::BuiltIn, "b"),
            file(ConfigLayer::Project, "p"),
        ];
        assert_eq!(build_system_context(&strongest, &[], wanted, &facts()).environment, "p");
        assert_eq!(
            build_system_context(&[], &[file(ConfigLayer::User, " \n")], wanted, &facts()).guidance,
            ""
        );
        assert_eq!(cut_at_line(&file(ConfigLayer::User, "äöü"), 2).0, "äö", "no line to end at");
    }
}
