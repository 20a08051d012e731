//! The measured curves, and what each of their points costs.

use std::collections::HashMap;

use super::candidates::Candidate;
use super::corpus::Corpus;
use crate::terminal::failure::Failure;
use nearprint::{BandLayout, Width};
use nearprint_text::dedup::Confirm;
use nearprint_text::tune::{Confirms, Cost, Curve, Goal, Point, Study, widest};

/// What a point costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointCost {
    pub(super) cpu_us: f64,
    pub(super) query_us: f64,
    pub(super) row_bytes: f64,
}

/// All curves, in the order in which they are printed.
pub(super) struct Tried {
    pub(super) curves: Vec<Curve>,
    /// For each curve its recipe, and the costs of its points.
    pub(super) candidates: Vec<Candidate>,
    costs: Vec<Vec<PointCost>>,
}

/// A point of a curve.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    pub(super) curve: usize,
    pub(super) point: &'a Point,
}

impl Tried {
    /// Measures the curves of all candidates with all ways of confirmation.
    pub(super) fn measure(
        candidates: Vec<Candidate>,
        confirms: &[Option<Confirm>],
        corpus: &Corpus,
        study: &Study,
        threads: usize,
    ) -> Result<Self, Failure> {
        let measures: Vec<Confirm> = confirms.iter().flatten().copied().collect();
        let closures: Vec<_> = measures
            .iter()
            .map(|&measure| move |a: usize, b: usize| corpus.confirms(measure, a, b))
            .collect();
        let closures: Vec<Confirms<'_>> = closures.iter().map(|confirms| confirms as Confirms<'_>).collect();
        let comparison_us: Vec<f64> = measures.iter().map(|&measure| corpus.comparison_us(measure)).collect();
        let mut tried = Self { curves: Vec::new(), candidates: Vec::new(), costs: Vec::new() };
        let mut models = HashMap::new();
        for ((candidate, prints), fingerprint_us) in
            candidates.into_iter().zip(&corpus.prints).zip(corpus.fingerprint_us())
        {
            let recipe = &candidate.recipe;
            let near = widest(recipe.bands(), recipe.width());
            let curves = prints.curves(study, near, &closures, threads);
            let plain = curves[0].clone();
            let comparisons = std::iter::once(0.0).chain(comparison_us.iter().copied());
            let measures = std::iter::once(None).chain(measures.iter().copied().map(Some));
            for ((points, confirm), comparison_us) in curves.into_iter().zip(measures).zip(comparisons) {
                if !confirms.contains(&confirm) {
                    continue;
                }
                let cpu_us = |point: &Point| {
                    let compared = comparisons_of_document(study, plain[point.k as usize].found);
                    fingerprint_us + compared * comparison_us
                };
                let cost = |point| Ok((cpu_us(point), model(&mut models, &candidate, point.k)?));
                let costs = points.iter().map(cost).map(|cost| cost.map(PointCost::new));
                tried.costs.push(costs.collect::<Result<_, Failure>>()?);
                tried.curves.push(Curve::new(candidate.recipe.clone(), confirm, points));
                tried.candidates.push(candidate.clone());
            }
        }
        Ok(tried)
    }

    pub(super) fn cost(&self, choice: Choice<'_>) -> PointCost {
        self.costs[choice.curve][choice.point.k as usize]
    }

    /// The best point of all curves.
    pub(super) fn best(&self, goal: Goal) -> Option<Choice<'_>> {
        goal.choose(&self.curves).map(|(curve, point)| Choice { curve, point })
    }

    /// The best point of each set of curves with the same key, the best set first.
    pub(super) fn best_by<K: PartialEq>(
        &self,
        goal: Goal,
        key: impl Fn(&Self, usize) -> K,
    ) -> Vec<Choice<'_>> {
        let mut rest: Vec<usize> = (0..self.curves.len()).collect();
        let mut best = Vec::new();
        while !rest.is_empty() {
            let curves: Vec<Curve> = rest.iter().map(|&at| self.curves[at].clone()).collect();
            let Some((at, point)) = goal.choose(&curves) else { break };
            let curve = rest[at];
            best.push(Choice { curve, point: &self.curves[curve].points[point.k as usize] });
            let chosen = key(self, curve);
            rest.retain(|&other| key(self, other) != chosen);
        }
        best
    }
}

impl PointCost {
    fn new((cpu_us, model): (f64, Cost)) -> Self {
        Self { cpu_us, query_us: model.query.as_secs_f64() * 1e6, row_bytes: model.row_bytes }
    }
}

/// With how many earlier texts that of a document is compared, if `found` pairs are counted.
fn comparisons_of_document(study: &Study, found: u64) -> f64 {
    let pairs_of_document = (study.num_documents() - 1) as f64 / 2.0;
    found as f64 / study.num_pairs() as f64 * pairs_of_document
}

/// What the modelled cost of a recipe depends on.
type ModelKey = (Width, Option<BandLayout>, u32);

fn model(models: &mut HashMap<ModelKey, Cost>, candidate: &Candidate, k: u32) -> Result<Cost, Failure> {
    let key = (candidate.recipe.width(), candidate.recipe.bands(), k);
    if let Some(cost) = models.get(&key) {
        return Ok(*cost);
    }
    let cost = Cost::of(&candidate.recipe, k)?;
    models.insert(key, cost);
    Ok(cost)
}
