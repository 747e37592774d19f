//! Import cycles between the files of one layer.
//!
//! A parent that declares or re-exports its children depends on nothing by that; one that uses them does. Imports
//! through a re-export count as imports of the file that has the thing. Methods in `impl` blocks of other files leave
//! no path behind and are not seen.

use std::collections::{BTreeMap, BTreeSet};

use super::edges::{Edge, Paths};
use super::source::{Module, Tree};

/// Files that may form a cycle, and why.
pub(super) struct Exemption {
    pub(super) files: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// From a file to the files it imports, with the first line that does.
pub(super) type Graph = BTreeMap<usize, BTreeMap<usize, usize>>;

pub(super) fn check_cycles(tree: &Tree, exempt: &[Exemption]) -> Vec<String> {
    let graph = graph(tree);
    let name = |index: usize| tree.sources[index].path.as_str();
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for knot in strong_components(&graph) {
        let exemption =
            exempt.iter().position(|exempt| knot.iter().all(|file| exempt.files.contains(&name(*file))));
        if let Some(exemption) = exemption {
            used.insert(exemption);
            continue;
        }
        let edges: Vec<(usize, usize, usize)> = knot
            .iter()
            .flat_map(|from| graph[from].iter().map(|(to, line)| (*from, *line, *to)))
            .filter(|(_, _, to)| knot.contains(to))
            .collect();
        let (first, line, _) = edges[0];
        let layer = tree.sources[first].module.iter().flatten().next().map_or("", String::as_str);
        let told: Vec<String> = edges
            .iter()
            .map(|(from, line, to)| format!("{}:{line} imports {}", name(*from), name(*to)))
            .collect();
        found.push(format!("{}:{line}: cycle inside {layer}: {}", name(first), told.join(", ")));
    }
    for (index, exempt) in exempt.iter().enumerate().filter(|(index, _)| !used.contains(index)) {
        let _ = index;
        let reason = exempt.reason;
        found.push(format!("{}: the exemption for a cycle is no longer needed: {reason}", exempt.files[0]));
    }
    found
}

fn graph(tree: &Tree) -> Graph {
    let shipped: Vec<(usize, &Module, Paths)> = tree
        .shipped_modules()
        .map(|(source, module)| (tree.modules[module], module, Paths::from_source(source, module)))
        .collect();
    let mut imported = BTreeMap::new();
    for (_, module, paths) in &shipped {
        for edge in &paths.edges {
            if let (Some(name), Some(target)) = (&edge.name, &edge.target) {
                imported.insert([module.as_slice(), std::slice::from_ref(name)].concat(), target.clone());
            }
        }
    }
    let mut graph = Graph::new();
    for (index, module, paths) in &shipped {
        let to = graph.entry(*index).or_default();
        for edge in paths.edges.iter().filter(|edge| !hands_on(edge, module)) {
            let Some(target) = edge.target.as_ref().and_then(|target| defining_file(tree, &imported, target))
            else {
                continue;
            };
            if target != *index && tree.sources[target].module.iter().flatten().next() == module.first() {
                to.entry(target).or_insert(edge.line);
            }
        }
    }
    graph
}

/// `pub use child::Thing` in the parent.
fn hands_on(edge: &Edge, module: &Module) -> bool {
    edge.public && edge.target.as_ref().is_some_and(|target| target.starts_with(module))
}

/// The file that has what the path names, behind re-exports.
fn defining_file(tree: &Tree, imported: &BTreeMap<Module, Module>, target: &Module) -> Option<usize> {
    let mut target = target.clone();
    for _ in 0..8 {
        let known = (0..=target.len()).rev().find(|end| tree.modules.contains_key(&target[..*end]))?;
        let next = target.get(..known + 1).and_then(|name| imported.get(name));
        match next {
            Some(next) if *next != target => target = [next.as_slice(), &target[known + 1..]].concat(),
            _ => return tree.modules.get(&target[..known]).copied(),
        }
    }
    None
}

/// Groups of files that reach each other (Tarjan's strongly connected components with more than one file).
pub(super) fn strong_components(graph: &Graph) -> Vec<BTreeSet<usize>> {
    let mut search = Search {
        graph,
        discovery_order: BTreeMap::new(),
        low_link: BTreeMap::new(),
        stack: Vec::new(),
        components: Vec::new(),
    };
    for file in graph.keys() {
        if !search.discovery_order.contains_key(file) {
            search.visit_file(*file);
        }
    }
    search.components.sort();
    search.components
}

struct Search<'a> {
    graph: &'a Graph,
    /// Order of discovery.
    discovery_order: BTreeMap<usize, usize>,
    low_link: BTreeMap<usize, usize>,
    stack: Vec<usize>,
    components: Vec<BTreeSet<usize>>,
}

impl Search<'_> {
    fn visit_file(&mut self, file: usize) {
        let order = self.discovery_order.len();
        self.discovery_order.insert(file, order);
        self.low_link.insert(file, order);
        self.stack.push(file);
        for next in self.graph.get(&file).into_iter().flat_map(BTreeMap::keys) {
            let reached = match self.discovery_order.get(next) {
                None => {
                    self.visit_file(*next);
                    self.low_link[next]
                }
                Some(order) if self.stack.contains(next) => *order,
                Some(_) => continue,
            };
            let low = self.low_link[&file].min(reached);
            self.low_link.insert(file, low);
        }
        if self.low_link[&file] == order {
            let start = self.stack.iter().position(|other| *other == file).unwrap();
            let knot: BTreeSet<usize> = self.stack.drain(start..).collect();
            if knot.len() > 1 {
                self.components.push(knot);
            }
        }
    }
}
