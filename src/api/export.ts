/**
 * `GET /runs/{run}/export`. A store without URLs (on this machine) gets a stream. Behind API Gateway a response is bounded,
 * so a larger export is put beside the objects of its run, and the response redirects to a signed URL of it. A page asks
 * for the URL in a document instead: a script can neither read where a redirect leads nor, under a policy that lets it
 * ask its own origin only, follow it.
 *
 * A stream that breaks off has no last line, so a reader notices that it is not complete.
 */
import { SIZES } from "../codec/limits.ts";
import { member } from "../codec/archive-bytes.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { exportKey } from "../history/object-keys.ts";
import { type Exported } from "../features/archive/export.ts";
import { resolveAmbiguousPut } from "../history/resolve-ambiguous-write.ts";
import { performOperation } from "../operations/perform.ts";
import { OPERATIONS } from "../operations/table.ts";
import { type HandlerContext, contextOf, find } from "./operations.ts";
import { runUnknown, tooLarge } from "./problem.ts";

/** How long the signed URL of an export is valid. */
const LINK_SECONDS = 300;

interface Wanted {
  /** The most bytes of the export, gzipped, where it does not fit into the response. */
  readonly bytesMax: number;
  /** Whether a large export is a redirect, and not a document with its URL. */
  readonly redirects: boolean;
}

export async function exportOf(
  asked: HandlerContext,
  { run, ...wanted }: Wanted & { readonly run: string },
): Promise<Response> {
  const row = await find(asked, run);
  const { links } = asked.world;
  return links === undefined ? streamed(asked, row) : bounded(asked, { row, links, ...wanted });
}

const HEADERS = { "content-type": "application/jsonl", "cache-control": "no-store" };

/** Writes the export. Rejects with a problem if the run is gone. */
async function write(asked: HandlerContext, row: Row, to: (chunk: string) => void | Promise<void>): Promise<Exported> {
  const context = { ...contextOf(asked, row), write: to };
  const outcome = await performOperation(OPERATIONS.export, context, { run: row.run });
  if (outcome.kind === "missing") throw runUnknown();
  return outcome.exported;
}

/** The response begins with the first chunk, so an error before that is a problem document. */
async function streamed(asked: HandlerContext, row: Row): Promise<Response> {
  const { readable, writable } = new TransformStream<string, string>();
  const writer = writable.getWriter();
  const first = Promise.withResolvers<void>();
  const all = write(asked, row, async (chunk) => {
    first.resolve();
    await writer.write(chunk);
  }).then(
    () => writer.close(),
    async (error: unknown) => {
      first.reject(error);
      await writer.abort(error);
    },
  );
  // A reader that closes the connection ends the export.
  all.catch(() => undefined);
  await first.promise;
  return new Response(readable.pipeThrough(new TextEncoderStream()), { headers: HEADERS });
}

async function bounded(
  asked: HandlerContext,
  { row, links, bytesMax, redirects }: Wanted & { readonly row: Row; readonly links: NonNullable<World["links"]> },
): Promise<Response> {
  const small: string[] = [];
  const packed: Uint8Array[] = [];
  let [plainBytes, packedBytes] = [0, 0];
  const { digest } = await write(asked, row, (chunk) => {
    plainBytes += Buffer.byteLength(chunk);
    if (plainBytes <= SIZES.httpBodyBytesMax) small.push(chunk);
    const part = member(chunk);
    packedBytes += part.byteLength;
    if (packedBytes > bytesMax) throw tooLarge("the export", bytesMax);
    packed.push(part);
  });
  if (plainBytes <= SIZES.httpBodyBytesMax) return new Response(small.join(""), { headers: HEADERS });
  const key = exportKey(row, digest);
  const { objects } = asked.world;
  await resolveAmbiguousPut(() => objects.put(key, Buffer.concat(packed)));
  const location = await links.linkTo(key, { seconds: LINK_SECONDS, fileName: `${row.run}.jsonl.gz` });
  const uncached = { "cache-control": "no-store" };
  return redirects
    ? new Response(null, { status: 303, headers: { location, ...uncached } })
    : Response.json({ location, seconds: LINK_SECONDS }, { headers: uncached });
}
