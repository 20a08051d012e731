//! Histograms as SVG.

use std::error::Error;
use std::io;

use plotters::coord::ranged1d::SegmentValue;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Histogram;
use super::page::grouped;

pub(super) type Drawn<T> = Result<T, Box<dyn Error>>;

const SIZE: (u32, u32) = (480, 200);
const FONT: &str = "sans-serif";
/// The largest font, in pixels.
const FONT_SIZE: usize = 16;
/// The width of the widest digit, in hundredths of the size of the font.
const DIGIT_WIDTH: usize = 60;
/// Free space at each side of the chart, in pixels.
const MARGIN: u32 = 6;
/// The page's style sheet replaces this colour by the theme's.
const BAR: RGBColor = RGBColor(0, 100, 170);

/// The last sizes of the bins of [`Histogram::of_sizes`].
const SIZES: [usize; 9] = [2, 3, 4, 5, 10, 20, 50, 100, 1000];

impl Histogram {
    /// Groups by their number of members.
    pub(crate) fn of_sizes(sizes: impl IntoIterator<Item = usize>) -> Self {
        let mut counts = [0; SIZES.len() + 1];
        for size in sizes {
            counts[SIZES.partition_point(|last| *last < size)] += 1;
        }
        let label = |bin: usize| match (bin.checked_sub(1).map_or(1, |before| SIZES[before]), SIZES.get(bin))
        {
            (before, Some(last)) if before + 1 == *last => last.to_string(),
            (before, Some(last)) => format!("{}–{last}", before + 1),
            (before, None) => format!("> {before}"),
        };
        let bins = counts.iter().enumerate().map(|(bin, count)| (label(bin), *count)).collect();
        Self { caption: "Groups by number of documents".into(), bins }.without_ends()
    }

    /// Documents by their similarity to the kept one, in tenths.
    pub(crate) fn of_similarities(similarities: impl IntoIterator<Item = f64>) -> Self {
        let mut counts = [0u64; 10];
        for similarity in similarities {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 10")]
            let tenth = (similarity.clamp(0.0, 1.0) * 10.0 + 1e-9) as usize;
            counts[tenth.min(9)] += 1;
        }
        Self::of_tenths(counts)
    }

    /// Documents by their similarity to the kept one: below 0.1, below 0.2, …, from 0.9 on.
    pub(crate) fn of_tenths(counts: [u64; 10]) -> Self {
        let label = |tenth: usize| format!("0.{tenth}–{}.{}", (tenth + 1) / 10, (tenth + 1) % 10);
        let bins = counts.iter().enumerate().map(|(tenth, count)| (label(tenth), *count)).collect();
        Self { caption: "Documents by similarity to the kept one".into(), bins }.without_ends()
    }

    /// Without empty bins at both ends.
    fn without_ends(mut self) -> Self {
        let end = self.bins.iter().rposition(|(_, count)| *count > 0).map_or(0, |last| last + 1);
        self.bins.truncate(end);
        let start = self.bins.iter().position(|(_, count)| *count > 0).unwrap_or(0);
        self.bins.drain(..start);
        self
    }
}

/// Draws bars with their labels below and their counts above them, on no background.
pub(super) fn svg(histogram: &Histogram) -> Drawn<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(&area, &histogram.bins)?;
        area.present().map_err(failed)?;
    }
    Ok(text)
}

fn draw(area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, bins: &[(String, u64)]) -> Drawn<()> {
    let highest = bins.iter().map(|(_, count)| *count).max().unwrap_or(0);
    // Above the highest bar is room for its count.
    let top = highest.saturating_add(highest / 8).saturating_add(1);
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .x_label_area_size(26)
        .build_cartesian_2d((0..bins.len() - 1).into_segmented(), 0..top)
        .map_err(failed)?;
    let label = |bin: &SegmentValue<usize>| match bin {
        SegmentValue::CenterOf(at) => bins.get(*at).map(|(label, _)| label.clone()).unwrap_or_default(),
        _ => String::new(),
    };
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().disable_y_axis().x_labels(bins.len()).x_label_formatter(&label);
    let font = (FONT, font_size(bins));
    mesh.label_style(font).draw().map_err(failed)?;
    let counts = bins.iter().map(|(_, count)| *count).enumerate();
    // One by one: a histogram of plotters has its bars in any order.
    let bars = counts.clone().map(|(at, count)| {
        let end = if at + 1 < bins.len() { SegmentValue::Exact(at + 1) } else { SegmentValue::Last };
        let mut bar = Rectangle::new([(SegmentValue::Exact(at), count), (end, 0)], BAR.filled());
        bar.set_margin(0, 0, 4, 4);
        bar
    });
    chart.draw_series(bars).map_err(failed)?;
    let style = TextStyle::from(font).pos(Pos::new(HPos::Center, VPos::Bottom));
    let numbers = counts.map(|(at, count)| {
        let place = EmptyElement::at((SegmentValue::CenterOf(at), count));
        place + Text::new(grouped(count), (0, -3), style.clone())
    });
    chart.draw_series(numbers).map_err(failed)?;
    Ok(())
}

/// The size of a font in which no label or count is wider than its bar.
fn font_size(bins: &[(String, u64)]) -> u32 {
    let longest = bins.iter().map(|(label, count)| label.chars().count().max(grouped(*count).len())).max();
    let width = (SIZE.0 - 2 * MARGIN) as usize / bins.len().max(1);
    let fitting = 100 * width / (DIGIT_WIDTH * longest.unwrap_or(1).max(1));
    u32::try_from(fitting.min(FONT_SIZE)).unwrap_or_default()
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err needs")]
fn failed(error: DrawingAreaErrorKind<io::Error>) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_the_same_each_time_and_labels_do_not_touch() {
        let many = Histogram::of_sizes((0..40).map(|at| at * at * 7 % 1500));
        let tenths = Histogram::of_tenths([10_000_000; 10]);
        for histogram in [many, tenths] {
            let first = svg(&histogram).unwrap();
            for _ in 0..20 {
                assert_eq!(svg(&histogram).unwrap(), first);
            }
            let bars = first.matches("<rect").count();
            assert_eq!(bars, histogram.bins.len());
            let longest =
                histogram.bins.iter().map(|(label, count)| label.chars().count().max(grouped(*count).len()));
            let widest = longest.max().unwrap() * font_size(&histogram.bins) as usize * DIGIT_WIDTH / 100;
            assert!(widest * bars <= SIZE.0 as usize, "{widest} pixels");
        }
        assert_eq!(font_size(&Histogram::of_sizes([2, 2, 3]).bins), 16);
    }

    #[test]
    fn bins_have_all_values_and_no_empty_ends() {
        let bins = |histogram: Histogram| {
            let bins = histogram.bins.into_iter().map(|(label, count)| format!("{label}: {count}"));
            bins.collect::<Vec<_>>()
        };
        assert_eq!(bins(Histogram::of_sizes([3, 3, 6, 10])), ["3: 2", "4: 0", "5: 0", "6–10: 2"]);
        assert_eq!(bins(Histogram::of_sizes([1000, 1001])), ["101–1000: 1", "> 1000: 1"]);
        assert_eq!(bins(Histogram::of_sizes([2])), ["2: 1"]);
        assert_eq!(bins(Histogram::of_sizes([])), [] as [&str; 0]);
        let similarities = Histogram::of_similarities([1.0, 0.9, 0.3 + 0.5, 0.799, 0.8]);
        assert_eq!(bins(similarities), ["0.7–0.8: 1", "0.8–0.9: 2", "0.9–1.0: 2"]);
    }
}
