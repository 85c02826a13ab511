//! Every order in which the steps of a hypervisor and of a reader can be seen, by `loom`: `./test.sh clock`.

use super::page::{WORDS, consistent};
use crate::paravirt::Words;
use clocksmith_raw::sync::{AtomicU64, Ordering, fence};
use loom::sync::Arc;

/// The sequence number, and three fields of the page. Loom's threads are few, and its loads many: `take` reads these only.
struct Page {
    sequence: AtomicU64,
    fields: [AtomicU64; 3],
}

const FIELDS: [usize; 3] = [2, 5, 12];

impl Words for Page {
    fn word(&self, index: usize) -> u64 {
        assert!(index < WORDS);
        if index == 1 {
            return self.sequence.load(Ordering::Relaxed);
        }
        let field = FIELDS.iter().position(|at| *at == index).unwrap();
        self.fields[field].load(Ordering::Relaxed)
    }
}

/// The hypervisor writes the next state.
fn write(page: &Page, sequence: u64, value: u64) {
    page.sequence.store((sequence + 1) << 32, Ordering::Relaxed);
    fence(Ordering::Release);
    for field in &page.fields {
        field.store(value, Ordering::Relaxed);
    }
    page.sequence.store((sequence + 2) << 32, Ordering::Release);
}

fn take(page: &Page) -> [u64; 3] {
    FIELDS.map(|index| page.word(index))
}

#[test]
fn model_of_a_reader_beside_the_hypervisor() {
    loom::model(|| {
        let cell = AtomicU64::new;
        let page = Arc::new(Page { sequence: cell(2 << 32), fields: [7, 7, 7].map(cell) });
        let writer = {
            let page = Arc::clone(&page);
            loom::thread::spawn(move || write(&page, 2, 8))
        };
        if let Some(fields) = consistent(&*page, take) {
            assert!(fields == [7; 3] || fields == [8; 3], "{fields:?}");
        }
        writer.join().unwrap();
        assert_eq!(consistent(&*page, take), Some([8; 3]));
    });
}
