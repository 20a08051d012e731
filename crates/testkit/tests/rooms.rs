//! The order of rooms that the tables of ARCHITECTURE.md give: a room uses only rooms before it. And in no crate do
//! files use each other in a circle. Test modules are exempt.
//!
//! The check finds every path that starts with `crate`, `super`, `self` or a child module, follows
//! re-exports, and maps it to the file that defines it.

#![allow(clippy::unwrap_used, reason = "not shipped")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A folder of the repository.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// The rooms of a module in their order.
struct Rooms {
    of: ModulePath,
    order: Vec<String>,
}

/// The rooms of a module: the first column of the first table of ARCHITECTURE.md after a line that begins with `text`.
fn rooms(of: &[&str], text: &str) -> Rooms {
    let all = fs::read_to_string(folder("ARCHITECTURE.md")).unwrap();
    let table =
        all.lines().skip_while(|line| !line.starts_with(text)).skip_while(|line| !line.starts_with('|'));
    let rooms = table.take_while(|line| line.starts_with('|')).skip(2);
    let order: Vec<String> = rooms
        .map(|row| row.split('`').nth(1).expect("a name in backticks"))
        .map(|name| name.trim_end_matches(".rs").trim_end_matches('/').to_string())
        .collect();
    assert!(order.len() > 3, "{text}: {order:?}");
    Rooms { of: of.iter().map(ToString::to_string).collect(), order }
}

fn sources(name: &str) -> BTreeMap<ModulePath, String> {
    let mut sources = BTreeMap::new();
    read_sources(&folder(name), &mut Vec::new(), &mut sources);
    sources
}

#[test]
fn rooms_use_only_rooms_before_them_and_files_form_no_circles() {
    let sources = sources("src");
    assert!(sources.len() > 100, "only {} files", sources.len());
    let problems = problems(&sources, &[rooms(&[], "## The rooms of the engine")]);
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn files_of_the_other_crates_form_no_circles() {
    for (name, least) in [
        ("crates/nearprint-text", 100),
        ("crates/nearprint-cli", 50),
        ("crates/nearprint-c", 10),
        ("crates/nearprint-image", 5),
        ("python", 20),
    ] {
        let sources = sources(&format!("{name}/src"));
        assert!(sources.len() > least, "only {} files in {name}", sources.len());
        let rooms = match name {
            "crates/nearprint-text" => vec![rooms(&["dedup"], "`crates/nearprint-text/src/dedup/`")],
            _ => Vec::new(),
        };
        let problems = problems(&sources, &rooms);
        assert!(problems.is_empty(), "{name}\n{}", problems.join("\n"));
    }
}

/// A module path: `["run", "segment"]`. The root of the crate is empty.
type ModulePath = Vec<String>;

/// Reads all sources below a folder, by module path.
fn read_sources(folder: &Path, module: &mut ModulePath, sources: &mut BTreeMap<ModulePath, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        if path.is_dir() {
            module.push(name);
            read_sources(&path, module, sources);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut own = module.clone();
            own.extend(Some(name).filter(|name| name != "mod" && name != "lib"));
            sources.insert(own, fs::read_to_string(&path).unwrap());
        }
    }
}

/// All violations, as lines of text.
fn problems(sources: &BTreeMap<ModulePath, String>, rooms: &[Rooms]) -> Vec<String> {
    let files: BTreeMap<ModulePath, File> =
        sources.iter().map(|(module, text)| (module.clone(), File::parse(module, text))).collect();
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
            problems.extend(rooms.iter().filter_map(|rooms| rooms.check(module, target)));
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

impl Rooms {
    /// A violation of their order.
    fn check(&self, module: &[String], target: &[String]) -> Option<String> {
        let room = |module: &'_ [String]| module.strip_prefix(&self.of[..])?.first().cloned();
        let own = room(module)?;
        if !target.starts_with(&self.of) || room(target).as_ref() == Some(&own) {
            return None;
        }
        let place = |room: &String| self.order.iter().position(|known| known == room);
        let text = format!("{} uses {}", module.join("::"), target.join("::"));
        match (place(&own), room(target).map(|other| place(&other))) {
            (None, _) => Some(format!("{}: a room that has no place in the order", module.join("::"))),
            (_, None) => Some(format!("{text}, the root of the rooms")),
            (_, Some(None)) => Some(format!("{text}, which has no place in the order")),
            (Some(own), Some(Some(other))) if other > own => Some(format!("{text}, a later room")),
            _ => None,
        }
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

/// The parts of a source file that the check needs.
#[derive(Default)]
struct File {
    /// Absolute paths, and whether they are re-exported with `pub use`.
    paths: Vec<(ModulePath, bool)>,
    re_exports: BTreeMap<String, ModulePath>,
    /// Child modules under `#[cfg(test)]`.
    test_modules: BTreeSet<String>,
}

impl File {
    fn parse(module: &[String], text: &str) -> Self {
        let mut reader = Reader { module: module.to_vec(), children: BTreeSet::new(), file: Self::default() };
        let source = syn::parse_file(text).unwrap();
        for item in &source.items {
            if let syn::Item::Mod(child) = item {
                reader.children.insert(child.ident.to_string());
            }
        }
        reader.visit_file(&source);
        reader.file
    }
}

/// Collects the paths of a file.
struct Reader {
    module: ModulePath,
    children: BTreeSet<String>,
    file: File,
}

impl Reader {
    fn add(&mut self, path: &[String]) {
        if let Some(path) = absolute(&self.module, &self.children, path).filter(|_| path.len() > 1) {
            self.file.paths.push((path, false));
        }
    }

    /// The paths in what a macro receives, which has no syntax of its own.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Vec::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add(&std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                other => {
                    self.add(&std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.add(&path);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = |attribute: &syn::Attribute| attribute.meta == syn::parse_quote!(cfg(test));
        let name = item.ident.to_string();
        if item.attrs.iter().any(is_test) {
            self.file.test_modules.insert(name);
        } else {
            self.module.push(name);
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        let mut found = Vec::new();
        use_tree(&item.tree, &mut Vec::new(), &mut found);
        for (path, alias) in found {
            let Some(path) = absolute(&self.module, &self.children, &path) else { continue };
            if is_public {
                self.file.re_exports.insert(alias, path.clone());
            }
            self.file.paths.push((path, is_public));
        }
    }

    /// Who may use an item is no use.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

/// The paths in a `use` tree, each with the name that it introduces.
fn use_tree(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            use_tree(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| use_tree(tree, before, found)),
        // A glob uses the module itself.
        syn::UseTree::Glob(_) => found.push((before.clone(), "*".into())),
        syn::UseTree::Name(name) => found.push(named(before, &name.ident, &name.ident)),
        syn::UseTree::Rename(name) => found.push(named(before, &name.ident, &name.rename)),
    }
}

fn named(before: &[String], name: &syn::Ident, alias: &syn::Ident) -> (Vec<String>, String) {
    let name = Some(name.to_string()).filter(|name| name != "self");
    (before.iter().cloned().chain(name).collect(), alias.to_string())
}

/// The absolute form of a path. `None` if it does not start in this crate.
fn absolute(module: &[String], children: &BTreeSet<String>, path: &[String]) -> Option<ModulePath> {
    let supers = path.iter().take_while(|segment| *segment == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => Some([&module[..module.len().checked_sub(supers)?], &path[supers..]].concat()),
        first if children.contains(first) => Some([module, path].concat()),
        _ => None,
    }
}

/// The problems of some sources, given by module path.
fn problems_of(sources: &[(&str, &str)]) -> Vec<String> {
    let module = |path: &str| path.split("::").filter(|name| !name.is_empty()).map(String::from).collect();
    let sources = sources.iter().map(|(path, text)| (module(path), text.to_string())).collect();
    problems(&sources, &[Rooms { of: Vec::new(), order: ["low", "high"].map(String::from).to_vec() }])
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
