/**
 * The module node:http. An import statement would read all its exports, and reading `WebSocket` loads undici, on which fetch is
 * built. That takes about 45 ms and 7 MB at every start. Types can be imported as usual.
 */
export const http = process.getBuiltinModule('node:http');
