/**
 * Which requests a server on this machine accepts. It has no login, so its protection is the address 127.0.0.1, which
 * only programs of this machine reach. A browser is such a program, and runs the code of any web page.
 *
 * - DNS rebinding: a page of `evil.example` lets its name resolve to 127.0.0.1. The `Host` header then still has that
 *   name, so only local names are accepted.
 * - Cross-site requests: a page sends a form or a fetch to 127.0.0.1. The browser adds `Origin` or `Sec-Fetch-Site`, and
 *   a form cannot send JSON. A report to a callback link may be a form: no page of another site knows its token.
 */
import type { MiddlewareHandler } from "hono";
import { ApiProblem } from "../api/problem.ts";

const NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Middleware that refuses what a page of another site can make a browser send. Throws an `ApiProblem`. */
export const onlyLocal: MiddlewareHandler = async (c, next) => {
  const { method } = c.req;
  const host = c.req.header("host") ?? "";
  if (!NAMES.has(host.replace(/:\d{1,5}$/, ""))) throw hostRefused();
  const origin = c.req.header("origin");
  const site = c.req.header("sec-fetch-site") ?? "none";
  const isOwnPage = site === "none" || site === "same-origin";
  // A link of another site may lead here: the page that opens is ours.
  const isLink = method === "GET" && c.req.header("sec-fetch-mode") === "navigate";
  if ((origin !== undefined && origin !== `http://${host}`) || !(isOwnPage || isLink)) throw originRefused();
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

const originRefused = (): ApiProblem =>
  new ApiProblem({
    status: 403,
    code: "OriginRefused",
    detail:
      "a page of another site sent this request: nothing was done; only this server's own page and programs may ask",
  });

const typeRefused = (): ApiProblem =>
  new ApiProblem({
    status: 415,
    code: "MediaTypeUnsupported",
    detail: "the content type is not JSON: send the body with Content-Type: application/json",
  });
