//! Any change of any tree can be reverted to the byte.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use clocksmith_change::journal::*;
use clocksmith_change::{Action, Plan, Step};
use common::*;
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The tree at first.
#[derive(Clone, Debug)]
enum Node {
    File { content: String, mode: u32, xattr: Option<Vec<u8>>, owner: u32 },
    Directory,
    Link(String),
}

/// Few names, so that paths coincide.
fn path() -> impl Strategy<Value = String> {
    prop::collection::vec("[abc]", 1..4).prop_map(|parts| parts.join("/"))
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![path(), path().prop_map(|path| format!("/{path}")), Just("../b".to_owned())]
}

fn node() -> impl Strategy<Value = Node> {
    let xattr = prop::option::of(prop::collection::vec(any::<u8>(), 0..9));
    let file = ("[x\n]{0,9}", 0u32..0o10000, xattr, prop_oneof![Just(0u32), Just(1234)]);
    prop_oneof![
        4 => file.prop_map(|(content, mode, xattr, owner)| Node::File { content, mode, xattr, owner }),
        1 => Just(Node::Directory),
        2 => target().prop_map(Node::Link),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let absolute = || path().prop_map(|path| PathBuf::from(format!("/{path}")));
    prop_oneof![
        4 => (absolute(), "[y\n]{0,9}", 0u32..0o10000)
            .prop_map(|(path, content, mode)| Action::Write { path, content, mode }),
        2 => absolute().prop_map(|path| Action::Remove { path }),
        2 => (absolute(), target())
            .prop_map(|(path, target)| Action::Link { path, target: target.into() }),
        2 => (prop::collection::vec("[a-c]|a/b|b/c", 1..3), prop::collection::vec(absolute(), 1..3)).prop_map(
            |(words, rewrites)| Action::Run {
                command: [vec!["touch-them".to_owned()], words].concat(),
                rewrites,
                undo: None,
                regenerate: None,
            }
        ),
    ]
}

fn grow(root: &Path, nodes: &[(String, Node)]) {
    for (path, node) in nodes {
        let path = root.join(path);
        if path.symlink_metadata().is_ok() {
            continue;
        }
        // Another file may be at this path; then this one is left out.
        if fs::create_dir_all(path.parent().unwrap()).is_err() {
            continue;
        }
        match node {
            Node::File { content, mode, xattr, owner } => {
                if fs::write(&path, content).is_err() {
                    continue;
                }
                let _ = std::os::unix::fs::chown(&path, Some(*owner), Some(*owner));
                if let Some(value) = xattr {
                    let _ = set_xattr(&path, "user.test", value);
                }
                age(&path);
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Node::Directory => fs::create_dir(&path).unwrap(),
            Node::Link(target) => symlink(target, &path).unwrap(),
        }
    }
}

/// Rewrites, makes and removes the files that its step in the plan allows; the step's number is
/// after the program's name.
struct Scribbler(Vec<Vec<PathBuf>>);

impl Runner for Scribbler {
    fn check(&self, _: &Place, _: &str) -> Result<(), JournalError> {
        Ok(())
    }

    fn run(
        &mut self,
        place: &Place,
        command: &[String],
        _: &mut dyn Observer,
    ) -> Result<Ran, JournalError> {
        let step: usize = command[0].rsplit('-').next().unwrap().parse().unwrap();
        for (index, path) in self.0[step].iter().enumerate() {
            let path = place.root().join(path.strip_prefix("/").unwrap());
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                fs::write(path.join("made"), &command[1]).unwrap();
            } else if index % 2 == 1 {
                let _ = fs::remove_file(&path);
            } else {
                let _ = fs::write(&path, &command[1]);
            }
        }
        Ok(Ran::Done(String::new()))
    }
}

fn case(
    nodes: &[(String, Node)],
    mut actions: Vec<Action>,
    late: bool,
) -> Result<bool, TestCaseError> {
    let dir = temporary();
    let root = dir.path();
    fs::create_dir_all(root.join("var/lib")).unwrap();
    grow(root, nodes);
    let before = picture(root);
    let mut rewritten = Vec::new();
    for action in &mut actions {
        if let Action::Run { command, rewrites, .. } = action {
            command[0] = format!("touch-them-{}", rewritten.len());
            rewritten.push(rewrites.clone());
        }
    }
    let steps: Vec<Step> = actions.into_iter().map(step).collect();
    let plan = Plan { summary: String::new(), steps, ..Plan::default() };
    let open = || {
        Journal::open_with(&place(root), Wait::No, Box::new(Scribbler(Vec::clone(&rewritten))))
            .unwrap()
    };
    let mut journal = open();
    let result = journal.apply(&plan, &mut Silent);
    let made = result.is_ok();
    match result {
        Ok(_) => {
            if late {
                drop(journal);
                journal = open();
                prop_assert!(journal.recovered().is_empty());
            }
            let holds = journal.entries()[0].holds(&place(root));
            prop_assert_eq!(holds.steps.len(), plan.steps.len());
            journal.undo(Which::Last, Force::No).unwrap();
        }
        // Conflicting steps are refused; then nothing is changed either.
        Err(error) => prop_assert!(!matches!(error.end, End::Stuck(_)), "{error}"),
    }
    drop(journal);
    let after = picture(root);
    prop_assert!(before == after, "{}", differences(&before, &after));
    Ok(made)
}

/// Cases that the search has found once.
#[test]
fn directory_of_the_change_may_be_rewritten_by_program() {
    let write = Action::Write { path: "/a/a".into(), content: String::new(), mode: 0 };
    let run = Action::Run {
        command: vec!["touch-them".to_owned(), "a".to_owned()],
        rewrites: vec!["/a".into()],
        undo: None,
        regenerate: None,
    };
    // Nothing to remove, and not even its directory.
    let remove = Action::Remove { path: "/b/a".into() };
    // Links on the way to a file that a program may write: one that leads to itself, and one that leads elsewhere.
    let link = |target: &str| Action::Link { path: "/a".into(), target: target.into() };
    let below = match run.clone() {
        Action::Run { command, undo, regenerate, .. } => {
            Action::Run { command, rewrites: vec!["/a/a".into()], undo, regenerate }
        }
        other => other,
    };
    for target in ["a", "../c"] {
        assert!(!case(&[], vec![below.clone(), link(target)], false).unwrap());
    }
    for actions in
        [vec![write.clone(), run.clone(), remove.clone()], vec![write, run], vec![remove]]
    {
        assert!(case(&[], actions, false).unwrap());
    }
}

/// As many as the environment requests, if these are more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(0).max(400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_change_of_any_tree_is_reverted(
        nodes in prop::collection::vec((path(), node()), 0..12),
        actions in prop::collection::vec(action(), 0..6),
        late: bool,
    ) {
        case(&nodes, actions, late)?;
    }
}

/// So that the above does not hold only because everything is refused.
#[test]
fn most_plans_can_be_made() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let nodes = prop::collection::vec((path(), node()), 0..12);
    let actions = prop::collection::vec(action(), 1..4);
    let made = (0..100)
        .filter(|_| {
            let nodes = nodes.new_tree(&mut runner).unwrap().current();
            let actions = actions.new_tree(&mut runner).unwrap().current();
            case(&nodes, actions, false).unwrap()
        })
        .count();
    assert!(made >= 30, "{made}");
}
