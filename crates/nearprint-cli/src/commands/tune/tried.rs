//! The measured curves, and what each of their points costs.

use std::collections::HashMap;

use super::candidates::Candidate;
use super::corpus::Corpus;
use super::labels::PairsAt;
use crate::terminal::failure::Failure;
use nearprint::{BandLayout, Width};
use nearprint_text::dedup::Similarity;
use nearprint_text::recipe::Recipe;
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
    /// The confirmation that near-duplicates are defined by, if they are. It is not recommended, as it would only
    /// find what was asked for.
    pub(super) definition: Option<Similarity>,
    /// How many pairs other limits of the definition find.
    pub(super) pairs_at: PairsAt,
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
        confirms: &[Option<Similarity>],
        corpus: &Corpus,
        study: &Study,
        threads: usize,
    ) -> Result<Self, Failure> {
        let measures: Vec<Similarity> = confirms.iter().flatten().copied().collect();
        let closures: Vec<_> = measures
            .iter()
            .map(|&measure| move |a: usize, b: usize| corpus.confirms(measure, a, b))
            .collect();
        let closures: Vec<Confirms<'_>> = closures.iter().map(|confirms| confirms as Confirms<'_>).collect();
        // The first curve of a recipe is the one without confirmation.
        let none = std::iter::once((None, 0.0));
        let measured = measures.iter().map(|&measure| (Some(measure), corpus.comparison_us(measure)));
        let comparisons: Vec<(Option<Similarity>, f64)> = none.chain(measured).collect();
        let mut tried = Self {
            curves: Vec::new(),
            candidates: Vec::new(),
            costs: Vec::new(),
            definition: None,
            pairs_at: Vec::new(),
        };
        let mut models = Models::default();
        let recipes = candidates.into_iter().zip(&corpus.prints).zip(corpus.fingerprint_us());
        for ((candidate, prints), fingerprint_us) in recipes {
            let near = widest(candidate.recipe.bands(), candidate.recipe.width());
            let curves = prints.curves(study, near, &closures, threads);
            let compared: Vec<f64> =
                curves[0].iter().map(|point| comparisons_of_document(study, point.found)).collect();
            for (points, &(confirm, comparison_us)) in curves.into_iter().zip(&comparisons) {
                // Features decide about it, at any k.
                let is_exact = confirm.is_some_and(|measure| !measure.reads_texts(&candidate.recipe));
                if confirms.contains(&confirm) && !is_exact {
                    let cpu_us = compared.iter().map(|compared| fingerprint_us + compared * comparison_us);
                    tried.push(&candidate, confirm, points, cpu_us, &mut models)?;
                }
            }
        }
        Ok(tried)
    }

    /// Adds a curve. `cpu_us` is the processor time of each of its points.
    fn push(
        &mut self,
        candidate: &Candidate,
        confirm: Option<Similarity>,
        points: Vec<Point>,
        cpu_us: impl Iterator<Item = f64>,
        models: &mut Models,
    ) -> Result<(), Failure> {
        let cost = |(point, cpu_us): (&Point, f64)| {
            let model = models.cost(&candidate.recipe, point.k)?;
            Ok(PointCost { cpu_us, query_us: model.query.as_secs_f64() * 1e6, row_bytes: model.row_bytes })
        };
        self.costs.push(points.iter().zip(cpu_us).map(cost).collect::<Result<_, Failure>>()?);
        self.curves.push(Curve::new(candidate.recipe.clone(), confirm, points));
        self.candidates.push(candidate.clone());
        Ok(())
    }

    /// The options of `dedup` that a point stands for.
    pub(super) fn options(&self, choice: Choice<'_>) -> String {
        let (curve, k) = (&self.curves[choice.curve], choice.point.k);
        let distance = format!(" -k {k}");
        let confirm =
            curve.confirm.map(|similarity| format!(" --similarity {similarity}")).unwrap_or_default();
        self.candidates[choice.curve].options(&distance) + &confirm
    }

    pub(super) fn cost(&self, choice: Choice<'_>) -> PointCost {
        self.costs[choice.curve][choice.point.k as usize]
    }

    /// The best point of all curves.
    pub(super) fn best(&self, goal: Goal) -> Option<Choice<'_>> {
        self.best_of(&self.recommendable(), goal)
    }

    /// The best point of each set of curves with the same key, the best set first.
    pub(super) fn best_by<K: PartialEq>(
        &self,
        goal: Goal,
        key: impl Fn(&Self, usize) -> K,
    ) -> Vec<Choice<'_>> {
        let mut rest = self.recommendable();
        let mut best = Vec::new();
        while let Some(choice) = self.best_of(&rest, goal) {
            best.push(choice);
            let chosen = key(self, choice.curve);
            rest.retain(|&other| key(self, other) != chosen);
        }
        best
    }

    fn best_of(&self, curves: &[usize], goal: Goal) -> Option<Choice<'_>> {
        let some: Vec<Curve> = curves.iter().map(|&at| self.curves[at].clone()).collect();
        let (at, point) = goal.choose(&some)?;
        let curve = curves[at];
        Some(Choice { curve, point: &self.curves[curve].points[point.k as usize] })
    }

    /// The curves that can be recommended: all, if they all find what was asked for.
    fn recommendable(&self) -> Vec<usize> {
        let is_defined =
            |at: &usize| self.definition.is_some() && self.curves[*at].confirm == self.definition;
        let (defined, others): (Vec<usize>, Vec<usize>) = (0..self.curves.len()).partition(is_defined);
        if others.is_empty() { defined } else { others }
    }
}

/// The number of earlier texts with which a document is compared, if `found` pairs are counted.
fn comparisons_of_document(study: &Study, found: u64) -> f64 {
    let pairs_of_document = (study.num_documents() - 1) as f64 / 2.0;
    found as f64 / study.num_pairs() as f64 * pairs_of_document
}

/// The modelled costs, by what they depend on.
#[derive(Default)]
struct Models(HashMap<(Width, Option<BandLayout>, u32), Cost>);

impl Models {
    fn cost(&mut self, recipe: &Recipe, k: u32) -> Result<Cost, Failure> {
        let key = (recipe.width(), recipe.bands(), k);
        if let Some(cost) = self.0.get(&key) {
            return Ok(*cost);
        }
        let cost = Cost::of(recipe, k)?;
        self.0.insert(key, cost);
        Ok(cost)
    }
}
