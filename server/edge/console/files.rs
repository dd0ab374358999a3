//! Generated: `node server/edge/console/refresh.mjs`, behind each build of the console. Not to be edited.

/// The files of `console/dist`.
#[rustfmt::skip]
pub(super) const FILES: &[super::Source] = &[
    ("OFL.txt", include_bytes!("gz/OFL.txt.gz"), true),
    ("assets/Call.js", include_bytes!("gz/assets/Call.js.gz"), true),
    ("assets/Detail.js", include_bytes!("gz/assets/Detail.js.gz"), true),
    ("assets/Help.js", include_bytes!("gz/assets/Help.js.gz"), true),
    ("assets/Icon.js", include_bytes!("gz/assets/Icon.js.gz"), true),
    ("assets/Inbox.js", include_bytes!("gz/assets/Inbox.js.gz"), true),
    ("assets/Live.js", include_bytes!("gz/assets/Live.js.gz"), true),
    ("assets/Log.js", include_bytes!("gz/assets/Log.js.gz"), true),
    ("assets/Missions.js", include_bytes!("gz/assets/Missions.js.gz"), true),
    ("assets/Pipelines.js", include_bytes!("gz/assets/Pipelines.js.gz"), true),
    ("assets/Problem.js", include_bytes!("gz/assets/Problem.js.gz"), true),
    ("assets/QuestionDetail.js", include_bytes!("gz/assets/QuestionDetail.js.gz"), true),
    ("assets/Threads.js", include_bytes!("gz/assets/Threads.js.gz"), true),
    ("assets/TokenBar.js", include_bytes!("gz/assets/TokenBar.js.gz"), true),
    ("assets/Usage.js", include_bytes!("gz/assets/Usage.js.gz"), true),
    ("assets/Voices.js", include_bytes!("gz/assets/Voices.js.gz"), true),
    ("assets/World.js", include_bytes!("gz/assets/World.js.gz"), true),
    ("assets/diff.js", include_bytes!("gz/assets/diff.js.gz"), true),
    ("assets/form.js", include_bytes!("gz/assets/form.js.gz"), true),
    ("assets/ibm-plex-mono-latin-400-normal.woff2", include_bytes!("../../../console/dist/assets/ibm-plex-mono-latin-400-normal.woff2"), false),
    ("assets/ibm-plex-mono-latin-500-normal.woff2", include_bytes!("../../../console/dist/assets/ibm-plex-mono-latin-500-normal.woff2"), false),
    ("assets/ibm-plex-sans-latin-wght-normal.woff2", include_bytes!("../../../console/dist/assets/ibm-plex-sans-latin-wght-normal.woff2"), false),
    ("assets/index.js", include_bytes!("gz/assets/index.js.gz"), true),
    ("assets/layers.js", include_bytes!("gz/assets/layers.js.gz"), true),
    ("assets/style.css", include_bytes!("gz/assets/style.css.gz"), true),
    ("assets/taskgraph.js", include_bytes!("gz/assets/taskgraph.js.gz"), true),
    ("icon.svg", include_bytes!("../../../console/dist/icon.svg"), false),
    ("index.html", include_bytes!("../../../console/dist/index.html"), false),
];
