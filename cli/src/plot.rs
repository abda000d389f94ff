//! Plots curves as SVG.

use plotters::coord::combinators::{BindKeyPoints, LogCoord};
use plotters::prelude::*;

/// A plot of several curves.
pub(crate) struct Curves {
    pub(crate) title: String,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) curves: Vec<Curve>,
}

/// A named curve.
pub(crate) struct Curve {
    pub(crate) name: String,
    /// In ascending order of x.
    pub(crate) points: Vec<(f64, f64)>,
    /// The colour, by number, and the line: 0 is solid, others are dashed.
    pub(crate) colour: usize,
    pub(crate) line: usize,
}

/// Colours of Okabe and Ito, which are distinct to colour-blind readers.
pub(crate) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// The place of the legend, in pixels from the left.
const LEGEND: u32 = 580;
/// The length from which on a title is in small letters.
const LONG: usize = 60;

/// The least distance of the middles of two numbers on the horizontal axis, as a part of its length.
const APART: f64 = 0.09;

/// The lengths of dashes and of the gaps after them.
const DASHES: [(u32, u32); 3] = [(7, 5), (2, 4), (14, 4)];

impl Curve {
    /// Returns the curve of this number in a plot: all colours have a line before the next.
    pub(crate) fn numbered(number: usize, name: String, points: Vec<(f64, f64)>) -> Self {
        let (colour, line) = (number % COLOURS.len(), (number / COLOURS.len()).min(DASHES.len()));
        Self { name, points, colour, line }
    }
}

impl Curves {
    /// Draws the plot with logarithmic axes, because times and sizes span decades.
    pub(crate) fn svg(&self) -> Result<String, String> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| error.to_string())?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        // Logarithmic axes show only positive values.
        let shown = |&&(x, y): &&(f64, f64)| x > 0.0 && y > 0.0;
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter().filter(shown));
        let span = |of: fn(&(f64, f64)) -> f64| {
            let (low, high) = points().map(of).fold((f64::MAX, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
            if low > high { (1.0, 10.0) } else { (low / 1.2, high * 1.2) }
        };
        let ((left, right), (bottom, top)) = (span(|p| p.0), span(|p| p.1));
        let height = 480.max(120 + 22 * self.curves.len() as u32);
        let longest = self.curves.iter().map(|curve| curve.name.chars().count()).max().unwrap_or(0);
        let wide = 860.max(LEGEND + 44 + 7 * longest as u32);
        let root = SVGBackend::with_string(svg, (wide, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let (area, legend) = root.split_horizontally(LEGEND);
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", if self.title.chars().count() > LONG { 13 } else { 18 }))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(84)
            .build_cartesian_2d(
                LogCoord::from((left..right).log_scale()).with_key_points(self.marks((left, right))),
                (bottom..top).log_scale(),
            )?;
        let number = |value: &f64| format!("{}", (value * 1e6).round() / 1e6);
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .light_line_style(BLACK.mix(0.05))
            .x_label_formatter(&number)
            .y_label_formatter(&number)
            .draw()?;
        for (i, curve) in self.curves.iter().enumerate() {
            let style = COLOURS[curve.colour % COLOURS.len()].stroke_width(2);
            let line: Vec<_> = curve.points.iter().filter(shown).copied().collect();
            let y = 40 + 22 * i as i32;
            if let Some(dashes) = curve.line.checked_sub(1) {
                let (dash, gap) = DASHES[dashes % DASHES.len()];
                chart.draw_series(DashedLineSeries::new(line.iter().copied(), dash, gap, style))?;
                for from in (4..28).step_by((dash + gap) as usize) {
                    let to = (from + dash as i32).min(30);
                    legend.draw(&PathElement::new(vec![(from, y), (to, y)], style))?;
                }
            } else {
                chart.draw_series(LineSeries::new(line.iter().copied(), style))?;
                legend.draw(&PathElement::new(vec![(4, y), (30, y)], style))?;
            }
            chart.draw_series(line.iter().map(|&point| Circle::new(point, 2, style.filled())))?;
            legend.draw(&Text::new(curve.name.clone(), (36, y - 7), ("sans-serif", 13)))?;
        }
        root.present()?;
        Ok(())
    }

    /// Returns the values on the horizontal axis that have a number: those of points, from the least on,
    /// as far as there is room.
    fn marks(&self, (left, right): (f64, f64)) -> Vec<f64> {
        let mut values: Vec<f64> = self.curves.iter().flat_map(|curve| &curve.points).map(|&(x, _)| x).collect();
        values.retain(|&x| x > 0.0);
        values.sort_by(f64::total_cmp);
        let mut marks: Vec<f64> = vec![];
        for value in values {
            if marks.last().is_none_or(|last| (value / last).ln() > APART * (right / left).ln()) {
                marks.push(value);
            }
        }
        marks
    }
}
