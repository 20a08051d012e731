//! No test is left out without a word where a system cannot run it: a test, or a module of tests, that is compiled
//! for some systems only has a stand-in of its name in the same file for Windows, which is ignored and says why.

#![allow(clippy::unwrap_used, reason = "not shipped")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemFn, ItemMod, Meta};

/// What a file has of tests that some systems do not compile.
#[derive(Default)]
struct Tests {
    /// Not for Windows.
    missing: BTreeSet<String>,
    /// For Windows, and ignored with a reason.
    named: BTreeSet<String>,
    /// Inside of a file whose modules are tests, as `tests/it/main.rs`.
    has_modules: bool,
}

impl Tests {
    fn of_file(path: &Path) -> Self {
        let has_modules =
            path.file_name().unwrap() == "main.rs" && path.ancestors().any(|at| at.ends_with("tests"));
        let mut tests = Self { has_modules, ..Self::default() };
        tests.visit_file(&syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap());
        tests
    }

    fn unnamed(&self) -> Vec<&String> {
        self.missing.difference(&self.named).collect()
    }
}

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        let (attributes, name) = (&function.attrs, function.sig.ident.to_string());
        if is_test(attributes) && is_not_for_windows(attributes) {
            self.missing.insert(name);
        } else if is_test(attributes) && is_ignored(attributes) {
            self.named.insert(name);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if self.has_modules && module.content.is_none() && is_not_for_windows(&module.attrs) {
            self.missing.insert(module.ident.to_string());
        }
        visit::visit_item_mod(self, module);
    }
}

/// The conditions of the attributes `cfg`, as text.
fn conditions(attributes: &[Attribute]) -> Vec<String> {
    let condition = |attribute: &Attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => Some(list.tokens.to_string()),
        _ => None,
    };
    attributes.iter().filter_map(condition).collect()
}

fn is_not_for_windows(attributes: &[Attribute]) -> bool {
    let others = ["unix", "target_os", "not (windows)"];
    conditions(attributes).iter().any(|condition| others.iter().any(|other| condition.contains(other)))
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("test"))
}

/// Whether a test is ignored, with a reason.
fn is_ignored(attributes: &[Attribute]) -> bool {
    let has_reason = |attribute: &Attribute| matches!(attribute.meta, Meta::NameValue(_));
    attributes.iter().any(|attribute| attribute.path().is_ident("ignore") && has_reason(attribute))
}

fn files_of(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_of(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn tests_that_windows_does_not_compile_have_stand_ins() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["src", "tests", "crates/nearprint-text", "crates/nearprint-cli"] {
        files_of(&root.join(folder), &mut files);
    }
    let (mut missing, mut problems) = (0, Vec::new());
    for file in files {
        let tests = Tests::of_file(&file);
        missing += tests.missing.len();
        problems.extend(tests.unnamed().into_iter().map(|name| format!("{}: {name}", file.display())));
    }
    assert!(missing > 2, "only {missing} tests are for some systems: the check sees nothing");
    assert!(problems.is_empty(), "no stand-in for Windows:\n{}", problems.join("\n"));
}
