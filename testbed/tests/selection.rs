//! The case files of this repository, and choosing from them.

#![allow(clippy::unwrap_used, reason = "a test may end where something is missing")]

use clocksmith_testbed::case::Boot;
use clocksmith_testbed::case::file::load_directory;
use clocksmith_testbed::case::select::Subset;
use clocksmith_testbed::kernel::catalogue::Catalogue;
use std::collections::BTreeSet;
use std::path::Path;

fn boots() -> Vec<Boot> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    load_directory(&cases, &Catalogue::load(&cases).unwrap()).unwrap()
}

fn chosen<'a>(boots: &'a [Boot], subset: &str) -> Vec<&'a str> {
    let subset: Subset = subset.parse().unwrap();
    boots.iter().filter(|boot| subset.contains(boot)).map(|boot| boot.id.as_str()).collect()
}

#[test]
fn the_case_files_cover_the_kernels_they_promise() {
    let boots = boots();
    assert!(boots.len() >= 120);
    let architectures: BTreeSet<_> = boots.iter().map(|boot| boot.machine.arch).collect();
    assert_eq!(architectures.len(), 6);
    for kernel in ["5.10", "6.1", "6.12", "7.x"] {
        assert!(boots.iter().filter(|boot| boot.kernel == kernel).count() >= 30, "{kernel}");
    }
}

#[test]
fn the_subset_for_continuous_integration_is_small_and_says_what_it_expects() {
    let boots = boots();
    assert_eq!(chosen(&boots, "ci").len(), 30);
    let silent: Vec<_> = boots.iter().filter(|boot| boot.ci && boot.expect.is_none()).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn boots_are_chosen_by_case_by_kernel_and_by_both() {
    let boots = boots();
    assert_eq!(chosen(&boots, "smp2").len(), 4);
    assert_eq!(chosen(&boots, "smp2@6.1,smp1@7.x"), ["smp1@7.x", "smp2@6.1"]);
    assert!(chosen(&boots, "no-hpet*@7.x").len() >= 2);
    assert!(chosen(&boots, "nonsense").is_empty());
    assert_eq!(chosen(&boots, "all").len(), boots.len());
}
