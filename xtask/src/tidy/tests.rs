use super::{Tree, check};

#[test]
fn this_repository_is_tidy() {
    let tree = Tree::read(&crate::repository()).expect("the repository can be read");
    let violations: Vec<String> = check(&tree)
        .violations
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}
