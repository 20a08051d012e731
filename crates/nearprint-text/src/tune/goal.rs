//! What is best.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::point::Point;
use crate::dedup::Similarity;
use crate::recipe::Recipe;

/// The points of one recipe.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Curve {
    /// How texts become fingerprints.
    pub recipe: Recipe,
    /// What confirms a pair, if anything does.
    pub confirm: Option<Similarity>,
    /// A point for each k, from 0 on.
    pub points: Vec<Point>,
}

impl Curve {
    /// The points of a recipe, in ascending order of k from 0 on.
    #[must_use]
    pub fn new(recipe: Recipe, confirm: Option<Similarity>, points: Vec<Point>) -> Self {
        Self { recipe, confirm, points }
    }

    /// The bits that a distance counts: the bits of a fingerprint or, with bands, of its sketch.
    #[must_use]
    pub fn num_bits(&self) -> u32 {
        let width = self.recipe.width();
        self.recipe.bands().map_or(width.bits(), |bands| bands.sketch_bits(width))
    }

    /// The similarity, from 0 to 1, that stands for `k`: `--similarity`, or
    /// [`BandLayout::distance_of`](nearprint::BandLayout::distance_of), turn it into exactly this k.
    /// It has as few decimal places as possible. `None` without bands, and beyond a similarity of 0.
    #[must_use]
    pub fn similarity(&self, k: u32) -> Option<f64> {
        let (bands, width) = (self.recipe.bands()?, self.recipe.width());
        let largest = 1.0 - 2.0 * f64::from(k) / (0.9 * f64::from(self.num_bits()));
        let rounded = |places: i32| {
            let unit = 10f64.powi(places);
            (largest * unit + 1e-6).floor() / unit
        };
        let fits = |similarity: &f64| *similarity >= 0.0 && bands.distance_of(width, *similarity) == k;
        (0..=4).map(rounded).find(fits)
    }
}

/// A criterion for the best [`Point`].
///
/// Parsed from `balance`, `precision:X` or `recall:X`, X from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Goal {
    /// The largest minimum of precision and recall.
    Balance,
    /// The largest recall among the points with at least this precision.
    Precision(f64),
    /// The largest precision among the points with at least this recall.
    Recall(f64),
}

/// The text is neither `balance` nor `precision:X` or `recall:X` with X from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseGoalError(());

impl fmt::Display for ParseGoalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected balance, precision:X or recall:X, X from 0 to 1")
    }
}

impl std::error::Error for ParseGoalError {}

impl Goal {
    /// Whether a point has the required precision or recall.
    #[must_use]
    pub fn is_reached(self, point: &Point) -> bool {
        match self {
            Self::Balance => true,
            Self::Precision(wanted) => point.precision() >= wanted,
            Self::Recall(wanted) => point.recall() >= wanted,
        }
    }

    /// Larger is better. The second number breaks ties of the first.
    fn score(self, point: &Point) -> (f64, f64) {
        match self {
            Self::Balance => (point.precision().min(point.recall()), 0.0),
            Self::Precision(wanted) => (point.precision().min(wanted), point.recall()),
            Self::Recall(wanted) => (point.recall().min(wanted), point.precision()),
        }
    }

    /// The order of points from the best one on.
    pub(super) fn compare(self, a: &Point, b: &Point) -> Ordering {
        self.score(b).partial_cmp(&self.score(a)).unwrap_or(Ordering::Equal)
    }

    /// The best point of a curve, or the closest one if none reaches the goal; `None` without any
    /// point. Ties go to the smallest k.
    #[must_use]
    pub fn best(self, points: &[Point]) -> Option<&Point> {
        points.iter().min_by(|a, b| self.compare(a, b).then(a.k.cmp(&b.k)))
    }

    /// The index of the curve with the best point, and this point; `None` without any point. Ties go
    /// to the smallest k as a share of the bits that a distance counts, then to a curve without
    /// confirmation, then to the first curve.
    #[must_use]
    pub fn choose(self, curves: &[Curve]) -> Option<(usize, &Point)> {
        let best = curves.iter().enumerate().filter_map(|(at, curve)| Some((at, self.best(&curve.points)?)));
        best.min_by(|(a, point_a), (b, point_b)| {
            let share = |at: usize, point: &Point| f64::from(point.k) / f64::from(curves[at].num_bits());
            let by_share = share(*a, point_a).total_cmp(&share(*b, point_b));
            let order = |at: usize| (curves[at].confirm.is_some(), at);
            self.compare(point_a, point_b).then(by_share).then(order(*a).cmp(&order(*b)))
        })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balance => f.write_str("balance"),
            Self::Precision(wanted) => write!(f, "precision:{wanted}"),
            Self::Recall(wanted) => write!(f, "recall:{wanted}"),
        }
    }
}

impl FromStr for Goal {
    type Err = ParseGoalError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let share = |text: &str| text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let goal = match text.split_once(':') {
            None if text == "balance" => Some(Self::Balance),
            Some(("precision", wanted)) => share(wanted).map(Self::Precision),
            Some(("recall", wanted)) => share(wanted).map(Self::Recall),
            _ => None,
        };
        goal.ok_or(ParseGoalError(()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::interval::Interval;
    use super::*;
    use nearprint::Near;

    fn point(k: u32, found: u64, hits: u64) -> Point {
        let unknown = Interval { low: 0.0, high: 1.0 };
        Point { k, found, hits, positives: 100, precision_interval: unknown, recall_interval: unknown }
    }

    fn curve(recipe: &str, points: Vec<Point>) -> Curve {
        Curve::new(recipe.parse().unwrap(), None, points)
    }

    #[test]
    fn goals_select_the_best_point() {
        let points =
            [point(0, 10, 10), point(1, 60, 57), point(2, 90, 81), point(3, 90, 81), point(4, 300, 99)];
        let best = |text: &str| {
            let goal: Goal = text.parse().unwrap();
            assert_eq!(goal.to_string(), text);
            goal.best(&points).unwrap().k
        };
        assert_eq!(best("balance"), 2);
        assert_eq!(best("precision:0.95"), 1);
        assert_eq!(best("precision:0.9"), 2);
        assert_eq!(best("recall:0.5"), 1);
        assert_eq!(best("recall:0.99"), 4);
        assert_eq!(best("recall:1"), 4);
        assert!(!Goal::Recall(1.0).is_reached(&points[4]));
        assert!(Goal::Precision(0.9).is_reached(&points[2]));
        for text in ["", "balance:1", "precision", "precision:1.1", "recall:-0.1", "recall:nan", "f1:1"] {
            assert!(text.parse::<Goal>().is_err(), "{text}");
        }
    }

    #[test]
    fn of_equal_points_the_smaller_share_of_the_bits_is_chosen() {
        let at = |k| vec![point(k, 90, 81)];
        // 3 of 64 bits are more than 4 of 96, and less than 5.
        let choose = |curves: &[Curve]| Goal::Balance.choose(curves).map(|(at, point)| (at, point.k));
        assert_eq!(choose(&[curve("simhash", at(3)), curve("minhash", at(4))]), Some((1, 4)));
        assert_eq!(choose(&[curve("minhash", at(5)), curve("simhash", at(3))]), Some((1, 3)));
        assert_eq!(choose(&[curve("simhash", at(3)), curve("cjk", at(3))]), Some((0, 3)));
        assert_eq!(
            choose(&[curve("simhash", at(3)), curve("minhash", vec![point(9, 90, 82)])]),
            Some((1, 9))
        );
        assert_eq!(choose(&[curve("simhash", Vec::new())]), None);
        let confirmed = Curve { confirm: Some(Similarity::Edit(0.1)), ..curve("simhash", at(3)) };
        assert_eq!(choose(&[confirmed, curve("simhash", at(3))]), Some((1, 3)));
    }

    #[test]
    fn similarities_give_back_their_k() {
        for recipe in ["minhash", "minhash hash=minhash:6x24,2", "minhash hash=minhash:4x16,2 width=128"] {
            let curve = curve(recipe, Vec::new());
            let (bands, width) = (curve.recipe.bands().unwrap(), curve.recipe.width());
            for k in 0..=curve.num_bits() {
                match curve.similarity(k) {
                    Some(similarity) => assert_eq!(bands.distance_of(width, similarity), k, "{similarity}"),
                    None => assert!(Near { k, bands: Some(bands) }.k > bands.distance_of(width, 0.0), "{k}"),
                }
            }
        }
        let minhash = curve("minhash", Vec::new());
        assert_eq!([0, 21, 43, 44].map(|k| minhash.similarity(k)), [Some(1.0), Some(0.5), Some(0.0), None]);
        assert_eq!(curve("simhash", Vec::new()).similarity(3), None);
    }
}
