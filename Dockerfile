# An image with a static bitcost, such as for the pods of `bitcost run --kubernetes`.
FROM rust:1-bookworm AS build
WORKDIR /bitcost
COPY . .
ENV RUSTFLAGS="-C target-feature=+crt-static"
RUN target=$(rustc -vV | sed -n 's/^host: //p') \
    && cargo build --locked --profile dist --package bitcost --target "$target" \
    && cp "target/$target/dist/bitcost" /usr/bin/bitcost

FROM scratch
COPY --from=build /usr/bin/bitcost /usr/bin/bitcost
ENV PATH=/usr/bin
USER 65534:65534
ENTRYPOINT ["/usr/bin/bitcost"]
