/**
 * Reads the body of a request before it is parsed. It limits the size while reading, requires UTF-8, and refuses
 * numbers that JavaScript would change.
 *
 * If the caller breaks off its own request, that is no error of this server.
 */
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { SIZES } from "../codec/limits.ts";
import { alteredNumbers } from "../codec/json-numbers.ts";
import { utf8Of } from "../codec/utf8.ts";
import { ApiProblem, badJson, bodyCutOff, requestInvalid, tooLarge, wrongIn } from "./problem.ts";

const MAX = SIZES.httpBodyBytesMax;

const refuse = (): never => {
  throw tooLarge("the body", MAX);
};

const limited = bodyLimit({ maxSize: MAX, onError: refuse });

/** Middleware that reads and checks the body. Throws an `ApiProblem` if it is too large or not valid. */
export const boundedBody: MiddlewareHandler = async (c, next) => {
  const bytes = await bytesOf(c);
  // The body may be longer than its `content-length` header says.
  if (bytes.byteLength > MAX) refuse();
  // Invalid UTF-8 would be decoded to another text, and that other text would be stored.
  const read = utf8Of(new Uint8Array(bytes));
  if (!read.ok) throw badJson(read.why);
  const altered = isSaidToBeJson(c) ? alteredNumbers(read.text, SIZES.issuesMax) : [];
  if (altered.length > 0) throw requestInvalid(wrongIn(altered, "#"));
  await next();
};

/** Reading fails if the connection ends before the body does. */
async function bytesOf(c: Context): Promise<ArrayBuffer> {
  try {
    await limited(c, async () => {});
    return await c.req.arrayBuffer();
  } catch (error) {
    throw error instanceof ApiProblem ? error : bodyCutOff(error);
  }
}

/** Whether the content type is JSON. Another type is refused later, for its type. */
const isSaidToBeJson = (c: Context): boolean => /[/+]json\b/i.test(c.req.header("content-type") ?? "");
