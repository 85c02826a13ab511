//! The format of the Firefox Profiler (profiler.firefox.com, "processed profile").

use super::names;
use crate::recording::Recording;
use clocksmith_facts::visible;
use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, ReferenceTimestamp,
    SamplingInterval, Timestamp,
};
use std::collections::HashMap;

/// Makes the file.
///
/// # Errors
/// None is known: it writes to memory.
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
        let frames: Vec<FrameInfo> = names(recording, stack)
            .map(|name| FrameInfo {
                frame: Frame::Label(profile.intern_string(name)),
                category_pair: CategoryHandle::OTHER.into(),
                flags: FrameFlags::empty(),
            })
            .collect();
        let handle = profile.intern_stack_frames(thread, frames.into_iter());
        let at = Timestamp::from_nanos_since_reference(moment.time);
        profile.add_sample(thread, at, handle, CpuDelta::from_nanos(moment.ns), 1);
    }
    // What hides or turns text is escaped, which changes no name.
    Ok(visible::json(&serde_json::to_string(&profile)?).into_owned().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::made;
    use super::*;

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
    fn firefox_names_that_turn_or_hide_text_are_escaped() {
        let mut recording = made::recording();
        recording.processes[0].name = "a\u{202e}b\u{9b}c".to_owned();
        let bytes = firefox(&recording).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("a\\u202eb\\u009bc") && !text.contains(visible::hides), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }
}
