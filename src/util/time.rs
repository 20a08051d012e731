//! Points in time, and dates.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time in UTC, in seconds since 1970. It prints as `2026-11-24 23:50 UTC`.
#[derive(Clone, Copy, Debug)]
pub struct Utc(pub u64);

impl Utc {
    /// The time of the system's clock. A clock before 1970 counts as 1970.
    #[must_use]
    pub fn now() -> Self {
        Self(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
    }
}

impl fmt::Display for Utc {
    /// The date by Howard Hinnant's `civil_from_days`: years begin in March, so that a leap day is
    /// the last one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, minutes) = (self.0 / 86_400 + 719_468, self.0 / 60 % 1440);
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
    }
}

/// A time with its unit: `30d`, `12h`, `90m`, `45s`, `500ms`, `2w`, or `hour`, `day` or `week`.
///
/// # Errors
/// What is wanted, for any other text.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time, such as 30d, 12h, 90m, 45s, 500ms or day".to_string();
    let units =
        [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 7 * 86_400_000)];
    let text = match text {
        "hour" => "1h",
        "day" => "1d",
        "week" => "1w",
        other => other,
    };
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let (_, millis) = units.into_iter().find(|(unit, _)| *unit == &text[digits.len()..]).ok_or_else(wrong)?;
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(wrong)
}

/// Milliseconds since the beginning of 1970 (UTC), without leap seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) u64);

impl Time {
    /// The time of the system's clock.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<Time> for SystemTime {
    fn from(time: Time) -> Self {
        UNIX_EPOCH + Duration::from_millis(time.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_as_dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_795_564_200, "2026-11-24 23:50 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(Utc(seconds).to_string(), text);
        }
    }
}
