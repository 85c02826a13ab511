//! The format of the Firefox Profiler (profiler.firefox.com, "processed profile").

use super::names;
use crate::recording::{Recording, Stack};
use clocksmith_facts::visible;
use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp,
    SamplingInterval, Timestamp,
};
use serde_json::Value;
use std::collections::HashMap;

/// Makes the file.
///
/// # Errors
/// Cannot fail in practice, because it writes to memory.
pub fn firefox(recording: &Recording) -> Result<Vec<u8>, serde_json::Error> {
    let interval = SamplingInterval::from_nanos(1_000_000_000 / recording.frequency.max(1));
    let start = ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    let mut profile = Profile::new("clocksmith who", start, interval);
    let zero = Timestamp::from_nanos_since_reference(0);
    let processes: Vec<_> = recording
        .processes
        .iter()
        .map(|seen| profile.add_process(&seen.name, seen.pid, zero))
        .collect();
    let mut threads = HashMap::new();
    for moment in &recording.moments {
        let Some(stack) = recording.stacks.get(moment.stack) else { continue };
        let (Some(process), Some(seen)) =
            (processes.get(stack.process), recording.processes.get(stack.process))
        else {
            continue;
        };
        let thread = *threads.entry((stack.process, moment.tid)).or_insert_with(|| {
            let thread = profile.add_thread(*process, moment.tid, zero, moment.tid == seen.pid);
            profile.set_thread_name(thread, &seen.name);
            thread
        });
        let frames: Vec<FrameInfo> = labels(recording, stack)
            .map(|label| FrameInfo {
                frame: Frame::Label(profile.intern_string(&label)),
                category_pair: CategoryHandle::OTHER.into(),
                flags: FrameFlags::empty(),
            })
            .collect();
        let handle = profile.intern_stack_frames(thread, frames.into_iter());
        let at = Timestamp::from_nanos_since_reference(moment.time);
        profile.add_sample(thread, at, handle, CpuDelta::from_nanos(moment.ns), 1);
    }
    let mut json = serde_json::to_value(&profile)?;
    for thread in json["threads"].as_array_mut().into_iter().flatten() {
        place(thread);
    }
    // Characters that hide or reverse text are escaped, which changes no name.
    Ok(visible::json(&json.to_string()).into_owned().into_bytes())
}

/// Separates a name, its file and its line in a label, until they get fields of their own: the library has none for
/// them. A name cannot contain it: it would be escaped.
const BETWEEN: char = '\u{1f}';

/// The functions of a stack, outermost first, with their places.
fn labels<'a>(recording: &'a Recording, stack: &'a Stack) -> impl Iterator<Item = String> {
    let own = |name: &str| name.replace(BETWEEN, "?");
    // The process is first; an entry above the frames has no place.
    let places =
        std::iter::once(None).chain(stack.frames.iter().rev().map(|frame| frame.place.as_ref()));
    let places = places.chain(std::iter::repeat(None));
    names(recording, stack).zip(places).map(move |(name, place)| match place {
        Some(place) => format!("{}{BETWEEN}{}{BETWEEN}{}", own(name), own(&place.file), place.line),
        None => own(name),
    })
}

/// Puts files and lines from a thread's labels to where the format has them: a function has one name and one file, a
/// frame the line.
fn place(thread: &mut Value) {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let Some(strings) = thread["stringArray"].as_array() else { return };
    let mut strings: Vec<String> =
        strings.iter().map(|string| string.as_str().unwrap_or("").to_owned()).collect();
    let mut known: HashMap<String, usize> = HashMap::new();
    // By function: the first of the same name and file, and the line.
    let mut same: HashMap<(String, String), usize> = HashMap::new();
    let mut functions: Vec<(usize, Option<u64>)> = Vec::new();
    let labels: Vec<usize> =
        thread["funcTable"]["name"].as_array().into_iter().flatten().filter_map(number).collect();
    for (function, label) in labels.into_iter().enumerate() {
        let text = strings.get(label).cloned().unwrap_or_default();
        let mut parts = text.split(BETWEEN);
        let (Some(name), Some(file), Some(line)) = (parts.next(), parts.next(), parts.next())
        else {
            functions.push((function, None));
            continue;
        };
        let first = *same.entry((name.to_owned(), file.to_owned())).or_insert(function);
        functions.push((first, line.parse().ok().filter(|line| *line > 0)));
        let at = *known.entry(file.to_owned()).or_insert_with(|| {
            strings.push(file.to_owned());
            strings.len() - 1
        });
        if let Some(string) = strings.get_mut(label) {
            *string = name.to_owned();
        }
        thread["funcTable"]["fileName"][function] = at.into();
    }
    let frames: Vec<usize> =
        thread["frameTable"]["func"].as_array().into_iter().flatten().filter_map(number).collect();
    for (frame, function) in frames.into_iter().enumerate() {
        if let Some((first, line)) = functions.get(function) {
            thread["frameTable"]["func"][frame] = (*first).into();
            thread["frameTable"]["line"][frame] = (*line).into();
        }
    }
    thread["stringArray"] = strings.into();
}

#[cfg(test)]
mod tests {
    use super::super::made;
    use super::*;
    use crate::symbols::Place;

    #[test]
    fn samples_of_a_thread() {
        let json: serde_json::Value =
            serde_json::from_slice(&firefox(&made::recording()).unwrap()).unwrap();
        assert_eq!(json["threads"].as_array().unwrap().len(), 1);
        assert_eq!(json["threads"][0]["samples"]["length"], 5);
        assert!(json.to_string().contains("cold"));
        firefox(&Recording::default()).unwrap();
    }

    #[test]
    fn functions_have_files_and_frames_lines() {
        let mut recording = made::recording();
        for (stack, line) in [(0, 12), (1, 13)] {
            let mut frames = recording.stacks[stack].frames.to_vec();
            frames[1].name = "hot".into();
            frames[1].place = Some(Place { file: "/src/hot.c".into(), line });
            recording.stacks[stack].frames = frames.into();
        }
        let json: Value = serde_json::from_slice(&firefox(&recording).unwrap()).unwrap();
        let thread = &json["threads"][0];
        let text = |at: &Value| thread["stringArray"][at.as_u64().unwrap() as usize].clone();
        let frames = &thread["frameTable"];
        let lines: Vec<(u64, u64)> = (0..frames["length"].as_u64().unwrap() as usize)
            .filter_map(|at| Some((frames["func"][at].as_u64()?, frames["line"][at].as_u64()?)))
            .collect();
        let [(first, a), (second, b)] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((first, *a, *b), (second, 12, 13));
        let functions = &thread["funcTable"];
        assert_eq!(text(&functions["name"][*first as usize]), "hot");
        assert_eq!(text(&functions["fileName"][*first as usize]), "/src/hot.c");
        assert!(!json.to_string().contains(BETWEEN));
    }

    #[test]
    fn firefox_names_that_turn_or_hide_text_are_escaped() {
        let mut recording = made::recording();
        recording.processes[0].name = "a\u{202e}b\u{9b}c".to_owned();
        let bytes = firefox(&recording).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("a\\u202eb\\u009bc") && !text.contains(visible::hides), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }
}
