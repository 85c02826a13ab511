use super::*;

fn options(dir: &std::path::Path) -> Options {
    Options {
        thresholds: Thresholds::default(),
        root: Some(dir.to_owned()),
        listen: Vec::new(),
        web_config: None,
        textfile: Some(dir.join("nowhere/clocksmith.prom")),
        state: None,
        poll: Duration::from_secs(1),
        look: Duration::from_secs(60),
        test: None,
        stall: Duration::from_secs(2),
        names: Vec::new(),
        host: "test".to_owned(),
        version: "0".to_owned(),
    }
}

#[test]
fn each_complaint_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::new(options(dir.path()), History::default());
    let (store, _) = Store::open(&dir.path().join("state")).unwrap();
    daemon.store = Some(store.full());
    let mut said = Vec::new();
    let mut say = |_: State, text: &str, event: Option<&Event>| {
        if event.is_none() {
            said.push(text.to_owned());
        }
    };
    daemon.begin(&mut say);
    daemon.next_look = Instant::now();
    daemon.settle(&mut true, &mut say);
    let told = |what: &str| said.iter().filter(|line| line.contains(what)).count();
    assert_eq!((told("cannot write the history"), told("clocksmith.prom")), (1, 1), "{said:?}");
}
