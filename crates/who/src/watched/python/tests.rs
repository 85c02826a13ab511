//! Objects as the interpreter has them, made in this test's own memory.

use super::*;
use crate::watched::Files;
use proptest::prelude::*;

const CODE_TYPE: u64 = 0x1234_5678;

/// Objects as 3.11 has them, in this test's own memory.
#[derive(Default)]
struct Made(Vec<Box<[u64]>>);

impl Made {
    fn put(&mut self, words: Vec<u64>) -> u64 {
        self.0.push(words.into());
        self.0.last().unwrap().as_ptr() as u64
    }

    fn text(&mut self, text: &str) -> u64 {
        let mut words = vec![1, 0, text.len() as u64, 0, 1 << 5 | 1 << 6 | 1 << 2, 0];
        let bytes: Vec<u8> = text.bytes().chain([0; 8]).collect();
        words.extend(bytes.chunks_exact(8).filter_map(to_word));
        self.put(words)
    }

    /// Adds a function of 32 instructions, each on a separate line; returns where these begin.
    fn code(&mut self, name: &str, first_line: u64) -> (u64, u64) {
        let (name, file) = (self.text(name), self.text("/x/app.py"));
        let table: Vec<u8> = (0..32).flat_map(|_| [0x80 | 11 << 3, 0]).collect();
        let mut words = vec![1, 0, table.len() as u64, 0];
        words.extend(table.chunks_exact(8).filter_map(to_word));
        let table = self.put(words);
        let mut words = vec![0; 23 + 8];
        (words[1], words[2]) = (CODE_TYPE, 32);
        (words[9], words[14], words[16], words[17]) = (first_line, file, name, table);
        let at = self.put(words);
        (at, at + 184)
    }

    fn frame(&mut self, code: u64, reached: u64) -> u64 {
        self.put(vec![0, 0, 0, 0, code, 0, 0, reached, 0, 0])
    }
}

fn python() -> Python {
    Python {
        layout: layout::of((3, 11)).unwrap(),
        code_type: CODE_TYPE,
        frame_type: None,
        main: 0..0,
        code: HashMap::new(),
        by_instruction: BTreeMap::new(),
        homes: HashMap::new(),
        frame_homes: HashMap::new(),
        samples: 0,
        unnamed: 0,
        outside: 0,
    }
}

fn own() -> Process {
    Process::new(std::process::id(), &mut Files::default()).unwrap()
}

fn state(words: &[(Home, u64)]) -> State {
    State { at: 7, words: words.to_vec(), frames: Vec::new() }
}

#[test]
fn function_is_that_of_the_word_that_frames_confirm() {
    let (mut made, mut python) = (Made::default(), python());
    let (code_a, a) = made.code("a", 10);
    let (code_b, b) = made.code("Class.b", 50);
    // The fourth register has the running function; another one has left its words.
    let running = |made: &mut Made, code, begin| {
        let words = [
            (Home::Register(0), begin + 2),
            (Home::Register(3), begin + 20),
            (Home::Stack(16), b + 40),
            (Home::Stack(24), made.frame(code, begin + 18)),
            (Home::Stack(32), made.frame(code_b, b + 62)),
        ];
        state(&words)
    };
    let mut states: Vec<State> = Vec::new();
    for _ in 0..2 * ENOUGH {
        states.push(running(&mut made, code_a, a));
        states.push(running(&mut made, code_b, b));
    }
    // Objects that were made after the map was read are not used.
    let process = own();
    for state in &mut states {
        python.learn(&process, state);
    }
    let found = |state: &State| python.function(state).map(|found| (found.name, found.line));
    assert_eq!(found(&states[0]), Some(("a (app.py)".into(), 10 + 10)));
    assert_eq!(found(&states[1]), Some(("Class.b (app.py)".into(), 50 + 10)));
    let mut unknown = states[0].clone();
    unknown.at = 8;
    assert_eq!(found(&unknown), None);
}

#[test]
fn registers_that_the_loop_has_saved_for_its_caller_are_not_its_state() {
    let mut python = Python { main: 100..200, ..python() };
    let memory: Vec<u8> =
        [0x5000u64, 0x6000, 0x7000].iter().flat_map(|w| w.to_le_bytes()).collect();
    let frame = Frame { address: 150, kept: [None; 6], slots: 0..24, saved: vec![8] };
    let state = python.state(&[frame], &memory).unwrap();
    assert_eq!(state.words, [(Home::Stack(0), 0x5000), (Home::Stack(2), 0x7000)]);
}

#[test]
fn code_of_another_type_or_with_damaged_sizes_is_none() {
    let (mut made, mut python) = (Made::default(), python());
    let (code, begin) = made.code("a", 10);
    let frame = made.frame(code, begin);
    let damaged: Vec<u64> = [(1, 5), (2, 1 << 40), (16, 3), (14, u64::MAX)]
        .into_iter()
        .map(|(index, value)| {
            let mut words = vec![0; 31];
            (words[1], words[2], words[9]) = (CODE_TYPE, 32, 1);
            words[index] = value;
            let code = made.put(words);
            made.frame(code, 0)
        })
        .collect();
    let process = own();
    assert!(python.frame(&process, frame).is_some());
    for (index, at) in damaged.into_iter().enumerate() {
        assert!(python.frame(&process, at).is_none(), "{index}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_words(words: Vec<u64>, near: Vec<u16>) {
        let mut made = Made::default();
        let (code, begin) = made.code("a", 10);
        let process = own();
        let near = near.into_iter().map(|near| code.wrapping_add(u64::from(near)) & !7);
        let words: Vec<(Home, u64)> = words
            .into_iter()
            .chain(near)
            .chain([begin])
            .map(|word| (Home::Stack((word % 256) as u16), word))
            .collect();
        let mut state = state(&words);
        let mut python = python();
        python.learn(&process, &mut state);
        let _ = python.function_at_last(&state);
    }
}
