//! A loop that goes on until the result is good enough, by hand and with a helper.
//!
//!     cargo run -p unhurried --example self_correcting
#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

use unhurried::{Context, NodeExecutionError, node, repeat_until};

#[derive(Clone)]
pub struct Draft {
    pub text: String,
    pub quality: f64,
}

#[node]
async fn initial(topic: String) -> Draft {
    Draft {
        text: topic,
        quality: 0.0,
    }
}

#[node]
async fn refine(draft: Draft) -> Draft {
    Draft {
        text: draft.text + "!",
        ..draft
    }
}

#[node]
async fn evaluate(draft: Draft) -> Draft {
    Draft {
        quality: draft.text.matches('!').count() as f64 * 0.3,
        ..draft
    }
}

pub async fn refine_until_good(
    topic: Context<String>,
) -> Result<Context<Draft>, NodeExecutionError> {
    let mut draft = initial(topic);
    while draft.data().await?.quality < 0.85 {
        draft = evaluate(refine(draft));
    }
    Ok(draft)
}

/// The same, and never more than ten times.
pub async fn refine_ten_times_at_most(
    topic: Context<String>,
) -> Result<Context<Draft>, NodeExecutionError> {
    let better = |draft| evaluate(refine(draft));
    repeat_until(initial(topic), better, |draft| draft.quality >= 0.85, 10).await
}

#[tokio::main]
async fn main() -> Result<(), NodeExecutionError> {
    let draft = refine_until_good(Context::new("Hello".to_owned())).await?;
    println!(
        "{} after {} nodes",
        draft.data().await?.text,
        draft.graph().nodes.len() - 1
    );
    println!(
        "{}",
        refine_ten_times_at_most(Context::new("Hi".to_owned()))
            .await?
            .await?
            .text
    );
    Ok(())
}
