package soak

const stored = `
extensions:
  file_storage:
    directory: %[1]s
    compaction:
      directory: %[1]s
      on_start: true
      on_rebound: true
      rebound_needed_threshold_mib: 64
      rebound_trigger_threshold_mib: 16
  pprof:
    endpoint: <pprof>
`

const agentConfig = stored + `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: <otlp>
processors:
  topk:
    storage: file_storage
    clock: event
    retain: 1m
    emit_interval: 500ms
    gateways:
      - endpoint: <states>
    rules:
      - name: tenants
        key: log.attributes["tenant.id"]
        group_by: resource.attributes["cloud.region"]
exporters:
  nop:
service:
  extensions: [file_storage, pprof]
  pipelines:
    logs:
      receivers: [otlp]
      processors: [topk]
      exporters: [nop]
`

const gatewayConfig = stored + `
receivers:
  trend:
    storage: file_storage
    protocols:
      grpc:
        endpoint: <states>
    clock: event
    retain: 1m
    publish_interval: 1s
exporters:
  topk:
    storage: file_storage
    endpoint: <api>
service:
  extensions: [file_storage, pprof]
  pipelines:
    logs:
      receivers: [trend]
      exporters: [topk]
`
