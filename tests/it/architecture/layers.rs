//! What the manifests of the members allow them to import, and what of the outside world a pure member must not name.
//!
//! The compiler holds the walls between the members: a manifest that names no other member cannot use it. This guard holds
//! the manifests, and what no manifest can forbid.

use super::edges::Paths;
use super::source::Tree;

/// A member and which other members it may import.
const TABLE: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("language", &["domain"]),
    ("settings", &["domain", "language"]),
    ("engine", &["domain"]),
    ("ports", &["domain"]),
    ("runtime", &["domain", "engine", "ports"]),
    ("service", &["domain", "language", "settings", "engine", "ports", "runtime"]),
    ("adapters", &["domain", "ports"]),
    ("tui", &["domain", "service"]),
    ("cli", &["domain", "service"]),
    ("mcp", &["domain", "service"]),
    ("bootstrap", &["domain", "language", "settings", "engine", "ports", "runtime", "service", "adapters"]),
    ("restate", &["domain", "engine", "ports", "runtime"]),
    (
        "session",
        &[
            "domain",
            "language",
            "settings",
            "engine",
            "ports",
            "runtime",
            "service",
            "bootstrap",
            "tui",
            "cli",
        ],
    ),
    (
        "commands",
        &[
            "domain",
            "language",
            "settings",
            "engine",
            "ports",
            "runtime",
            "service",
            "bootstrap",
            "restate",
            "session",
            "cli",
            "mcp",
        ],
    ),
];

/// Members that are text and values only: no waiting, no world.
const PURE: &[&str] = &["domain", "language", "settings", "engine"];

/// Crates that the pure members must not depend on.
const WORLD_CRATES: &[&str] = &[
    "tokio",
    "futures-util",
    "reqwest",
    "async-openai",
    "rustls",
    "rusqlite",
    "git2",
    "rquickjs",
    "process-wrap",
    "directories",
    "ratatui",
    "crossterm",
    "anyhow",
];

/// What the pure members must not name of the standard library.
const WORLD_PATHS: &[&str] = &[
    "std::fs",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "std::net::ToSocketAddrs",
    "std::process",
    "std::thread",
    "std::env",
];

/// Takes every text file of the workspace.
pub(super) fn manifests(texts: &[(String, String)]) -> Vec<String> {
    let members = texts.iter().filter_map(|(path, text)| {
        Some((path, path.strip_prefix("src/")?.strip_suffix("/Cargo.toml")?, text))
    });
    let mut found = Vec::new();
    for (path, member, text) in members {
        let Some((_, allowed)) = TABLE.iter().find(|(name, _)| *name == member) else {
            found.push(format!("{path}:1: {member} is no member of the table"));
            continue;
        };
        for (line, name) in dependencies(text) {
            match name.strip_prefix("synthdev-") {
                Some(other) if !allowed.contains(&other) => {
                    found.push(format!("{path}:{line}: {member} must not import {other}"));
                }
                None if PURE.contains(&member) && WORLD_CRATES.contains(&name) => {
                    found.push(format!("{path}:{line}: {member} must not use {name}"));
                }
                _ => {}
            }
        }
    }
    found
}

/// Line and name of each dependency of shipped code.
fn dependencies(manifest: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut shipped = false;
    manifest.lines().enumerate().filter_map(move |(index, line)| {
        if let Some(section) = line.strip_prefix('[') {
            shipped = section == "dependencies]" || section.ends_with(".dependencies]");
            return None;
        }
        let name =
            line.split(['.', ' ', '=']).next().filter(|name| !name.is_empty() && !name.starts_with('#'));
        name.filter(|_| shipped).map(|name| (index + 1, name))
    })
}

pub(super) fn check_layers(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, module) in tree.shipped_modules() {
        let (Some(member), path) = (module.first(), &source.path) else { continue };
        if !PURE.contains(&member.as_str()) {
            continue;
        }
        let paths = Paths::from_source(source, module);
        for edge in paths.edges.iter().filter(|edge| edge.target.is_none()) {
            let (line, written) = (edge.line, edge.written.join("::"));
            let named = |name: &&&str| written == **name || written.starts_with(&format!("{name}::"));
            let named = WORLD_PATHS.iter().find(named);
            found
                .extend(named.map(|name| format!("{path}:{line}: {member} must not use {name} ({written})")));
        }
        found.extend(paths.asyncs.iter().map(|line| format!("{path}:{line}: {member} must not be async")));
    }
    found
}
