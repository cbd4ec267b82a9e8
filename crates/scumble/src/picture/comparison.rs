//! Releases side by side: what each loses against what it risks.

use super::plot::{Frame, PLOT, Scale};
use super::{escape, px, width};
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

/// Room to the right of the plot, for labels.
const RIGHT: f64 = 40.0;
/// Radius of a point.
const DOT: f64 = 5.0;
const LABEL: f64 = 12.0;

/// A box on the plot: left, top, right, bottom.
type Place = (f64, f64, f64, f64);

/// Draws releases by loss and risk as an SVG that needs nothing else. Every point is labelled, no
/// label covers another or a point as long as there is room.
pub fn comparison(points: &[Point], loss: &str, risk: &str, title: &str) -> String {
    let (across, up) =
        (Scale::new(points.iter().map(|p| p.loss)), Scale::new(points.iter().map(|p| p.risk)));
    let said: Vec<String> = points
        .iter()
        .map(|p| format!("{}: loss {}, risk {}", p.label, four(p.loss), four(p.risk)))
        .collect();
    let about = format!(
        "Across: {loss}, left is better. Up: {risk}, lower is better. {}.",
        said.join("; ")
    );
    let names = [format!("{loss} (left is better)"), format!("{risk} (lower is better)")];
    let frame = Frame::new(title, [&names[0], &names[1]], &up, (RIGHT, PLOT.1));
    let mut svg = frame.open(title, &about, &across, &up);
    let (left, top) = (frame.left, frame.top);
    let at = |p: &Point| (left + across.at(p.loss) * PLOT.0, top + (1.0 - up.at(p.risk)) * PLOT.1);
    let dots: Vec<(f64, f64)> = points.iter().map(at).collect();
    let labels = places(points, &dots, (left, top, left + PLOT.0 + RIGHT - 4.0, top + PLOT.1));
    svg.push_str("<g class=\"leaders\" stroke=\"#829ab1\" stroke-width=\"0.8\">\n");
    for (dot, place) in dots.iter().zip(&labels) {
        let near = (dot.0.clamp(place.0, place.2), dot.1.clamp(place.1, place.3));
        if (near.0 - dot.0).hypot(near.1 - dot.1) > 3.0 * DOT {
            let [x, y, to_x, to_y] = [dot.0, dot.1, near.0, near.1].map(px);
            let _ = writeln!(svg, "<path d=\"M{x} {y}L{to_x} {to_y}\"/>");
        }
    }
    svg.push_str(
        "</g>\n<g class=\"points\" fill=\"#1f80b8\" stroke=\"#13266b\" stroke-width=\"1.2\">\n",
    );
    for ((x, y), text) in dots.iter().zip(&said) {
        let (x, y) = (px(*x), px(*y));
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{DOT}\"><title>{}</title></circle>",
            escape(text)
        );
    }
    let _ = writeln!(svg, "</g>\n<g class=\"labels\" font-size=\"{LABEL}\">");
    for (point, place) in points.iter().zip(&labels) {
        let (x, y) = (px(place.0), px(place.3 - 3.5));
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{}</text>", escape(&point.label));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
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
            let (left, middle) =
                (left.clamp(sheet.0 + 2.0, (sheet.2 - w).max(sheet.0 + 2.0)), y + dy * h);
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
        assert!(
            svg.contains("<title>Two &amp; more</title>") && svg.contains("gcp (left is better)")
        );
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
}
