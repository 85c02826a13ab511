//! The format of pprof: a protocol buffer, compressed (github.com/google/pprof, proto/profile.proto,
//! 2024). Only the fields that are used are declared.

use crate::recording::Recording;
use crate::symbols::Frame;
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use std::collections::HashMap;
use std::io::{self, Write};

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
    #[prost(int64, tag = "3")]
    num: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    memory_start: u64,
    #[prost(uint64, tag = "3")]
    memory_limit: u64,
    #[prost(uint64, tag = "4")]
    file_offset: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(int64, tag = "6")]
    build_id: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
    #[prost(bool, tag = "8")]
    has_filenames: bool,
    #[prost(bool, tag = "9")]
    has_line_numbers: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// Strings, each once; the first is empty.
#[derive(Default)]
struct Strings {
    list: Vec<String>,
    known: HashMap<String, i64>,
}

impl Strings {
    fn id(&mut self, text: &str) -> i64 {
        if self.list.is_empty() {
            self.list.push(String::new());
            self.known.insert(String::new(), 0);
        }
        if let Some(id) = self.known.get(text) {
            return *id;
        }
        let id = i64::try_from(self.list.len()).unwrap_or(0);
        self.list.push(text.to_owned());
        self.known.insert(text.to_owned(), id);
        id
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Makes the file.
///
/// # Errors
/// Cannot fail in practice, because it writes to memory.
pub fn pprof(recording: &Recording) -> io::Result<Vec<u8>> {
    let profile = make(recording);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&profile.encode_to_vec())?;
    packed.finish()
}

fn make(recording: &Recording) -> Profile {
    let mut strings = Strings::default();
    strings.id("");
    let samples = ValueType { kind: strings.id("samples"), unit: strings.id("count") };
    let cpu = ValueType { kind: strings.id("cpu"), unit: strings.id("nanoseconds") };
    let (pid, path) = (strings.id("pid"), strings.id("path"));
    let mut profile = Profile {
        sample_type: vec![samples, cpu],
        duration_nanos: (recording.seconds * 1e9) as i64,
        period_type: Some(cpu),
        period: signed(1_000_000_000 / recording.frequency.max(1)),
        ..Profile::default()
    };
    let mut mappings: HashMap<&str, u64> = HashMap::new();
    for (id, module) in (1..).zip(&recording.modules) {
        mappings.insert(&module.name, id);
        let (memory_start, memory_limit, file_offset) = module.mapped;
        profile.mapping.push(Mapping {
            id,
            memory_start,
            memory_limit,
            file_offset,
            filename: strings.id(&module.path),
            build_id: strings.id(&module.build_id),
            // Names are found already.
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
        });
    }
    let mut functions: HashMap<(&str, &str, &str), u64> = HashMap::new();
    let mut ids: HashMap<&Frame, u64> = HashMap::new();
    for stack in &recording.stacks {
        let mut location_id = Vec::new();
        for frame in stack.frames.iter() {
            let next = profile.location.len() as u64 + 1;
            let id = *ids.entry(frame).or_insert(next);
            if id == next {
                // Without a file of the source, that of the code.
                let file = frame.place.as_ref().map_or(&frame.module, |place| &place.file);
                let next = profile.function.len() as u64 + 1;
                let function_id =
                    *functions.entry((&frame.name, &frame.module, file)).or_insert(next);
                if function_id == next {
                    let name = strings.id(&frame.name);
                    let filename = strings.id(file);
                    let id = function_id;
                    profile.function.push(Function { id, name, system_name: name, filename });
                }
                let line = frame.place.as_ref().map_or(0, |place| place.line.into());
                let mapping_id = mappings.get(&*frame.module).copied().unwrap_or(0);
                let line = vec![Line { function_id, line }];
                profile.location.push(Location { id, mapping_id, line });
            }
            location_id.push(id);
        }
        let process = recording.processes.get(stack.process).map_or(0, |seen| i64::from(seen.pid));
        profile.sample.push(Sample {
            location_id,
            value: vec![signed(stack.tally.samples), signed(stack.tally.ns)],
            label: vec![
                Label { key: pid, str: 0, num: process },
                Label { key: path, str: strings.id(stack.path.name()), num: 0 },
            ],
        });
    }
    profile.string_table = strings.list;
    profile
}

#[cfg(test)]
mod tests {
    use super::super::made;
    use super::*;
    use crate::recording::Module;
    use crate::symbols::Place;
    use std::io::Read;

    #[test]
    fn packed_profile_unpacks_unchanged() {
        let recording = made::recording();
        let mut bytes = Vec::new();
        let packed = pprof(&recording).unwrap();
        flate2::read::GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
        let profile = Profile::decode(&*bytes).unwrap();
        assert_eq!(profile, make(&recording));
        assert_eq!(profile.string_table[0], "");
        assert_eq!(profile.function.len(), 4);
        assert_eq!(profile.sample.len(), 2);
        assert_eq!(profile.sample[0].value, [3, 3_000_000]);
        // The first location is the innermost one.
        let first = profile.sample[0].location_id[0];
        let function = profile.function.iter().find(|function| function.id == first).unwrap();
        assert_eq!(profile.string_table[function.name as usize], "clock_gettime");
    }

    #[test]
    fn locations_have_lines_and_mappings() {
        let mut recording = made::recording();
        let mut frames = recording.stacks[0].frames.to_vec();
        frames[1].place = Some(Place { file: "/src/hot.c".into(), line: 12 });
        recording.stacks[0].frames = frames.into();
        recording.modules = vec![Module {
            name: "app".into(),
            path: "/opt/app".to_owned(),
            mapped: (0x1000, 0x3000, 0x200),
            build_id: "beef".to_owned(),
        }];
        let profile = make(&recording);
        let text = |id: i64| profile.string_table[id as usize].as_str();
        let [mapping] = profile.mapping.as_slice() else { panic!("{:?}", profile.mapping) };
        assert_eq!((text(mapping.filename), text(mapping.build_id)), ("/opt/app", "beef"));
        let lines: Vec<(&str, &str, i64)> = profile
            .location
            .iter()
            .filter(|location| location.mapping_id == mapping.id)
            .flat_map(|location| &location.line)
            .map(|line| {
                let function = &profile.function[line.function_id as usize - 1];
                (text(function.name), text(function.filename), line.line)
            })
            .collect();
        assert!(lines.contains(&("hot", "/src/hot.c", 12)), "{lines:?}");
        assert!(lines.contains(&("main", "app", 0)), "{lines:?}");
    }
}
