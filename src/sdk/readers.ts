/** How many readers one server follows runs for: the part `readers` of `cairn.config.ts`. */
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";

export interface ReaderOptions {
  /** Readers at the same time in all, 1 to 10,000; default 256. Each more gets 503 `TooManyStreams`. */
  readonly max?: number;
  /** Readers of one run at the same time; default 32. Each more gets 429 `TooManyReaders`. */
  readonly perRunMax?: number;
  /** Readers of one token, or of one caller without a token, at the same time; default 128. As above. */
  readonly perTokenMax?: number;
  /** After how many seconds a reader that takes nothing of what it asked for is closed, 1 to 3,600; default 60. */
  readonly unreadSeconds?: number;
}

const count = builtOnUse(() => z.int().min(1).max(10_000));

export const readersSchema = builtOnUse(() =>
  z.strictObject({
    max: count().exactOptional(),
    perRunMax: count().exactOptional(),
    perTokenMax: count().exactOptional(),
    unreadSeconds: z.number().min(1).max(3_600).exactOptional(),
  }),
);

export const READERS = {
  max: 256,
  perRunMax: 32,
  perTokenMax: 128,
  unreadSeconds: 60,
} as const satisfies ReaderOptions;
