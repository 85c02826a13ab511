//! The vDSO mapped into this process: whether there is one, and the functions that it exports.

use serde::Serialize;
use std::fmt;

/// The vDSO of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VdsoImage {
    /// Whether `AT_SYSINFO_EHDR` is in the auxiliary vector.
    pub mapped: bool,
    /// Exported function names, sorted.
    pub symbols: Vec<String>,
}

impl VdsoImage {
    /// Parses the text that [`VdsoImage`] displays: `mapped: yes`, then a symbol on each line.
    ///
    /// # Errors
    /// Returns an error if the text lacks the first line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mapped = match lines.next() {
            Some("mapped: yes") => true,
            Some("mapped: no") => false,
            _ => return Err("no line 'mapped: yes' or 'mapped: no'".to_owned()),
        };
        let mut symbols: Vec<String> = lines.map(str::to_owned).collect();
        symbols.sort_unstable();
        symbols.dedup();
        Ok(Self { mapped, symbols })
    }
}

impl fmt::Display for VdsoImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mapped: {}", if self.mapped { "yes" } else { "no" })?;
        self.symbols.iter().try_for_each(|symbol| writeln!(f, "{symbol}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn needs_its_first_line() {
        assert!(VdsoImage::parse("__vdso_time\n").is_err());
        let image = VdsoImage::parse("mapped: no\n").unwrap();
        assert!(!image.mapped && image.symbols.is_empty());
    }

    proptest! {
        #[test]
        fn text_survives(symbols in proptest::collection::btree_set("[a-z_]{1,20}", 0..10)) {
            let image = VdsoImage { mapped: true, symbols: symbols.into_iter().collect() };
            prop_assert_eq!(VdsoImage::parse(&image.to_string()), Ok(image));
        }

        #[test]
        fn any_text(text in "\\PC{0,80}") {
            let _ = VdsoImage::parse(&text);
        }
    }
}
