//! Writes every format into a directory, for the tests with the real tools (`test.sh`):
//! `formats DIRECTORY`. The files `all-*` also have kernel parameters.
#![allow(clippy::expect_used)]

use clocksmith_change::formats::{Format, Wanted, render};
use std::path::PathBuf;

fn main() {
    let directory = PathBuf::from(std::env::args_os().nth(1).expect("formats DIRECTORY"));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let plain = Wanted { clocksource: Some("tsc".to_owned()), ..Wanted::default() };
    let add = Wanted { add: words("tsc=nowatchdog nohpet"), ..plain.clone() };
    let all = Wanted { remove: words("clocksource=hpet notsc"), ..add.clone() };
    for format in Format::ALL {
        for (prefix, wanted) in [("", &plain), ("add-", &add), ("all-", &all)] {
            // A change that a language cannot express is not written.
            if let Ok(text) = render(format, wanted) {
                std::fs::write(directory.join(format!("{prefix}{format}")), text).expect("written");
            }
        }
    }
}
