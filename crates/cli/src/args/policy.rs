//! `--policy`: the vendors whose rules are known.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clocksmith_diagnose::policy::{VENDORS, Vendor};

/// The value for which the vendors are listed.
pub(crate) const LIST: &str = "list";

/// The argument of `why --policy`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Policy {
    /// The vendors that are known.
    List,
    /// The requirements of one vendor.
    Of(&'static Vendor),
}

fn vendors() -> impl Iterator<Item = PossibleValue> {
    VENDORS.iter().map(|vendor| {
        PossibleValue::new(vendor.id)
            .help(vendor.about)
            .aliases(vendor.words.iter().filter(|word| !word.contains(' ')))
    })
}

/// The parser for a vendor, or the list of them.
pub(super) fn of_why() -> ValueParser {
    let list = PossibleValue::new(LIST).help("The vendors, with the dates of their texts");
    PossibleValuesParser::new(vendors().chain([list]))
        .map(|name| Vendor::find(&name).map_or(Policy::List, Policy::Of))
        .into()
}

/// A vendor.
pub(super) fn of_check() -> ValueParser {
    PossibleValuesParser::new(vendors())
        .try_map(|name| Vendor::find(&name).ok_or("no such vendor"))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Verb};
    use clap::Parser;

    fn why(words: &[&str]) -> Result<Option<Policy>, clap::Error> {
        let words = ["clocksmith", "why"].iter().chain(words);
        Args::try_parse_from(words).map(|args| match args.verb {
            Some(Verb::Why(of)) => of.why.policy,
            _ => None,
        })
    }

    #[test]
    fn every_vendor_is_taken_by_its_names() {
        for vendor in VENDORS {
            for word in [vendor.id].iter().chain(vendor.words).filter(|word| !word.contains(' ')) {
                for word in [word.to_string(), word.to_uppercase()] {
                    assert!(
                        matches!(why(&["--policy", &word]), Ok(Some(Policy::Of(found))) if found == *vendor),
                        "{word}"
                    );
                }
            }
        }
        assert!(matches!(why(&["--policy"]), Ok(Some(Policy::List))));
        assert!(matches!(why(&["--policy", LIST]), Ok(Some(Policy::List))));
        assert!(matches!(why(&["--policy", "sap", "boot.log"]), Ok(Some(Policy::Of(_)))));
    }

    #[test]
    fn unknown_vendor_lists_the_known_ones() {
        let error = why(&["--policy", "acme"]).unwrap_err().to_string();
        for vendor in VENDORS {
            assert!(error.contains(vendor.id), "{error}");
        }
        let checked = Args::try_parse_from(["clocksmith", "check", "--policy", LIST]);
        assert!(checked.unwrap_err().to_string().contains("sap"));
    }
}
