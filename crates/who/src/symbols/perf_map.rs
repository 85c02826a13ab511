//! Names of code that a runtime made at run time: `/tmp/perf-PID.map`, as JVM, Node and Python write
//! it (Linux tools/perf/Documentation/jit-interface.txt). Pure.

use std::collections::BTreeMap;

/// Ranges of code with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMap {
    /// Begin: length and name.
    ranges: BTreeMap<u64, (u64, String)>,
}

impl PerfMap {
    /// Reads the file's text: `ADDRESS LENGTH NAME`, numbers in hexadecimal, with or without `0x`
    /// (the JVM writes it). A later line wins: code is replaced. Lines that are not understood are left
    /// out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut map = Self::default();
        for line in text.lines() {
            let mut words = line.splitn(3, ' ');
            let mut number = || {
                let word = words.next()?;
                u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
            };
            let (Some(begin), Some(length)) = (number(), number()) else { continue };
            let name = words.next().unwrap_or("").trim();
            if length > 0 && !name.is_empty() {
                map.ranges.insert(begin, (length, name.to_owned()));
            }
        }
        map
    }

    /// Whether it names nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds what a newer map says; where both speak of one place, the newer one wins.
    pub fn update(&mut self, newer: Self) {
        self.ranges.extend(newer.ranges);
    }

    /// The name of the code around an address.
    #[must_use]
    pub fn name(&self, address: u64) -> Option<&str> {
        let (begin, (length, name)) = self.ranges.range(..=address).next_back()?;
        (address - begin < *length).then_some(name.as_str())
    }
}

/// The file that V8 states behind a function's name, without the line: `node:` for its own library.
#[must_use]
pub fn place(name: &str) -> Option<&str> {
    let (_, place) = name.split_once(' ').filter(|_| is_script(name))?;
    let cut = |text: &'_ str| text.rfind(':').filter(|at| *at > 0);
    let without = |text| cut(text).and_then(|at| text.get(..at)).unwrap_or(text);
    Some(without(without(place)))
}

const SCRIPT: [&str; 5] = ["LazyCompile:", "JS:", "Function:", "Script:", "Eval:"];

fn is_script(name: &str) -> bool {
    SCRIPT.iter().any(|prefix| name.starts_with(prefix))
}

/// A name as people write it: without the marks of V8's and Python's maps.
#[must_use]
pub fn readable(name: &str) -> String {
    // V8: "JS:*hotA /x/file.js:3:14", "LazyCompile:~main file:1"; Python: "py::function:/x/file.py".
    for prefix in SCRIPT {
        if let Some(rest) = name.strip_prefix(prefix) {
            let rest = rest.trim_start_matches(['*', '~', '^', '+', '-', '\'']);
            let function = rest.split(' ').next().unwrap_or(rest);
            return if function.is_empty() {
                "(anonymous)".to_owned()
            } else {
                function.to_owned()
            };
        }
    }
    if let Some(rest) = name.strip_prefix("py::") {
        return rest.split(':').next().unwrap_or(rest).to_owned();
    }
    // The JVM: "int Main.hotA(long, int)"; the return type and the arguments are left out.
    let head = name.split('(').next().unwrap_or(name);
    if head.len() < name.len() && head.contains('.') {
        return head.rsplit(' ').next().unwrap_or(head).to_owned();
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_spellings_of_numbers() {
        let map = PerfMap::parse(
            "0x00007f10 0x10 long T.main(java.lang.String[])\n7f40 20 JS:*a b.js\nx y z\n",
        );
        assert_eq!(map.name(0x7f1f), Some("long T.main(java.lang.String[])"));
        assert_eq!(map.name(0x7f20), None);
        assert_eq!(map.name(0x7f40), Some("JS:*a b.js"));
        assert_eq!(map.name(0), None);
    }

    #[test]
    fn newer_wins() {
        let mut map = PerfMap::parse("10 10 old\n30 10 kept");
        map.update(PerfMap::parse("10 8 new"));
        assert_eq!(
            (map.name(0x10), map.name(0x1a), map.name(0x30)),
            (Some("new"), None, Some("kept"))
        );
    }

    #[test]
    fn readable_names() {
        assert_eq!(readable("JS:*hotA /x/app.js:3:14"), "hotA");
        assert_eq!(readable("LazyCompile:~ /x/app.js:3:14"), "(anonymous)");
        assert_eq!(place("JS:*hotA /x/app.js:3:14"), Some("/x/app.js"));
        assert_eq!(place("JS:~load node:internal/x:3:14"), Some("node:internal/x"));
        assert_eq!(place("long Main.hotA(int, long)"), None);
        assert_eq!(readable("py::hot_a:/x/app.py"), "hot_a");
        assert_eq!(readable("long Main.hotA(int, long)"), "Main.hotA");
        assert_eq!(readable("Interpreter"), "Interpreter");
        assert_eq!(readable("main.(*T).read"), "main.(*T).read".split('(').next().unwrap());
    }

    proptest! {
        #[test]
        fn any_text(text: String, address: u64) {
            let map = PerfMap::parse(&text);
            if let Some(name) = map.name(address) {
                let _ = (readable(name), place(name));
            }
        }

        #[test]
        fn any_numbers(begin: u64, length: u64, address: u64) {
            let map = PerfMap::parse(&format!("{begin:x} {length:x} n"));
            let inside = address >= begin && address - begin < length;
            prop_assert_eq!(map.name(address).is_some(), inside);
        }
    }
}
