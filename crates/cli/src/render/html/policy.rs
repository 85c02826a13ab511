//! A vendor's requirements, as a section of the page of `why`.

use super::{row, source, text};
use clocksmith_diagnose::policy::PolicyAnswer;
use std::fmt::Write;

/// The section.
pub(super) fn asked(answer: &PolicyAnswer) -> String {
    let mut out = format!("<p>{}</p>\n<table>", text(&answer.summary));
    for asked in &answer.asks {
        let purpose =
            asked.purpose.as_ref().map_or_else(String::new, |purpose| format!(", for {purpose}"));
        let mut says = match asked.preferred.is_empty() {
            true => "nothing".to_owned(),
            false => asked.preferred.join(" or "),
        };
        if !asked.tolerated.is_empty() {
            let _ = write!(says, "; tolerated: {}", asked.tolerated.join(", "));
        }
        let _ = write!(says, "; stated since {}", asked.since);
        if !asked.applies {
            says.push_str(" (if this is such a machine)");
        }
        let cited = source(&asked.stated.line());
        row(&mut out, &format!("{}{purpose}", asked.machines), &format!("{} {cited}", text(&says)));
    }
    for avoided in answer.kernels.iter().filter(|avoided| avoided.applies) {
        let says = format!("to avoid: {}; stated since {}", avoided.fault, avoided.since);
        let cited = source(&avoided.stated.line());
        row(&mut out, &avoided.kernels, &format!("{} {cited}", text(&says)));
    }
    for earlier in &answer.before {
        let says = format!("{}, {} to {}", earlier.asked, earlier.since, earlier.until);
        let cited = source(&earlier.stated.line());
        row(
            &mut out,
            &format!("before: {}", earlier.machines),
            &format!("{} {cited}", text(&says)),
        );
    }
    out.push_str("</table>\n");
    if !answer.contradictions.is_empty() {
        out.push_str("<ul>");
        for contradiction in &answer.contradictions {
            let _ = write!(out, "<li>{}</li>", text(contradiction));
        }
        out.push_str("</ul>\n");
    }
    out
}
