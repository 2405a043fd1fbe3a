# Image with only csi-capacity, which is statically linked, and a folder for temporary files.
#
#   docker build -t csi-capacity .
#   docker run --rm --read-only --tmpfs /tmp -v "$PWD:/data" -w /data csi-capacity conformance --sut sut.yaml --output report

FROM rust:1.95-alpine AS build
# The TLS cryptography and the allocator need a C compiler.
RUN apk add --no-cache gcc musl-dev
WORKDIR /source
COPY . .
RUN .ci/build-static "$(rustc -vV | sed -n 's/^host: //p')" && cp target/*/dist/csi-capacity / && mkdir /empty

FROM scratch
COPY --from=build /csi-capacity /usr/bin/csi-capacity
COPY --from=build --chmod=1777 /empty /tmp
USER 65532:65532
ENTRYPOINT ["/usr/bin/csi-capacity"]
