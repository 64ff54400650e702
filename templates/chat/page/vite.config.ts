/**
 * `npm run page` serves this folder. The page and the API have one address for the browser: what the API answers comes
 * from `cairn dev`, at CAIRN_URL or at its default address.
 */
import type { ProxyOptions, UserConfig } from "vite";

const target = process.env["CAIRN_URL"] ?? "http://127.0.0.1:7420";

const api: ProxyOptions = {
  ...{ target, changeOrigin: true },
  // `cairn dev` answers to its own pages only. This page counts as one of them, and a page of another site does not.
  configure: (proxy) => {
    proxy.on("proxyReq", (sent, { headers: { origin, host } }) => {
      if (origin === `http://${host}`) sent.setHeader("origin", new URL(target).origin);
    });
  },
};

export default { server: { host: "127.0.0.1", proxy: { "/chat": api, "/runs": api } } } satisfies UserConfig;
