//! The paths of a Rust file: every path that starts with `crate`, `super`, `self` or a child module.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::{File, ModulePath};

/// Reads a file.
pub(crate) fn parse(module: &[String], text: &str) -> File {
    let mut reader = Reader { module: module.to_vec(), children: BTreeSet::new(), file: File::default() };
    let source = syn::parse_file(text).unwrap();
    for item in &source.items {
        if let syn::Item::Mod(child) = item {
            reader.children.insert(child.ident.to_string());
        }
    }
    reader.visit_file(&source);
    reader.file
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
