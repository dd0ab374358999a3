//! Every sentence a model may see: Markdown files with front matter, embedded, each replaceable by a file in a folder. The prompts of
//! tools are embedded by the tools; here is how they are read.
//! Loading is strict: an empty or unreadable file, or a variable that does not belong there, refuses to start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thinkd_words::id::Name;
use thinkd_words::text::{Text, unmarked};

/// Why the prompts could not be loaded. Names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder or a file in it cannot be read.
    #[error("the prompt {path} cannot be read: {reason}")]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A prompt without words.
    #[error(
        "the prompt {0} is empty; write something into it, or delete it to use the built-in one"
    )]
    Empty(String),
    /// A variable that is not filled in this prompt, or one that is missing from it.
    #[error(
        "the prompt {prompt} must use exactly the variables {{{expected}}}; it uses {{{found}}}"
    )]
    Variables {
        /// The prompt.
        prompt: String,
        /// The variables that the code fills in.
        expected: String,
        /// The variables of the text.
        found: String,
    },
    /// An argument of a tool without a section, or a section without an argument.
    #[error(
        "the prompt {prompt} must have a section `## name` for each of the arguments {{{expected}}}; it has {{{found}}}"
    )]
    Arguments {
        /// The prompt.
        prompt: String,
        /// The arguments of the tool.
        expected: String,
        /// The arguments that the text explains.
        found: String,
    },
    /// A file in the folder that no code asks for.
    #[error("{0} is not a prompt that thinkd knows; remove it or correct its name")]
    Unknown(PathBuf),
}

/// A prompt with places to be filled in: `{{name}}`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    segments: Arc<[Segment]>,
    source: Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Text(String),
    Variable(String),
}

impl Default for Template {
    fn default() -> Self {
        Self::parse("")
    }
}

impl Template {
    /// Reads `{{name}}` markers; anything else is text.
    pub fn parse(text: &str) -> Self {
        let mut segments = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            let Some(length) = rest[open..].find("}}") else {
                break;
            };
            segments.push(Segment::Text(rest[..open].to_owned()));
            segments.push(Segment::Variable(
                rest[open + 2..open + length].trim().to_owned(),
            ));
            rest = &rest[open + length + 2..];
        }
        segments.push(Segment::Text(rest.to_owned()));
        Self {
            segments: segments.into(),
            source: Text::new(text),
        }
    }

    /// The text with every variable filled in; those not given are left out.
    pub fn fill(&self, values: &[(&str, &str)]) -> String {
        let value = |name: &str| {
            let given = values.iter().find(|(it, _)| *it == name);
            given.map_or("", |(_, value)| *value)
        };
        let mut text = String::with_capacity(self.source.as_str().len());
        for segment in self.segments.iter() {
            text.push_str(match segment {
                Segment::Text(text) => text,
                Segment::Variable(name) => value(name),
            });
        }
        text
    }

    /// The template as it was written.
    pub fn source(&self) -> &Text {
        &self.source
    }

    fn variables(&self) -> Vec<&str> {
        let names = self.segments.iter().filter_map(|segment| match segment {
            Segment::Variable(name) => Some(name.as_str()),
            Segment::Text(_) => None,
        });
        Vec::from_iter(BTreeSet::from_iter(names))
    }
}

/// The words of a tool's prompt: its purpose, and a section `## name` for each of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolWords {
    /// The purpose of the tool.
    pub about: String,
    /// The purpose of each argument; empty where its name says all.
    pub arguments: BTreeMap<String, String>,
}

impl ToolWords {
    fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let text = format!("\n{}", worded(file, text)?);
        let mut sections = text.split("\n## ");
        let about = worded(file, sections.next().unwrap_or_default())?;
        let section = |section: &str| {
            let (name, sentence) = section.split_once('\n').unwrap_or((section, ""));
            (name.trim().to_owned(), sentence.trim().to_owned())
        };
        Ok(Self {
            about,
            arguments: sections.map(section).collect(),
        })
    }
}

/// A submodule that a new space begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstSubmodule {
    /// Its name.
    pub name: Name,
    /// Its prompt.
    pub prompt: String,
    /// Asked once more after the decision, unless its front matter says `follow_up: false`.
    pub follow_up: bool,
}

macro_rules! prompts {
    (
        templates { $($template:ident($file:literal, $variables:expr): $about:literal,)* }
        slots { $($slot:ident($slot_file:literal): $slot_about:literal,)* }
        submodules { $($submodule:literal,)* }
    ) => {
        const EMBEDDED: &[(&str, &str)] = &[
            $(($file, include_str!(concat!("../../prompts/", $file))),)*
            $(($slot_file, include_str!(concat!("../../prompts/", $slot_file))),)*
        ];
        const SUBMODULES: &[(&str, &str)] = &[
            $(($submodule, include_str!(concat!("../../prompts/submodules/", $submodule, ".md"))),)*
        ];

        /// All prompts, ready to use.
        #[derive(Debug, Clone)]
        pub struct Prompts {
            $(#[doc = $about] pub $template: Template,)*
            $(#[doc = $slot_about] pub $slot: Option<String>,)*
            /// The files that replace prompts of tools, by the tool's name; those prompts are the tools' own.
            tools: BTreeMap<String, (PathBuf, String)>,
            /// The submodules a new space begins with.
            pub submodules: Vec<FirstSubmodule>,
        }

        impl Prompts {
            /// The embedded prompts, with those files of `folder` in their place that it has.
            pub fn load(folder: Option<&Path>) -> Result<Self, Error> {
                let folder = Folder::open(folder)?;
                // One way out: leaving at each of them would be most of the program's code here.
                let wrong = &mut None;
                let prompts = Self {
                    $($template: first_error(folder.template($file, &$variables), wrong),)*
                    $($slot: first_error(folder.slot($slot_file), wrong),)*
                    tools: folder.tools(),
                    submodules: first_error(folder.submodules(), wrong),
                };
                wrong.take().map_or(Ok(prompts), Err)
            }
        }
    };
}

/// Returns the loaded value, or nothing in the place of an error, and keeps the first error.
fn first_error<T: Default>(loaded: Result<T, Error>, first: &mut Option<Error>) -> T {
    loaded.unwrap_or_else(|error| {
        first.get_or_insert(error);
        T::default()
    })
}

prompts! {
    templates {
        submodule("submodule.md", []): "What every voice is told first.",
        submodule_turn("submodule_turn.md", ["batch"]): "Ends a voice's view when something is new.",
        submodule_follow_up("submodule_follow_up.md", ["batch", "decision"]): "Ends a voice's view after the decision.",
        submodule_answer("submodule_answer.md", ["question"]): "Ends a voice's view when it is asked.",
        submodule_own("submodule_own.md", []): "Heads a voice's own tool calls.",
        decision("decision.md", []): "What the decision is told first.",
        decision_turn("decision_turn.md", ["batch", "meanwhile", "reminders"]): "Ends the decision's view.",
        decision_meanwhile("decision_meanwhile.md", ["seqs"]): "Names what came after the turn began.",
        decision_repair("decision_repair.md", ["batch", "meanwhile"]): "Ends the view of a repair call.",
        decision_last("decision_last.md", ["batch", "meanwhile"]): "Ends the view of the last call of a turn without a reply.",
        language_turn("language_turn.md", ["batch", "meanwhile", "reminders"]): "Ends that view in the thinking language.",
        language_repair("language_repair.md", ["batch", "meanwhile"]): "Ends the view of a repair call in it.",
        process("process.md", []): "What a process is told first.",
        process_turn("process_turn.md", ["batch", "contacts", "reminders"]): "Ends a process's view.",
        process_continue("process_continue.md", []): "What a process tells itself when it goes on.",
        process_parent("process_parent.md", []): "Describes the parent among the contacts.",
        step_sends("step_sends.md", ["batch", "contacts", "state"]): "Ends the view of a sub-step about messages.",
        step_contacts("step_contacts.md", ["batch", "contacts", "state"]): "Ends the view of a sub-step about contacts.",
        step_wait("step_wait.md", ["batch", "state"]): "Ends the view of a sub-step about waiting.",
        watch_reminder("watch_reminder.md", ["id", "kind", "note"]): "Reminds of a watch that was raised.",
        recalled("recalled.md", []): "Heads what a turn recalled before anybody thought.",
        self_who("self.md", ["mission"]): "Says who every model of a mind is.",
        self_mission("self_mission.md", ["mission"]): "Names the mission of a mind.",
        self_now("self_now.md", ["mood", "task"]): "Ends a view with the task and the mood.",
        self_task("self_task.md", ["task"]): "Names the task of a thread, before the mood.",
        mood_words("mood_words.md", []): "The moods, from the lowest to the highest.",
        reflection("reflection.md", []): "What the schedule of reflection says.",
        language("language.md", ["own"]): "Teaches the thinking language.",
        doctor("doctor.md", []): "What `thinkd doctor` says to a model.",
        summary_part("summary_part.md", []): "What the pipeline `summary` asks of each part.",
        summary_join("summary_join.md", []): "What it asks to make one of several digests.",
        trial_derive("trial_derive.md", []): "What a trial says to who derives predictions.",
        trial_claim("trial_claim.md", ["now", "statement"]): "Ends what it asks about a claim.",
        trial_weigh("trial_weigh.md", []): "What it says to who is shown what a knowledge base found.",
        trial_passages("trial_passages.md", ["now", "passages", "prediction", "statement", "time"]): "Ends what it asks about that.",
        trial_reflect("trial_reflect.md", []): "What it says to who looks for a counterexample.",
        trial_prediction("trial_prediction.md", ["now", "prediction", "statement", "time"]): "Ends what it asks about a prediction.",
        mission_decompose("mission_decompose.md", []): "What a mission says to who splits it, or a task of it.",
        mission_wanted("mission_wanted.md", ["mission", "nudge"]): "Ends what it asks about itself.",
        mission_split("mission_split.md", ["mission", "nudge", "task"]): "Ends what it asks about a task to be split.",
        mission_consider("mission_consider.md", []): "What it says to who thinks about how a task is done.",
        mission_task("mission_task.md", ["mission", "nudge", "said", "task"]): "Ends what it asks about that.",
        mission_solve("mission_solve.md", []): "What it says to who does a task.",
        mission_try("mission_try.md", ["mission", "nudge", "route", "so_far", "task", "tools"]): "Ends what it asks about that.",
        mission_apply("mission_apply.md", []): "What it says to who does a task with frameworks.",
        mission_known("mission_known.md", ["frameworks", "mission", "nudge", "so_far", "task", "tools"]): "Ends what it asks about that.",
        mission_framework("mission_framework.md", []): "What it says to who makes a framework of a task that nothing solved.",
        mission_make("mission_make.md", ["broken", "mission", "nudge", "so_far", "task"]): "Ends what it asks about that.",
        mission_guideline("mission_guideline.md", []): "What it says to who writes how parameters are chosen.",
        mission_runs("mission_runs.md", ["best", "nudge", "program", "runs", "task"]): "Ends what it asks about that.",
        mission_judge("mission_judge.md", []): "What it says to who judges an answer.",
        mission_verdict("mission_verdict.md", ["answer", "nudge", "rubric", "task"]): "Ends what it asks about that.",
        mission_replan("mission_replan.md", []): "What it says to who finds a way around a task that failed.",
        mission_behind("mission_behind.md", ["failed", "mission", "nudge", "task"]): "Ends what it asks about that.",
        mission_answer("mission_answer.md", []): "What it says to who answers from all tasks.",
        mission_tasks("mission_tasks.md", ["mission", "nudge", "tasks"]): "Ends what it asks about that.",
        mission_nudge("mission_nudge.md", ["tool", "wrong"]): "Says what was wrong with an answer.",
        summary_chars("summary_chars.md", ["chars"]): "Ends what is asked of who sums up what leaves a view.",
        view_summed("view_summed.md", []): "Heads the summaries that stand for older entries.",
        view_omitted("view_omitted.md", ["count"]): "Stands for what was left out.",
        view_gap("view_gap.md", ["count"]): "Stands for what was left out between.",
        view_correction("view_correction.md", ["seq", "since", "statement", "status"]): "Says that what an entry said is not held any more.",
        view_never_held("view_never_held.md", ["seq", "since", "statement", "status"]): "Says that what an entry said was never held.",
        view_corrections_omitted("view_corrections_omitted.md", ["count"]): "Stands for more of that.",
        view_cut("view_cut.md", ["all", "seq", "shown"]): "Marks a shortened text.",
        view_refused("view_refused.md", []): "Stands for a text, or behind the line of a picture or sound, that a provider refused.",
    }
    slots {
        theory_of_mind("theory_of_mind.md"): "What every model of a mind is told of how other minds think; none: nothing.",
    }
    submodules { "understanding", "critic", }
}

impl Prompts {
    /// Returns the words on a tool for models: its own prompt, or the file in the folder in its
    /// place, which may leave sections out.
    pub fn tool(&self, name: &str, own: &str) -> Result<ToolWords, Error> {
        let file = format!("tools/{name}.md");
        let own = ToolWords::parse(&file, own)?;
        let Some((_, text)) = self.tools.get(name) else {
            return Ok(own);
        };
        let ToolWords { about, arguments } = ToolWords::parse(&file, text)?;
        Ok(ToolWords {
            about,
            arguments: own.arguments.into_iter().chain(arguments).collect(),
        })
    }

    /// Refuses a file for a tool that is not among these.
    pub fn check_tools(&self, known: &[&str]) -> Result<(), Error> {
        let is_unknown = |(name, _): &(&String, _)| !known.contains(&name.as_str());
        let unknown = self.tools.iter().find(is_unknown);
        unknown.map_or(Ok(()), |(_, (path, _))| Err(Error::Unknown(path.clone())))
    }
}

/// The files that replace embedded ones, by their name in the folder.
struct Folder(BTreeMap<String, (PathBuf, String)>);

impl Folder {
    fn open(path: Option<&Path>) -> Result<Self, Error> {
        let mut files = BTreeMap::new();
        if let Some(path) = path {
            for below in ["", "tools/", "submodules/"] {
                read_folder(path, below, &mut files)?;
            }
        }
        Ok(Self(files))
    }

    fn text(&self, file: &str) -> Result<String, Error> {
        let replaced = self.0.get(file).map(|(_, text)| text.as_str());
        let embedded = EMBEDDED.iter().find(|(name, _)| *name == file);
        let text = replaced.or(embedded.map(|(_, text)| *text));
        worded(file, text.unwrap_or_default())
    }

    /// A prompt that is empty as it comes: nothing is said until an operator fills it.
    fn slot(&self, file: &str) -> Result<Option<String>, Error> {
        match self.text(file) {
            Err(Error::Empty(_)) if !self.0.contains_key(file) => Ok(None),
            text => text.map(Some),
        }
    }

    fn template(&self, file: &str, variables: &[&str]) -> Result<Template, Error> {
        let template = Template::parse(&self.text(file)?);
        if template.variables() == variables {
            return Ok(template);
        }
        let expected = variables.join(", ");
        let found = template.variables().join(", ");
        Err(Error::Variables {
            prompt: file.to_owned(),
            expected,
            found,
        })
    }

    fn tools(&self) -> BTreeMap<String, (PathBuf, String)> {
        let named = |file: &str| Some(file.strip_prefix("tools/")?.strip_suffix(".md")?.to_owned());
        self.0
            .iter()
            .filter_map(|(file, found)| Some((named(file)?, found.clone())))
            .collect()
    }

    /// The embedded submodules, replaced and added to by the files of `submodules/`.
    fn submodules(&self) -> Result<Vec<FirstSubmodule>, Error> {
        let mut submodules: BTreeMap<&str, &str> = SUBMODULES.iter().copied().collect();
        for (file, (_, text)) in &self.0 {
            let name = file.strip_prefix("submodules/");
            if let Some(name) = name.and_then(|name| name.strip_suffix(".md")) {
                submodules.insert(name, text);
            }
        }
        let submodule = |(name, text): (&str, &str)| {
            let file = format!("submodules/{name}.md");
            let name = Name::parse(name).map_err(|_| Error::Unknown(PathBuf::from(&file)))?;
            let mut facts = parted(text).0.lines();
            Ok(FirstSubmodule {
                name,
                prompt: worded(&file, text)?,
                follow_up: facts.all(|line| line != "follow_up: false"),
            })
        };
        submodules.into_iter().map(submodule).collect()
    }
}

fn read_folder(
    root: &Path,
    below: &str,
    files: &mut BTreeMap<String, (PathBuf, String)>,
) -> Result<(), Error> {
    let path = root.join(below);
    if !below.is_empty() && !path.exists() {
        return Ok(());
    }
    let unreadable = |path: &Path, error: std::io::Error| Error::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    for entry in std::fs::read_dir(&path).map_err(|error| unreadable(&path, error))? {
        let path = entry.map_err(|error| unreadable(&path, error))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        if path.is_dir() || !name.ends_with(".md") || name.eq_ignore_ascii_case("readme.md") {
            continue;
        }
        let file = format!("{below}{name}");
        // Which tools there are is not known here: `check_tools` looks at those files.
        if below.is_empty() && !EMBEDDED.iter().any(|(known, _)| *known == file) {
            return Err(Error::Unknown(path));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
        files.insert(file, (path, unmarked(&text).to_owned()));
    }
    Ok(())
}

/// Returns the front matter of a file and the text behind it.
fn parted(text: &str) -> (&str, &str) {
    text.strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .unwrap_or(("", text))
}

/// The text without its front matter and surrounding white space, if anything is left.
fn worded(file: &str, text: &str) -> Result<String, Error> {
    let (_, body) = parted(text);
    // A leading space matters (`view_cut` follows a text): only line ends are trimmed.
    let body = body.trim_matches(['\n', '\r']);
    if body.trim().is_empty() {
        Err(Error::Empty(file.to_owned()))
    } else {
        Ok(body.to_owned())
    }
}
