//! Releases side by side: what each loses against what it risks.

use super::{FONT, PAD, escape, px, width, wrap};
use std::fmt::Write;

/// One release in the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What it is called.
    pub label: String,
    /// What it loses; to the right is worse.
    pub loss: f64,
    /// What it risks; higher is worse.
    pub risk: f64,
}

/// Size of the plot in pixels.
const PLOT: (f64, f64) = (600.0, 400.0);
/// Where the plot begins.
const LEFT: f64 = 86.0;
/// Radius of a point.
const DOT: f64 = 5.0;
const LABEL: f64 = 12.0;

/// A box on the plot: left, top, right, bottom.
type Place = (f64, f64, f64, f64);

/// Draws releases by loss and risk as an SVG that needs nothing else. Every point is labelled, no label covers another
/// or a point as long as there is room.
pub fn comparison(points: &[Point], loss: &str, risk: &str, title: &str) -> String {
    let (across, up) = (Scale::new(points.iter().map(|p| p.loss)), Scale::new(points.iter().map(|p| p.risk)));
    let title_lines = wrap(title, LEFT + PLOT.0 - PAD, 17.0);
    let top = PAD + 22.0 * title_lines.len() as f64 + 14.0;
    let (sheet_width, sheet_height) = (px(LEFT + PLOT.0 + 40.0), px(top + PLOT.1 + 62.0));
    let said: Vec<String> =
        points.iter().map(|p| format!("{}: loss {}, risk {}", p.label, four(p.loss), four(p.risk))).collect();
    let about = format!("Across: {loss}, left is better. Up: {risk}, lower is better. {}.", said.join("; "));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {sheet_width} {sheet_height}\" \
         width=\"{sheet_width}\" height=\"{sheet_height}\" role=\"img\" \
         font-family=\"system-ui, 'Helvetica Neue', Arial, sans-serif\" font-size=\"{FONT}\" fill=\"#1f2933\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<rect width=\"{sheet_width}\" height=\"{sheet_height}\" fill=\"#ffffff\"/>\n",
        escape(title),
        escape(&about)
    );
    for (i, line) in title_lines.iter().enumerate() {
        let y = px(PAD + 22.0 * (i + 1) as f64 - 6.0);
        let _ =
            writeln!(svg, "<text x=\"{PAD}\" y=\"{y}\" font-size=\"17\" font-weight=\"600\">{}</text>", escape(line));
    }
    axes(&mut svg, &across, &up, top, [loss, risk]);
    let at = |p: &Point| (LEFT + across.at(p.loss) * PLOT.0, top + (1.0 - up.at(p.risk)) * PLOT.1);
    let dots: Vec<(f64, f64)> = points.iter().map(at).collect();
    let labels = places(points, &dots, (LEFT, top, LEFT + PLOT.0 + 36.0, top + PLOT.1));
    svg.push_str("<g class=\"leaders\" stroke=\"#829ab1\" stroke-width=\"0.8\">\n");
    for (dot, place) in dots.iter().zip(&labels) {
        let near = (dot.0.clamp(place.0, place.2), dot.1.clamp(place.1, place.3));
        if (near.0 - dot.0).hypot(near.1 - dot.1) > 3.0 * DOT {
            let [x, y, to_x, to_y] = [dot.0, dot.1, near.0, near.1].map(px);
            let _ = writeln!(svg, "<path d=\"M{x} {y}L{to_x} {to_y}\"/>");
        }
    }
    svg.push_str("</g>\n<g class=\"points\" fill=\"#1f80b8\" stroke=\"#13266b\" stroke-width=\"1.2\">\n");
    for ((x, y), text) in dots.iter().zip(&said) {
        let (x, y) = (px(*x), px(*y));
        let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{DOT}\"><title>{}</title></circle>", escape(text));
    }
    let _ = writeln!(svg, "</g>\n<g class=\"labels\" font-size=\"{LABEL}\">");
    for (point, place) in points.iter().zip(&labels) {
        let (x, y) = (px(place.0), px(place.3 - 3.5));
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{}</text>", escape(&point.label));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// From 0 to a round number above everything.
struct Scale {
    step: f64,
    steps: usize,
}

impl Scale {
    fn new(values: impl Iterator<Item = f64>) -> Scale {
        let most = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        if most <= 0.0 {
            return Scale { step: 0.2, steps: 5 };
        }
        let power = 10f64.powf((most / 5.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|s| s * 5.0 >= most * 0.999);
        let step = step.unwrap_or(10.0 * power);
        Scale { step, steps: ((most / step - 1e-9).ceil() as usize).max(1) }
    }

    fn at(&self, value: f64) -> f64 {
        (value / (self.step * self.steps as f64)).clamp(0.0, 1.0)
    }

    /// The marks: where, and what stands there, with as many decimals as the step needs.
    fn marks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        let decimals = (-self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        (0..=self.steps).map(move |i| (i as f64 / self.steps as f64, format!("{:.decimals$}", self.step * i as f64)))
    }
}

fn axes(svg: &mut String, across: &Scale, up: &Scale, top: f64, names: [&str; 2]) {
    let bottom = top + PLOT.1;
    svg.push_str("<g class=\"grid\" stroke=\"#e1e8ef\" stroke-width=\"1\">\n");
    for (at, _) in across.marks() {
        let _ = writeln!(svg, "<path d=\"M{} {}V{}\"/>", px(LEFT + at * PLOT.0), px(top), px(bottom));
    }
    for (at, _) in up.marks() {
        let _ = writeln!(svg, "<path d=\"M{LEFT} {}H{}\"/>", px(bottom - at * PLOT.1), px(LEFT + PLOT.0));
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {}V{}H{}\" stroke=\"#829ab1\" fill=\"none\"/>\n</g>",
        px(top),
        px(bottom),
        px(LEFT + PLOT.0)
    );
    svg.push_str("<g class=\"marks\">\n");
    for (at, text) in across.marks() {
        let x = px(LEFT + at * PLOT.0);
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", px(bottom + 17.0));
    }
    for (at, text) in up.marks() {
        let y = px(bottom - at * PLOT.1 + 4.0);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{text}</text>", px(LEFT - 8.0));
    }
    let style = "text-anchor=\"middle\" font-size=\"13\" font-weight=\"600\"";
    let (x, y) = (px(LEFT + PLOT.0 / 2.0), px(bottom + 44.0));
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {style}>{} (left is better)</text>", escape(names[0]));
    let (x, y) = (px(PAD + 8.0), px(top + PLOT.1 / 2.0));
    let turn = format!("transform=\"rotate(-90 {x} {y})\"");
    let _ =
        writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {turn} {style}>{} (lower is better)</text>\n</g>", escape(names[1]));
}

/// Where the labels stand: beside their point, or as near as there is room.
fn places(points: &[Point], dots: &[(f64, f64)], sheet: Place) -> Vec<Place> {
    let taken = |a: &Place, b: &Place| a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3;
    let around = |&(x, y): &(f64, f64)| (x - DOT, y - DOT, x + DOT, y + DOT);
    let mut placed: Vec<Place> = Vec::new();
    for (point, &(x, y)) in points.iter().zip(dots) {
        let (w, h) = (width(&point.label, LABEL), LABEL + 4.0);
        let beside = |dx: f64, dy: f64| {
            let left = if dx > 0.0 {
                x + DOT + 4.0
            } else if dx < 0.0 {
                x - DOT - 4.0 - w
            } else {
                x - w / 2.0
            };
            let (left, middle) = (left.clamp(sheet.0 + 2.0, (sheet.2 - w).max(sheet.0 + 2.0)), y + dy * h);
            (left, middle - h / 2.0, left + w, middle + h / 2.0)
        };
        let rows = (0..40).flat_map(|n| [f64::from(n), -f64::from(n)]);
        let mut tried = rows.flat_map(|dy| [1.0, -1.0, 0.0].map(|dx| beside(dx, dy)));
        let free = |place: &Place| {
            sheet.1 <= place.1
                && place.3 <= sheet.3
                && !placed.iter().any(|p| taken(p, place))
                && !dots.iter().any(|dot| taken(&around(dot), place))
        };
        let place = tried.find(free).unwrap_or_else(|| beside(1.0, 0.0));
        placed.push(place);
    }
    placed
}

fn four(x: f64) -> String {
    format!("{x:.4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_apart_and_everything_is_said() {
        let point = |i: u32| Point {
            label: format!("policy-{i} <k = {i}>"),
            loss: 0.2 + f64::from(i % 3) * 1e-4,
            risk: 0.1 + f64::from(i % 2) * 1e-4,
        };
        let points: Vec<Point> = (0..8).map(point).collect();
        let svg = comparison(&points, "gcp", "average risk", "Two & more");
        assert!(svg.contains("<title>Two &amp; more</title>") && svg.contains("gcp (left is better)"));
        assert_eq!(svg.matches("<circle").count(), 8);
        assert!(svg.contains("policy-7 &lt;k = 7&gt;: loss 0.2001, risk 0.1001"));
        let dots: Vec<(f64, f64)> = (0..8).map(|i| (300.0 + f64::from(i), 200.0)).collect();
        let places = places(&points, &dots, (86.0, 60.0, 720.0, 460.0));
        for (i, a) in places.iter().enumerate() {
            for b in &places[..i] {
                assert!(a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1, "{a:?} {b:?}");
            }
        }
        for nothing in [
            comparison(&[], "x", "y", ""),
            comparison(&[Point { label: "a".into(), loss: 0.0, risk: 0.0 }], "x", "y", "t"),
        ] {
            assert!(nothing.ends_with("</svg>\n") && !nothing.contains("NaN"));
        }
    }

    #[test]
    fn scales_are_round() {
        let marks = |most: f64| Scale::new([most].into_iter()).marks().map(|(_, t)| t).collect::<Vec<_>>();
        assert_eq!(marks(0.83), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(marks(0.2), ["0.00", "0.05", "0.10", "0.15", "0.20"]);
        assert_eq!(marks(68_832.0).last().map(String::as_str), Some("80000"));
    }
}
