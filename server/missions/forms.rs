//! The questions that missions ask: the purpose of each, and its prompts.

use thinkd_runtime::typed_question::Form;

pub(super) const DECOMPOSE: Form = Form::new("decompose", |it| {
    (&it.mission_decompose, &it.mission_wanted)
});
pub(super) const SPLIT: Form =
    Form::new("decompose", |it| (&it.mission_decompose, &it.mission_split));
pub(super) const CONSIDER: Form =
    Form::new("consider", |it| (&it.mission_consider, &it.mission_task));
pub(super) const SOLVE: Form = Form::new("solve", |it| (&it.mission_solve, &it.mission_try));
pub(super) const APPLY: Form = Form::new("apply", |it| (&it.mission_apply, &it.mission_known));
pub(super) const FRAMEWORK: Form =
    Form::new("framework", |it| (&it.mission_framework, &it.mission_make));
pub(super) const GUIDELINE: Form =
    Form::new("guideline", |it| (&it.mission_guideline, &it.mission_runs));
pub(super) const JUDGE: Form = Form::new("judge", |it| (&it.mission_judge, &it.mission_verdict));
pub(super) const REPLAN: Form = Form::new("replan", |it| (&it.mission_replan, &it.mission_behind));
pub(super) const ANSWER: Form = Form::new("answer", |it| (&it.mission_answer, &it.mission_tasks));
