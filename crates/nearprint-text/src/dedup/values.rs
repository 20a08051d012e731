//! Options by name: their values are texts, as command lines and other languages have them.

use std::ffi::OsString;
use std::fmt::Display;
use std::ops::RangeBounds;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::error::{Error, Result};
use nearprint::internal::parse_duration;

/// The values of an option: none for a switch.
pub(crate) type Values<'a> = &'a [OsString];

/// Reads the values of an option of `O`, and sets it.
pub(crate) type Setter<O> = fn(&mut O, Values<'_>) -> Result<(), String>;

/// Sets the option of a name. Returns its name, or `None` if there is none of that name.
pub(crate) fn set<O: 'static>(
    options: &mut O,
    all: impl IntoIterator<Item = &'static (&'static str, Setter<O>)>,
    name: &str,
    values: Values<'_>,
) -> Result<Option<&'static str>> {
    let Some((name, setter)) = all.into_iter().find(|(known, _)| *known == name) else { return Ok(None) };
    setter(options, values).map_err(|why| Error::setting(*name, why))?;
    Ok(Some(name))
}

/// A switch.
pub(crate) fn flag(_: Values<'_>) -> Result<bool, String> {
    Ok(true)
}

/// A path.
pub(crate) fn path(values: Values<'_>) -> Result<PathBuf, String> {
    values.first().map(PathBuf::from).ok_or_else(|| "a path is wanted".into())
}

/// Paths.
pub(crate) fn paths(values: Values<'_>) -> Result<Vec<PathBuf>, String> {
    Ok(values.iter().map(PathBuf::from).collect())
}

/// Texts.
pub(crate) fn texts(values: Values<'_>) -> Result<Vec<String>, String> {
    values.iter().map(|value| text(std::slice::from_ref(value)).map(String::from)).collect()
}

/// A text.
pub(crate) fn text(values: Values<'_>) -> Result<&str, String> {
    let value = values.first().ok_or("a value is wanted")?;
    value.to_str().ok_or_else(|| format!("{value:?} is no valid Unicode"))
}

/// A value that is made of a text.
pub(crate) fn parsed<T: FromStr<Err: Display>>(values: Values<'_>) -> Result<T, String> {
    let text = text(values)?;
    text.parse().map_err(|why| format!("{text:?}: {why}"))
}

/// A number within a range.
pub(crate) fn within<T: FromStr<Err: Display> + PartialOrd>(
    range: impl RangeBounds<T>,
    wanted: &str,
    values: Values<'_>,
) -> Result<T, String> {
    let number = parsed(values).ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("{}: {wanted} is wanted", text(values).unwrap_or_default()))
}

/// A time with its unit.
pub(crate) fn time(values: Values<'_>) -> Result<Duration, String> {
    let text = text(values)?;
    parse_duration(text).map_err(|why| format!("{text}: {why}"))
}

/// A share from 0 to 1, or a percentage.
pub(crate) fn share_of(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percents) => percents.parse().map(|percents: f64| percents / 100.0),
        None => text.parse(),
    };
    share.ok().filter(|share| (0.0..=1.0).contains(share))
}
