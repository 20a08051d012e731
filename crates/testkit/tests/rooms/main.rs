//! The map in ARCHITECTURE.md is the tree, and a rule: a room uses only rooms of its own row and of rows before it.
//! Nowhere do files use each other in a circle. Test modules are exempt.
//!
//! A use is a path or an import of the same crate or package. It counts for the file that defines the name:
//! re-exports are followed.

#![allow(clippy::unwrap_used, reason = "not shipped")]

mod python;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of the repository.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn tour() -> String {
    fs::read_to_string(folder("ARCHITECTURE.md")).unwrap()
}

/// The rooms of a folder in their order: the names in the first column of its table, row by row.
type Order = Vec<Vec<String>>;

/// The names in backticks.
fn names(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(|name| name.to_string()).collect()
}

/// The tables of the map, by folder: each stands under a heading that is the folder's name in backticks.
fn map() -> BTreeMap<String, Order> {
    let mut map: BTreeMap<String, Order> = BTreeMap::new();
    let mut folder = None;
    for line in tour().lines() {
        if line.starts_with('#') {
            folder = line.strip_prefix("### `").and_then(|line| line.split('`').next()).map(String::from);
        } else if let (Some(folder), Some(row)) = (&folder, line.strip_prefix("| `")) {
            let rooms = names(&format!("`{}", row.split('|').next().unwrap()));
            map.entry(folder.clone()).or_default().push(rooms);
        }
    }
    map
}

/// The folders with sources that the map has to have.
fn folders() -> BTreeSet<String> {
    let crates = fs::read_dir(folder("crates")).unwrap();
    let crates = crates.map(|entry| format!("crates/{}/src", entry.unwrap().file_name().to_str().unwrap()));
    crates.chain(["src", "python/src", "python/nearprint"].map(String::from)).collect()
}

#[test]
fn rooms_use_only_rooms_before_them_and_files_form_no_circles() {
    for (name, order) in map() {
        let sources = sources(&name);
        let problems = problems(&sources, &order);
        assert!(problems.is_empty(), "{name}\n{}", problems.join("\n"));
    }
}

#[test]
fn the_map_is_the_tree() {
    let map = map();
    assert_eq!(map.keys().cloned().collect::<BTreeSet<_>>(), folders());
    for (name, order) in map {
        let files = parse(&sources(&name));
        let is_test = |room: &String| files.get(&[][..]).is_some_and(|root| root.test_modules.contains(room));
        let rooms = files.keys().filter_map(|module| module.first()).filter(|room| !is_test(room));
        let rooms: BTreeSet<&String> = rooms.collect();
        let mapped: Vec<&String> = order.iter().flatten().collect();
        assert_eq!(mapped.iter().copied().collect::<BTreeSet<_>>(), rooms, "{name}");
        assert_eq!(mapped.len(), rooms.len(), "{name} has a room twice");
    }
}

#[test]
fn the_tour_is_short_and_names_files_that_are_there() {
    let tour = tour();
    let words = tour.split_whitespace().count();
    assert!(words <= 2500, "{words} words");
    let roots: Vec<PathBuf> =
        folders().into_iter().chain([String::new()]).map(|name| folder(&name)).collect();
    let paths = names(&tour).into_iter().filter(|name| name.contains('/') || name.ends_with(".rs"));
    let missing: Vec<String> =
        paths.filter(|path| !roots.iter().any(|root| root.join(path).exists())).collect();
    assert!(missing.is_empty(), "not there: {}", missing.join(", "));
}

/// A module path: `["run", "segment"]`. The root of the crate or package is empty.
pub(crate) type ModulePath = Vec<String>;

/// The parts of a source file that the check needs.
#[derive(Default)]
pub(crate) struct File {
    /// Absolute paths, and whether they are re-exported with `pub use`.
    paths: Vec<(ModulePath, bool)>,
    re_exports: BTreeMap<String, ModulePath>,
    /// Child modules under `#[cfg(test)]`.
    test_modules: BTreeSet<String>,
}

/// The text of a file, and its name.
type Source = (String, String);

/// All sources of a folder, by module path.
fn sources(name: &str) -> BTreeMap<ModulePath, Source> {
    let mut sources = BTreeMap::new();
    read_sources(&folder(name), &mut Vec::new(), &mut sources);
    assert!(!sources.is_empty(), "{name}");
    sources
}

/// Reads all sources below a folder, by module path.
fn read_sources(folder: &Path, module: &mut ModulePath, sources: &mut BTreeMap<ModulePath, Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        if path.is_dir() {
            module.push(name);
            read_sources(&path, module, sources);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "py") {
            let mut own = module.clone();
            own.extend(Some(name).filter(|name| !["mod", "lib", "__init__"].contains(&&**name)));
            let file = path.file_name().unwrap().to_str().unwrap().to_string();
            sources.insert(own, (file, fs::read_to_string(&path).unwrap()));
        }
    }
}

fn parse(sources: &BTreeMap<ModulePath, Source>) -> BTreeMap<ModulePath, File> {
    let parse = |module: &[String], (name, text): &Source| match name.strip_suffix(".py") {
        Some(name) => python::parse(module, text, name == "__init__"),
        None => rust::parse(module, text),
    };
    sources.iter().map(|(module, source)| (module.clone(), parse(module, source))).collect()
}

/// All violations, as lines of text.
fn problems(sources: &BTreeMap<ModulePath, Source>, order: &[Vec<String>]) -> Vec<String> {
    let files = parse(sources);
    let is_test = |module: &ModulePath| {
        (1..=module.len()).any(|len| {
            let (parent, child) = (&module[..len - 1], &module[len - 1]);
            files.get(parent).is_some_and(|parent| parent.test_modules.contains(child))
        })
    };
    let mut problems = Vec::new();
    let mut uses: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = BTreeMap::new();
    for (module, file) in files.iter().filter(|(module, _)| !module.is_empty() && !is_test(module)) {
        for (path, is_re_export) in &file.paths {
            let Some((target, _)) = resolve(&files, path) else { continue };
            if target == module {
                continue;
            }
            if target.first() != module.first() {
                problems.extend(check_order(module, target, order));
            }
            if !is_re_export {
                uses.entry(module).or_default().insert(target);
            }
        }
    }
    problems.sort();
    problems.dedup();
    problems.extend(circles(&uses));
    problems
}

/// A violation of the order of rooms.
fn check_order(module: &[String], target: &[String], order: &[Vec<String>]) -> Option<String> {
    let place = |module: &[String]| {
        order.iter().position(|row| module.first().is_some_and(|room| row.contains(room)))
    };
    let text = format!("{} uses {}", module.join("::"), target.join("::"));
    match (place(module), place(target)) {
        (None, _) => Some(format!("{}: a room that has no place in the order", module.join("::"))),
        (_, None) if target.is_empty() => Some(format!("{text} the root of the crate")),
        (_, None) => Some(format!("{text}, which has no place in the order")),
        (Some(own), Some(other)) if other > own => Some(format!("{text}, a later room")),
        _ => None,
    }
}

/// Circles among files: groups of files that reach each other.
fn circles(uses: &BTreeMap<&ModulePath, BTreeSet<&ModulePath>>) -> Vec<String> {
    let reached = |from: &ModulePath| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            for &next in uses.get(module).into_iter().flatten() {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let all: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        uses.keys().map(|&module| (module, reached(module))).collect();
    let mut found = BTreeSet::new();
    for (&module, reachable) in &all {
        if reachable.contains(module) {
            let back = |other: &&&ModulePath| all.get(**other).is_some_and(|other| other.contains(module));
            let circle: Vec<String> = reachable.iter().filter(back).map(|module| module.join("::")).collect();
            found.insert(format!("a circle of {}", circle.join(", ")));
        }
    }
    found.into_iter().collect()
}

/// The file that defines a path, and the part of the path after that file. Follows re-exports.
fn resolve<'a>(
    files: &'a BTreeMap<ModulePath, File>,
    path: &[String],
) -> Option<(&'a ModulePath, Vec<String>)> {
    let len = (0..=path.len()).rev().find(|&len| files.contains_key(&path[..len]))?;
    let (module, file) = files.get_key_value(&path[..len])?;
    let rest = &path[len..];
    match rest.first().and_then(|name| file.re_exports.get(name)) {
        Some(target) => resolve(files, &[target, &rest[1..]].concat()),
        None => Some((module, rest.to_vec())),
    }
}

/// The problems of some sources, given by module path.
fn problems_of(sources: &[(&str, &str)]) -> Vec<String> {
    let module = |path: &str| path.split("::").filter(|name| !name.is_empty()).map(String::from).collect();
    let source = |text: &str| ("file.rs".to_string(), text.to_string());
    let sources = sources.iter().map(|(path, text)| (module(path), source(text))).collect();
    problems(&sources, &["low", "high"].map(|room| vec![room.to_string()]))
}

#[test]
fn a_use_of_a_later_room_is_found_in_every_form() {
    let high = ("high", "pub fn call() {}");
    for text in [
        "use crate::high::call;",
        "use crate::{high::call as other};",
        "use super::high;",
        "fn f() { crate::high::call() }",
        "fn f() { g(\"crate::low\", 'c', b'\\'', r#\"\"\"#, super::high::call::<'static>) }",
        "pub(crate) use crate::high::call;",
    ] {
        assert_eq!(problems_of(&[("low", text), high]), ["low uses high, a later room"], "{text}");
    }
    for text in [
        "// use crate::high::call;\nconst A: &str = \"crate::high\";",
        "#[cfg(test)]\nmod tests { use crate::high::call; fn f() { if true {} } }",
        "use crate::low::other; fn crate_high() {}",
        "/* crate::high */ const A: &str = r\"\\\";",
    ] {
        assert!(problems_of(&[("low", text), high]).is_empty(), "{text}");
    }
    assert!(problems_of(&[("low", ""), ("high", "use crate::low::call;")]).is_empty());
    assert_eq!(
        problems_of(&[("low", "use crate::unknown::A;"), ("unknown", "")]),
        ["low uses unknown, which has no place in the order"]
    );
}

#[test]
fn circles_are_found_and_re_exports_are_followed() {
    let re_exports = ("low", "mod a;\nmod b;\npub(crate) use a::A;\npub(crate) use b::{B, C as D};");
    let circle = ["a circle of low::a, low::b"];
    assert_eq!(
        problems_of(&[re_exports, ("low::a", "use super::b::B;"), ("low::b", "use super::A;")]),
        circle
    );
    assert_eq!(
        problems_of(&[re_exports, ("low::a", "fn f() -> crate::low::D {}"), ("low::b", "use super::a;")]),
        circle
    );
    assert!(problems_of(&[re_exports, ("low::a", ""), ("low::b", "use crate::low::A;")]).is_empty());
    // A module file that defines what its children use is part of a circle if it uses them.
    let parent = ("low", "mod a;\npub struct P(a::A);");
    assert_eq!(problems_of(&[parent, ("low::a", "use super::P;")]), ["a circle of low, low::a"]);
    let tests = ("low", "#[cfg(test)]\nmod a;\npub struct P;");
    assert!(problems_of(&[tests, ("low::a", "use super::P; use crate::high;"), ("high", "")]).is_empty());
    // Re-exports at the root of the crate lead to the room that defines the name.
    let root = ("", "mod high;\nmod low;\npub use high::H;");
    assert_eq!(
        problems_of(&[root, ("low", "use crate::H;"), ("high", "pub struct H;")]),
        ["low uses high, a later room"]
    );
}

#[test]
fn imports_of_python_are_found_in_every_form() {
    let module = |path: &str| path.split('.').filter(|name| !name.is_empty()).map(String::from).collect();
    let problems_of = |sources: &[(&str, &str, &str)]| {
        let source = |name: &str, text: &str| (name.to_string(), text.to_string());
        let sources = sources.iter().map(|(path, name, text)| (module(path), source(name, text))).collect();
        problems(&sources, &["low", "high"].map(|room| vec![room.to_string()]))
    };
    let (root, high) = (("", "__init__.py", "from . import low"), ("high", "__init__.py", ""));
    for text in
        ["from . import high", "from .high import call", "from .high import (\n    call,\n    other,\n)"]
    {
        assert_eq!(
            problems_of(&[root, ("low", "low.py", text), high]),
            ["low uses high, a later room"],
            "{text}"
        );
    }
    let nested = ("low.inner", "inner.py", "def call():\n    from .. import _nearprint, high as other");
    assert_eq!(
        problems_of(&[root, ("low", "__init__.py", ""), nested, high]),
        ["low::inner uses high, a later room"]
    );
    let examples = "\"\"\"Examples::\n\n    from nearprint.high import call\n\"\"\"\nfrom . import _nearprint\nimport high";
    assert!(problems_of(&[root, ("low", "low.py", examples), high]).is_empty());
    let circle = [root, ("low", "__init__.py", "from .a import A"), ("low.a", "a.py", "from .b import B")];
    let circle = [&circle[..], &[("low.b", "b.py", "from . import a")]].concat();
    assert_eq!(problems_of(&circle), ["a circle of low::a, low::b"]);
}
