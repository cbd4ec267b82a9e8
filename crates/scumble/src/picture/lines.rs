//! Lines in one chart: what an attack comes to, for every value of something.

use super::plot::{Frame, PLOT, Scale};
use super::{PAD, escape, px, width, wrap};
use crate::attack::Chart;
use std::fmt::Write;

/// Okabe and Ito's colours, told apart also by the colour-blind; without the yellow, which is too
/// light on white.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1f2933"];
/// As many as have no factor in common with the colours: the same pair comes back after 35 lines.
const DASHES: [&str; 5] = ["", "7 4", "2 3", "10 3 2 3", "4 2"];
/// Lines with at most so many points have marks on them.
const FEW: usize = 25;
/// Points of a line that are all read aloud; of more only the ends and the extremes.
const READ: usize = 12;
/// Size of the legend's labels, the room of a line of them, their most width, and the line before
/// them.
const LABEL: f64 = 12.0;
const ROW: f64 = 16.0;
const LONGEST: f64 = 190.0;
const SAMPLE: f64 = 30.0;
/// Half the size of a mark.
const MARK: f64 = 4.0;

/// Draws the lines of a chart as an SVG that needs nothing else. Points that are no numbers
/// interrupt their line.
///
/// Both axes begin at 0 (below, where values are negative). An axis whose name speaks of a share or
/// a probability is marked in percent, as long as its values are between 0 and 1. The legend stands
/// to the right, each label as near to the end of its line as the others leave room; a single line
/// without a label has none.
pub fn lines(chart: &Chart) -> String {
    let points = || {
        chart
            .lines
            .iter()
            .flat_map(|(_, points)| points)
            .filter(|p| p.0.is_finite() && p.1.is_finite())
    };
    let (across, up) =
        (Scale::of(&chart.x, points().map(|p| p.0)), Scale::of(&chart.y, points().map(|p| p.1)));
    let shown = Legend::new(chart, &up);
    let frame = Frame::new(&chart.title, [&chart.x, &chart.y], &up, (shown.width, shown.height));
    let title = if chart.title.is_empty() {
        format!("{} by {}", chart.y, chart.x)
    } else {
        chart.title.clone()
    };
    let mut svg = frame.open(&title, &about(chart, &across, &up), &across, &up);
    let at = |p: &(f64, f64)| {
        (frame.left + across.at(p.0) * PLOT.0, frame.top + (1.0 - up.at(p.1)) * PLOT.1)
    };
    svg.push_str(
        "<g class=\"lines\" fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\">\n",
    );
    for (i, (label, points)) in chart.lines.iter().enumerate() {
        let (colour, dashes) = style(i);
        let label = escape(if label.is_empty() { &chart.y } else { label });
        let d = path(points, at);
        let _ = writeln!(
            svg,
            "<path d=\"{d}\" stroke=\"{colour}\"{dashes}><title>{label}</title></path>"
        );
    }
    svg.push_str("</g>\n<g class=\"points\">\n");
    for (i, (label, points)) in chart.lines.iter().enumerate() {
        let finite = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
        // One point alone is no line, so that it would not be seen.
        let alone = |k: usize| {
            let gap = |k: Option<usize>| k.and_then(|k| points.get(k)).filter(finite).is_none();
            gap(k.checked_sub(1)) && gap(Some(k + 1))
        };
        let few = points.len() <= FEW;
        for (_, p) in points.iter().enumerate().filter(|(k, p)| finite(p) && (few || alone(*k))) {
            let name = if label.is_empty() { String::new() } else { format!("{label}: ") };
            let hover =
                format!("{name}{} {}, {} {}", chart.x, across.say(p.0), chart.y, up.say(p.1));
            mark(&mut svg, i, at(p), &hover);
        }
    }
    svg.push_str("</g>\n");
    shown.draw(&mut svg, chart, (frame.left + PLOT.0, frame.top));
    svg.push_str("</svg>\n");
    svg
}

/// Colour and dashes of a line.
fn style(line: usize) -> (&'static str, String) {
    let dashes = DASHES[line % DASHES.len()];
    let dashes =
        if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
    (COLOURS[line % COLOURS.len()], dashes)
}

/// The line through the points, with gaps where there is none.
fn path(points: &[(f64, f64)], at: impl Fn(&(f64, f64)) -> (f64, f64)) -> String {
    let (mut d, mut pen) = (String::new(), 'M');
    for point in points {
        if point.0.is_finite() && point.1.is_finite() {
            let (x, y) = at(point);
            let _ = write!(d, "{pen}{} {}", px(x), px(y));
            pen = 'L';
        } else {
            pen = 'M';
        }
    }
    d
}

/// A mark on a point, of another shape for each of four lines.
fn mark(svg: &mut String, line: usize, (x, y): (f64, f64), hover: &str) {
    let (colour, r) = (style(line).0, MARK);
    let [left, right, top, bottom] = [x - r, x + r, y - r, y + r].map(px);
    let (x, y, r2) = (px(x), px(y), 2.0 * r);
    let shape = match line % 4 {
        0 => format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\""),
        1 => format!("<rect x=\"{left}\" y=\"{top}\" width=\"{r2}\" height=\"{r2}\""),
        2 => format!("<path d=\"M{x} {top}L{right} {bottom}H{left}Z\""),
        _ => format!("<path d=\"M{x} {top}L{right} {y}L{x} {bottom}L{left} {y}Z\""),
    };
    let tag = shape[1..].split(' ').next().unwrap_or_default();
    let hover = escape(hover);
    let _ = writeln!(
        svg,
        "{shape} fill=\"{colour}\" stroke=\"#ffffff\"><title>{hover}</title></{tag}>"
    );
}

/// The labels to the right of the plot.
struct Legend {
    width: f64,
    height: f64,
    /// For each line, from above: its number, the lines of its label, and where they begin below
    /// the plot's upper end.
    rows: Vec<(usize, Vec<String>, f64)>,
}

impl Legend {
    fn new(chart: &Chart, up: &Scale) -> Legend {
        if chart.lines.iter().all(|(label, _)| label.is_empty()) {
            return Legend { width: 2.0 * PAD, height: 0.0, rows: Vec::new() };
        }
        let end = |points: &[(f64, f64)]| {
            points.iter().rev().find(|p| p.1.is_finite()).map_or(0.0, |p| up.at(p.1))
        };
        let mut rows: Vec<(usize, Vec<String>, f64)> = Vec::new();
        for (i, (label, points)) in chart.lines.iter().enumerate() {
            rows.push((i, wrap(label, LONGEST, LABEL), (1.0 - end(points)) * PLOT.1 - ROW / 2.0));
        }
        rows.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)));
        let room = |row: &(usize, Vec<String>, f64)| ROW * row.1.len().max(1) as f64;
        // From above each as high as it wants and the one before allows; from below pushed up where
        // the plot ends.
        let mut free = 0.0;
        for row in &mut rows {
            row.2 = row.2.max(free);
            free = row.2 + room(row);
        }
        let mut free = rows.iter().map(room).sum::<f64>().max(PLOT.1);
        let height = free;
        for row in rows.iter_mut().rev() {
            row.2 = row.2.min(free - room(row));
            free = row.2;
        }
        let widest =
            rows.iter().flat_map(|r| &r.1).map(|line| width(line, LABEL)).fold(0.0, f64::max);
        Legend { width: 12.0 + SAMPLE + 6.0 + widest + PAD, height, rows }
    }

    fn draw(&self, svg: &mut String, chart: &Chart, (left, top): (f64, f64)) {
        let _ = writeln!(svg, "<g class=\"legend\" font-size=\"{LABEL}\">");
        let from = left + 12.0;
        for (i, lines, y) in &self.rows {
            let (colour, dashes) = style(*i);
            let middle = top + y + ROW / 2.0;
            let (x, to, at) = (px(from), px(from + SAMPLE), px(middle));
            let _ = writeln!(
                svg,
                "<path d=\"M{x} {at}H{to}\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>"
            );
            let (label, points) = &chart.lines[*i];
            if points.len() <= FEW {
                mark(svg, *i, (from + SAMPLE / 2.0, middle), label);
            }
            for (n, line) in lines.iter().enumerate() {
                let (x, y) = (px(from + SAMPLE + 6.0), px(middle + 4.0 + ROW * n as f64));
                let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{}</text>", escape(line));
            }
        }
        svg.push_str("</g>\n");
    }
}

/// The chart in words.
fn about(chart: &Chart, across: &Scale, up: &Scale) -> String {
    let mut text = format!("Across: {}. Up: {}.", chart.x, chart.y);
    for (label, points) in &chart.lines {
        let finite: Vec<&(f64, f64)> =
            points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
        let say = |p: &(f64, f64)| format!("{} at {}", up.say(p.1), across.say(p.0));
        let name = if label.is_empty() { "The line" } else { label };
        let most = finite.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let least = finite.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let _ = match (finite.first(), finite.last(), most, least) {
            (Some(first), Some(last), Some(most), Some(least)) if finite.len() > READ => write!(
                text,
                " {name}: {} points from {} to {}, highest {}, lowest {}.",
                finite.len(),
                say(first),
                say(last),
                say(most),
                say(least)
            ),
            (Some(_), ..) => {
                let all: Vec<String> = finite.iter().map(|p| say(p)).collect();
                write!(text, " {name}: {}.", all.join(", "))
            }
            _ => write!(text, " {name}: no points."),
        };
    }
    text
}
