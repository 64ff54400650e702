/** The schema of messages, as `core/message.ts` has them; see `state.ts`. */
import * as z from "zod";
import type { FileRef } from "../../core/file.ts";
import type { ReplyPart } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import type { Message, Part, Value } from "../../core/message.ts";
import type { Routed } from "../../core/routed.ts";
import { outsideWork } from "./outside.ts";

/** It came out of `JSON.parse`, so anything that is there is JSON. */
export const json = z.custom<Json>((value) => value !== undefined);
const count = z.int().nonnegative();
const name = z.string().min(1);
export const sha = z.string().regex(/^[0-9a-f]{64}$/);

export const value: z.ZodType<Value> = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("inline"), json }),
  z.looseObject({ kind: z.literal("blob"), sha256: sha, bytes: count, head: z.string(), tail: z.string() }),
]);

/** What the schema of a tool made of the arguments of a call; absent: the same. */
export const parsedArgs = z.looseObject({ as: z.enum(["value", "projection"]), json: value }).exactOptional();

/** Of a reply whose question was nearly as long as its agent allows. */
export const nearLimit = z.literal(true).exactOptional();

const filePart = z.looseObject({
  kind: z.literal("file"),
  file: sha,
  mediaType: name,
  bytes: count,
  name: z.string(),
});

export const fileRef: z.ZodType<FileRef> = filePart;

/** Files beside a text or a value; absent without any. */
export const files = z.array(fileRef).exactOptional();

const textPart = z.looseObject({ kind: z.literal("text"), text: z.string() });
const reasoningPart = z.looseObject({ kind: z.literal("reasoning"), text: z.string(), provider: json });
const callPart = z.looseObject({ kind: z.literal("call"), tool: z.string(), args: value, provider: json });

const part: z.ZodType<Part> = z.discriminatedUnion("kind", [
  textPart,
  filePart,
  reasoningPart,
  callPart.extend({ call: name }),
  z.looseObject({
    kind: z.literal("result"),
    call: name,
    tool: z.string(),
    outcome: z.enum(["succeeded", "failed", "unknown"]),
    value,
    edited: value.nullable(),
    under: z.looseObject({ key: name, argsDigest: sha }).exactOptional(),
    files,
    outside: outsideWork.exactOptional(),
  }),
]);

export const replyPart: z.ZodType<ReplyPart> = z.discriminatedUnion("kind", [
  textPart,
  filePart,
  reasoningPart,
  callPart,
]);

export const message: z.ZodType<Message> = z.looseObject({
  id: name,
  at: z.int().nonnegative(),
  source: name,
  role: z.enum(["user", "assistant", "tool"]),
  parts: z.array(part),
  tokens: count,
  nearLimit,
  cut: z.literal(true).exactOptional(),
});

/** Why a request went to another model than the agent's own. */
export const routed: z.ZodType<Routed> = z.looseObject({ by: z.enum(["fallback", "role"]), why: z.string() });

/** The digests of a request to a model. */
export const request = z.looseObject({
  instructions: z.string(),
  options: z.string().exactOptional(),
  tools: z.array(z.string()),
  messages: z.string(),
});
