//! When rows expire.
//!
//! A database may have a *lifetime* of rows and a shorter *period*. Time is cut into periods. All
//! rows that are inserted in one expire together: a lifetime after the period began. A run holds the
//! rows of one period, so that an expired run is dropped as it is.

use std::time::Duration;

use super::{Decoder, Encoder, Flaw};
use crate::error::{Error, Result};
use crate::util::time::Time;

/// The most periods of a lifetime: as many runs are searched by a query.
const MAX_PERIODS: u64 = 1024;
/// The periods of a lifetime if none is chosen.
const PERIODS: u64 = 10;

/// How long rows live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lifetime {
    /// In milliseconds, at least 1.
    pub(crate) lifetime: u64,
    /// In milliseconds, at least 1, at most the lifetime.
    pub(crate) period: u64,
}

impl Lifetime {
    /// A period of `None` is a tenth of the lifetime.
    pub(crate) fn new(lifetime: Duration, period: Option<Duration>) -> Result<Self> {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let lifetime = millis(lifetime);
        let checked = Self { lifetime, period: period.map_or((lifetime / PERIODS).max(1), millis) };
        match checked.is_valid() {
            true => Ok(checked),
            false => Err(Error::Lifetime { lifetime_ms: lifetime, period_ms: checked.period }),
        }
    }

    /// The lifetime and the period.
    pub(crate) fn durations(self) -> (Duration, Duration) {
        (Duration::from_millis(self.lifetime), Duration::from_millis(self.period))
    }

    fn is_valid(self) -> bool {
        // Times stay far from the end of the numbers.
        let Self { lifetime, period } = self;
        (1..=1 << 50).contains(&lifetime)
            && (1..=lifetime).contains(&period)
            && lifetime / period <= MAX_PERIODS
    }

    /// When a row expires that is inserted now.
    pub(crate) fn of_row(self, now: Time) -> Time {
        Time((now.0 - now.0 % self.period).saturating_add(self.lifetime))
    }

    pub(super) fn encode(self, body: &mut Encoder) {
        body.u64(self.lifetime).u64(self.period);
    }

    pub(super) fn decode(body: &mut Decoder<'_>) -> Result<Self, Flaw> {
        let decoded = Self { lifetime: body.u64()?, period: body.u64()? };
        if decoded.is_valid() {
            return Ok(decoded);
        }
        let Self { lifetime, period } = decoded;
        Err(body.flaw("a lifetime of 1 to 1,024 periods", format!("{lifetime} and {period} ms")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_period_expire_together_and_never_late() {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        let monthly = Lifetime::new(days(30), Some(days(1))).unwrap();
        let day = days(1).as_millis() as u64;
        for now in [7 * day, 7 * day + 1, 8 * day - 1] {
            assert_eq!(monthly.of_row(Time(now)), Time(37 * day));
        }
        assert_eq!(monthly.of_row(Time(8 * day)), Time(38 * day));
        let default = Lifetime::new(days(30), None).unwrap();
        assert_eq!(default.period, 3 * day);
        assert_eq!(Lifetime::new(Duration::from_millis(3), None).unwrap().period, 1);
    }

    #[test]
    fn impossible_lifetimes_are_refused() {
        let second = Duration::from_secs(1);
        for (lifetime, period) in [
            (Duration::ZERO, None),
            (second, Some(Duration::ZERO)),
            (second, Some(2 * second)),
            (2000 * second, Some(second)),
            (Duration::MAX, None),
        ] {
            let refused = Lifetime::new(lifetime, period);
            assert!(matches!(refused, Err(Error::Lifetime { .. })), "{lifetime:?} {period:?}");
        }
    }
}
