//! Ranges of ids that were assigned automatically.

use crate::format::{Decoder, Encoder, Flaw};

/// The most ranges. Beyond that, the nearest two ranges become one.
pub(crate) const MAX_RANGES: usize = 4096;

/// Ids that were assigned automatically: disjoint ranges in ascending order, ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdRanges(pub(super) Vec<(u64, u64)>);

impl IdRanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Adds a range, and joins ranges that touch. Beyond [`MAX_RANGES`], joins the nearest two.
    pub(crate) fn add(&mut self, first: u64, last: u64) {
        if let Some(end) = self.0.last_mut()
            && end.1.checked_add(1) == Some(first)
        {
            end.1 = last;
            return;
        }
        let (mut first, mut last) = (first, last);
        let touches = |&(a, b): &(u64, u64)| a <= last.saturating_add(1) && first <= b.saturating_add(1);
        let start = self
            .0
            .iter()
            .position(touches)
            .unwrap_or_else(|| self.0.partition_point(|range| range.0 < first));
        let end = start + self.0.iter().skip(start).take_while(|range| touches(range)).count();
        for &(a, b) in self.0.get(start..end).unwrap_or_default() {
            first = first.min(a);
            last = last.max(b);
        }
        self.0.splice(start..end, [(first, last)]);
        if self.0.len() > MAX_RANGES {
            self.join_nearest();
        }
    }

    fn join_nearest(&mut self) {
        let gaps = self.0.iter().zip(self.0.iter().skip(1)).map(|(left, right)| right.0 - left.1);
        if let Some((at, _)) = gaps.enumerate().min_by_key(|&(_, gap)| gap) {
            let right = self.0.remove(at + 1);
            if let Some(left) = self.0.get_mut(at) {
                left.1 = right.1;
            }
        }
    }

    pub(super) fn encode(&self, body: &mut Encoder) {
        for (first, last) in self.iter() {
            body.u64(first).u64(last);
        }
    }

    pub(super) fn decode(body: &mut Decoder<'_>) -> Result<Self, Flaw> {
        let offset = body.offset();
        let (ranges, rest) = body.take_rest().as_chunks::<16>();
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let ranges: Vec<(u64, u64)> =
            ranges.iter().map(|range| (number(range), number(range.split_at(8).1))).collect();
        let ordered = ranges.iter().all(|range| range.0 <= range.1)
            && ranges.iter().zip(ranges.iter().skip(1)).all(|(left, right)| left.1 < right.0);
        if ranges.is_empty() || ranges.len() > MAX_RANGES || !rest.is_empty() || !ordered {
            let expected = "up to 4096 ranges in ascending order";
            return Err(Flaw::new("record AUTO", offset, expected, "something else"));
        }
        Ok(Self(ranges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_if_they_touch_and_their_number_is_bounded() {
        let mut ranges = IdRanges::default();
        for (first, last) in [(10, 12), (20, 20), (13, 13), (0, 3), (5, 5), (4, 4), (u64::MAX, u64::MAX)] {
            ranges.add(first, last);
        }
        assert_eq!(ranges.0, [(0, 5), (10, 13), (20, 20), (u64::MAX, u64::MAX)]);
        ranges.add(2, 30);
        assert_eq!(ranges.0, [(0, 30), (u64::MAX, u64::MAX)]);
        (0..2 * MAX_RANGES as u64).for_each(|i| ranges.add(100 + i * i, 100 + i * i));
        assert_eq!(ranges.0.len(), MAX_RANGES);
        assert!(ranges.0.is_sorted());
    }
}
