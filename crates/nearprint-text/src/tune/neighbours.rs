//! Finds the near documents of a document, and counts the near documents of a cluster by distance.

use super::study::Study;
use nearprint::{BandLayout, Fingerprint};

/// The pairs of the sampled documents of one cluster, by distance.
pub(super) struct Counts {
    /// Pairs that no other cluster counts.
    pub(super) alone: Vec<u64>,
    /// Pairs with a sampled document of another cluster, which counts them, too.
    pub(super) shared: Vec<u64>,
    /// Those of `alone` that are near-duplicates.
    pub(super) hits: Vec<u64>,
}

impl Counts {
    /// No pairs, at the distances up to `most`.
    pub(super) fn new(most: u32) -> Self {
        let none = vec![0; most as usize + 1];
        Self { alone: none.clone(), shared: none.clone(), hits: none }
    }

    pub(super) fn clear(&mut self) {
        for counts in [&mut self.alone, &mut self.shared, &mut self.hits] {
            counts.fill(0);
        }
    }

    /// Counts a pair of a sampled document and another one.
    fn add(&mut self, study: &Study, document: usize, other: usize, distance: u32) {
        let at = distance as usize;
        if study.cluster_of[document] != study.cluster_of[other] {
            let counts = if study.is_sampled[other] { &mut self.shared } else { &mut self.alone };
            counts[at] += 1;
        } else if document < other || !study.is_sampled[other] {
            self.alone[at] += 1;
            self.hits[at] += u64::from(study.labels.contains(document, other));
        }
    }
}

/// Finds the near documents of each document.
pub(super) trait Neighbours: Sync {
    /// The largest distance that [`count`](Self::count) counts.
    fn most(&self) -> u32;

    /// Visits the documents within k bits of one, and their distances. Does not visit itself.
    fn visit(&self, document: usize, visit: &mut dyn FnMut(usize, u32));

    /// Adds the pairs of the sampled documents of a cluster. May include pairs beyond k.
    fn count(&self, study: &Study, cluster: usize, counts: &mut Counts) {
        for &document in study.members(cluster).iter().filter(|&&member| study.is_sampled[member]) {
            self.visit(document, &mut |other, distance| counts.add(study, document, other, distance));
        }
    }
}

/// Compares whole fingerprints, all with all: within half of the bits are half of all pairs, so that
/// an index would find nothing sooner.
pub(super) struct Hamming<'a, F> {
    prints: &'a [F],
    k: u32,
    /// The fingerprints of the sample, and the others.
    sampled: Vec<F>,
    others: Vec<F>,
}

impl<'a, F: Fingerprint> Hamming<'a, F> {
    pub(super) fn new(study: &Study, prints: &'a [F], k: u32) -> Self {
        let of = |documents: &[usize]| documents.iter().map(|&document| prints[document]).collect();
        Self { prints, k, sampled: of(&study.sampled), others: of(&study.others) }
    }
}

impl<F: Fingerprint> Neighbours for Hamming<'_, F> {
    fn most(&self) -> u32 {
        F::BITS
    }

    fn visit(&self, document: usize, visit: &mut dyn FnMut(usize, u32)) {
        let print = self.prints[document];
        for (other, distance) in self.prints.iter().map(|&other| print.distance(other)).enumerate() {
            if distance <= self.k && other != document {
                visit(other, distance);
            }
        }
    }

    /// First counts all documents as if they were in other clusters: this looks at distances alone.
    fn count(&self, study: &Study, cluster: usize, counts: &mut Counts) {
        let members = study.members(cluster);
        for &document in members.iter().filter(|&&member| study.is_sampled[member]) {
            let print = self.prints[document];
            count_distances(print, &self.sampled, &mut counts.shared);
            count_distances(print, &self.others, &mut counts.alone);
            for &member in members {
                let distance = print.distance(self.prints[member]);
                let counted = if study.is_sampled[member] { &mut counts.shared } else { &mut counts.alone };
                counted[distance as usize] -= 1;
                if member != document {
                    counts.add(study, document, member, distance);
                }
            }
        }
    }
}

/// Adds the distances of a fingerprint from others. The distances of a block are computed before one
/// is counted, which lets the compiler use vectors.
fn count_distances<F: Fingerprint>(print: F, others: &[F], counts: &mut [u64]) {
    const BLOCK: usize = 64;
    let (blocks, rest) = others.as_chunks::<BLOCK>();
    let mut distances = [0; BLOCK];
    for block in blocks {
        for (distance, other) in distances.iter_mut().zip(block) {
            *distance = print.distance(*other);
        }
        distances.iter().for_each(|&distance| counts[distance as usize] += 1);
    }
    rest.iter().for_each(|&other| counts[print.distance(other) as usize] += 1);
}

/// Looks fingerprints with bands up by each of their bands.
pub(super) struct Banded<'a, F> {
    prints: &'a [F],
    bands: BandLayout,
    k: u32,
    /// The bands of each document, one document after the other.
    values: Vec<u64>,
    /// For each band, its values with their documents, ascending.
    sorted: Vec<Vec<(u64, usize)>>,
}

impl<'a, F: Fingerprint> Banded<'a, F> {
    pub(super) fn new(prints: &'a [F], bands: BandLayout, k: u32) -> Self {
        let of_print = |&print: &F| (0..bands.count()).map(move |band| bands.band(print, band));
        let values: Vec<u64> = prints.iter().flat_map(of_print).collect();
        let count = bands.count() as usize;
        let sorted = |band| {
            let mut sorted: Vec<(u64, usize)> =
                values.iter().copied().skip(band).step_by(count).zip(0..).collect();
            sorted.sort_unstable();
            sorted
        };
        Self { prints, bands, k, sorted: (0..count).map(sorted).collect(), values }
    }

    /// The bands of a document.
    fn bands_of(&self, document: usize) -> &[u64] {
        let count = self.bands.count() as usize;
        &self.values[document * count..][..count]
    }

    /// The documents with an equal band, for each band.
    fn buckets(&self, document: usize) -> Vec<&[(u64, usize)]> {
        let bucket = |(value, sorted): (&u64, &'_ Vec<(u64, usize)>)| {
            let start = sorted.partition_point(|entry| entry.0 < *value);
            let len = sorted[start..].partition_point(|entry| entry.0 == *value);
            (start, len)
        };
        let places: Vec<(usize, usize)> =
            self.bands_of(document).iter().zip(&self.sorted).map(bucket).collect();
        places.iter().zip(&self.sorted).map(|(&(start, len), sorted)| &sorted[start..start + len]).collect()
    }

    /// Visits another document if it is near.
    fn visit_near(&self, document: usize, other: usize, visit: &mut dyn FnMut(usize, u32)) {
        let distance = self.bands.sketch_distance(self.prints[document], self.prints[other]);
        if distance <= self.k && other != document && self.prints[other] != F::default() {
            visit(other, distance);
        }
    }
}

impl<F: Fingerprint> Neighbours for Banded<'_, F> {
    fn most(&self) -> u32 {
        self.k
    }

    fn visit(&self, document: usize, visit: &mut dyn FnMut(usize, u32)) {
        if self.prints[document] == F::default() {
            return;
        }
        let (own, buckets) = (self.bands_of(document), self.buckets(document));
        // Where the bands are hardly selective, all documents take less time than all buckets.
        if buckets.iter().map(|bucket| bucket.len()).sum::<usize>() > self.prints.len() / 2 {
            for other in 0..self.prints.len() {
                if own.iter().zip(self.bands_of(other)).any(|(a, b)| a == b) {
                    self.visit_near(document, other, visit);
                }
            }
            return;
        }
        for (band, bucket) in buckets.into_iter().enumerate() {
            for &(_, other) in bucket {
                let is_first = own.iter().zip(self.bands_of(other)).take(band).all(|(a, b)| a != b);
                if is_first {
                    self.visit_near(document, other, visit);
                }
            }
        }
    }
}

/// Pairs with their distances, in a list that has each pair once for each of its sampled documents.
pub(super) struct Listed {
    k: u32,
    /// Ascending.
    pairs: Vec<(usize, usize, u32)>,
}

impl Listed {
    /// The list of some counted pairs, each given once.
    pub(super) fn new(study: &Study, pairs: impl Iterator<Item = (usize, usize, u32)>, k: u32) -> Self {
        let both = pairs.flat_map(|(a, b, distance)| [(a, b, distance), (b, a, distance)]);
        let mut pairs: Vec<_> = both.filter(|pair| study.is_sampled[pair.0]).collect();
        pairs.sort_unstable();
        Self { k, pairs }
    }
}

impl Neighbours for Listed {
    fn most(&self) -> u32 {
        self.k
    }

    fn visit(&self, document: usize, visit: &mut dyn FnMut(usize, u32)) {
        let start = self.pairs.partition_point(|pair| pair.0 < document);
        let of_document = self.pairs[start..].iter().take_while(|pair| pair.0 == document);
        of_document.for_each(|&(_, other, distance)| visit(other, distance));
    }
}
