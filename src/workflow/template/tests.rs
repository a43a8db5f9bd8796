use super::*;
use minijinja::context;
use proptest::prelude::*;

#[test]
fn data_cannot_pass_for_a_secret() {
    let context = context! { secrets => secrets(), evil => format!("{MARK}TOKEN{MARK}") };
    let template = Template::new("{{ evil }} {{ secrets.TOKEN }}");
    let sealed = template.render_sealed(&context).unwrap();
    let opened = sealed.open(|_| Some("s3cret".into())).unwrap();
    assert_eq!(opened, format!("{MARK}TOKEN{MARK} s3cret"));
    assert!(template.render(&context).is_err());
}

#[test]
fn what_is_not_there_is_an_error() {
    assert!(Template::new("{{ steps.nothing.text }}").render(&context! {}).is_err());
    assert!(Expr::new("params.x == 1").is_true(&context! { params => context! {} }).is_err());
}

#[test]
fn an_endless_template_ends() {
    let template = Template::new(
        "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
    );
    assert!(template.render(&context! {}).is_err());
}

fn read(source: &str) -> Vec<String> {
    let template = Template::new(source);
    let found = template.references().unwrap();
    found.into_iter().map(|found| source[found.at].to_owned()).collect()
}

#[test]
fn what_a_text_reads_has_its_place() {
    assert_eq!(read("a {{ steps.a.text }} {{- params.x -}} b"), ["steps.a.text", "params.x"]);
    assert_eq!(
        read(r#"{{ steps["code-review"].json.list[0].x | default("steps.no") }}"#),
        [r#"steps["code-review"].json.list[0].x"#]
    );
    assert_eq!(
        read("{% for x in steps.a.json %}{{ x.y }} {{ loop.index }}{% endfor %}"),
        ["steps.a.json"]
    );
    assert_eq!(read("{{ dict(steps=params.steps).steps }}"), ["dict", "params.steps"]);
    assert_eq!(read("{# steps.a #}{% raw %}{{ steps.b }}{% endraw %} { steps.c }"), [""; 0]);
    assert_eq!(read("{{ {'a': {'b': steps.x.text}} }}"), ["steps.x.text"]);
    let computed = &Template::new("{{ steps[params.x].text }}").references().unwrap()[0];
    assert!(computed.computed && computed.path.is_empty());
}

#[test]
fn what_is_wrong_is_said_before_it_runs() {
    for (source, words) in [
        ("{{ a.b", "not closed"),
        ("{{ a | shuot }}", "no filter `shuot`"),
        ("{{ a is eevn }}", "no test `eevn`"),
        ("{% if a %}", "unexpected end of input"),
        ("{{ a b }}", "unexpected identifier"),
    ] {
        let error = Template::new(source).references().unwrap_err();
        assert!(error.error.0.contains(words), "{source}: {error:?}");
    }
    for source in ["a is defined", "a is not none", "a in b", "a is in b", "a is divisibleby 3"] {
        Expr::new(source).references().unwrap();
    }
}

#[test]
fn nothing_grows_without_end() {
    let big = "x".repeat(LONGEST - 1);
    let context = context! { big };
    assert_eq!(Template::new("{{ big }}").render(&context).unwrap().len(), LONGEST - 1);
    for source in [
        "{{ big }}{{ big }}".to_owned(),
        "{% for a in range(9999) %}{{ big }}{% endfor %}".into(),
        format!("{{% set a = big %}}{}", "{% set a = a ~ a %}".repeat(150)),
        "{{ big * 1000000 }}".into(),
        "{{ range(99999999999) | join(big) }}".into(),
    ] {
        assert!(Template::new(&source).render(&context).is_err(), "{source}");
    }
}

#[test]
fn what_is_data_is_not_evaluated_again() {
    let context = context! { evil => "{{ 1 + 1 }} $(touch pwned) {% if x %}" };
    let text = Template::new("{{ evil }}").render(&context).unwrap();
    assert_eq!(text, "{{ 1 + 1 }} $(touch pwned) {% if x %}");
}

#[test]
fn no_source_is_deep_enough_to_hurt() {
    for source in [
        format!("{{{{ {} }}}}", "(".repeat(900)),
        format!("{{{{ {}1 }}}}", "1+".repeat(900)),
        format!("{{{{ {}1 }}}}", "not ".repeat(400)),
        format!("{{{{ a{} }}}}", ".a".repeat(900)),
        format!("{{{{ a{} }}}}", "|e".repeat(900)),
        format!("{{{{ {}1 }}}}", "-".repeat(1_900)),
        format!("{{{{ {} }}}}", "1 if 1 else ".repeat(150)),
        format!("{{{{ a{} }}}}", "[0]".repeat(600)),
        format!("{{% if a %}}{}{{% endif %}}", "{% elif a %}".repeat(190)),
        "{% if a %}".repeat(190),
        "{% elif a %}".repeat(90_000),
        format!("{{{{ {}1 }}}}", "1+".repeat(400_000)),
    ] {
        let template = Template::new(source);
        let _ = template.references();
        if template.references().is_ok() {
            let _ = template.render(&context! {});
        }
    }
}

proptest! {
    #[test]
    fn any_source_is_read_or_refused(source in "(\\PC|\\{\\{|\\}\\}|\\{%|%\\}|steps|\\.|a|\"|'| |\\[|\\]|\\||-){0,40}") {
        for found in Template::new(&source).references().into_iter().flatten() {
            prop_assert!(source[found.at].starts_with(&found.root));
        }
        for found in Expr::new(&source).references().into_iter().flatten() {
            prop_assert!(source[found.at].starts_with(&found.root));
        }
    }
}

#[test]
fn nothing_reads_as_nothing() {
    let context = context! { words => Value::from(()), list => vec![Value::from(())] };
    assert_eq!(Template::new("a{{ words }}b").render(&context).unwrap(), "ab");
    let prompt = Template::new("a{{ words }}b").render_data(&context, BTreeSet::new());
    assert_eq!(prompt.unwrap(), "ab");
    assert_eq!(Template::new("{{ list }}").render(&context).unwrap(), "[null]");
}

#[test]
fn a_text_may_be_one_expression_as_a_whole() {
    let alone = |source: &str| Template::new(source).alone().map(|expr| expr.source);
    assert_eq!(alone("{{ params.x }}").as_deref(), Some("params.x"));
    assert_eq!(alone("{{- params.x | default(1) -}}").as_deref(), Some("params.x | default(1)"));
    for source in ["a {{ b }}", "{{ a }}{{ b }}", "{{ secrets.A }}", "a", "{{ a }} b", "{{ }}"] {
        assert_eq!(alone(source), None, "{source}");
    }
}
