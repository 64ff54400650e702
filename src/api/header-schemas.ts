/** The schemas of the headers that the HTTP API takes. */
import { z } from "@hono/zod-openapi";
import { BOUNDS } from "../core/limits.ts";

/** An idempotency key: requests with the same key have one effect. */
export const key = z.string().min(1).max(BOUNDS.idempotencyKeyCharactersMax);

const idempotencyKey = (description: string) => key.optional().openapi({ description });

const trace = (description: string) => z.string().optional().openapi({ description });

export const startHeaders = z.object({
  traceparent: trace(
    "The trace of the caller (W3C Trace Context). The run links to it, or is a part of it if its agent says so. One that is malformed is ignored.",
  ),
  tracestate: trace("What belongs to that trace. At most 512 characters of it are kept."),
  "Idempotency-Key": idempotencyKey(
    "The same key with the same agent and input gives the same run, however often it is sent. When the data of that run is removed (a day after its end), the answer is 409 `Ended` for as long as the key is kept (30 days). Without a key each request starts a run of its own, so a request that is sent again after a lost answer starts a second run.",
  ),
});

export const steeringHeaders = z.object({
  "If-Match": z.string().optional().openapi({
    description:
      "A resume token: the request is refused if the run has another epoch. The check comes before the write, so a change in between is not noticed. An ended run is not checked.",
  }),
});

/** For an operation with an idempotency key in its input: the header names the same key. */
export const keyHeaders = z.object({
  "Idempotency-Key": idempotencyKey("The idempotency key, unless the body has one."),
});

export const keyedSteeringHeaders = steeringHeaders.extend(keyHeaders.shape);

export const messageHeaders = steeringHeaders.extend({
  "Idempotency-Key": idempotencyKey("The id of the message, unless the body has one."),
});

export const runHeaders = z.object({
  "If-None-Match": z.string().optional().openapi({ description: "An entity tag of an earlier answer, or `*`." }),
});
