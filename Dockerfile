# The server as an image: one binary on a plain Debian, as nobody in particular.
#   docker build -t thinkd .
#   docker run -p 127.0.0.1:2953:2953 -v thinkd:/data -e THINKD_TOKEN=… thinkd

FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /src
# .dockerignore lets in exactly what the build reads.
COPY . .
# Relocations are packed: 800 kB less. Whoever runs it needs glibc 2.36, which the image below has. Panics name files of crates without the folder where
# these were built: 90 kB less.
# Crates and their build output stay in the builder's cache: a change of ours compiles ours alone.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    RUSTFLAGS="-C link-arg=-Wl,-z,pack-relative-relocs --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src/index.crates.io-1949cf8c6b5b557f/=" \
    cargo build --profile dist --locked --features python && cp target/dist/thinkd thinkd

FROM debian:12.12-slim
# The certificates of the authorities, for providers behind TLS; the slim image has none.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/thinkd /usr/local/bin/thinkd
RUN install --directory --owner=10001 --group=10001 /data
USER 10001:10001
# The default database is a file in the working directory.
WORKDIR /data
VOLUME /data
# Without a token the server refuses to listen beyond loopback, and says so.
ENV THINKD_LISTEN=0.0.0.0:2953
EXPOSE 2953
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["thinkd", "healthcheck"]
ENTRYPOINT ["thinkd"]
