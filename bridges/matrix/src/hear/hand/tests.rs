use super::*;

#[test]
fn people_are_known_by_their_whole_id_alone() {
    for (user, known_as) in [
        ("@ines:example.org", "@ines:example.org"),
        ("@ines:Example.ORG:8448", "@ines:example.org:8448"),
        ("@INES:example.org", "@INES:example.org"),
        ("@ines", "@ines"),
    ] {
        assert_eq!(person(user), known_as);
    }
}
