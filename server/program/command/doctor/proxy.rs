//! Proxies that the environment names. thinkd uses none, and says so where one is set.

/// The variables that name a proxy; programs differ in which case they read.
const VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// A line on the proxies that are set; none where none is. Their values hold passwords and are not
/// shown.
pub fn unused() -> Option<String> {
    let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let set: Vec<&str> = VARIABLES.iter().filter(is_set).copied().collect();
    let (is, it) = match set.as_slice() {
        [] => return None,
        [_] => ("is", "it"),
        _ => ("are", "them"),
    };
    Some(format!(
        "{} {is} set, and thinkd does not use {it}: it connects to models and to servers of tools \
         directly. To go through a proxy, run a gateway that forwards to the provider, and set its \
         address as base_url (docs/models.md)",
        set.join(", ")
    ))
}
