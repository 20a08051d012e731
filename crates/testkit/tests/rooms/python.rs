//! The imports of a Python file. A package imports its own modules relatively, so that examples in documentation, which
//! import absolutely, do not count.

use crate::{File, ModulePath};

/// Reads a file. The native module, whose order is that of its Rust sources, is left out.
pub(crate) fn parse(module: &[String], text: &str, is_package: bool) -> File {
    let mut file = File::default();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some((from, names)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        else {
            continue;
        };
        let mut names = names.to_string();
        while names.starts_with('(') && !names.ends_with(')') {
            names.extend(lines.next());
        }
        let dots = from.len() - from.trim_start_matches('.').len();
        let Some(package) = (module.len() + usize::from(is_package)).checked_sub(dots).filter(|_| dots > 0)
        else {
            continue;
        };
        let inner = from[dots..].split('.').filter(|name| !name.is_empty()).map(String::from);
        let from: ModulePath = module[..package].iter().cloned().chain(inner).collect();
        let names = names
            .trim_matches(['(', ')'])
            .split(',')
            .map(|name| name.split_whitespace().next().unwrap_or_default());
        for name in names.filter(|name| !name.is_empty()) {
            let path: ModulePath = from.iter().cloned().chain([name.to_string()]).collect();
            if !path.iter().any(|name| name == "_nearprint") {
                file.paths.push((path, false));
            }
        }
    }
    file
}
