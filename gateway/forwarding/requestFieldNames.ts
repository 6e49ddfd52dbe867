/** RFC 9110 §7.6.1, with what else concerns this hop only. `Proxy` is no field at all: CGI reads it as HTTP_PROXY. */
export const hopByHop = new Set(
  `connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings
  proxy-authorization proxy-authenticate proxy-authentication-info proxy`.split(/\s+/),
);

/** We write these ourselves. */
export const written = new Set(
  `host content-length via x-request-id expect max-forwards x-forwarded-for x-forwarded-proto x-forwarded-host
  x-forwarded-port x-forwarded-prefix`.split(/\s+/),
);

/** A backend may believe these about who asks for what, so only a trusted peer may say them. */
export const claims = new Set(
  `forwarded x-forwarded x-forwarded-server x-forwarded-scheme x-forwarded-ssl x-forwarded-by x-forwarded-uri
  x-forwarded-path x-forwarded-method x-forwarded-proto-version x-forwarded-protocol x-forwarded-client-cert
  x-original-url x-original-uri x-original-host x-original-method x-original-forwarded-for x-rewrite-url x-override-url
  x-real-ip x-client-ip true-client-ip cf-connecting-ip fastly-client-ip x-cluster-client-ip x-remote-ip x-remote-addr
  client-ip x-host x-http-host-override x-proxyuser-ip x-url-scheme x-scheme front-end-https`.split(/\s+/),
);

/** A client may name any field in `Connection`; these it cannot take from the backend that way. */
export const kept = new Set(['authorization', 'cookie', 'content-type']);
