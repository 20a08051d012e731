//! Which documents are near-duplicates, from a file of pairs or from a field.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::Known;
use crate::failure::Failure;
use crate::output::unescape;
use nearprint::Error;
use nearprint_text::tune::Labels;

/// Reads what is known about documents with these keys, or groups, each with its place.
pub(super) fn read(known: &Known, keys: &[(String, String)]) -> Result<Labels, Failure> {
    let (labels, place, why) = match (&known.pairs, &known.group_field) {
        (Some(path), _) => (pairs(path, keys)?, path.display().to_string(), "no pair of keys"),
        (None, field) => {
            let place = format!("field {:?}", field.as_deref().unwrap_or_default());
            (groups(keys), place, "no two documents have the same value")
        }
    };
    if labels.num_positives() == 0 {
        return Err(Failure::Input { place, why: format!("{why}, and so nothing to learn from") });
    }
    Ok(labels)
}

fn groups(keys: &[(String, String)]) -> Labels {
    let mut groups = BTreeMap::<&str, Vec<usize>>::new();
    for (number, (group, _)) in keys.iter().enumerate().filter(|(_, (group, _))| !group.is_empty()) {
        groups.entry(group).or_default().push(number);
    }
    Labels::Groups(groups.into_values().filter(|group| group.len() > 1).collect())
}

fn pairs(path: &Path, keys: &[(String, String)]) -> Result<Labels, Failure> {
    let numbers = numbers(keys)?;
    let failed = |source| Error::Io { action: "read", path: path.to_path_buf(), source };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let mut pairs = Vec::new();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.is_empty()) {
        let pair = pair(text, &numbers).map_err(|why| Failure::line(path.display(), line, why, text))?;
        pairs.push(pair);
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(Labels::Pairs(pairs))
}

/// Which document has which key.
fn numbers(keys: &[(String, String)]) -> Result<HashMap<&str, usize>, Failure> {
    let mut numbers = HashMap::with_capacity(keys.len());
    for (number, (key, place)) in keys.iter().enumerate() {
        if let Some(earlier) = numbers.insert(key.as_str(), number) {
            let why = format!("the key {key:?} stands at {}, too", keys[earlier].1);
            return Err(Failure::Input { place: place.clone(), why });
        }
    }
    Ok(numbers)
}

/// The documents of a line, the smaller number first.
fn pair(line: &str, numbers: &HashMap<&str, usize>) -> Result<(usize, usize), String> {
    let (a, b) = line.split_once('\t').ok_or("no tab between two keys")?;
    let number = |key: &str| {
        let key = unescape(key);
        numbers.get(key.as_ref()).copied().ok_or_else(|| format!("no document has the key {key:?}"))
    };
    let (a, b) = (number(a)?, number(b)?);
    if a == b { Err("twice the same key".into()) } else { Ok((a.min(b), a.max(b))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_without_a_group_are_alone() {
        let keys = ["a", "", "b", "a", "", "a"].map(|group| (group.to_string(), String::new()));
        assert!(matches!(groups(&keys), Labels::Groups(groups) if groups == [[0, 3, 5]]));
    }
}
