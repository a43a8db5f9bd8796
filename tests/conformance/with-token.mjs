// The suite asks without a token. This is loaded before it and adds one to whatever it sends, so that
// it goes through the same guard as everybody.
import { createRequire, syncBuiltinESMExports } from "node:module";
import http from "node:http";

const token = `Bearer ${process.env.CONFORMANCE_TOKEN}`;

const request = http.request;
http.request = (options, ...rest) =>
  request({ ...options, headers: { authorization: token, ...options.headers } }, ...rest);
syncBuiltinESMExports();

const fetch = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers ?? input.headers);
  headers.set("authorization", token);
  return fetch(input, { ...init, headers });
};

// Where undici itself is used, its own dispatcher carries it.
const { getGlobalDispatcher, setGlobalDispatcher } = createRequire(process.argv[1])("undici");
setGlobalDispatcher(
  getGlobalDispatcher().compose((dispatch) => (options, handler) =>
    dispatch({ ...options, headers: withToken(options.headers) }, handler),
  ),
);

function withToken(headers) {
  if (Array.isArray(headers)) return headers.includes("authorization") ? headers : [...headers, "authorization", token];
  return { authorization: token, ...headers };
}
