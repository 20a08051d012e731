//! The order of the engine's rooms: a room uses only rooms before it, and no files of a room use
//! each other in a circle. Test modules are exempt.
//!
//! The check reads the sources as text: it finds every path that starts with `crate`, `super`,
//! `self` or a child module, follows re-exports, and maps it to the file that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The rooms in their order: the first column of the first table of ARCHITECTURE.md.
fn order() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let text = fs::read_to_string(path).unwrap();
    let table = text.lines().skip_while(|line| !line.starts_with('|'));
    let rooms = table.take_while(|line| line.starts_with('|')).skip(2);
    rooms.map(|row| row.split('`').nth(1).expect("a name in backticks").to_string()).collect()
}

#[test]
fn rooms_use_only_rooms_before_them_and_files_form_no_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = BTreeMap::new();
    read_sources(&root, &mut Vec::new(), &mut sources);
    assert!(sources.len() > 100, "only {} files", sources.len());
    let problems = problems(&sources, &order());
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
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
fn problems(sources: &BTreeMap<ModulePath, String>, order: &[String]) -> Vec<String> {
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
            if target.first() == module.first() {
                if !is_re_export {
                    uses.entry(module).or_default().insert(target);
                }
            } else if let Some(problem) = check_order(module, target, order) {
                problems.push(problem);
            }
        }
    }
    problems.sort();
    problems.dedup();
    problems.extend(circles(&uses));
    problems
}

/// A violation of the order of rooms.
fn check_order(module: &[String], target: &[String], order: &[String]) -> Option<String> {
    let place = |module: &[String]| order.iter().position(|room| Some(room) == module.first());
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

/// The parts of a source file that the check needs.
struct File {
    /// Absolute paths, and whether they are re-exported with `pub use`.
    paths: Vec<(ModulePath, bool)>,
    re_exports: BTreeMap<String, ModulePath>,
    /// Child modules under `#[cfg(test)]`.
    test_modules: BTreeSet<String>,
}

impl File {
    fn parse(module: &[String], text: &str) -> Self {
        let tokens = tokens(text);
        let (tokens, test_modules) = without_test_modules(&tokens);
        let children: BTreeSet<String> = tokens
            .windows(3)
            .filter(|window| window[0] == "mod" && window[2] == ";")
            .map(|window| window[1].clone())
            .collect();
        let mut file = Self { paths: Vec::new(), re_exports: BTreeMap::new(), test_modules };
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                let is_public = is_public(&tokens[..at]);
                let end = at + tokens[at..].iter().position(|token| token == ";").unwrap();
                for (path, alias) in use_tree(&tokens[at + 1..end]) {
                    let Some(path) = absolute(module, &children, &path) else { continue };
                    if is_public {
                        file.re_exports.insert(alias, path.clone());
                    }
                    file.paths.push((path, is_public));
                }
                at = end;
            } else if at == 0 || tokens[at - 1] != "::" {
                let path = path_at(&tokens[at..]);
                if path.len() > 1
                    && let Some(path) = absolute(module, &children, &path)
                {
                    file.paths.push((path, false));
                }
            }
            at += 1;
        }
        file
    }
}

/// Whether the tokens before a `use` end with `pub` or `pub(…)`.
fn is_public(before: &[String]) -> bool {
    let end = match before.last() {
        Some(last) if last == ")" => before.iter().rposition(|token| token == "(").unwrap(),
        _ => before.len(),
    };
    before[..end].last().is_some_and(|token| token == "pub")
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

/// The path at the start of some tokens: identifiers with `::` between them.
fn path_at(tokens: &[String]) -> Vec<String> {
    let mut path = Vec::new();
    let mut rest = tokens;
    while let [name, more @ ..] = rest
        && is_identifier(name)
    {
        path.push(name.clone());
        match more {
            [colons, next @ ..] if colons == "::" => rest = next,
            _ => break,
        }
    }
    path
}

/// The paths in a `use` tree, each with the name that it introduces.
fn use_tree(tokens: &[String]) -> Vec<(Vec<String>, String)> {
    let path = path_at(tokens);
    let after = &tokens[(2 * path.len()).min(tokens.len())..];
    if tokens.get((2 * path.len()).wrapping_sub(1)).is_none_or(|token| token != "::") {
        let alias = tokens.iter().position(|token| token == "as").map(|at| tokens[at + 1].clone());
        let last = path.last().cloned().unwrap_or_default();
        return vec![(path, alias.unwrap_or(last))];
    }
    if after.first().is_none_or(|token| token != "{") {
        // A glob uses the module itself.
        return vec![(path, "*".into())];
    }
    let mut found = Vec::new();
    for part in split_list(&after[1..after.len() - 1]) {
        for (inner, alias) in use_tree(part) {
            let inner: Vec<String> = inner.into_iter().filter(|segment| segment != "self").collect();
            found.push(([&path[..], &inner].concat(), alias));
        }
    }
    found
}

/// The parts of a list between commas outside of braces.
fn split_list(tokens: &[String]) -> Vec<&[String]> {
    let mut depth = 0;
    let parts = tokens.split(|token| {
        depth += i32::from(token == "{") - i32::from(token == "}");
        depth == 0 && token == ","
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Removes the modules under `#[cfg(test)]`. Returns the names of those in other files.
fn without_test_modules(tokens: &[String]) -> (Vec<String>, BTreeSet<String>) {
    const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut names) = (Vec::new(), BTreeSet::new());
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        if rest.len() > CFG_TEST.len() && rest.iter().zip(CFG_TEST).all(|(token, expected)| token == expected)
        {
            let item = &rest[CFG_TEST.len()..];
            let start =
                item.iter().position(|token| ["mod", "use", "fn", "{", ";"].contains(&token.as_str()));
            if let Some(start) = start.filter(|&start| item[start] == "mod") {
                let end = if item[start + 2] == ";" {
                    names.insert(item[start + 1].clone());
                    start + 2
                } else {
                    start + 2 + block_len(&item[start + 2..])
                };
                at += CFG_TEST.len() + end + 1;
                continue;
            }
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    (kept, names)
}

/// The index of the brace that closes the block at the start of some tokens.
fn block_len(tokens: &[String]) -> usize {
    let mut depth = 0;
    let closes = |token: &String| {
        depth += i32::from(token == "{") - i32::from(token == "}");
        depth == 0
    };
    tokens.iter().position(closes).unwrap()
}

fn is_identifier(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The identifiers and punctuation of a source text, without comments and literals.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").unwrap() + 2
        } else if let Some(len) = literal_len(rest) {
            len
        } else if is_identifier(rest) || first.is_ascii_digit() {
            let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(rest[..len].to_string());
            len
        } else if rest.starts_with("::") {
            tokens.push("::".into());
            2
        } else {
            tokens.extend((!first.is_whitespace()).then(|| first.to_string()));
            first.len_utf8()
        };
        rest = &rest[len..];
    }
    tokens
}

/// The length of the string, character or lifetime at the start of a text, if there is one.
fn literal_len(text: &str) -> Option<usize> {
    let prefix = ["br", "b", "r", ""].into_iter().find(|prefix| {
        let quoted = text.strip_prefix(prefix);
        quoted.is_some_and(|quoted| quoted.trim_start_matches('#').starts_with('"') && is_raw(prefix, quoted))
    });
    if let Some(prefix) = prefix {
        let hashes = text[prefix.len()..].find('"').unwrap();
        let start = prefix.len() + hashes + 1;
        let end = if prefix.contains('r') {
            text[start..].find(&format!("\"{}", "#".repeat(hashes))).unwrap() + hashes
        } else {
            escaped_len(&text[start..], '"')
        };
        return Some(start + end + 1);
    }
    let inner = text.strip_prefix('\'').or_else(|| text.strip_prefix("b'"))?;
    let start = text.len() - inner.len();
    let mut characters = inner.chars();
    let first = characters.next()?;
    if first == '\\' || characters.next() == Some('\'') {
        return Some(start + escaped_len(inner, '\'') + 1);
    }
    // A lifetime.
    Some(start + inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len()))
}

/// Only raw strings may have `#` before the quote.
fn is_raw(prefix: &str, quoted: &str) -> bool {
    quoted.starts_with('"') || prefix.contains('r')
}

/// The length of a text up to an unescaped quote.
fn escaped_len(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let ends = |c: char| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    };
    text.find(ends).unwrap()
}

/// The problems of some sources, given by module path.
fn problems_of(sources: &[(&str, &str)]) -> Vec<String> {
    let module = |path: &str| path.split("::").filter(|name| !name.is_empty()).map(String::from).collect();
    let sources = sources.iter().map(|(path, text)| (module(path), text.to_string())).collect();
    problems(&sources, &["low", "high"].map(String::from))
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
