//! Views as models see them, and as the server shows them.

use serde_json::json;

use crate::{Answer, App, raw, with};

/// Returns the bytes of a view's events.
pub fn size(view: &str) -> usize {
    view.find("\n#").map_or(0, |begin| view.len() - begin)
}

/// Returns a refusal of a request that is too long for its model.
pub fn too_long() -> Answer {
    let error = json!({ "error": { "message": "too much", "type": "invalid_request_error", "code": "context_length_exceeded" } });
    raw(error.to_string()).with_status(400)
}

/// Asserts that all views in the log are shown as they were sent.
pub async fn all_exact(app: &App) {
    for record in with(&app.log().await, &["debug"])
        .into_iter()
        .filter(|it| it["payload"]["view"].is_object())
    {
        let view = app
            .get(&format!(
                "/prompt-views/{}",
                record["event_id"].as_str().unwrap()
            ))
            .await
            .expect(200);
        assert_eq!(view["exact"], true, "{record}");
    }
}
