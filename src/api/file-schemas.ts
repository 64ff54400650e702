/** The schemas of files in requests and responses. */
import { z } from "@hono/zod-openapi";
import { NO_BASE64, type SentFile, isBase64 } from "../codec/file.ts";
import { SIZES } from "../codec/limits.ts";
import type { ShownFile } from "../operations/file-views.ts";

/** For the document. The checks themselves are functions, since a pattern would fail on a text of megabytes. */
const BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$";
const MEDIA_TYPE = "^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*$";

const sentFile: z.ZodType<SentFile> = z.strictObject({
  name: z.string(),
  mediaType: z.string().exactOptional().openapi({
    description: "Absent: what its first bytes and its name say.",
    pattern: MEDIA_TYPE,
    maxLength: SIZES.mediaTypeCharactersMax,
  }),
  base64: z.string().refine(isBase64, NO_BASE64).openapi({ minLength: 4, pattern: BASE64 }),
});

/** The files of a start or a message. */
export const files = z
  .array(sentFile)
  .max(SIZES.filesMax)
  .default([])
  .openapi({
    description: `The whole body has at most ${SIZES.httpBodyBytesMax} bytes, so its files have about three quarters of that.`,
  });

export const shownFile: z.ZodType<ShownFile> = z.object({
  file: z.string().openapi({ description: "The SHA-256 digest of its bytes." }),
  mediaType: z.string(),
  bytes: z.int().nonnegative(),
  name: z.string(),
  source: z.string().openapi({ description: "Who gave it: `task`, `user:NAME`, `tool:NAME` or `model:NAME`." }),
  inResult: z.boolean().openapi({ description: "The result carries it." }),
});

export const fileParams = z.object({
  run: z.string().openapi({ description: "The id of the run, as `POST /runs` answered it." }),
  file: z.string().openapi({ description: "The SHA-256 digest of the file, 8 characters of it, or its name." }),
});

export const fileHeaders = {
  "Content-Disposition": {
    description: "`attachment`, with the name of the file: a browser saves it.",
    schema: { type: "string" as const },
  },
  ETag: { description: "The digest of the file.", schema: { type: "string" as const } },
};
