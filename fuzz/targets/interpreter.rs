//! Feeds any bytes to the interpreter as a model's text: no panic, no more than the bounds, arguments of calls are JSON objects.
#![no_main]

use libfuzzer_sys::fuzz_target;

use thinking_language::{CALLS_MAX, TEXT_MAX, UNREADABLE_MAX, read};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let reading = read(&text, "researcher");
    assert!(reading.calls.len() <= CALLS_MAX && reading.unreadable.len() <= UNREADABLE_MAX);
    assert!(
        reading
            .unreadable
            .iter()
            .all(|said| !said.is_empty() && said.len() < 2_000)
    );
    let mut size = 0;
    for call in &reading.calls {
        assert!(!call.name.is_empty());
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments).expect("JSON");
        assert!(arguments.is_object());
        size += call.arguments.len();
    }
    // A thought and the elements in it have the same words, and JSON writes a control character in six bytes.
    assert!(size <= 16 * text.len().min(TEXT_MAX) + 1_000 * CALLS_MAX);
    if !text.contains('<') {
        assert!(reading.calls.is_empty() && reading.unreadable.len() <= 1);
        assert!(text.len() > TEXT_MAX || reading.words == !text.trim().is_empty());
    }
});
