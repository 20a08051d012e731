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
const FONT: (&str, u32) = ("sans-serif", 16);
/// The page's style sheet replaces this colour by that of the theme.
const BAR: RGBColor = RGBColor(0, 100, 170);

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
        .margin(6)
        .x_label_area_size(26)
        .build_cartesian_2d((0..bins.len() - 1).into_segmented(), 0..top)
        .map_err(failed)?;
    let label = |bin: &SegmentValue<usize>| match bin {
        SegmentValue::CenterOf(at) => bins.get(*at).map(|(label, _)| label.clone()).unwrap_or_default(),
        _ => String::new(),
    };
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().disable_y_axis().x_labels(bins.len()).x_label_formatter(&label);
    mesh.label_style(FONT).draw().map_err(failed)?;
    let counts = bins.iter().map(|(_, count)| *count).enumerate();
    let bars =
        plotters::series::Histogram::vertical(&chart).style(BAR.filled()).margin(4).data(counts.clone());
    chart.draw_series(bars).map_err(failed)?;
    let style = TextStyle::from(FONT).pos(Pos::new(HPos::Center, VPos::Bottom));
    let numbers = counts.map(|(at, count)| {
        let place = EmptyElement::at((SegmentValue::CenterOf(at), count));
        place + Text::new(grouped(count), (0, -3), style.clone())
    });
    chart.draw_series(numbers).map_err(failed)?;
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err needs")]
fn failed(error: DrawingAreaErrorKind<io::Error>) -> String {
    error.to_string()
}
