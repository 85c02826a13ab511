//! Names of code that a runtime made at run time: `/tmp/perf-PID.map`, as JVM, Node and Python write
//! it (Linux tools/perf/Documentation/jit-interface.txt). Pure.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes of a map at most. One of a JVM with 50000 compiled functions has 5 MB.
pub const LONGEST: u64 = 32 << 20;
/// Functions of a map at most.
pub const MOST: usize = 1 << 19;
/// Bytes of one line that are read; the rest of it is passed over.
const LINE: usize = 4096;

/// Why a map was not read.
#[derive(Debug, thiserror::Error)]
pub enum TooLarge {
    /// The file is too long.
    #[error("it is longer than {} MiB", LONGEST >> 20)]
    Bytes,
    /// It names too many functions.
    #[error("it names more than {MOST} functions")]
    Functions,
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
}

/// One function: addresses, and the place of its name in `names`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Function {
    begin: u64,
    length: u64,
    name: (u32, u32),
}

/// Ranges of code with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMap {
    /// In order of addresses, each address once.
    functions: Vec<Function>,
    names: String,
}

impl PerfMap {
    /// Reads a file: `ADDRESS LENGTH NAME`, numbers in hexadecimal, with or without `0x`
    /// (the JVM writes it). A later line wins: code is replaced. Lines that are not understood are left
    /// out.
    ///
    /// # Errors
    /// Returns an error if the file is too large or cannot be read.
    pub fn read(file: impl Read) -> Result<Self, TooLarge> {
        let mut file = BufReader::with_capacity(64 << 10, file.take(LONGEST + 1));
        let mut map = Self::default();
        let (mut line, mut read) = (Vec::new(), 0);
        loop {
            line.clear();
            let mut length = file.by_ref().take(LINE as u64).read_until(b'\n', &mut line)?;
            if length == LINE && line.last() != Some(&b'\n') {
                length += file.skip_until(b'\n')?;
            }
            if length == 0 {
                break;
            }
            read += length as u64;
            if read > LONGEST {
                return Err(TooLarge::Bytes);
            }
            map.take(&String::from_utf8_lossy(&line));
            if map.functions.len() > 2 * MOST {
                map.settle();
                if map.functions.len() > MOST {
                    return Err(TooLarge::Functions);
                }
            }
        }
        map.settle();
        if map.functions.len() > MOST { Err(TooLarge::Functions) } else { Ok(map) }
    }

    /// Reads an open file, unless it is already too long when it is opened.
    ///
    /// # Errors
    /// See [`PerfMap::read`].
    pub fn of(file: std::fs::File) -> Result<Self, TooLarge> {
        if file.metadata()?.len() > LONGEST { Err(TooLarge::Bytes) } else { Self::read(file) }
    }

    /// One line.
    fn take(&mut self, line: &str) {
        let mut words = line.splitn(3, ' ');
        let mut number = || {
            let word = words.next()?;
            u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
        };
        let (Some(begin), Some(length)) = (number(), number()) else { return };
        let name = words.next().unwrap_or("").trim();
        if length > 0 && !name.is_empty() {
            self.add(begin, length, name);
        }
    }

    fn add(&mut self, begin: u64, length: u64, name: &str) {
        let (Ok(from), Ok(size)) = (u32::try_from(self.names.len()), u32::try_from(name.len()))
        else {
            return;
        };
        self.names.push_str(name);
        self.functions.push(Function { begin, length, name: (from, size) });
    }

    /// Puts functions in order; of those at one address the last one stays.
    fn settle(&mut self) {
        self.functions.reverse();
        self.functions.sort_by_key(|function| function.begin);
        self.functions.dedup_by_key(|function| function.begin);
        self.functions.shrink_to_fit();
    }

    /// Returns whether it has no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Adds the entries of a newer map; if both have an entry for one address, the newer one wins. If both together are
    /// too large, only the newer one stays.
    pub fn update(&mut self, newer: Self) {
        if newer.functions.len() + self.functions.len() > MOST
            || (newer.names.len() + self.names.len()) as u64 > LONGEST
        {
            *self = newer;
            return;
        }
        for function in &newer.functions {
            self.add(function.begin, function.length, newer.text(function));
        }
        self.settle();
        self.forget();
    }

    /// Frees names that no function has now, when they are most of the memory.
    fn forget(&mut self) {
        let used: usize = self.functions.iter().map(|function| function.name.1 as usize).sum();
        if self.names.len() > 2 * used {
            let old = std::mem::take(self);
            for function in &old.functions {
                self.add(function.begin, function.length, old.text(function));
            }
        }
    }

    fn text(&self, function: &Function) -> &str {
        let (from, size) = (function.name.0 as usize, function.name.1 as usize);
        self.names.get(from..from + size).unwrap_or_default()
    }

    /// The name of the code around an address.
    #[must_use]
    pub fn name(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|function| function.begin <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (address - function.begin < function.length).then(|| self.text(function))
    }
}

/// The file that V8 states after a function's name, without the line: `node:` for its own library.
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

/// Returns a readable name: without the marks of V8's and Python's maps.
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

    fn parse(text: &str) -> PerfMap {
        PerfMap::read(text.as_bytes()).unwrap()
    }

    /// Lines as written by a program that tries to use up all memory.
    struct Endless(u64, usize);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let line = format!("{:x} 10 {}\n", self.0 << 4, "e".repeat(self.1));
            self.0 += 1;
            let length = line.len().min(buffer.len());
            buffer[..length].copy_from_slice(&line.as_bytes()[..length]);
            Ok(length)
        }
    }

    #[test]
    fn a_map_without_end_is_refused() {
        let short = PerfMap::read(Endless(0, 1)).unwrap_err();
        assert!(matches!(short, TooLarge::Functions), "{short}");
        let long = PerfMap::read(Endless(0, 100)).unwrap_err();
        assert!(matches!(long, TooLarge::Bytes), "{long}");
        let line = PerfMap::read(io::repeat(b'x')).unwrap_err();
        assert!(matches!(line, TooLarge::Bytes), "{line}");
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_read() {
        let map = parse(&format!("10 10 {}\n30 10 b\n", "a".repeat(3 * LINE)));
        assert_eq!(map.name(0x30), Some("b"));
        assert!(map.name(0x10).unwrap().len() < LINE);
    }

    #[test]
    fn old_names_do_not_pile_up() {
        let mut map = parse("10 10 first");
        for round in 0..1000 {
            map.update(parse(&format!("10 10 round{round}")));
        }
        assert!(map.names.len() < 100, "{}", map.names.len());
        assert_eq!(map.name(0x10), Some("round999"));
    }

    #[test]
    fn both_spellings_of_numbers() {
        let map =
            parse("0x00007f10 0x10 long T.main(java.lang.String[])\n7f40 20 JS:*a b.js\nx y z\n");
        assert_eq!(map.name(0x7f1f), Some("long T.main(java.lang.String[])"));
        assert_eq!(map.name(0x7f20), None);
        assert_eq!(map.name(0x7f40), Some("JS:*a b.js"));
        assert_eq!(map.name(0), None);
    }

    #[test]
    fn newer_wins() {
        let mut map = parse("10 10 old\n30 10 kept");
        map.update(parse("10 8 new"));
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
            let map = parse(&text);
            if let Some(name) = map.name(address) {
                let _ = (readable(name), place(name));
            }
        }

        #[test]
        fn any_numbers(begin: u64, length: u64, address: u64) {
            let map = parse(&format!("{begin:x} {length:x} n"));
            let inside = address >= begin && address - begin < length;
            prop_assert_eq!(map.name(address).is_some(), inside);
        }
    }
}
