-- Makes wrk print one line of JSON, in the format of loadClient.ts.
local bytes = tonumber(os.getenv("BODY_BYTES") or "0")
if bytes > 0 then
  wrk.method = "POST"
  wrk.body = string.rep("x", bytes)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"bytes":%d,"p50":%.3f,"p99":%.3f,"errors":%d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
