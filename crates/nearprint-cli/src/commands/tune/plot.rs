//! The curves of `tune` as a picture.

use std::error::Error;
use std::ops::Range;

use plotters::coord::types::{RangedCoordf64, RangedCoordu32};
use plotters::prelude::*;

use nearprint_text::tune::Point;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordu32, RangedCoordf64>>;

const SIZE: (u32, u32) = (900, 560);
const FONT: &str = "sans-serif";
/// The largest number of labels on the axis of k. At 64 bits there is one for each k.
const MAX_LABELS: usize = 17;

/// An SVG of precision (solid lines) and recall (dashed lines) over k, with a colour for each
/// shingle size.
/// `best` is circled. `points` are sorted by shingle size.
pub(super) fn svg(points: &[Point], best: &Point) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area(), points, best)
        .map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    points: &[Point],
    best: &Point,
) -> Result<(), Box<dyn Error>> {
    let failed = |error: DrawingAreaErrorKind<std::io::Error>| error.to_string();
    area.fill(&WHITE).map_err(failed)?;
    let max_k = points.iter().map(|point| point.k).max().unwrap_or_default();
    let ranges: (Range<u32>, Range<f64>) = (0..max_k, 0.0..1.0);
    let mut chart = ChartBuilder::on(area)
        .caption("Precision (drawn through) and recall (dashed) by k", (FONT, 18))
        .margin(15)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(ranges.0, ranges.1)
        .map_err(failed)?;
    let label = (FONT, 14);
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("k, bits that may differ").x_labels(MAX_LABELS);
    mesh.label_style(label).axis_desc_style(label).light_line_style(WHITE).draw().map_err(failed)?;
    for (number, curve) in points.chunk_by(|a, b| a.shingle == b.shingle).enumerate() {
        draw_curve(&mut chart, curve, number)?;
    }
    let circles = [best.precision(), best.recall()].map(|share| Circle::new((best.k, share), 6, BLACK));
    chart.draw_series(circles).map_err(failed)?;
    let mut legend = chart.configure_series_labels();
    let legend = legend.position(SeriesLabelPosition::LowerRight).label_font(label);
    legend.border_style(BLACK).background_style(WHITE).draw().map_err(failed)?;
    Ok(area.present().map_err(failed)?)
}

fn draw_curve(chart: &mut Chart<'_, '_>, curve: &[Point], number: usize) -> Result<(), Box<dyn Error>> {
    let failed = |error: DrawingAreaErrorKind<std::io::Error>| error.to_string();
    let style = Palette99::pick(number).stroke_width(2);
    let precision = curve.iter().map(|point| (point.k, point.precision()));
    let recall = curve.iter().map(|point| (point.k, point.recall()));
    let drawn = chart.draw_series(LineSeries::new(precision, style)).map_err(failed)?;
    let name = curve.first().map_or(String::new(), |point| format!("shingle {}", point.shingle));
    drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    chart.draw_series(DashedLineSeries::new(recall, 6, 4, style)).map_err(failed)?;
    Ok(())
}
