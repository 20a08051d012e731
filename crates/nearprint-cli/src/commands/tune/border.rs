//! Warnings where the best value is the first or last one that was tried.

use super::candidates::Candidate;
use super::tried::{Choice, Tried};

/// What lies on the border of what was tried, each as a clause.
pub(super) fn borders(tried: &Tried, best: Choice<'_>) -> Vec<String> {
    let curve = &tried.curves[best.curve];
    let mut borders = Vec::new();
    if curve.points.last().is_some_and(|last| last.k == best.point.k) {
        borders.push(format!("k = {} is the largest", best.point.k));
    }
    borders.extend(shingle_border(tried, &tried.candidates[best.curve]));
    borders.extend(bands_border(tried, &tried.candidates[best.curve]));
    borders
}

/// The smallest or largest shingle, if others were tried and the recipe permits one beyond.
fn shingle_border(tried: &Tried, best: &Candidate) -> Option<String> {
    let is_same_kind = |other: &&Candidate| other.recipe.bands().is_some() == best.recipe.bands().is_some();
    let sizes = || tried.candidates.iter().filter(is_same_kind).map(|candidate| candidate.shingle);
    let (smallest, largest) = (sizes().min()?, sizes().max()?);
    let permits = |shingle: usize| best.recipe.with([("shingle", shingle.to_string().as_str())]).is_ok();
    let beyond = |step: &str, shingle: usize| {
        permits(shingle).then(|| format!("--shingle {} is the {step}", best.shingle))
    };
    match best.shingle {
        _ if smallest == largest => None,
        shingle if shingle == smallest => beyond("smallest", shingle - 1),
        shingle if shingle == largest => beyond("largest", shingle + 1),
        _ => None,
    }
}

/// The split into bands that finds pairs of the lowest or highest similarity, if others were tried.
fn bands_border(tried: &Tried, best: &Candidate) -> Option<String> {
    let of_best = best.band_similarity()?;
    let others = || tried.candidates.iter().filter_map(Candidate::band_similarity);
    let (is_lowest, is_highest) =
        (others().all(|other| of_best <= other), others().all(|other| other <= of_best));
    let found = match (is_lowest, is_highest) {
        (true, false) => "lowest: more bands, or fewer values in each, find more pairs",
        (false, true) => "highest: fewer bands, or more values in each, find fewer pairs",
        _ => return None,
    };
    Some(format!("hash={} finds pairs from a similarity of {of_best:.2} on, the {found}", best.hash()))
}
