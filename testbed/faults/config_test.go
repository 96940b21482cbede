package faults

// watched lets health_check say what components report of themselves.
const watched = `
extensions:
  file_storage:
    directory: %s
  health_check:
    http:
      endpoint: <health>
      status: {enabled: true, path: /}
    component_health:
      include_permanent_errors: true
      include_recoverable_errors: true
      recovery_duration: 100ms
`

// componentStatus is the argument without which health_check knows nothing of components.
const componentStatus = "--feature-gates=extension.healthcheck.useComponentStatus"

const agentConfig = watched + `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: <otlp>
        max_recv_msg_size_mib: 64
processors:
  topk:
    storage: file_storage
    shard: %s
    clock: %s
    lateness: %v
    emit_interval: 100ms
    gateways:
      - endpoint: <states>
        timeout: 1s
    rules:
%s
exporters:
  nop:
service:
  extensions: [file_storage, health_check]
  pipelines:
    logs:
      receivers: [otlp]
      processors: [topk]
      exporters: [nop]
`

const gatewayConfig = watched + `
receivers:
  trend:
    storage: file_storage
    protocols:
      grpc:
        endpoint: <states>
    clock: %s
    publish_interval: 1s
    windows: [1m, 5m, 1h]
    point_queries: all
exporters:
  topk:
    storage: file_storage
    endpoint: <api>
service:
  extensions: [file_storage, health_check]
  pipelines:
    logs:
      receivers: [trend]
      exporters: [topk]
`

// rules of the fleets: plain and never past its residents, grouped and past them, weighted.
const rules = `
      - name: slots
        key: log.attributes["slot"]
      - name: tenants
        key: log.attributes["tenant.id"]
        group_by: resource.attributes["cloud.region"]
        accuracy: {residents: 256}
        max_key_bytes: 4096
      - name: bytes
        key: log.attributes["client.address"]
        weight: log.attributes["http.response.body.size"]
`

var ruleNames = []string{"slots", "tenants", "bytes"}
