//! Keys that are no settings any more. For as long as 0.x lasts a file, an environment or a flag may
//! still have them: the server starts, and one warning names each with the number that holds instead.

use figment::value::{Dict, Value};

/// Each removed key, and the value that it has now: a table a line. `*` stands for any name.
const REMOVED: &str = "\
: console true
jwt: user_claim sub, leeway_s 60, expiring_ms 60000, refresh_ms 600000, refetch_ms 10000, stale_ms 3600000, fetch_ms 5000
doors: side_call_headers [\"x-openwebui-task\"]
models.*: api chat, temperature parameters.temperature, max_tokens parameters.max_tokens, strict_tools true unless the endpoint refuses it
models.*: usage_in_stream true unless the endpoint refuses it, tool_choice auto, retries 3, backoff_ms 500, connect_timeout_ms 5000
models.*: first_piece_timeout_ms two fifths of timeout_ms and at least 120000, between_pieces_timeout_ms a fifth of timeout_ms and at least 60000
history: submodule_block 48 or block if that is less, media 4, event_chars 4000, summaries_back 2000 or block if that is more
tools: approval_ms 604800000, approval_ms_of approval_ms (604800000), open_requests 64
tools.code: time_ms 5000, memory_bytes 67108864, output_bytes 1048576, workers 2
tools.mcp.*: env_file secrets_file, headers_file secrets_file, progress_ms timeout_ms, list_ms 60000
budget: sends 1000, timers 32, timer_ms 1000, schedules 16, watches 32, contacts 256, unreadable 3, wait_s 86400
budget.root: threads 64
pipelines: at_once 8, nodes 1000, time_ms 600000
mission: depth 3, tasks 100, routes 4, model_calls five sixths of budget.root.model_calls, tokens budget.root.tokens
mission: time_ms 3600000, question_ms 600000, at_once 16
replica: listen listen, token token
memory: questions 5, trials_at_once 4, tries 3, retry_ms 60000, answer_ms 60000, require_experiment false, reopenings 3, question_ms 86400000, waiting 1000
memory: retest_after_ms 2592000000, merges 5000, entity_names 32, recall_idle_ms 300000, recall_tokens 1500, recall_in_turns_ms 2000
memory: vectors_wait_ms 2000
memory.knowledge: headers headers_file, argument query, timeout_ms 10000, bytes 262144
mood: enabled true unless mood.step is 0, drift half of mood.step, seed 0
runtime: workers 1024, lease_ms 10000, scan_ms 3000, commit_ms 30000
limits: unauthenticated_frame_bytes limits.text_bytes, tool_output_bytes limits.text_bytes, filter_tags 32, image_pixels 100000000
limits: header_bytes a quarter of limits.text_bytes and at least 16384, url_bytes an eighth of limits.text_bytes and at least 8192
limits: body_bytes an eighth of limits.frame_bytes, requests_per_second five times limits.frames_per_second
limits: connections a tenth of limits.sockets and at least 1000, unauthenticated a tenth of limits.sockets and at least 1000
limits: space_share 0.75, read_ms 10000, threads 100000, schedules 1000, frameworks 500, schedule_interval_ms 1000, ping_ms 20000
limits: unanswered_pings 3, auth_ms 10000, header_ms 10000, body_ms 30000, stall_ms 60000, sse_comment_ms 15000, wait_ms 300000, drain_ms 10000";

/// Returns the value that a removed key has now; none: it is no removed key.
pub fn instead(path: &str) -> Option<&'static str> {
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let table = match table.rsplit_once('.').map_or("", |(above, _)| above) {
        "models" | "models.modules" => "models.*",
        "tools.mcp" => "tools.mcp.*",
        _ => table,
    };
    let mut lines = REMOVED.lines().filter_map(|line| line.split_once(": "));
    lines.find_map(|(of, keys)| {
        let mut keys = keys.split(", ").filter_map(|it| it.split_once(' '));
        let found = keys.find(|(name, _)| of == table && *name == key);
        found.map(|(_, instead)| instead)
    })
}

/// Returns the settings as TOML without the numbers that have no key.
pub fn without(text: &str) -> String {
    let mut table = String::new();
    let mut is_key = |line: &&str| {
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            name.clone_into(&mut table);
        }
        let key = line.split_once(" = ").map(|(key, _)| match &*table {
            "" => key.to_owned(),
            table => format!("{table}.{key}"),
        });
        key.is_none_or(|key| instead(&key).is_none())
    };
    let kept = text.lines().filter(|line| is_key(line));
    kept.map(|line| format!("{line}\n")).collect()
}

/// Takes the removed keys out of the data of a source. Returns a sentence about each. A key with
/// another name now is read as that.
pub fn take(data: &mut Dict, source: &str, is_replica: bool) -> Vec<String> {
    let mut found = Vec::new();
    take_below(data, "", &mut found);
    let said = |(path, value): (String, Value)| {
        let instead = instead(&path).unwrap_or_default();
        let said = format!("{path} ({source}) is {instead}");
        if let Some((path, value)) = moved(&path, value, is_replica) {
            add(data, &path, value);
        }
        said
    };
    found.into_iter().map(said).collect()
}

fn take_below(data: &mut Dict, above: &str, found: &mut Vec<(String, Value)>) {
    data.retain(|key, value| {
        let path = match above {
            "" => key.clone(),
            above => format!("{above}.{key}"),
        };
        if instead(&path).is_some() {
            found.push((path, value.clone()));
            return false;
        }
        if let Value::Dict(_, inner) = value {
            take_below(inner, &path, found);
        }
        true
    });
}

/// Returns the path and the value of a key that has another name now.
fn moved(path: &str, value: Value, is_replica: bool) -> Option<(String, Value)> {
    let (table, key) = path.rsplit_once('.')?;
    match key {
        // An environment has texts only, and providers take numbers.
        "temperature" | "max_tokens" => {
            let text = value.as_str().map(str::trim);
            let whole = text.and_then(|text| Some(Value::from(text.parse::<u64>().ok()?)));
            let number = || text.and_then(|text| Some(Value::from(text.parse::<f64>().ok()?)));
            let value = whole.or_else(number).unwrap_or(value.clone());
            Some((format!("{table}.parameters.{key}"), value))
        }
        "env_file" | "headers_file" => Some((format!("{table}.secrets_file"), value)),
        "listen" | "token" if is_replica => Some((key.to_owned(), value)),
        "enabled" if value.to_bool() == Some(false) || value.as_str() == Some("false") => {
            Some(("mood.step".to_owned(), Value::from(0.0)))
        }
        _ => None,
    }
}

/// Adds a value at a path, unless there is one.
fn add(data: &mut Dict, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        data.entry(path.to_owned()).or_insert(value);
        return;
    };
    let inner = data.entry(first.to_owned());
    if let Value::Dict(_, inner) = inner.or_insert_with(|| Value::from(Dict::new())) {
        add(inner, rest, value);
    }
}

/// The fixed numbers that a test sets: variable, key and value. No build that is shipped has it.
#[cfg(any(debug_assertions, feature = "fixed"))]
pub fn of_tests(environment: &super::Environment) -> impl Iterator<Item = (&str, String, &str)> {
    environment.iter().filter_map(|(variable, value)| {
        let key = variable.strip_prefix("THINKD_TEST_")?.to_lowercase();
        let key = key.replace("__", ".");
        instead(&key)?;
        Some((variable.as_str(), key, value.as_str()))
    })
}
