//! Little memory: queries go to the disk, and their results are the same.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::queries::QUERIES;
use crate::tables::Place;
use clocksmith_fleet::generate::Fleet;
use clocksmith_fleet::newest::Served;
use clocksmith_fleet::parse;
use clocksmith_fleet::row::Rows;
use datafusion::arrow::compute::concat_batches;
use tempfile::TempDir;

const HOSTS: u64 = 6000;
/// About 20 times less than the widest sort below needs.
const LITTLE: usize = 8 << 20;
const MUCH: usize = 2 << 30;

/// Reports of three days, all of which are of the history, and those of the last one of the newest.
fn views() -> (Views, TempDir) {
    let mut views = Views::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    for (name, days) in [("all", 0..3), ("last", 2..3)] {
        let out = dir.path().join(name);
        let mut place = Place::new(Some(&out)).unwrap();
        for day in days {
            for (at, made) in (Fleet { hosts: HOSTS, seed: 3, day }).machines().enumerate() {
                let named = parse::parse_named(made.document.to_string().as_bytes());
                place.push(Rows::of(&named.document.unwrap(), &format!("f:{at}"))).unwrap();
            }
        }
        let mut staged = place.finish(&Served::default()).unwrap();
        staged.publish().unwrap();
        views.add(name == "all", &staged.all).unwrap();
    }
    (views, dir)
}

async fn answer(engine: &Engine, query: &str) -> RecordBatch {
    let mut stream = engine.ask(query).await.unwrap();
    let (schema, mut batches) = (stream.schema(), Vec::new());
    while let Some(batch) = stream.next().await {
        batches.push(batch.unwrap_or_else(|error| panic!("{query}: {error}")));
    }
    concat_batches(&schema, &batches).unwrap()
}

#[test]
fn queries_spill_and_answer_the_same() {
    let (views, _dir) = views();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let little = Engine::open(&views, LITTLE).await.unwrap();
        let much = Engine::open(&views, MUCH).await.unwrap();
        for (name, query) in QUERIES {
            let (a, b) = (answer(&little, query).await, answer(&much, query).await);
            assert!(a.num_rows() > 0, "{name}");
            assert!(a == b, "{name} has another answer with little memory");
        }
        let shipped = little.used().1;
        assert!(shipped > 0, "nothing of the report went to the disk");
        let more = [
            // Wide rows.
            "SELECT * FROM history_hosts ORDER BY host, taken_at",
            // A window over all of them, in an order. (Without one, the engine holds all rows in memory.)
            "SELECT host, taken_at, row_number() OVER (PARTITION BY host ORDER BY taken_at DESC) AS place \
             FROM history_hosts ORDER BY host, taken_at",
            // As many groups as hosts.
            "SELECT host, machine_id, min(cost_ns) AS low, max(taken_at) AS last FROM history_hosts \
             GROUP BY host, machine_id ORDER BY host",
            // Two large sides, which do not fit as a hash table.
            "SELECT a.host, a.taken_at, b.kernel, b.cpu, b.machine_id, b.available FROM history_hosts a \
             JOIN history_hosts b ON a.host = b.host AND a.taken_at = b.taken_at ORDER BY a.host, a.taken_at",
        ];
        for query in more {
            let before = little.used().1;
            let (a, b) = (answer(&little, query).await, answer(&much, query).await);
            assert!(a.num_rows() as u64 >= HOSTS && a == b, "{query}: another answer");
            assert!(little.used().1 > before, "{query}: nothing went to the disk");
        }
        let (peak, spilled) = little.used();
        assert!(peak <= LITTLE && spilled > shipped, "{peak} {spilled}");
        assert_eq!(much.used().1, 0, "what fits stays in memory");
    });
}
