-- Makes wrk print one line of JSON, in the format of loadClient.ts.
local bytes = tonumber(os.getenv("BODY_BYTES") or "0")
if bytes > 0 then
  wrk.method = "POST"
  wrk.body = string.rep("x", bytes)
end

-- With CLIENTS and ROUTES, every request comes from a random one of that many clients and goes to a random one of that many routes.
local clients = tonumber(os.getenv("CLIENTS") or "0")
local routes = tonumber(os.getenv("ROUTES") or "0")
if clients > 0 then
  local requests = {}
  function init()
    for client = 1, clients do
      for route = 1, routes do
        local headers = { ["X-Client-Id"] = "client-" .. client }
        requests[#requests + 1] = wrk.format("GET", wrk.path .. "/r" .. route, headers)
      end
    end
  end
  function request()
    return requests[math.random(#requests)]
  end
end

-- With RATE, that many requests per second are sent over all connections. Each request waits for the next free time slot. A request
-- that is late is sent at once, so that the rate is reached again.
local rate = tonumber(os.getenv("RATE") or "0")
if rate > 0 then
  local ffi = require("ffi")
  ffi.cdef("typedef struct { long s; long us; } timeval; int gettimeofday(timeval *, void *);")
  local time = ffi.new("timeval")
  local function now()
    ffi.C.gettimeofday(time, nil)
    return tonumber(time.s) * 1000 + tonumber(time.us) / 1000
  end
  local next_slot
  function delay()
    local now_ms = now()
    -- After a pause, only the requests of the last second are sent late.
    next_slot = math.max((next_slot or now_ms) + 1000 / rate, now_ms - 1000)
    return math.max(0, math.floor(next_slot - now_ms + 0.5))
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"bytes":%d,"p50":%.3f,"p99":%.3f,"errors":%d}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
