//! Few descriptors: a change is made completely or not at all. A separate test, since the limit applies to the whole
//! process.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use clocksmith_change::journal::{End, Silent};
use common::{build, differences, open, picture, plan, temporary};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn apply_with_few_descriptors_changes_all_or_nothing() {
    let limit = getrlimit(Resource::Nofile);
    let mut made = 0;
    for most in (8..64).step_by(2).chain([256]) {
        let dir = temporary();
        build(dir.path());
        let before = picture(dir.path());
        let mut journal = open(dir.path()).unwrap();
        let few = Rlimit { current: Some(most), ..limit };
        setrlimit(Resource::Nofile, few).unwrap();
        let applied = journal.apply(&plan(), &mut Silent);
        setrlimit(Resource::Nofile, limit).unwrap();
        drop(journal);
        match applied {
            Ok(_) => made += 1,
            Err(error) => {
                assert!(matches!(error.end, End::Untouched), "{most}: {error}");
                assert!(error.to_string().contains("open"), "{most}: {error}");
                // The next run removes the remains of the journal.
                drop(open(dir.path()).unwrap());
                let after = picture(dir.path());
                assert_eq!(before, after, "{most}: {}", differences(&before, &after));
            }
        }
    }
    assert!((2..28).contains(&made), "{made}");
}
