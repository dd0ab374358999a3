//! A server of tools that quotes the key which it was sent, or its program's variables. Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
use secrecy::SecretString;
use thinkd_words::veil::Veil;

use super::*;

/// The forms in which servers quote a key.
fn quoted(key: &str) -> [String; 6] {
    let hex = |text: &str| -> String { text.bytes().map(|byte| format!("{byte:02x}")).collect() };
    [
        format!("wrong key {key}"),
        format!("Invalid API key: {}...{}", &key[..6], &key[key.len() - 4..]),
        format!("got {}", BASE64.encode(format!("Bearer {key}"))),
        format!("got {}", hex(key)),
        format!("GET /?key={}", key.replace('-', "%2D")),
        json!({ "headers": { "x-key": key } }).to_string(),
    ]
}

/// Asserts that the store, the prompts and the list of tools have nothing of the key.
async fn is_hidden(app: &App, stub: &Stub, key: &str) {
    let mut all = app.public_log().await;
    all.push(app.get("/tools").await.expect(200));
    all.extend(stub.requests().iter().map(|request| request.body.clone()));
    let told = all.iter().map(Value::to_string).collect::<String>();
    let pieces = [&key[..6], &key[key.len() - 6..]].map(str::to_owned);
    let codes = quoted(key).into_iter().flat_map(|words| {
        let last = words.trim_end_matches('=').rsplit([' ', '=']).next();
        last.map(str::to_owned)
            .filter(|word| !word.contains(['{', '.']))
    });
    for piece in pieces.into_iter().chain(codes) {
        let at = told.find(&piece);
        let around = at.map(|at| {
            told[at.saturating_sub(200)..]
                .chars()
                .take(400)
                .collect::<String>()
        });
        assert!(at.is_none(), "{piece} in {around:?}\n{}", app.output());
    }
}

const KEY: &str = "head-of-Th3-server-22";

// SECURITY: a key that a server of tools quotes is stored nowhere and shown to nobody.
on_sqlite!(
    a_key_that_a_server_of_tools_quotes_is_in_no_event_and_no_prompt,
    |medium| {
        let server = ToolServer::start(vec![tool("say", "Say it.")]).await;
        let stub = Stub::start().await;
        let basic = BASE64.encode("ann:the-Passw0rd-of-ann");
        let more =
            format!("headers = {{ x-key = \"{KEY}\", authorization = \"Basic {basic}\" }}\n");
        let toml = format!("[tools.mcp.it]\nurl = \"{}\"\n{more}", server.url());
        let app = Setup::new(medium, &stub)
            .file("thinkd.toml", &toml)
            .start()
            .await;
        let password = "no the-Passw0rd-of-ann".to_owned();
        let calls = quoted(KEY).into_iter().chain([password]).flat_map(|words| {
            let text = json!({ "type": "text", "text": words });
            let nested = json!({ "deep": [{ KEY: words }] });
            [
                Does::Refuses(403, words.clone()),
                Does::Refuses(401, words.clone()),
                Does::Refuses(500, words.clone()),
                Does::Errs(words.clone()),
                Does::Says("text/plain", words.clone()),
                Does::Answers(json!({ "content": [text], "isError": true })),
                Does::Answers(json!({ "content": [text] })),
                Does::Answers(json!({ "content": [], "structuredContent": nested })),
            ]
        });
        for does in calls {
            server.does("say", does);
            stub.script(
                decision,
                [call("mcp__it__say", arguments("a")), reply("Yes.")],
            );
            assert_eq!(said(&app.tell("say").await[0]), "Yes.");
        }
        let log = app.public_log().await;
        let results = with(&log, &["result", "tool:mcp__it__say"]);
        assert_eq!(results.len(), 56, "{}", story(&log));
        let is_marked = |result: &&&Value| result.to_string().contains("[api_key]");
        let marked = results.iter().filter(is_marked).count();
        assert!(marked >= 40, "the control: {marked} were quoted");
        is_hidden(&app, &stub, KEY).await;
        let told = app
            .public_log()
            .await
            .iter()
            .map(Value::to_string)
            .collect::<String>();
        assert!(!told.contains("Passw0rd"), "{told}");
    }
);

// Words that have nothing to do with a key stay as they are, also where words of it are in the key, or a setting is in the result.
on_sqlite!(
    words_of_a_result_that_are_no_secret_stay_as_they_are,
    |medium| {
        let script = r#"
while IFS= read -r line; do
  rest=${line#*\"id\":}; id=${rest%%[,\}]*}
  case "$line" in
    *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) r='{"tools":[{"name":"server","description":"Of a production server, at its head.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) r='{"content":[{"type":"text","text":"The head of the server at acme-corp/site: production, /srv/files/one.txt, 2025-06-18, us-east-1, ann.01@example.com, state-of-the-art'" $1"'"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;
        let script = script.replace("$1", "$API_KEY");
        let stub = Stub::start().await;
        let toml = "[tools.mcp.sh]\ncommand = \"sh\"\nargs = [\"server.sh\"]\n\
                    env = { API_KEY = \"KEYS\", MODE = \"production\", ROOT = \"/srv/files\", SINCE = \"2025-06-18\", SSH_AUTH_SOCK = \"/srv/files/agent.sock\", PASSWORD_FILE = \"/srv/files/one.txt\", ORG = \"acme-corp\", AWS_REGION = \"us-east-1\", OWNER = \"ann.01@example.com\" }\n";
        let app = Setup::new(medium, &stub)
            .file("thinkd.toml", &toml.replace("KEYS", KEY))
            .file("server.sh", &script)
            .env("PATH", std::env::var("PATH").unwrap())
            .start()
            .await;
        stub.script(
            decision,
            [call("mcp__sh__server", json!({})), reply("Yes.")],
        );
        app.tell("say").await;
        let log = app.public_log().await;
        let result = one(&log, &["result", "tool:mcp__sh__server"]);
        assert_eq!(
            result["payload"]["output"],
            "The head of the server at acme-corp/site: production, /srv/files/one.txt, 2025-06-18, us-east-1, ann.01@example.com, state-of-the-art [api_key]",
            "{}",
            story(&log)
        );
        is_hidden(&app, &stub, KEY).await;
    }
);

/// A way in which a text is encoded: its name, and the encoder.
type Encoding = (&'static str, fn(&str) -> String);

fn encodings() -> [Encoding; 5] {
    let hex: fn(&str) -> String = |text| text.bytes().map(|it| format!("{it:02x}")).collect();
    let percent: fn(&str) -> String = |text| text.bytes().map(|it| format!("%{it:02X}")).collect();
    let marks: fn(&str) -> String = |text| {
        let plain = |it: u8| it.is_ascii_alphanumeric();
        let written = text.bytes().map(|it| match plain(it) {
            true => char::from(it).to_string(),
            false => format!("%{it:02X}"),
        });
        written.collect()
    };
    [
        ("base64", |text| BASE64.encode(text)),
        ("base64 of URLs", |text| URL_SAFE_NO_PAD.encode(text)),
        ("hex", hex),
        ("percent", percent),
        ("percent, marks alone", marks),
    ]
}

#[test]
fn a_key_is_found_in_two_encodings_and_in_long_words() {
    for key in [KEY, "k3y-8let", "9f2c01bd-77aa-4be1-9c0f-5d21e8f6a3b4"] {
        let veil = Veil::new([SecretString::from(key)]);
        for (outer, outside) in encodings() {
            for (inner, inside) in encodings() {
                for around in [
                    ["", ""],
                    ["key ", ""],
                    ["Bearer ", " it was"],
                    ["a=1&b=", "&c=2"],
                ] {
                    let coded = outside(&format!("{}{}{}", around[0], inside(key), around[1]));
                    let told = veil.over(&format!("got {coded}, and no more"));
                    assert!(!told.contains(&coded), "{inner} in {outer}: {told}");
                    assert!(told.ends_with(", and no more"), "{told}");
                }
            }
        }
        let long = format!("{}{key}{}", "xZ".repeat(200), "q7".repeat(200));
        assert!(!veil.over(&long).contains(key), "{key}");
    }
}

#[test]
fn a_key_of_hex_digits_masks_no_other() {
    let uuid = |number: u128| uuid::Uuid::from_u128(number).to_string();
    // A generator of numbers, which are the same each time.
    let mut last = 0x9f2c_01bd_77aa_4be1_9c0f_5d21_e8f6_a3b4_u128;
    let veil = Veil::new([SecretString::from(uuid(last))]);
    let masked = (0..20_000).filter(|_| {
        last = last
            .wrapping_mul(0x2d99_787d_926d_4693_2da4_0ca6_25b2_d4c5)
            .wrapping_add(0x9e37);
        let other = uuid(last ^ last >> 61);
        veil.over(&other) != other
    });
    assert_eq!(masked.count(), 0);
}

// A header of one letter is no secret, and its letter stands in every error.
on_sqlite!(errors_keep_the_letters_of_short_values, |medium| {
    let server = ToolServer::start(vec![tool("say", "Say it.")]).await;
    let stub = Stub::start().await;
    let more = "headers = { x-version = \"1\", x-of = \"no\" }\n";
    let toml = format!("[tools.mcp.it]\nurl = \"{}\"\n{more}", server.url());
    let setup = Setup::new(medium, &stub).file("thinkd.toml", &toml);
    let app = setup.start().await;
    server.does("say", Does::Refuses(403, "no more than 1 call".to_owned()));
    let asked = call("mcp__it__say", arguments("a"));
    stub.script(decision, [asked, reply("Yes.")]);
    app.tell("say").await;
    let log = app.public_log().await;
    let result = one(&log, &["result", "tool:mcp__it__say"]).to_string();
    assert!(result.contains("no more than 1 call"), "{result}");
});
