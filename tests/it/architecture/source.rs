//! The files of the house: parsed Rust with its module path, and every text file for the plain-text check.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::Item;

use super::syntax::{attributes, is_test};

/// `["engine", "machine"]` for the module `machine` of the member `src/engine`; empty for the façade.
pub(super) type Module = Vec<String>;

pub(super) struct Source {
    /// Relative to the package, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) file: syn::File,
    /// `None` outside of the libraries: `main.rs`, tests and benches.
    pub(super) module: Option<Module>,
}

pub(super) struct Tree {
    pub(super) sources: Vec<Source>,
    /// Index of the file of a module.
    pub(super) modules: BTreeMap<Module, usize>,
    /// Modules declared under `#[cfg(test)]`; what is below them is test code too.
    tests: BTreeSet<Module>,
}

impl Tree {
    pub(super) fn read_tree(root: &Path) -> Self {
        Self::from_files(texts(root).into_iter().filter(|(path, _)| path.ends_with(".rs")).collect())
    }

    /// The files that hold these words, and those that say which modules are tests.
    pub(super) fn read_files_with(root: &Path, words: &str) -> Self {
        let declares_tests = |text: &str| text.contains("#[cfg(test)]\nmod ") && text.contains("mod tests;");
        let wanted = |(path, text): &(String, String)| {
            path.ends_with(".rs") && (text.contains(words) || declares_tests(text))
        };
        Self::from_files(texts(root).into_iter().filter(wanted).collect())
    }

    pub(super) fn from_files(files: Vec<(String, String)>) -> Self {
        let sources: Vec<Source> = files
            .into_iter()
            .map(|(path, text)| Source {
                file: syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}")),
                module: module_for_path(&path),
                path,
                text,
            })
            .collect();
        let mut modules = BTreeMap::new();
        let mut tests = BTreeSet::new();
        for (index, source) in sources.iter().enumerate() {
            let Some(module) = &source.module else { continue };
            modules.insert(module.clone(), index);
            for item in &source.file.items {
                if let Item::Mod(declared) = item
                    && is_test(attributes(item))
                {
                    tests.insert([module.as_slice(), &[declared.ident.to_string()]].concat());
                }
            }
        }
        Self { sources, modules, tests }
    }

    /// Library code that ships, with its module.
    pub(super) fn shipped_modules(&self) -> impl Iterator<Item = (&Source, &Module)> {
        self.sources.iter().filter_map(|source| {
            let module = source.module.as_ref()?;
            let tested = is_test(&source.file.attrs)
                || (1..=module.len()).any(|end| self.tests.contains(&module[..end]));
            (!tested).then_some((source, module))
        })
    }
}

/// Every file of the package that is text, without what git ignores.
pub(super) fn texts(root: &Path) -> Vec<(String, String)> {
    let read = |path: String| {
        let text = String::from_utf8(std::fs::read(root.join(&path)).ok()?).ok()?;
        Some((path, text))
    };
    paths(root).into_iter().filter_map(read).collect()
}

/// Every file of the package, without what git ignores.
pub(super) fn paths(root: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .parents(false)
        .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != "target")
        .build();
    let mut paths: Vec<_> = walk
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| Some(entry.path().strip_prefix(root).unwrap().to_str()?.replace('\\', "/")))
        .collect();
    paths.sort();
    paths
}

fn module_for_path(path: &str) -> Option<Module> {
    match path.strip_prefix("src/")?.strip_suffix(".rs")? {
        "main" => None,
        "lib" => Some(Module::new()),
        path => Some(path.strip_suffix("/lib").unwrap_or(path).split('/').map(str::to_owned).collect()),
    }
}
