//! The table of layers: which may import which, and what of the outside world a pure layer must not name.

use super::edges::Paths;
use super::source::Tree;

/// Layer and what it may import besides itself.
const TABLE: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("config", &["domain"]),
    ("engine", &["domain"]),
    ("ports", &["domain"]),
    ("runtime", &["domain", "engine", "ports"]),
    ("adapters", &["domain", "ports"]),
    ("tui", &["domain", "config", "engine", "runtime"]),
    ("cli", &["domain", "config", "engine", "runtime"]),
    ("mcp", &["domain", "config", "engine", "runtime"]),
    ("app", &["domain", "config", "engine", "ports", "runtime", "adapters", "tui", "cli", "mcp"]),
];

/// Layers that are text and values only: no waiting, no world.
const PURE: &[&str] = &["domain", "config", "engine"];

/// What the pure layers must not name.
const WORLD: &[&str] = &[
    "tokio",
    "tokio_util",
    "futures_util",
    "reqwest",
    "async_openai",
    "rustls",
    "rusqlite",
    "git2",
    "rquickjs",
    "process_wrap",
    "directories",
    "ratatui",
    "crossterm",
    "anyhow",
    "std::fs",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "std::net::ToSocketAddrs",
    "std::process",
    "std::thread",
    "std::env",
];

pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (source, module) in tree.shipped() {
        let (Some(layer), path) = (module.first(), &source.path) else { continue };
        let Some((_, allowed)) = TABLE.iter().find(|(name, _)| name == layer) else {
            found.push(format!("{path}:1: {layer} is no layer of the table"));
            continue;
        };
        let paths = Paths::of(source, module);
        let pure = PURE.contains(&layer.as_str());
        for edge in &paths.edges {
            let line = edge.line;
            let written = edge.written.join("::");
            match edge.target.as_deref() {
                Some([]) => found.push(format!("{path}:{line}: names the whole crate: say which module")),
                Some([other, ..]) if other != layer && !allowed.contains(&other.as_str()) => {
                    let target =
                        edge.target.iter().flatten().fold("crate".to_owned(), |all, name| all + "::" + name);
                    found.push(format!("{path}:{line}: {layer} must not import {other} ({target})"));
                }
                Some(_) => {}
                None if pure => found.extend(
                    WORLD
                        .iter()
                        .filter(|name| written == **name || written.starts_with(&format!("{name}::")))
                        .map(|name| format!("{path}:{line}: {layer} must not use {name} ({written})")),
                ),
                None => {}
            }
        }
        if pure {
            found.extend(paths.asyncs.iter().map(|line| format!("{path}:{line}: {layer} must not be async")));
        }
    }
    found
}
