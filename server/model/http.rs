//! Clients of HTTP that reach one address and nothing else, and the causes of their errors.

/// Returns a client for an address: it goes by no proxy, and nowhere that an answer sends it.
pub fn client(address: &str) -> reqwest::ClientBuilder {
    // Whoever uses the library without the program has installed no provider; a second installation is refused, harmlessly.
    drop(rustls::crypto::ring::default_provider().install_default());
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none());
    match address.starts_with("http://") {
        // Reading the system's certificates takes longer than everything else at a start; here nobody shows one.
        true => http.tls_certs_only([]),
        false => http,
    }
}

/// The innermost cause, which is the one that says something. It never holds the address, which may hold a secret.
pub fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request failed".to_owned(),
        None => cause.to_string(),
    }
}
