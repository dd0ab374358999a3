//! Ids in addresses: the server takes those that the contract admits, for every operation and every parameter.

use serde_json::{Value, json};

use kit::*;

/// Texts of which some are ids of each kind, and some of none.
fn texts() -> Vec<String> {
    let mut texts = vec![
        "\u{0}".to_owned(),
        "a\u{0}b".to_owned(),
        " ".to_owned(),
        "é".to_owned(),
        "a/b".to_owned(),
        "a b".to_owned(),
        "main".to_owned(),
        "Main".to_owned(),
        "main.sub".to_owned(),
        "main..sub".to_owned(),
        "t".to_owned(),
        "t0".to_owned(),
        "t1".to_owned(),
        "t123456789".to_owned(),
        "t1234567890".to_owned(),
        "t+1".to_owned(),
        "T1".to_owned(),
        "mcp__Files__read_all_of_a_folder-and_more".to_owned(),
        "0193b6c2-7c2e-7aaa-8000-0123456789ab".to_owned(),
        "0193B6C2-7C2E-7AAA-8000-0123456789AB".to_owned(),
        "0193b6c27c2e7aaa80000123456789ab".to_owned(),
        "{0193b6c2-7c2e-7aaa-8000-0123456789ab}".to_owned(),
        "0193b6c2-7c2e-7aaa-8000-0123456789ag".to_owned(),
        "F".repeat(64),
        "a.".repeat(127) + "aa",
    ];
    for length in [32, 33, 36, 37, 64, 65] {
        texts.push("a".repeat(length));
    }
    texts
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// An id as the contract wants it, that names nothing.
fn fitting(name: &str, path: &str) -> &'static str {
    match name {
        "task" => "t7",
        "thread" if path.contains("tasks") => "missions.0193b6c27c2e7aaa80000123456789ab",
        "sha256" => "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "id" | "event_id" | "run" => "0193b6c2-7c2e-7aaa-8000-0123456789ab",
        _ => "nobody",
    }
}

#[tokio::test]
async fn an_address_takes_the_ids_that_the_contract_says() {
    let stub = Stub::start().await;
    let app = App::start(Medium::sqlite(), &stub).await;
    let contract: Value = serde_json::from_str(include_str!("../../openapi/openapi.json")).unwrap();
    let mut wrong = Vec::new();
    let mut taken = 0;
    let mut refused = 0;
    for (path, operations) in contract["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let parameters = operation["parameters"].as_array();
            let in_path = |it: &&Value| it["in"] == "path";
            for parameter in parameters.into_iter().flatten().filter(in_path) {
                let name = parameter["name"].as_str().unwrap();
                let schema = jsonschema::options().should_validate_formats(true);
                let schema = schema.build(&parameter["schema"]).unwrap();
                for text in texts() {
                    let parts = path.split('/').map(|part| match part.strip_prefix('{') {
                        None => part.to_owned(),
                        Some(of) if of.trim_end_matches('}') == name => encoded(&text),
                        Some(of) => fitting(of.trim_end_matches('}'), path).to_owned(),
                    });
                    let address = parts.collect::<Vec<_>>().join("/");
                    // The body is none, and is looked at after the address.
                    let reply = http::send(app.request(&method.to_uppercase(), &address)).await;
                    let is_refused = ["invalid-id", "nul-not-allowed"].contains(&reply.slug());
                    let fits = schema.is_valid(&json!(text));
                    if is_refused == fits || (is_refused && reply.status != 400) {
                        wrong.push(format!(
                            "{method} {address}: {} {}, and the contract {}",
                            reply.status,
                            reply.slug(),
                            if fits { "takes it" } else { "does not" }
                        ));
                    }
                    *(if fits { &mut taken } else { &mut refused }) += 1;
                }
            }
        }
    }
    assert!(taken > 200 && refused > 500, "{taken} {refused}");
    assert!(
        wrong.is_empty(),
        "{} of {}: {wrong:#?}",
        wrong.len(),
        taken + refused
    );
}
