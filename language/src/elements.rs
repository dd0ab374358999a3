//! The elements of the thinking language, a line each: the tool, the content, the attributes. A new element is a new line.

/// Arguments from written values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words as they are.
    Text,
    /// Names, separated by commas.
    Names,
    /// A whole number, not negative.
    Whole,
    /// A number of seconds, not negative; may be followed by `s`.
    Seconds,
    /// Yes or no.
    Flag,
}

/// Default of an argument that is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The call is not made.
    Refuse,
    /// The tool has a default of its own.
    Null,
    /// These words.
    Words(&'static str),
    /// This answer.
    Flag(bool),
    /// An empty list.
    NoNames,
}

/// An argument of a tool, and the attributes it is written as.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// Its name in the call.
    pub name: &'static str,
    /// Its parts.
    pub kind: Kind,
    /// Its default if it is not written.
    pub missing: Missing,
    /// Names of the attribute.
    pub written: &'static [&'static str],
}

/// Content between the tags.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// Nothing: the element is its opening tag, whether or not it has an end tag.
    Nothing,
    /// A remark: no call, and text like elements in it is none.
    Remark,
    /// Words for this argument, character references decoded.
    Words(&'static str),
    /// The text inside this inner element, or all of it, for this argument: as it was written, markup included.
    Verbatim(Option<&'static str>, &'static str),
    /// A list of this inner element, for this argument. With `done`, its items are steps that may be done.
    List {
        /// The inner element.
        inner: &'static str,
        /// The argument.
        argument: &'static str,
        /// True if an item is `{text, done}` and not a text.
        done: bool,
    },
}

/// An element, and the tool it calls.
#[derive(Debug, Clone, Copy)]
pub struct Element {
    /// Its names; `-` and `_` mean the same, upper and lower case too.
    pub names: &'static [&'static str],
    /// The tool.
    pub tool: &'static str,
    /// Content between its tags.
    pub content: Content,
    /// All arguments but a list's.
    pub arguments: &'static [Argument],
    /// Example, shown to a model that wrote it differently.
    pub example: &'static str,
}

use Content::{List, Nothing, Remark, Verbatim, Words};
use Kind::{Flag, Names, Seconds, Text, Whole};

type Written = &'static [&'static str];

const fn argument(name: &'static str, kind: Kind, missing: Missing, written: Written) -> Argument {
    Argument {
        name,
        kind,
        missing,
        written,
    }
}

const fn must(name: &'static str, kind: Kind, written: Written) -> Argument {
    argument(name, kind, Missing::Refuse, written)
}

const fn may(name: &'static str, kind: Kind, written: Written) -> Argument {
    argument(name, kind, Missing::Null, written)
}

const fn or(name: &'static str, words: &'static str, written: Written) -> Argument {
    argument(name, Text, Missing::Words(words), written)
}

macro_rules! elements {
    ($($names:expr => $tool:literal, $content:expr, [$($argument:expr),*], $example:literal;)*) => {
        &[$(Element { names: &$names, tool: $tool, content: $content, arguments: &[$($argument),*], example: $example },)*]
    };
}

/// The element with the name of the thread itself: a thought.
pub const OWN: Element = Element {
    names: &[],
    tool: "think",
    content: Verbatim(None, "thought"),
    arguments: &[must("thought", Text, &["thought"])],
    example: "an element with the thread's own name, and the thought in it",
};

/// All others. Reasoning that a model leaves in its text is a remark, too.
#[rustfmt::skip]
pub const ELEMENTS: &[Element] = elements! {
    ["thought", "think", "thinking"] => "", Remark, [], "<thought>what you think</thought>";
    ["reply"] => "reply", Words("text"), [must("text", Text, &["text"])], "<reply>text</reply>";
    ["send"] => "send", Words("text"), [must("to", Names, &["to"]), must("text", Text, &["text"])],
        r#"<send to="name, other">text</send>"#;
    ["ask-user"] => "ask_user", Words("question"),
        [must("question", Text, &["question"]), may("choices", Names, &["choices"]), may("schema", Text, &["schema"]),
         may("who", Names, &["who"]), may("expires_s", Seconds, &["expires-s", "expires"])],
        r#"<ask-user choices="red, blue">question</ask-user>"#;
    ["wait"] => "wait", Nothing, [may("from", Text, &["from", "for"]), may("timeout_s", Seconds, &["timeout-s", "timeout"])],
        r#"<wait from="name" timeout="30"/>"#;
    ["terminate"] => "terminate", Words("reason"), [or("reason", "no reason was given", &["reason"])],
        r#"<terminate reason="why"/>"#;
    ["do-nothing"] => "do_nothing", Words("reason"), [or("reason", "no reason was given", &["reason"])],
        r#"<do-nothing reason="why"/>"#;
    ["spawn-thread"] => "spawn_thread", Verbatim(Some("initial-payload"), "payload"),
        [may("label", Text, &["label", "suggested-sub-id"]), may("prompt", Text, &["prompt"]), may("payload", Text, &["payload"])],
        r#"<spawn-thread label="name" prompt="what it is"><initial-payload>its first message</initial-payload></spawn-thread>"#;
    ["connect"] => "connect", Nothing,
        [must("name", Text, &["name"]), must("thread", Text, &["thread"]), or("description", "", &["description"])],
        r#"<connect name="name" thread="its.id" description="what it is good for"/>"#;
    ["disconnect"] => "disconnect", Nothing, [must("name", Text, &["name"])], r#"<disconnect name="name"/>"#;
    ["todo-until"] => "plan", List { inner: "step", argument: "steps", done: true }, [must("condition", Text, &["condition"])],
        r#"<todo-until condition="when it is finished"><step done="true">one</step><step done="false">two</step></todo-until>"#;
    ["clear-context"] => "clear_context", Nothing, [must("keep", Whole, &["keep"])], r#"<clear-context keep="10"/>"#;
    ["set-timer"] => "set_timer", Words("note"), [must("after_s", Seconds, &["after-s", "after"]), or("note", "", &["note"])],
        r#"<set-timer after="60">what for</set-timer>"#;
    ["ask"] => "ask", Words("question"), [must("submodule", Text, &["submodule"]), must("question", Text, &["question"])],
        r#"<ask submodule="name">question</ask>"#;
    ["propose-submodule"] => "propose_submodule", Words("prompt"),
        [must("name", Text, &["name"]), may("prompt", Text, &["prompt"]), may("diff", Text, &["diff"])],
        r#"<propose-submodule name="name">its whole prompt</propose-submodule>"#;
    ["propose-submodule-removal"] => "propose_submodule_removal", Nothing, [must("name", Text, &["name"])],
        r#"<propose-submodule-removal name="name"/>"#;
    ["watch"] => "watch", Nothing, [may("from", Text, &["from"]), must("kind", Text, &["kind"]), or("note", "", &["note"])],
        r#"<watch from="name" kind="kind" note="what for"/>"#;
    ["close-watch"] => "close_watch", Nothing, [must("id", Text, &["id"])], r#"<close-watch id="w1"/>"#;
    ["fan-out"] => "fan_out", List { inner: "item", argument: "items", done: false },
        [may("prompt", Text, &["prompt"]), argument("gather", Flag, Missing::Flag(true), &["gather"]), may("timeout_s", Seconds, &["timeout-s", "timeout"])],
        r#"<fan-out prompt="what each does" gather="true"><item>one</item><item>two</item></fan-out>"#;
    ["sequence"] => "sequence", List { inner: "step", argument: "steps", done: false },
        [may("prompt", Text, &["prompt"]), may("timeout_s", Seconds, &["timeout-s", "timeout"])],
        r#"<sequence prompt="what each does"><step>one</step><step>two</step></sequence>"#;
    ["query-events"] => "query_events", Words("text"),
        [may("latest", Whole, &["latest"]), may("since", Text, &["since"]), may("tags", Names, &["tags"]), may("text", Text, &["text"])],
        r#"<query-events latest="20" tags="response">words</query-events>"#;
    ["state-get"] => "state_get", Nothing, [must("key", Text, &["key"])], r#"<state-get key="key"/>"#;
    ["state-put"] => "state_put", Words("content"),
        [must("key", Text, &["key"]), must("content", Text, &["content"]), argument("related_keys", Names, Missing::NoNames, &["related-keys", "related"])],
        r#"<state-put key="key" related="other">what to keep</state-put>"#;
    ["state-search"] => "state_search", Words("query"), [must("query", Text, &["query"]), may("limit", Whole, &["limit"])],
        r#"<state-search>words</state-search>"#;
    ["state-delete"] => "state_delete", Nothing, [must("key", Text, &["key"])], r#"<state-delete key="key"/>"#;
    ["more-tools"] => "more_tools", Words("names"), [must("names", Names, &["names"])], r#"<more-tools names="plan, watch"/>"#;
    ["view-contacts"] => "view_contacts", Nothing, [], "<view-contacts/>";
    ["set-wait"] => "set_wait", Nothing,
        [must("wait", Flag, &["wait"]), may("from", Text, &["from", "for"]), may("timeout_s", Seconds, &["timeout-s", "timeout"])],
        r#"<set-wait wait="true" from="name"/>"#;
    ["focus"] => "focus", Words("operation"), [must("operation", Text, &["operation", "on"])], "<focus>contacts</focus>";
    ["sends-done"] => "sends_done", Nothing, [], "<sends-done/>";
    ["contacts-done"] => "contacts_done", Nothing, [], "<contacts-done/>";
    ["note"] => "note", Words("text"), [must("text", Text, &["text"])], "<note>what you think</note>";
};

/// Elements that are read inside others only, with the names of those.
const INNER: &[(&str, &str)] = &[
    ("step", "<todo-until> or <sequence>"),
    ("item", "<fan-out>"),
    ("initial-payload", "<spawn-thread>"),
];

/// A known name: which element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// One of `ELEMENTS`.
    Element(usize),
    /// One of the inner ones.
    Inner(usize),
    /// The thread itself.
    Own,
}

impl Name {
    /// Returns their number.
    pub const COUNT: usize = ELEMENTS.len() + INNER.len() + 1;

    /// Returns the meaning of a written name (without a prefix), if it has one. The language's own names come before the thread's.
    pub fn find(written: &str, own: &str) -> Option<Self> {
        if written.is_empty() {
            return None;
        }
        let element = ELEMENTS
            .iter()
            .position(|element| element.names.iter().any(|name| same(name, written)));
        let inner = || {
            INNER
                .iter()
                .position(|(name, _)| same(name, written))
                .map(Self::Inner)
        };
        let own = || same(own, written).then_some(Self::Own);
        element.map(Self::Element).or_else(inner).or_else(own)
    }

    /// A number below `COUNT`.
    pub fn index(self) -> usize {
        match self {
            Self::Element(index) => index,
            Self::Inner(index) => ELEMENTS.len() + index,
            Self::Own => ELEMENTS.len() + INNER.len(),
        }
    }

    /// The element; none for an inner one.
    pub fn element(self) -> Option<&'static Element> {
        match self {
            Self::Element(index) => ELEMENTS.get(index),
            Self::Inner(_) => None,
            Self::Own => Some(&OWN),
        }
    }

    /// Element around an inner one.
    pub fn outer(self) -> Option<&'static str> {
        match self {
            Self::Inner(index) => INNER.get(index).map(|(_, outer)| *outer),
            _ => None,
        }
    }
}

/// Returns true if two names are the same.
pub fn same(one: &str, other: &str) -> bool {
    let plain = |byte: u8| match byte {
        b'_' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    one.bytes().map(plain).eq(other.bytes().map(plain))
}
