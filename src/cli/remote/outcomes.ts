/**
 * Performs operations over HTTP, and reads their outcomes back: from the document of a success, from the `outcome` of a
 * problem, or from its code.
 */
import { basename } from "node:path";
import { readArchive } from "../../codec/archive.ts";
import { chunked, plainArchive } from "../../codec/archive-bytes.ts";
import { sha256 } from "../../codec/canonical.ts";
import { commitRecord } from "../../codec/schema/event.ts";
import { CairnError } from "../../client/errors.ts";
import { type GivenInput, performAt } from "../../client/perform.ts";
import type { Endpoint } from "../../client/request.ts";
import { ensure } from "../../core/ensure.ts";
import type { Exported } from "../../features/archive/export.ts";
import { LISTED_MAX } from "../../operations/list.ts";
import { ROWS, type OperationName } from "../../operations/table.ts";
import type { InputTo, OutcomeOf } from "../../operations/caller-outcome.ts";
import type { EventPage } from "../../operations/event-page.ts";
import type { RoutedOperation } from "../../operations/places.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import type { UserError } from "../../compose/user-error.ts";
import type { Local } from "../transport.ts";

export type Requested = <N extends OperationName>(
  name: N,
  given: InputTo<N>,
  how?: Pick<Local, "write" | "trace"> & { readonly signal?: AbortSignal },
) => Promise<OutcomeOf<N>>;

type Outcome = Readonly<Record<string, unknown>> & { readonly kind: string };
type Ask = (
  name: RoutedOperation,
  given: GivenInput,
  how?: Parameters<ReturnType<typeof performAt>>[2],
) => Promise<unknown>;

/** `asUserError`: the error for an answer that is no outcome of the operation on that run, or on none. */
export function outcomesAt(
  endpoint: Endpoint,
  asUserError: (error: CairnError, run: string | null) => UserError,
): Requested {
  const ask: Ask = performAt(endpoint);
  return async (typed, given, { signal, write, trace } = {}) => {
    const [name, input] = routed(typed, given);
    const all = { ...input, ...trace, ...(signal !== undefined && { signal }) };
    try {
      return (await (ANSWERED[name]?.(ask, all, write) ?? answered(ask, name, all))) as never;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof CairnError)) throw error;
      const outcome = outcomeIn(name, error);
      if (outcome === null) throw asUserError(error, typeof input["run"] === "string" ? input["run"] : null);
      return outcome as never;
    }
  };
}

/** The operation at whose route this one is performed, and what is sent there. */
function routed(name: OperationName, given: object): readonly [RoutedOperation, GivenInput] {
  const { http, routeOf } = ROWS[name];
  if (routeOf !== undefined) return [routeOf.operation as RoutedOperation, { ...given, ...routeOf.adds }];
  ensure(http !== undefined, `the operation ${name} has no route`);
  return [name as RoutedOperation, { ...given }];
}

/** The outcome is the document. A request that has a key is safe to send again. */
const answered = async (ask: Ask, name: RoutedOperation, { limit, ...given }: GivenInput): Promise<Outcome> => {
  const { key, repeatable: isRepeatable = false } = ROWS[name].http ?? {};
  const repeatable = (key !== undefined && typeof given[key] === "string") || isRepeatable;
  const bounded = typeof limit === "number" ? { ...given, limit: Math.min(limit, LISTED_MAX) } : given;
  const outcome = documentWith("kind", await ask(name, bounded, repeatable ? { repeatable } : {})) as Outcome;
  if (ROWS[name].outcomes[outcome.kind] === undefined) throw unexplained();
  return outcome;
};

/** The document of an answer, which has this field. What answers may be no API of cairn. */
export function documentWith(field: string, document: unknown): GivenInput {
  if (typeof document === "object" && document !== null && field in document) return document as GivenInput;
  throw unexplained();
}

const unexplained = (): CairnError => {
  const message = "the server answered with something that this version of cairn does not know";
  return new CairnError(message, { code: "Unexplained", status: 200 });
};

/** Operations whose success is another document than their outcome. */
const ANSWERED: {
  readonly [N in RoutedOperation]?: (ask: Ask, given: GivenInput, write: Local["write"]) => Promise<Outcome>;
} = {
  start: async (ask, { key: wanted, ...given }) => {
    // A start that is sent again must be the same one.
    const key = typeof wanted === "string" ? wanted : crypto.randomUUID();
    const how = { headers: { "idempotency-key": key }, repeatable: true };
    const { started, dropped, ...summary } = documentWith("run", await ask("start", given, how));
    const kind = started === true ? "started" : "exists";
    return { kind, run: summary["run"], summary, ...(dropped !== undefined && { dropped }) };
  },
  show: async (ask, given) => ({ kind: "shown", shown: documentWith("run", await ask("show", given)) }),
  send: async (ask, given) => {
    const how = { repeatable: typeof given["id"] === "string" };
    const { delivered, message } = documentWith("message", await ask("send", given, how));
    return { kind: delivered === true ? "delivered" : "duplicate", message };
  },
  timeline: async (ask, given) => {
    const page = documentWith("entries", await ask("timeline", given)) as unknown as EventPage;
    return { ...page, entries: page.entries.map(inOrder) };
  },
  signal: async (ask, given) =>
    documentWith("kind", await ask("signal", given, { repeatable: typeof given["id"] === "string" })) as Outcome,
  file: async (ask, { run, ...given }) => {
    const bytes = (await ask("file", { run, ...given }, { bytes: true })) as Uint8Array;
    const { files } = documentWith("files", await ask("show", { run })) as unknown as Shown;
    const digest = sha256(bytes);
    const unlisted = { file: digest, name: given["file"], mediaType: "application/octet-stream", bytes: bytes.length };
    const file = files.find((each) => each.file === digest) ?? unlisted;
    // The command writes to this name, and a server may say any.
    return { kind: "found", file: { ...file, name: basename(String(file.name)) }, read: async () => bytes };
  },
  export: async (ask, given, write) => {
    const bytes = (await ask("export", given, { bytes: true })) as Uint8Array;
    const { exported, plain } = exportedIn(bytes);
    for (const chunk of chunked(plain.toString("utf8").trimEnd().split("\n"))) await write?.(chunk);
    return { kind: "exported", exported };
  },
};

/**
 * An event with its fields in the order in which a store reads them: a server may hand out the stored text. One of a newer
 * server stays as it is.
 */
function inOrder(entry: TimelineEntry): TimelineEntry {
  const { version, epoch } = entry;
  const parsed = commitRecord.safeParse({ version, epoch, events: [entry] });
  const [first] = parsed.success ? parsed.data.events : [];
  return first === undefined ? entry : { version, epoch, ...first };
}

/** What an export says of itself, and its lines. Throws `Unreadable` if it is not whole. */
function exportedIn(bytes: Uint8Array): { readonly exported: Exported; readonly plain: Buffer } {
  const { run, leftOut, sealedBy } = readArchive(bytes);
  const plain = plainArchive(bytes);
  const { counts, digest } = JSON.parse(plain.toString("utf8").trimEnd().split("\n").at(-1) ?? "") as {
    readonly counts: Exported["counts"];
    readonly digest: string;
  };
  const exported = { run, counts, leftOut: leftOut.blobs, digest, sealedBy: sealedBy?.voucher.key ?? null };
  return { exported, plain };
}

/** The outcome that a problem stands for; null if it is none of the operation's. */
function outcomeIn(name: RoutedOperation, { code, facts }: CairnError): Outcome | null {
  const { outcomes } = ROWS[name];
  const { outcome } = facts as { readonly outcome?: Outcome };
  if (outcome !== undefined && outcomes[outcome.kind]?.code === code) return outcome;
  // A body that is too large reached no operation, which would say how large the message is.
  if (code === "TooLarge") return null;
  const kind = Object.keys(outcomes).find((each) => outcomes[each]?.code === code);
  return kind === undefined ? null : { ...facts, kind };
}
