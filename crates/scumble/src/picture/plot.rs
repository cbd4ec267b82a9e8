//! What charts have in common: a plot between two axes that begin at 0, and names that find room.

use super::{FONT, PAD, escape, open, px, width, wrap, write_title};
use std::fmt::Write;

/// Size of the plot in pixels.
pub(super) const PLOT: (f64, f64) = (600.0, 400.0);
/// Size of the names of the axes, and the room of a line of them.
const NAME: (f64, f64) = (13.0, 17.0);

/// Round steps from 0 to a number above everything, and below 0 if something is.
pub(super) struct Scale {
    step: f64,
    first: i64,
    last: i64,
    percent: bool,
}

impl Scale {
    pub(super) fn new(values: impl Iterator<Item = f64>) -> Scale {
        let (least, most) = values
            .filter(|v| v.is_finite())
            .fold((0.0, 0.0), |(a, b): (f64, f64), v| (a.min(v), b.max(v)));
        let range = most - least;
        if range <= 0.0 || !range.is_finite() {
            return Scale { step: 0.2, first: 0, last: 5, percent: false };
        }
        let power = 10f64.powf((range / 5.0).log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|s| s * 5.0 >= range * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let steps = |x: f64| (x / step - 1e-9).ceil() as i64;
        Scale {
            step,
            first: -steps(-least),
            last: steps(most).max(if least < 0.0 { 0 } else { 1 }),
            percent: false,
        }
    }

    /// The scale of an axis of this name. Shares are marked in percent, those of a half or more up
    /// to 100 %.
    pub(super) fn of(name: &str, values: impl Iterator<Item = f64> + Clone) -> Scale {
        let word =
            |w: &str| ["share", "probability", "percent"].contains(&w.to_lowercase().as_str());
        let is_share = name.split(|c: char| !c.is_alphabetic()).any(word);
        if !is_share || !values.clone().all(|v| !v.is_finite() || (0.0..=1.0).contains(&v)) {
            return Scale::new(values);
        }
        let most = values.clone().filter(|v| v.is_finite()).fold(0.0, f64::max);
        let whole = (most == 0.0 || most >= 0.5).then_some(1.0);
        Scale { percent: true, ..Scale::new(values.chain(whole)) }
    }

    /// Where a value stands, from 0 to 1.
    pub(super) fn at(&self, value: f64) -> f64 {
        ((value / self.step - self.first as f64) / (self.last - self.first) as f64).clamp(0.0, 1.0)
    }

    /// The marks: where, and what stands there, with as many decimals as the step needs.
    fn marks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        let (step, sign) = if self.percent { (self.step * 100.0, " %") } else { (self.step, "") };
        let decimals = (-(step * 1.000_001).log10().floor()).clamp(0.0, 9.0) as usize;
        let place = move |i: i64| (i - self.first) as f64 / (self.last - self.first) as f64;
        let text = move |x: f64| if decimals == 0 { grouped(x) } else { format!("{x:.decimals$}") };
        (self.first..=self.last).map(move |i| (place(i), text(step * i as f64) + sign))
    }

    /// A value as it is read aloud.
    pub(super) fn say(&self, value: f64) -> String {
        let (value, sign) = if self.percent { (value * 100.0, " %") } else { (value, "") };
        let text = format!("{value:.4}");
        format!("{}{sign}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A whole number; from five digits on in groups of three, with thin spaces.
fn grouped(x: f64) -> String {
    let digits = format!("{x:.0}");
    let first = usize::from(digits.starts_with('-'));
    if digits.len() - first < 5 {
        return digits;
    }
    let space = |i: usize| i > first && (digits.len() - i).is_multiple_of(3);
    digits
        .char_indices()
        .flat_map(|(i, c)| space(i).then_some('\u{2009}').into_iter().chain([c]))
        .collect()
}

/// A sheet with two axes: where the plot begins, and the title above it.
pub(super) struct Frame {
    /// Left end of the plot.
    pub(super) left: f64,
    /// Upper end of the plot.
    pub(super) top: f64,
    title: Vec<String>,
    /// Lines of the names across and up.
    names: [Vec<String>; 2],
    height: f64,
    width: f64,
}

impl Frame {
    /// With so much room to the right of the plot, for something of this height.
    pub(super) fn new(
        title: &str,
        names: [&str; 2],
        up: &Scale,
        (right, beside): (f64, f64),
    ) -> Frame {
        // Bold letters are a little wider than those that are measured.
        let names = [wrap(names[0], PLOT.0 * 0.93, NAME.0), wrap(names[1], PLOT.1 * 0.93, NAME.0)];
        let marks = up.marks().map(|(_, text)| width(&text, FONT)).fold(0.0, f64::max);
        let left = PAD + NAME.1 * names[1].len().max(1) as f64 + marks + 14.0;
        let title = wrap(title, left + PLOT.0 + right - 2.0 * PAD, 17.0);
        let top = PAD + 22.0 * title.len() as f64 + 14.0;
        let height = (top + PLOT.1 + 28.0 + NAME.1 * names[0].len().max(1) as f64 + PAD)
            .max(top + beside + PAD);
        Frame { left, top, title, names, height, width: left + PLOT.0 + right }
    }

    /// The beginning of the picture: title, grid and axes.
    pub(super) fn open(&self, title: &str, about: &str, across: &Scale, up: &Scale) -> String {
        let mut svg = open((self.width, self.height), title, about);
        write_title(&mut svg, &self.title);
        self.axes(&mut svg, across, up);
        svg
    }

    fn axes(&self, svg: &mut String, across: &Scale, up: &Scale) {
        let (left, top, right, bottom) =
            (self.left, self.top, self.left + PLOT.0, self.top + PLOT.1);
        svg.push_str("<g class=\"grid\" stroke=\"#e1e8ef\" stroke-width=\"1\">\n");
        for (at, _) in across.marks() {
            let _ = writeln!(
                svg,
                "<path d=\"M{} {}V{}\"/>",
                px(left + at * PLOT.0),
                px(top),
                px(bottom)
            );
        }
        for (at, _) in up.marks() {
            let _ = writeln!(
                svg,
                "<path d=\"M{} {}H{}\"/>",
                px(left),
                px(bottom - at * PLOT.1),
                px(right)
            );
        }
        let zero = px(bottom - up.at(0.0) * PLOT.1);
        let _ = writeln!(
            svg,
            "<path d=\"M{} {}V{}M{} {zero}H{}\" stroke=\"#829ab1\" fill=\"none\"/>\n</g>",
            px(left + across.at(0.0) * PLOT.0),
            px(top),
            px(bottom),
            px(left),
            px(right)
        );
        svg.push_str("<g class=\"marks\">\n");
        for (at, text) in across.marks() {
            let x = px(left + at * PLOT.0);
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                px(bottom + 17.0)
            );
        }
        for (at, text) in up.marks() {
            let y = px(bottom - at * PLOT.1 + 4.0);
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">{text}</text>",
                px(left - 8.0)
            );
        }
        let style = format!("text-anchor=\"middle\" font-size=\"{}\" font-weight=\"600\"", NAME.0);
        let line = |i: usize| NAME.1 * i as f64;
        for (i, text) in self.names[0].iter().enumerate() {
            let (x, y) = (px(left + PLOT.0 / 2.0), px(bottom + 44.0 + line(i)));
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {style}>{}</text>", escape(text));
        }
        for (i, text) in self.names[1].iter().enumerate() {
            let (x, y) = (px(PAD + 8.0 + line(i)), px(top + PLOT.1 / 2.0));
            let turn = format!("transform=\"rotate(-90 {x} {y})\"");
            let _ =
                writeln!(svg, "<text x=\"{x}\" y=\"{y}\" {turn} {style}>{}</text>", escape(text));
        }
        svg.push_str("</g>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round() {
        let marks = |values: &[f64]| {
            Scale::new(values.iter().copied()).marks().map(|(_, t)| t).collect::<Vec<_>>()
        };
        assert_eq!(marks(&[0.83]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(marks(&[0.2]), ["0.00", "0.05", "0.10", "0.15", "0.20"]);
        assert_eq!(marks(&[68_832.0]).last().map(String::as_str), Some("80\u{2009}000"));
        assert_eq!(marks(&[-3.0, 4.0]), ["-4", "-2", "0", "2", "4"]);
        assert_eq!(marks(&[-0.3]).last().map(String::as_str), Some("0.0"));
        assert_eq!(marks(&[]), marks(&[f64::NAN, f64::INFINITY]));
    }

    #[test]
    fn shares_are_in_percent() {
        let marks = |name: &str, most: f64| {
            Scale::of(name, [0.0, most].into_iter()).marks().map(|(_, t)| t).collect::<Vec<_>>()
        };
        assert_eq!(marks("share of people", 0.7), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        assert_eq!(marks("Probability", 0.013).last().map(String::as_str), Some("1.5 %"));
        assert_eq!(marks("share of people", 1.5).last().map(String::as_str), Some("1.5"));
        assert_eq!(marks("entropy", 0.7).last().map(String::as_str), Some("0.8"));
        assert_eq!(Scale::of("share", [1.0].into_iter()).say(0.125), "12.5 %");
    }
}
