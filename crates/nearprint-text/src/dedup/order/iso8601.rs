//! Dates and times as in ISO 8601.

const NANOSECONDS: i128 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;

/// The nanoseconds from 1970-01-01T00:00Z to a date, or a date and time. Calendar dates, weeks and days of
/// the year, with or without separators between their parts; a time follows `T` or a space. Parts that are
/// missing are the first ones; without a zone, UTC. `None` for anything else.
pub(crate) fn nanoseconds(text: &str) -> Option<i128> {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let days = days_of(date)?;
    let of_day = time.map_or(Some(0), time_of_day)?;
    Some(i128::from(days * DAY_SECONDS) * NANOSECONDS + of_day)
}

/// The number that some digits are.
fn digits(text: &str, count: usize) -> Option<i64> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// The days from 1970-01-01 to a date.
fn days_of(date: &str) -> Option<i64> {
    let year = digits(date.get(..4)?, 4)?;
    let rest = &date[4..];
    let has_separators = rest.starts_with('-');
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    if let Some(week) = rest.strip_prefix(['W', 'w']) {
        return days_of_week(year, week);
    }
    match (rest.len(), has_separators) {
        (0, false) => days_of_calendar(year, 1, 1),
        (2, true) => days_of_calendar(year, digits(rest, 2)?, 1),
        (3, _) => {
            let day = digits(rest, 3)?;
            let first = days_of_calendar(year, 1, 1)?;
            let length = days_of_calendar(year + 1, 1, 1)? - first;
            (1..=length).contains(&day).then_some(first + day - 1)
        }
        (4, false) => days_of_calendar(year, digits(&rest[..2], 2)?, digits(&rest[2..], 2)?),
        (5, true) => {
            let (month, day) = rest.split_once('-')?;
            days_of_calendar(year, digits(month, 2)?, digits(day, 2)?)
        }
        _ => None,
    }
}

/// By the algorithm of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn days_of_calendar(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// A week, `05`, or a day of one, `05-3` or `053`. The first week has January 4.
fn days_of_week(year: i64, week: &str) -> Option<i64> {
    let number = digits(week.get(..2)?, 2)?;
    let day = match &week[2..] {
        "" => 1,
        day => digits(day.strip_prefix('-').unwrap_or(day), 1)?,
    };
    let monday = |year| {
        let fourth = days_of_calendar(year, 1, 4)?;
        Some(fourth - (fourth + 3).rem_euclid(7))
    };
    let first = monday(year)?;
    let start = first + (number - 1) * 7;
    let is_there = number >= 1 && start < monday(year + 1)? && (1..=7).contains(&day);
    is_there.then_some(start + day - 1)
}

/// The nanoseconds from the start of a day in UTC to a time with or without a zone.
fn time_of_day(text: &str) -> Option<i128> {
    let (clock, offset_seconds) = match text.rfind(['Z', 'z', '+', '-']) {
        None => (text, 0),
        Some(at) => (&text[..at], zone_seconds(&text[at..])?),
    };
    let (clock, fraction) = match clock.split_once(['.', ',']) {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (clock, None),
    };
    let parts = two_digits(clock)?;
    let (hour, minute, second) = match *parts {
        [hour] => (hour, 0, 0),
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let is_time = hour < 24 && minute < 60 && second <= 60 || (hour, minute, second) == (24, 0, 0);
    // The last part may have a fraction.
    let unit_seconds = [3600, 60, 1][parts.len() - 1];
    let nanoseconds = fraction.map_or(Some(0), |fraction| fraction_nanoseconds(fraction, unit_seconds))?;
    let seconds = hour * 3600 + minute * 60 + second - offset_seconds;
    is_time.then_some(i128::from(seconds) * NANOSECONDS + nanoseconds)
}

/// The numbers of two digits in a time, with colons between them or not.
fn two_digits(clock: &str) -> Option<Vec<i64>> {
    if clock.contains(':') {
        return clock.split(':').map(|part| digits(part, 2)).collect();
    }
    let is_whole = !clock.is_empty() && clock.len().is_multiple_of(2) && clock.is_ascii();
    is_whole.then(|| (0..clock.len()).step_by(2).map(|at| digits(&clock[at..at + 2], 2)).collect())?
}

/// `Z`, `+05`, `+0530` or `+05:30`.
fn zone_seconds(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.as_bytes()[0] {
        b'Z' | b'z' => return (zone.len() == 1).then_some(0),
        b'-' => (-1, &zone[1..]),
        _ => (1, &zone[1..]),
    };
    let (hours, minutes) = match *two_digits(rest)? {
        [hours] => (hours, 0),
        [hours, minutes] => (hours, minutes),
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// A decimal fraction of a unit; digits below a nanosecond are cut off.
fn fraction_nanoseconds(fraction: &str, unit_seconds: i128) -> Option<i128> {
    let first = &fraction[..fraction.len().min(18)];
    let is_number = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let number: i128 = is_number.then(|| first.parse().ok()).flatten()?;
    Some(number * unit_seconds * NANOSECONDS / 10i128.pow(u32::try_from(first.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_those_of_the_calendar() {
        let second = |text: &str| nanoseconds(text).map(|found| found / NANOSECONDS);
        for (text, expected) in [
            ("1970-01-01", 0),
            ("1970", 0),
            ("1969-12-31T24:00", 0),
            ("2000-02-29T12:30:15Z", 951_827_415),
            ("20000229T123015Z", 951_827_415),
            ("2000-060T12:30:15", 951_827_415),
            ("2000-W09-2 12:30:15", 951_827_415),
            ("2000-02-29t18:00:15+05:30", 951_827_415),
            ("2000-02-29T12,5", 951_827_400),
            ("2016-12-31T23:59:60z", 1_483_228_800),
            ("0001-01-01", -62_135_596_800),
            ("9999-12-31", 253_402_214_400),
            ("2020-W53-5", 1_609_459_200),
        ] {
            assert_eq!(second(text), Some(expected), "{text}");
        }
        assert_eq!(nanoseconds("1970-01-01T00:00:00.000000001"), Some(1));
        for text in [
            "",
            "19",
            "1970-13",
            "1970-02-30",
            "1900-02-29",
            "1970-W54",
            "2021-W53",
            "1970-366",
            "1970-01-01T25:00",
            "1970-01-01T10:60",
            "1970-01-01T",
            "1970-1-1",
            "yesterday",
            "1970-01-01T10:00+25",
            "1970-01-01T10:00.",
            "é970-01-01",
            "1970-é",
            "1970-Wé",
            "1970-01-01Té0",
        ] {
            assert_eq!(nanoseconds(text), None, "{text:?}");
        }
    }
}
