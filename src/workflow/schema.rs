//! The language as a JSON schema, for editors. Made of the same tables that the parser reads by.

use serde_json::{Map, Value, json};

use crate::{
    keys::{KINDS, Shape, Table, WORKFLOW},
    value::LONGEST_NAME,
};

/// For the line `# yaml-language-server: $schema=…` of a file.
pub fn json_schema() -> Value {
    let mut schema = table(&WORKFLOW);
    let steps = json!({ "type": "array", "minItems": 1, "items": step() });
    if let Value::Object(map) = &mut schema {
        map.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        map.insert("title".into(), json!("A workflow of Vigie"));
        map.insert("$defs".into(), json!({ "steps": steps }));
    }
    schema
}

/// A step does exactly one thing.
fn step() -> Value {
    let mut schema = table(&crate::keys::STEP);
    let one: Vec<Value> = KINDS.iter().map(|kind| json!({ "required": [kind] })).collect();
    if let Value::Object(map) = &mut schema {
        map.insert("oneOf".into(), one.into());
    }
    schema
}

fn table(table: &Table) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        let mut value = shape(key.shape);
        if let Value::Object(map) = &mut value {
            map.insert("description".into(), key.what.into());
        }
        properties.insert(key.name.into(), value);
    }
    let required: Vec<&str> =
        table.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if let (true, Value::Object(map)) = (table.free, &mut schema) {
        map.insert("patternProperties".into(), json!({ "^x-": {} }));
    }
    schema
}

fn shape(shape_of: Shape) -> Value {
    // What is text may be written without quotes, and an editor takes `1.10` for a number.
    let text = json!({ "type": ["string", "number", "boolean", "null"] });
    match shape_of {
        Shape::Name => {
            let pattern = format!("^[A-Za-z][A-Za-z0-9_-]{{0,{}}}$", LONGEST_NAME - 1);
            json!({ "type": "string", "pattern": pattern })
        }
        Shape::Text | Shape::Template => text,
        Shape::Expr => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Whole { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Shape::Integer => json!({ "type": "integer" }),
        Shape::Money => json!({ "type": "number", "minimum": 0 }),
        Shape::Duration => json!({
            "type": "string",
            "pattern": "^(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",
            "examples": ["90s", "10m", "1h30m", "7d"],
        }),
        Shape::Size => json!({
            "type": "string",
            "pattern": "^[0-9]+ *(B|KiB|MiB|GiB)$",
            "examples": ["64KiB", "10MiB"],
        }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::Any => json!({}),
        Shape::List(of) => json!({ "type": "array", "items": shape(*of) }),
        Shape::Steps => json!({ "$ref": "#/$defs/steps" }),
        Shape::MapOf(of) => json!({ "type": "object", "additionalProperties": shape(*of) }),
        Shape::Map(of) => table(of),
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(|of| shape(*of)).collect::<Vec<_>>() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{keys::ALL, yaml};

    const WHOLE: &str = include_str!("cases/every-key.yaml");

    fn as_json(text: &str) -> Value {
        yaml::json(&yaml::read(text).0.unwrap()).unwrap()
    }

    fn parsed(value: &Value) -> Option<crate::Workflow> {
        // JSON is YAML.
        crate::parse(value.to_string().as_bytes(), &|_| Err(String::new())).0
    }

    #[test]
    fn an_example_with_every_key_fits_and_has_every_key() {
        let schema = jsonschema::validator_for(&json_schema()).unwrap();
        let whole = as_json(WHOLE);
        let wrong: Vec<_> = schema.iter_errors(&whole).map(|error| error.to_string()).collect();
        assert_eq!(wrong, Vec::<String>::new());
        let (workflow, problems) = crate::parse(WHOLE.as_bytes(), &|_| Err(String::new()));
        assert!(workflow.is_some(), "{}", problems.render("every-key.yaml", WHOLE));
        assert!(problems.all.is_empty(), "{}", problems.render("every-key.yaml", WHOLE));
        for table in ALL {
            for key in table.names() {
                assert!(WHOLE.contains(&format!("{key}:")), "`{key}` of {}", table.of);
            }
        }
    }

    #[test]
    fn what_ships_with_the_product_fits() {
        let schema = jsonschema::validator_for(&json_schema()).unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workflows");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let files: Vec<_> =
            files.filter(|file| file.extension() == Some("yaml".as_ref())).collect();
        assert!(!files.is_empty());
        for file in files {
            let value = as_json(&std::fs::read_to_string(&file).unwrap());
            let wrong: Vec<_> = schema
                .iter_errors(&value)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert_eq!(wrong, Vec::<String>::new(), "{}", file.display());
        }
    }

    /// Pointers to every value under `value`.
    fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
        match value {
            Value::Object(pairs) => {
                for (key, value) in pairs {
                    let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                    out.push(at.clone());
                    pointers(value, &at, out);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointers(item, &format!("{at}/{index}"), out);
                }
            }
            _ => {}
        }
    }

    fn without(whole: &Value, pointer: &str) -> Value {
        let mut value = whole.clone();
        let (above, key) = pointer.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        value.pointer_mut(above).unwrap().as_object_mut().unwrap().remove(&key);
        value
    }

    #[test]
    fn the_parser_reads_each_key_of_the_schema() {
        let whole = as_json(WHOLE);
        let workflow = parsed(&whole).unwrap();
        let mut all = Vec::new();
        pointers(&whole, "", &mut all);
        assert!(all.len() > 150);
        for pointer in all {
            // These say what it would be without them too.
            let silent = ["/defaults", "/x-anything", "/additional"]
                .iter()
                .any(|free| pointer.starts_with(free));
            let same = [
                "/params/where/type",
                "/on/catch_up",
                "/steps/1/always",
                "/steps/13/approval/on_timeout",
            ];
            if silent || same.contains(&pointer.as_str()) {
                continue;
            }
            let without = parsed(&without(&whole, &pointer));
            assert_ne!(without.as_ref(), Some(&workflow), "{pointer} changes nothing");
        }
    }

    #[test]
    fn what_the_parser_refuses_an_editor_marks() {
        let schema = jsonschema::validator_for(&json_schema()).unwrap();
        for text in [
            "name: a\nsteps: []",
            "name: a\nsteps: [{id: a}]",
            "name: a\nsteps: [{id: a, shell: x, claude: y}]",
            "name: a\nsteps: [{id: é, shell: x}]",
            "name: a\nsteps: [{id: a, shell: x, timeout: 10}]",
            "name: a\nsteps: [{id: a, shell: x, need: b}]",
            "name: a\nstep: [{id: a, shell: x}]\nsteps: [{id: a, shell: x}]",
            "name: a\nlimits: {overlap: queued}\nsteps: [{id: a, shell: x}]",
            "name: a\nsteps: [{id: a, foreach: {in: [1], steps: [{id: b}]}}]",
        ] {
            let value = as_json(text);
            assert!(parsed(&value).is_none(), "{text}");
            assert!(!schema.is_valid(&value), "{text}");
        }
    }
}
