//! The best curves of `tune` as a picture.

use std::error::Error;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor;

use super::tried::{Choice, Tried};
use nearprint_text::tune::{Goal, Point};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn<T = ()> = Result<T, Box<dyn Error>>;

const WIDTH: u32 = 1100;
const HEADER_HEIGHT: u32 = 62;
const PANEL_HEIGHT: u32 = 400;
/// The width of a legend beside its panel.
const LEGEND_WIDTH: u32 = 330;
const FONT: &str = "sans-serif";
/// The number of curves in all panels. Each has a colour.
const MAX_CURVES: usize = 8;
const COLORS: [RGBColor; MAX_CURVES] = [
    RGBColor(200, 30, 45),
    RGBColor(0, 100, 170),
    RGBColor(30, 130, 50),
    RGBColor(225, 120, 0),
    RGBColor(125, 50, 150),
    RGBColor(110, 75, 40),
    RGBColor(0, 150, 160),
    RGBColor(90, 90, 90),
];
/// The largest number of labels on the axis of distances.
const MAX_LABELS: usize = 17;

/// Curves whose distances can be compared: those with bands, or those without.
struct Panel<'a> {
    name: &'static str,
    /// The best point of each curve, the best one first.
    curves: Vec<Choice<'a>>,
    /// The bits of a distance, if they are the same for all curves.
    num_bits: Option<u32>,
}

impl Panel<'_> {
    /// The place of a k on the axis: itself, or its share of the bits in per cent.
    fn x(&self, k: u32, num_bits: u32) -> f64 {
        if self.num_bits.is_some() { f64::from(k) } else { f64::from(k) / f64::from(num_bits) * 100.0 }
    }

    fn end(&self) -> f64 {
        self.num_bits.map_or(50.0, |bits| f64::from(bits / 2).max(1.0))
    }

    fn axis(&self) -> &'static str {
        if self.num_bits.is_some() {
            "k, bits that may differ"
        } else {
            "k as a share of the bits of a sketch, %"
        }
    }
}

/// An SVG of precision (solid lines) and recall (dashed lines) over k: a panel for MinHash and one
/// for simhashes, in each the best curve of each shingle size. `best` is bold and has circles. A line
/// marks the exact similarity `limit` where MinHash fingerprints estimate it, or else the k of `best`.
pub(super) fn svg(tried: &Tried, goal: Goal, best: Choice<'_>, limit: Option<f64>) -> Drawn<String> {
    let panels = panels(tried, goal);
    let mut text = String::new();
    let height = HEADER_HEIGHT + PANEL_HEIGHT * u32::try_from(panels.len())?;
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        let (header, rest) = area.split_vertically(HEADER_HEIGHT);
        let title = "Precision (drawn through) and recall (dashed) by k";
        header.draw(&Text::new(title, (15, 12), (FONT, 18))).map_err(failed)?;
        let options = format!("best fingerprints: {}", tried.options(best));
        header.draw(&Text::new(options, (15, 38), (FONT, 14))).map_err(failed)?;
        for (part, panel) in rest.split_evenly((panels.len(), 1)).iter().zip(&panels) {
            draw_panel(part, tried, panel, (best, limit))?;
        }
        area.present().map_err(failed)?;
    }
    Ok(text)
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err needs")]
fn failed(error: DrawingAreaErrorKind<std::io::Error>) -> String {
    error.to_string()
}

fn panels(tried: &Tried, goal: Goal) -> Vec<Panel<'_>> {
    let kind_and_shingle =
        |tried: &Tried, at: usize| (tried.curves[at].recipe.bands().is_some(), tried.candidates[at].shingle);
    let chosen = tried.best_by(goal, kind_and_shingle);
    let has_bands = |choice: &Choice<'_>| tried.curves[choice.curve].recipe.bands().is_some();
    let is_alone = chosen.iter().all(has_bands) || !chosen.iter().any(has_bands);
    let most = if is_alone { MAX_CURVES } else { MAX_CURVES / 2 };
    let panel = |(name, wanted): (&'static str, bool)| {
        let of_kind = chosen.iter().filter(|choice| has_bands(choice) == wanted);
        let curves: Vec<Choice<'_>> = of_kind.take(most).copied().collect();
        let bits = |choice: &Choice<'_>| tried.curves[choice.curve].num_bits();
        let first = curves.first().map(bits);
        let num_bits = first.filter(|first| curves.iter().all(|choice| bits(choice) == *first));
        Panel { name, curves, num_bits }
    };
    let panels = [("MinHash", true), ("Simhash", false)].map(panel);
    panels.into_iter().filter(|panel| !panel.curves.is_empty()).collect()
}

fn draw_panel(
    area: &Area<'_>,
    tried: &Tried,
    panel: &Panel<'_>,
    (best, limit): (Choice<'_>, Option<f64>),
) -> Drawn {
    let (left, legend) = area.split_horizontally(WIDTH - LEGEND_WIDTH);
    let mut chart = ChartBuilder::on(&left)
        .caption(panel.name, (FONT, 16))
        .margin(15)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..panel.end(), 0.0..1.0)
        .map_err(failed)?;
    let label = (FONT, 14);
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(panel.axis()).x_labels(MAX_LABELS).x_label_formatter(&|x| format!("{x:.0}"));
    mesh.label_style(label).axis_desc_style(label).light_line_style(WHITE).draw().map_err(failed)?;
    let is_best = |choice: &Choice<'_>| choice.curve == best.curve;
    for ((number, choice), color) in panel.curves.iter().enumerate().zip(COLORS) {
        let style = color.stroke_width(if is_best(choice) { 4 } else { 2 });
        draw_curve(&mut chart, tried, panel, *choice, style)?;
        draw_name(&legend, number, &name(tried, *choice), style, is_best(choice))?;
    }
    if let Some((k, num_bits, name)) = limit_of(tried, panel, (best, limit)) {
        mark_limit(&mut chart, panel, panel.x(k, num_bits), &name)?;
    }
    if let Some(choice) = panel.curves.iter().find(|choice| is_best(choice)) {
        mark(&mut chart, panel, tried, *choice)?;
    }
    Ok(())
}

fn draw_curve(
    chart: &mut Chart<'_, '_>,
    tried: &Tried,
    panel: &Panel<'_>,
    choice: Choice<'_>,
    style: ShapeStyle,
) -> Drawn {
    let curve = &tried.curves[choice.curve];
    let num_bits = curve.num_bits();
    let line = |share: fn(&Point) -> f64| {
        curve.points.iter().map(move |point| (panel.x(point.k, num_bits), share(point)))
    };
    chart.draw_series(LineSeries::new(line(Point::precision), style)).map_err(failed)?;
    chart.draw_series(DashedLineSeries::new(line(Point::recall), 6, 4, style)).map_err(failed)?;
    Ok(())
}

/// The recipe of a curve, its shingle and its similarity of texts.
fn name(tried: &Tried, choice: Choice<'_>) -> String {
    let (curve, candidate) = (&tried.curves[choice.curve], &tried.candidates[choice.curve]);
    let confirm = curve.confirm.map(|confirm| format!(", {confirm}")).unwrap_or_default();
    format!("{}, shingle {}{confirm}", candidate.name(), candidate.shingle)
}

/// A line of the legend.
fn draw_name(area: &Area<'_>, number: usize, name: &str, style: ShapeStyle, is_best: bool) -> Drawn {
    let y = 50 + 24 * i32::try_from(number)?;
    area.draw(&PathElement::new([(5, y), (31, y)], style)).map_err(failed)?;
    let font = (FONT, 14).into_font().style(if is_best { FontStyle::Bold } else { FontStyle::Normal });
    area.draw(&Text::new(name.to_string(), (38, y - 7), font)).map_err(failed)?;
    Ok(())
}

/// Circles at the recommended point, and what they are.
fn mark(chart: &mut Chart<'_, '_>, panel: &Panel<'_>, tried: &Tried, best: Choice<'_>) -> Drawn {
    let x = panel.x(best.point.k, tried.curves[best.curve].num_bits());
    let shares = [best.point.precision(), best.point.recall()];
    chart
        .draw_series(shares.map(|share| Circle::new((x, share), 6, BLACK.stroke_width(2))))
        .map_err(failed)?;
    let text = format!("best: k = {}", best.point.k);
    label(chart, panel, (x, shares[0].min(shares[1])), text)
}

/// The limit in a panel: its k, the bits of which that is a part, and its name. A panel without the best curve has only
/// a similarity, and simhashes estimate none.
fn limit_of(
    tried: &Tried,
    panel: &Panel<'_>,
    (best, limit): (Choice<'_>, Option<f64>),
) -> Option<(u32, u32, String)> {
    let is_best = |choice: &&Choice<'_>| choice.curve == best.curve;
    let own = panel.curves.iter().find(is_best);
    let curve = &tried.curves[own.or(panel.curves.first())?.curve];
    match (limit, curve.recipe.bands()) {
        (Some(similarity), Some(bands)) => {
            let k = bands.distance_of(curve.recipe.width(), similarity);
            Some((k, curve.num_bits(), format!("--similarity {similarity:.2}")))
        }
        (Some(_), None) => None,
        (None, _) => own.map(|best| (best.point.k, curve.num_bits(), format!("-k {}", best.point.k))),
    }
}

/// A line from the axis up at a limit, and its name.
fn mark_limit(chart: &mut Chart<'_, '_>, panel: &Panel<'_>, x: f64, name: &str) -> Drawn {
    let line = DashedLineSeries::new([(x, 0.0), (x, 1.0)], 2, 3, BLACK.stroke_width(1));
    chart.draw_series(line).map_err(failed)?;
    label(chart, panel, (x, 0.1), name.into())
}

/// A bold text beside a point: at its left if it would not fit in at its right.
fn label(chart: &mut Chart<'_, '_>, panel: &Panel<'_>, point: (f64, f64), text: String) -> Drawn {
    let is_far = point.0 > panel.end() * 0.7;
    let style = TextStyle::from((FONT, 14).into_font().style(FontStyle::Bold));
    let anchor = if is_far { text_anchor::HPos::Right } else { text_anchor::HPos::Left };
    let style = style.pos(text_anchor::Pos::new(anchor, text_anchor::VPos::Top));
    let offset = if is_far { -10 } else { 10 };
    let label = EmptyElement::at(point) + Text::new(text, (offset, 10), style);
    chart.draw_series(std::iter::once(label)).map_err(failed)?;
    Ok(())
}
