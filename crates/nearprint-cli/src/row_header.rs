//! The line with which `--header` begins a list of fingerprints: what its rows are.

use std::io::{self, Write};

use serde_json::Value;

use crate::terminal::results::{ResultFormat, json};
use nearprint::Width;

/// What begins the line in TSV, and in JSON.
const TSV_START: &str = "# nearprint";
const JSON_START: &str = r#"{"nearprint":"#;

/// The width of fingerprints, the distance within which they are near, and the recipe that made them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowHeader {
    pub(crate) width: Option<Width>,
    pub(crate) k: Option<u32>,
    pub(crate) recipe: Option<String>,
}

impl RowHeader {
    /// Writes the line, and in TSV a line with the names of the columns.
    pub(crate) fn write(
        &self,
        format: ResultFormat,
        out: &mut dyn Write,
        columns: &[&str],
    ) -> io::Result<()> {
        let numbers = [("width", self.width.map(Width::bits)), ("k", self.k)];
        let numbers = numbers.iter().filter_map(|(name, number)| Some((name, (*number)?)));
        if format == ResultFormat::Json {
            write!(out, r#"{JSON_START}"fingerprints""#)?;
            numbers.into_iter().try_for_each(|(name, number)| write!(out, r#","{name}":{number}"#))?;
            self.recipe.iter().try_for_each(|recipe| write!(out, r#","recipe":{}"#, json(recipe)))?;
            return writeln!(out, "}}");
        }
        write!(out, "{TSV_START}")?;
        numbers.into_iter().try_for_each(|(name, number)| write!(out, "\t{name}={number}"))?;
        self.recipe.iter().try_for_each(|recipe| write!(out, "\trecipe={recipe}"))?;
        writeln!(out)?;
        format.header(out, columns)
    }

    /// Parses a line. `None` if it is another line. What has another name is left out.
    ///
    /// # Errors
    /// A message if a number or the object is damaged.
    pub(crate) fn parse(line: &str) -> Option<Result<Self, String>> {
        if line.starts_with(JSON_START) {
            let object = serde_json::from_str(line).map_err(|error| format!("not JSON ({error})"));
            return Some(object.and_then(|object: Value| {
                let number = |name: &str| object.get(name).map(Value::to_string);
                let recipe = object.get("recipe").and_then(Value::as_str).map(str::to_string);
                Self::of(number("width"), number("k"), recipe)
            }));
        }
        let parts = line.strip_prefix(TSV_START).filter(|rest| rest.is_empty() || rest.starts_with('\t'))?;
        let part = |name: &str| {
            let named = |part: &str| Some(part.split_once('=').filter(|part| part.0 == name)?.1.to_string());
            parts.split('\t').find_map(named)
        };
        Some(Self::of(part("width"), part("k"), part("recipe")))
    }

    fn of(width: Option<String>, k: Option<String>, recipe: Option<String>) -> Result<Self, String> {
        let width = width.map(|width| width.parse::<Width>().map_err(|error| error.to_string()));
        let k = k.map(|k| k.parse::<u32>().map_err(|_| format!("k={k} in the header is no distance")));
        Ok(Self { width: width.transpose()?, k: k.transpose()?, recipe })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        for header in [
            RowHeader::default(),
            RowHeader { width: Some(Width::W64), k: Some(3), recipe: None },
            RowHeader {
                width: Some(Width::W256),
                k: Some(12),
                recipe: Some("clean=nfc tokens=words hash=minhash:10x16,2".into()),
            },
        ] {
            for format in [ResultFormat::Tsv, ResultFormat::Json] {
                let mut out = Vec::new();
                header.write(format, &mut out, &["fingerprint", "key"]).unwrap();
                let text = String::from_utf8(out).unwrap();
                let mut lines = text.lines();
                assert_eq!(RowHeader::parse(lines.next().unwrap()), Some(Ok(header.clone())), "{text}");
                let names = (format == ResultFormat::Tsv).then_some("fingerprint\tkey");
                assert_eq!(lines.next(), names);
            }
        }
        assert_eq!(RowHeader::parse("# nearprinted\twidth=64"), None);
        assert_eq!(RowHeader::parse(r#"{"fingerprint":"7"}"#), None);
        for damaged in ["# nearprint\twidth=65", "# nearprint\tk=x", r#"{"nearprint":1,"width":"#] {
            assert!(RowHeader::parse(damaged).unwrap().is_err(), "{damaged}");
        }
    }
}
