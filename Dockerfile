# The collector and the command line tool in an image that holds nothing else: no shell, no root, nothing it writes to.
#   docker build -t registry.example.com/otelcol-topk:0.1.0 .
# Run it with a configuration at /etc/otelcol/config/config.yaml, and a volume where the configuration has its storage.
FROM golang:1.26-bookworm AS build
WORKDIR /src
# What seldom changes comes first, so that a build after a change of the code has it.
COPY go.mod go.sum ./
COPY tools tools
RUN go mod download && go -C tools build -modfile builder.mod -o ../_build/tools/ tool
COPY . .
RUN make build

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/bin/otelcol-topk /src/bin/topk /usr/local/bin/
USER 65532:65532
EXPOSE 4317 4318 7070 7071 8888 13133
ENTRYPOINT ["/usr/local/bin/otelcol-topk"]
CMD ["--config=/etc/otelcol/config/config.yaml"]
