/** The body of a request, before anybody looks into it: bounded while it is read, and in UTF-8. */
import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { SIZES } from "../codec/limits.ts";
import { badJson, tooLarge } from "./problem.ts";

const MAX = SIZES.httpBodyBytesMax;

const refuse = (): never => {
  throw tooLarge("the body", MAX);
};

const limited = bodyLimit({ maxSize: MAX, onError: refuse });

export const boundedBody: MiddlewareHandler = (c, next) =>
  limited(c, async () => {
    const bytes = await c.req.arrayBuffer();
    // A header may promise less than comes.
    if (bytes.byteLength > MAX) refuse();
    // What is no text would be read as another text, and that one would be kept.
    if (!isText(bytes)) throw badJson();
    await next();
  });

function isText(bytes: ArrayBuffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
