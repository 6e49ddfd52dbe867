/** What a client or a backend receives, without what differs between any two gateways. `port`: of the gateway. */
export function anonymous(text: string, port: number): string {
  return text
    .replace(/^(date|x-request-id|traceparent): .*$/gim, '$1: …')
    .replace(/version-gateway-[0-9a-f]{12}/g, 'gateway')
    .replace(/"request_id":"[^"]*"/g, '"request_id":"…"')
    .replace(/x_grease_[0-9a-f]{4}/g, 'x_grease')
    .replaceAll(String(port), 'PORT');
}
