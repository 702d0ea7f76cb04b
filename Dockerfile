# The operator as a static binary on an empty image: make image REGISTRY=...
# Kueue's adapter likewise: --target kueue-adapter. make release makes the same images without Docker.
# The only image that is pulled has the compiler, in an exact version. Pin it by digest where you build for others, as this repository knows no digest:
#   --build-arg GOLANG=golang:1.26.8@sha256:...    (docker buildx imagetools inspect golang:1.26.8 prints it)
ARG GOLANG=golang:1.26.8
FROM --platform=$BUILDPLATFORM $GOLANG AS build
ARG TARGETOS TARGETARCH VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY apis apis
COPY pkg pkg
COPY cmd cmd
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /operator ./cmd/operator

FROM build AS build-kueue-adapter
ARG TARGETOS TARGETARCH VERSION=dev
WORKDIR /src/cmd/kueue-adapter
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /kueue-adapter .

FROM scratch AS kueue-adapter
ARG VERSION=dev REVISION= CREATED=
LABEL org.opencontainers.image.title="TrainingJob adapter for Kueue" \
      org.opencontainers.image.description="Lets TrainingJobs wait in Kueue's queues" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/trainingjob/operator" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build-kueue-adapter /kueue-adapter /kueue-adapter
USER 65532:65532
ENTRYPOINT ["/kueue-adapter"]

FROM scratch
ARG VERSION=dev REVISION= CREATED=
LABEL org.opencontainers.image.title="TrainingJob operator" \
      org.opencontainers.image.description="Runs distributed training jobs on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/trainingjob/operator" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build /operator /operator
USER 65532:65532
ENTRYPOINT ["/operator"]
