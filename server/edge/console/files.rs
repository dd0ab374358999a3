//! Generated: `node server/edge/console/refresh.mjs`, behind each build of the console. Not to be edited.

/// The files of `console/dist`.
#[rustfmt::skip]
pub(super) const FILES: &[super::Source] = &[
    ("OFL.txt", include_bytes!("../../../console/dist/OFL.txt"), Some(include_bytes!("gz/OFL.txt.gz"))),
    ("assets/Call.js", include_bytes!("../../../console/dist/assets/Call.js"), Some(include_bytes!("gz/assets/Call.js.gz"))),
    ("assets/Detail.js", include_bytes!("../../../console/dist/assets/Detail.js"), Some(include_bytes!("gz/assets/Detail.js.gz"))),
    ("assets/Help.js", include_bytes!("../../../console/dist/assets/Help.js"), Some(include_bytes!("gz/assets/Help.js.gz"))),
    ("assets/Icon.js", include_bytes!("../../../console/dist/assets/Icon.js"), Some(include_bytes!("gz/assets/Icon.js.gz"))),
    ("assets/Inbox.js", include_bytes!("../../../console/dist/assets/Inbox.js"), Some(include_bytes!("gz/assets/Inbox.js.gz"))),
    ("assets/Live.js", include_bytes!("../../../console/dist/assets/Live.js"), Some(include_bytes!("gz/assets/Live.js.gz"))),
    ("assets/Log.js", include_bytes!("../../../console/dist/assets/Log.js"), Some(include_bytes!("gz/assets/Log.js.gz"))),
    ("assets/Pipelines.js", include_bytes!("../../../console/dist/assets/Pipelines.js"), Some(include_bytes!("gz/assets/Pipelines.js.gz"))),
    ("assets/Problem.js", include_bytes!("../../../console/dist/assets/Problem.js"), Some(include_bytes!("gz/assets/Problem.js.gz"))),
    ("assets/Threads.js", include_bytes!("../../../console/dist/assets/Threads.js"), Some(include_bytes!("gz/assets/Threads.js.gz"))),
    ("assets/TokenBar.js", include_bytes!("../../../console/dist/assets/TokenBar.js"), Some(include_bytes!("gz/assets/TokenBar.js.gz"))),
    ("assets/Usage.js", include_bytes!("../../../console/dist/assets/Usage.js"), Some(include_bytes!("gz/assets/Usage.js.gz"))),
    ("assets/Voices.js", include_bytes!("../../../console/dist/assets/Voices.js"), Some(include_bytes!("gz/assets/Voices.js.gz"))),
    ("assets/World.js", include_bytes!("../../../console/dist/assets/World.js"), Some(include_bytes!("gz/assets/World.js.gz"))),
    ("assets/diff.js", include_bytes!("../../../console/dist/assets/diff.js"), Some(include_bytes!("gz/assets/diff.js.gz"))),
    ("assets/form.js", include_bytes!("../../../console/dist/assets/form.js"), Some(include_bytes!("gz/assets/form.js.gz"))),
    ("assets/ibm-plex-mono-latin-400-normal.woff2", include_bytes!("../../../console/dist/assets/ibm-plex-mono-latin-400-normal.woff2"), None),
    ("assets/ibm-plex-mono-latin-500-normal.woff2", include_bytes!("../../../console/dist/assets/ibm-plex-mono-latin-500-normal.woff2"), None),
    ("assets/ibm-plex-sans-latin-wght-normal.woff2", include_bytes!("../../../console/dist/assets/ibm-plex-sans-latin-wght-normal.woff2"), None),
    ("assets/index.js", include_bytes!("../../../console/dist/assets/index.js"), Some(include_bytes!("gz/assets/index.js.gz"))),
    ("assets/style.css", include_bytes!("../../../console/dist/assets/style.css"), Some(include_bytes!("gz/assets/style.css.gz"))),
    ("icon.svg", include_bytes!("../../../console/dist/icon.svg"), None),
    ("index.html", include_bytes!("../../../console/dist/index.html"), None),
];
