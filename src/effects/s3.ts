/**
 * A put of an S3 object as the effect of a tool. Each put has a condition, so a request that lands late changes nothing:
 * a new object needs an empty place (`If-None-Match`), and a replacement the version that it saw (`If-Match`). The object
 * has the key of its call in its metadata, by which a HEAD request recognises it.
 */
import { createHash } from "node:crypto";
import type * as z from "zod";
import type { CallContext, OfCall, Probe, ProbeContext, Tool, ToolContext } from "../ports/agent.ts";
import { tool } from "../sdk/define.ts";
import { OutcomeUnknown } from "../sdk/outcome.ts";
import { awsFailure, httpStatusOf } from "./aws-errors.ts";
import { type RequestContext, type ToolSettings, requireMethods } from "./settings.ts";
import { StaleEpoch } from "./stale-epoch.ts";

type Place = { readonly Bucket: string; readonly Key: string };

interface Written {
  readonly ETag?: string | undefined;
  readonly VersionId?: string | undefined;
}

interface Head extends Written {
  readonly Metadata?: Readonly<Record<string, string>> | undefined;
}

interface Put extends Place {
  readonly Body: string | Uint8Array;
  readonly ContentType?: string;
  readonly ChecksumSHA256: string;
  readonly Metadata: Record<string, string>;
  readonly IfNoneMatch?: string;
  readonly IfMatch?: string;
}

interface Options {
  readonly abortSignal: AbortSignal;
}

/** The client `S3` of `@aws-sdk/client-s3`. */
export interface S3Like {
  putObject(input: Put, options: Options): Promise<Written>;
  headObject(input: Place, options: Options): Promise<Head>;
  deleteObject(input: Place & { readonly IfMatch?: string }, options: Options): Promise<unknown>;
}

export interface S3Object {
  readonly key: string;
  /** The same for every attempt of one call. */
  readonly body: string | Uint8Array;
  readonly contentType?: string;
}

export interface S3PutOptions<Schema extends z.ZodType> {
  /** Its role needs `s3:PutObject`, `s3:GetObject` and `s3:ListBucket`; without the last one S3 hides that no object exists. */
  readonly client: S3Like;
  readonly bucket: string;
  /** Where the object lies, and what it contains. With `replace` the place must not depend on the key of the call. */
  readonly object: (context: Omit<RequestContext<z.output<Schema>>, "secrets">) => S3Object | Promise<S3Object>;
  /** `refuse` (default): the call fails if the place is taken. `replace`: it replaces the object that it finds. */
  readonly ifExists?: "refuse" | "replace";
  /** `delete`: the undo deletes the object if it is still the one of its call. Not for `replace`. Default: `none`. */
  readonly undo?: "delete" | "none";
}

/** The result of a put. */
export interface PutObject {
  readonly bucket: string;
  readonly key: string;
  readonly etag: string | null;
  readonly version: string | null;
}

/**
 * A tool whose calls put objects. It is `keyed` if it only makes new objects and never deletes them: its requests may then
 * land at any time. Otherwise it is `probed`.
 *
 * @example
 *   const store = s3Put({
 *     input: z.object({ invoice: z.string(), text: z.string() }),
 *     client: new S3({}),
 *     bucket: "invoices",
 *     object: ({ input }) => ({ key: `${input.invoice}.txt`, body: input.text, contentType: "text/plain" }),
 *   });
 */
export function s3Put<Schema extends z.ZodType>(options: ToolSettings<Schema> & S3PutOptions<Schema>): Tool<Schema> {
  type Input = z.output<Schema>;
  const { client, bucket, object, ifExists = "refuse", undo = "none", ...settings } = options;
  const next = "write client: new S3({ ... }) of @aws-sdk/client-s3; S3Client has only the method send";
  requireMethods(client, ["putObject", "headObject", "deleteObject"], next);
  const replaces = ifExists === "replace";
  const place = async (context: CallContext & { readonly input: Input; readonly key: string }) => {
    const { key, ...content } = await object(context);
    return { at: { Bucket: bucket, Key: key }, content };
  };
  const probed = {
    effect: "probed" as const,
    probe: async (context: ProbeContext<Input>): Promise<Probe> => {
      const { at } = await place(context);
      return truthOf(at, { head: await headOf(client, at, context.signal), context, replaces });
    },
  };
  const before = async (
    input: Input,
    context: CallContext & { readonly signal: AbortSignal },
  ): Promise<string | null> => {
    const { at } = await place({ ...context, input, key: "" });
    return (await headOf(client, at, context.signal))?.ETag ?? null;
  };
  return tool({
    ...settings,
    ...(replaces || undo === "delete" ? probed : { effect: "keyed" as const }),
    ...(replaces && { before }),
    run: async (context) => {
      const { at, content } = await place(context);
      return put(client, { at, content, replaces }, context);
    },
    ...(undo === "delete" &&
      !replaces && {
        undo: {
          effect: "idempotent" as const,
          run: async (context: ToolContext<Input> & OfCall) => {
            const { at } = await place({ ...context, key: context.of.key });
            return remove(client, at, context);
          },
        },
      }),
  });
}

type Caller = Pick<ToolContext<unknown>, "key" | "run" | "epoch" | "signal">;

async function put(
  client: S3Like,
  {
    at,
    content,
    replaces,
  }: { readonly at: Place; readonly content: Omit<S3Object, "key">; readonly replaces: boolean },
  { key, run, epoch, signal }: Caller,
): Promise<PutObject> {
  const found = replaces ? await headOf(client, at, signal) : null;
  if (found !== null && isOf(found, key)) return resultOf(at, found);
  refuseStale(found, { run, epoch, at });
  const input: Put = {
    ...at,
    Body: content.body,
    ...(content.contentType !== undefined && { ContentType: content.contentType }),
    ChecksumSHA256: createHash("sha256").update(content.body).digest("base64"),
    Metadata: { "cairn-key": key, "cairn-run": run, "cairn-epoch": String(epoch) },
    ...(found?.ETag === undefined ? { IfNoneMatch: "*" } : { IfMatch: found.ETag }),
  };
  try {
    return resultOf(at, await client.putObject(input, { abortSignal: signal }));
  } catch (error) {
    if (httpStatusOf(error) !== 412) throw awsFailure(error, `the put of ${at.Key}`);
    // An earlier request of this call, also one that the client repeated, may have made the object.
    const now = await headOf(client, at, signal).catch((cause: unknown) => {
      throw new OutcomeUnknown(`${at.Key} exists, and S3 does not say which call made it`, { cause });
    });
    if (now !== null && isOf(now, key)) return resultOf(at, now);
    const why = replaces ? "another writer changed it meanwhile" : "an object of another call exists there";
    throw new Error(`nothing was put to ${at.Bucket}/${at.Key}: ${why}`, { cause: error });
  }
}

/** The object at that place; null if there is none. */
async function headOf(client: S3Like, at: Place, abortSignal: AbortSignal): Promise<Head | null> {
  try {
    return await client.headObject(at, { abortSignal });
  } catch (error) {
    if (httpStatusOf(error) === 404) return null;
    throw error;
  }
}

const isOf = ({ Metadata }: Head, key: string): boolean => Metadata?.["cairn-key"] === key;

function refuseStale(
  found: Head | null,
  { run, epoch, at }: Pick<Caller, "run" | "epoch"> & { readonly at: Place },
): void {
  const { "cairn-run": writer, "cairn-epoch": seen = "0" } = found?.Metadata ?? {};
  if (writer === run && Number(seen) > epoch) throw new StaleEpoch({ run, epoch, target: `${at.Bucket}/${at.Key}` });
}

const resultOf = ({ Bucket, Key }: Place, { ETag = null, VersionId = null }: Nullable<Written>): PutObject => ({
  bucket: Bucket,
  key: Key,
  etag: ETag,
  version: VersionId,
});

type Nullable<T> = { readonly [K in keyof T]: T[K] | null };

/** A replacement whose place has changed, but not into ours, may have happened and been replaced since. */
function truthOf(
  at: Place,
  {
    head,
    context,
    replaces,
  }: { readonly head: Head | null; readonly context: ProbeContext<unknown>; readonly replaces: boolean },
): Probe {
  if (head !== null && isOf(head, context.key)) return { kind: "happened", result: resultOf(at, head) };
  if (!replaces) return { kind: "absent" };
  return { kind: (head?.ETag ?? null) === context.before ? "absent" : "unknown" };
}

async function remove(client: S3Like, at: Place, { of, signal }: Pick<ToolContext<unknown>, "signal"> & OfCall) {
  const head = await headOf(client, at, signal);
  if (head === null || !isOf(head, of.key)) return null;
  try {
    await client.deleteObject(
      { ...at, ...(head.ETag !== undefined && { IfMatch: head.ETag }) },
      { abortSignal: signal },
    );
  } catch (error) {
    throw awsFailure(error, `the delete of ${at.Key}`);
  }
  return null;
}
