//! Files that `scan` leaves out.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{Walk, WalkBuilder};

use crate::terminal::failure::Failure;

/// Names of licences and of lock files: many folders have the same ones, and need them.
pub(super) const DEFAULT: &str = "{LICENSE,LICENCE,UNLICENSE,COPYING,COPYRIGHT,NOTICE},\
    {LICENSE,LICENCE,COPYING}[-_]*,{LICENSE,LICENCE,UNLICENSE,COPYING,COPYRIGHT,NOTICE}.{md,rst,txt,html},\
    COPYING.LESSER,*.lock,package-lock.json,npm-shrinkwrap.json,pnpm-lock.yaml,go.sum";

/// Folders of version control. They hold old versions of files, mostly compressed.
const SKIPPED_FOLDERS: [&str; 3] = [".git", ".hg", ".svn"];

/// Which files are left out.
pub(super) struct Ignored {
    /// The list; `None` if nothing is left out but the folders of version control.
    names: Option<Gitignore>,
}

impl Ignored {
    /// Leaves out files whose names match one of the patterns, whatever their case, and those that
    /// `.gitignore` and `.ignore` name.
    pub(super) fn new(patterns: &str) -> Result<Self, Failure> {
        let refused = |error: ignore::Error| Failure::Usage(format!("--ignore: {error}"));
        let mut names = GitignoreBuilder::new("");
        names.case_insensitive(true).map_err(refused)?;
        for pattern in split(patterns) {
            names.add_line(None, pattern).map_err(refused)?;
        }
        Ok(Self { names: Some(names.build().map_err(refused)?) })
    }

    /// Leaves out nothing but the folders of version control.
    pub(super) fn nothing() -> Self {
        Self { names: None }
    }

    /// Whether a file is on the list.
    pub(super) fn has(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        self.names.as_ref().is_some_and(|names| names.matched(name, false).is_ignore())
    }

    /// Everything under a folder but what `.gitignore` names.
    pub(super) fn walk(&self, folder: &Path) -> Walk {
        WalkBuilder::new(folder)
            .standard_filters(self.names.is_some())
            .hidden(false)
            .filter_entry(|entry| {
                let is_root = entry.depth() == 0;
                is_root || !SKIPPED_FOLDERS.iter().any(|skipped| entry.file_name() == *skipped)
            })
            .build()
    }
}

/// The patterns of a list: between commas that are not in braces.
fn split(patterns: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let between = patterns.split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    between.map(str::trim).filter(|pattern| !pattern.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_and_lock_files_are_on_the_list_and_sources_are_not() {
        let ignored = Ignored::new(DEFAULT).unwrap();
        let names = [
            "LICENSE",
            "license-mit",
            "LICENCE.txt",
            "UNLICENSE",
            "COPYING.LESSER",
            "Cargo.lock",
            "yarn.lock",
            "go.sum",
            "NOTICE",
            "package-lock.json",
        ];
        for name in names {
            assert!(ignored.has(&Path::new("a").join(name)), "{name}");
        }
        for name in ["license.rs", "LicenseManager.java", "notices.py", "lock.c", "Cargo.toml", "licenses"] {
            assert!(!ignored.has(&Path::new("a").join(name)), "{name}");
        }
        assert!(!Ignored::nothing().has(Path::new("LICENSE")));
        assert!(Ignored::new("a{").is_err());
        let of_user = Ignored::new("*.{md,txt}, b*").unwrap();
        assert!(["x.md", "x.txt", "by"].into_iter().all(|name| of_user.has(Path::new(name))));
        assert!(!of_user.has(Path::new("LICENSE")));
    }
}
