use super::*;
use crate::history::History;
use crate::judge::Thresholds;
use crate::state::Observation;
use clocksmith_facts::clockdev::ClocksourceDevice;
use proptest::prelude::*;

fn watch(name: &str) -> Watch {
    let mut watch = Watch::new(1_000.0, Thresholds::default(), true, History::default());
    for (time, name) in [(1_000.0, "tsc"), (2_000.0, name)] {
        let device =
            ClocksourceDevice { index: 0, current: name.to_owned(), available: Vec::new() };
        watch.observe(time, Observation::Clocksources(vec![device]));
        let report = Box::new(crate::judge::tests::report(name, "tsc hpet", None, Vec::new()));
        watch.observe(time, Observation::Assessed { report, log: false });
        if time < 1_500.0 {
            watch.started(time, Some("boot"));
        }
    }
    watch
}

#[test]
fn the_page_shows_state_and_timeline_and_loads_nothing() {
    let page = page(&watch("hpet"), 2_100.0, "web1", "0.1");
    for part in [
        "WARNING",
        "Clocks of web1",
        "hpet is slow",
        "tsc -&gt; hpet",
        "class=\"strip\"",
        "1970-01-01",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    for outside in ["http:", "https:", "<script", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn names_from_outside_stay_text() {
    let evil = "<script>alert(1)</script>\"'&";
    let page = page(&watch(evil), 2_100.0, evil, "0.1");
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"));
}

proptest! {
    #[test]
    fn any_time_and_name(now in -1e12f64..1e12, name in any::<String>()) {
        let page = page(&watch(&name), now, &name, &name);
        prop_assert!(page.ends_with("</html>\n") && !page.contains("NaN"));
    }
}
