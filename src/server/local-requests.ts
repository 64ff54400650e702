/**
 * Which requests a server accepts that a browser can be made to send: a browser runs the code of any web page. Without a
 * login the protection of a server is the address 127.0.0.1, which only programs of this machine reach.
 *
 * - DNS rebinding: a page of `evil.example` lets its name resolve to 127.0.0.1. The `Host` header then still has that
 *   name, so only local names are accepted. Where a login is required each name is accepted: a page of another site has
 *   no token, and a proxy in front of the server passes its own name on.
 * - Cross-site requests: a page sends a form or a fetch to 127.0.0.1. The browser adds `Origin` or `Sec-Fetch-Site`, and
 *   a form cannot send JSON. A report to a callback link may be a form: no page of another site knows its token.
 */
import type { MiddlewareHandler } from "hono";
import { ApiProblem } from "../api/problem.ts";

const NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Middleware that refuses what a page of another site can make a browser send. Throws an `ApiProblem`.
 *
 * @param needsLogin whether each request needs a login.
 */
export const onlyOwnPages =
  (needsLogin: () => Promise<boolean>): MiddlewareHandler =>
  async (c, next) => {
    const anyName = await needsLogin();
    const { method } = c.req;
    const host = c.req.header("host") ?? "";
    if (!anyName && !NAMES.has(host.replace(/:\d{1,5}$/, ""))) throw hostRefused();
    const origin = c.req.header("origin");
    const site = c.req.header("sec-fetch-site") ?? "none";
    const isOwnPage = site === "none" || site === "same-origin";
    // A link of another site may lead here: the page that opens is ours.
    const isLink = method === "GET" && c.req.header("sec-fetch-mode") === "navigate";
    // A proxy in front of the server ends TLS.
    const own = anyName ? [`http://${host}`, `https://${host}`] : [`http://${host}`];
    if ((origin !== undefined && !own.includes(origin)) || !(isOwnPage || isLink)) throw originRefused(anyName);
    const type = c.req.header("content-type");
    const mayBeForm = method === "GET" || method === "HEAD" || c.req.path.startsWith("/callbacks/");
    if (!mayBeForm && type !== undefined && !/^application\/json\b/i.test(type)) throw typeRefused();
    await next();
  };

const hostRefused = (): ApiProblem =>
  new ApiProblem({
    status: 403,
    code: "HostRefused",
    detail: "this server answers only to 127.0.0.1 and localhost: use one of them in the URL",
  });

const originRefused = (mayBeProxy: boolean): ApiProblem =>
  new ApiProblem({
    status: 403,
    code: "OriginRefused",
    detail:
      "a page of another site sent this request: nothing was done; only this server's own page and programs may ask" +
      (mayBeProxy ? "; a proxy in front of this server has to pass the Host header on" : ""),
  });

const typeRefused = (): ApiProblem =>
  new ApiProblem({
    status: 415,
    code: "MediaTypeUnsupported",
    detail: "the content type is not JSON: send the body with Content-Type: application/json",
  });
