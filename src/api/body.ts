/**
 * The body of a request, before it is parsed: bounded while it is read, in UTF-8, and without numbers that would be read as
 * other numbers. A sender that breaks off its own request is no fault of this server.
 */
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { SIZES } from "../codec/limits.ts";
import { alteredNumbers } from "../codec/json-numbers.ts";
import { ApiProblem, badJson, bodyCutOff, requestInvalid, tooLarge, wrongIn } from "./problem.ts";

const MAX = SIZES.httpBodyBytesMax;

const refuse = (): never => {
  throw tooLarge("the body", MAX);
};

const limited = bodyLimit({ maxSize: MAX, onError: refuse });

export const boundedBody: MiddlewareHandler = async (c, next) => {
  const bytes = await bytesOf(c);
  // A header may promise less than comes.
  if (bytes.byteLength > MAX) refuse();
  // What is no text would be read as another text, and that one would be kept.
  const text = textOf(bytes);
  if (text === null) throw badJson();
  const altered = isSaidToBeJson(c) ? alteredNumbers(text, SIZES.issuesMax) : [];
  if (altered.length > 0) throw requestInvalid(wrongIn(altered, "#"));
  await next();
};

/** Reading fails where the connection ends before the body does. */
async function bytesOf(c: Context): Promise<ArrayBuffer> {
  try {
    await limited(c, async () => {});
    return await c.req.arrayBuffer();
  } catch (error) {
    throw error instanceof ApiProblem ? error : bodyCutOff(error);
  }
}

/** Of another type, the body is refused for that. */
const isSaidToBeJson = (c: Context): boolean => /[/+]json\b/i.test(c.req.header("content-type") ?? "");

function textOf(bytes: ArrayBuffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
