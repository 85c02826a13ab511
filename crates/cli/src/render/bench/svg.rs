//! The little of SVG that the plots need. Colours are classes, so that the page's style decides.

pub(super) use clocksmith_watch::page::text as escape;
use std::fmt::Write;

/// A drawing.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(super) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"1.5\"/>"
        );
    }

    pub(super) fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    pub(super) fn dot(&mut self, class: &str, [x, y]: [f64; 2], radius: f64) {
        let _ = write!(
            self.body,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>"
        );
    }

    /// Adds text; the class defines its anchor.
    pub(super) fn text(&mut self, class: &str, [x, y]: [f64; 2], text: &str) {
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text)
        );
    }

    /// Returns the drawing, with a description for readers who cannot see it.
    pub(super) fn finish(self, description: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {:.0} {:.0}\" role=\"img\" aria-label=\"{}\">{}</svg>\n",
            self.width,
            self.height,
            escape(description),
            self.body
        )
    }
}

/// A horizontal axis of nanoseconds on which each decade is equally wide.
pub(super) struct Axis {
    from: i32,
    to: i32,
    left: f64,
    right: f64,
}

impl Axis {
    /// An axis for these figures between two places.
    pub(super) fn over(figures: impl Iterator<Item = f64>, left: f64, right: f64) -> Self {
        let mut least = f64::INFINITY;
        let mut most = 0f64;
        for ns in figures.filter(|ns| ns.is_finite() && *ns > 0.0) {
            (least, most) = (least.min(ns), most.max(ns));
        }
        if !least.is_finite() {
            (least, most) = (1.0, 10.0);
        }
        // A tenth of a nanosecond is below every measured cost; the powers are small.
        let from = least.max(0.1).log10().floor() as i32;
        let to = (most.max(0.2).log10().ceil() as i32).max(from + 1);
        Self { from, to, left, right }
    }

    /// Returns the position of a figure; a figure below the axis is at its beginning.
    pub(super) fn at(&self, ns: f64) -> f64 {
        let decades = f64::from(self.to - self.from);
        let share = (ns.max(1e-9).log10() - f64::from(self.from)) / decades;
        self.left + share.clamp(0.0, 1.0) * (self.right - self.left)
    }

    /// Draws the decades.
    pub(super) fn draw(&self, svg: &mut Svg, top: f64, bottom: f64) {
        for power in self.from..=self.to {
            let x = self.at(10f64.powi(power));
            svg.line("grid", [x, top, x, bottom]);
            svg.text("tick", [x, bottom + 14.0], &decade(power));
        }
    }
}

fn decade(power: i32) -> String {
    let (power, unit) = match power {
        ..3 => (power, "ns"),
        3..6 => (power - 3, "us"),
        6..9 => (power - 6, "ms"),
        _ => (power - 9, "s"),
    };
    format!("{} {unit}", 10f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_are_equally_wide() {
        let axis = Axis::over([0.8, 230.0, f64::NAN].into_iter(), 100.0, 500.0);
        assert_eq!((axis.from, axis.to), (-1, 3));
        assert_eq!((axis.at(0.1), axis.at(1.0), axis.at(1000.0)), (100.0, 200.0, 500.0));
        assert_eq!((axis.at(0.0), axis.at(1e9)), (100.0, 500.0));
        assert_eq!(
            (decade(-1), decade(2), decade(4)),
            ("0.1 ns".into(), "100 ns".into(), "10 us".into())
        );
        let none = Axis::over([].into_iter(), 0.0, 1.0);
        assert_eq!((none.from, none.to), (0, 1));
    }

    #[test]
    fn text_is_escaped() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text("label", [1.0, 2.0], "a<b & \"c\"");
        assert!(svg.finish("x").contains("a&lt;b &amp; &quot;c&quot;"));
    }
}
