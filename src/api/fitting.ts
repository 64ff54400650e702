/** Fits the document of a run into a response. */
import type { z } from "@hono/zod-openapi";
import { SIZES } from "../codec/limits.ts";
import type { Shown } from "../operations/views.ts";
import type * as schemas from "./schemas.ts";

/**
 * Omits large parts until the document fits into a response. Without this, a client that polls for the end of a run
 * would get an error instead.
 */
export function fitting(shown: Shown): z.output<typeof schemas.runDocument> {
  const { unknown, gates, waits, children, files, standing, budget, signals } = shown;
  const document = {
    ...shown,
    unknown: [...unknown],
    gates: [...gates],
    waits: [...waits],
    children: [...children],
    files: [...files],
    standing: [...standing],
    budget: [...budget],
    signals: [...signals],
  };
  const omitted: string[] = [];
  for (const [pointer, without] of Object.entries(LARGE)) {
    if (Buffer.byteLength(JSON.stringify(document)) <= SIZES.httpBodyBytesMax) break;
    Object.assign(document, without(shown));
    omitted.push(pointer);
  }
  return omitted.length === 0 ? document : { ...document, omitted };
}

/** The parts that may be large; the least useful is omitted first. */
const LARGE: Readonly<Record<string, (shown: Shown) => Partial<Shown>>> = {
  "#/task": () => ({ task: null }),
  "#/result": () => ({ result: null }),
  "#/unknown/*/args": ({ unknown }) => ({ unknown: unknown.map((each) => ({ ...each, args: null })) }),
  "#/gates/*/args": ({ gates }) => ({ gates: gates.map((each) => ({ ...each, args: null, parsed: null })) }),
  "#/waits/*/args": ({ waits }) => ({ waits: waits.map((each) => ({ ...each, args: null })) }),
};
