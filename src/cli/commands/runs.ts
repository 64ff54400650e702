/**
 * Resolves which run the user means: a full run ID, a unique prefix of one, with or without its tenant, the key under
 * which it was started, or a unique prefix of that.
 *
 * A short prefix is refused. In a store with few runs it would match a run that the user did not mean, and `purge`
 * would delete that run.
 */
import { sha256 } from "../../codec/canonical.ts";
import { DEFAULT_TENANT, isRunId } from "../../core/ids.ts";
import type { World } from "../../ports/world.ts";
import { findRow } from "../../history/damage.ts";
import { ANY_RUN, LISTED_MAX, type Listed, listRuns } from "../../operations/list.ts";
import { runId } from "../../protocol/ids.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { shortRun } from "../../render/words.ts";

/** The minimum length of a typed prefix, not counting the tenant. */
const TYPED_MIN = 6;
const CANDIDATES_SHOWN = 5;
const CANDIDATES_LISTED = 20;

/** Where the runs are among which one is meant. */
interface Runs {
  readonly isThere: (run: string) => Promise<boolean>;
  /** The tenant of an ID that names none. */
  readonly tenant: () => Promise<string>;
  /** The runs, page by page. Each row that cannot be read is among them. */
  readonly pages: (asked: RunsSought, after: string | null) => Promise<Pick<Listed, "runs" | "damaged" | "next">>;
}

/** Runs of a tenant whose ID begins so, or that were started under a key that begins so. */
export type RunsSought = { readonly tenant: string } & (
  | { readonly begins: string; readonly key: null }
  | { readonly begins: null; readonly key: string }
);

interface TypedRun {
  readonly text: string;
  /** Builds a command for the same place. */
  readonly command: (...words: readonly string[]) => string;
  /**
   * `read`: the beginning of a key is enough, if it is that of one run. What changes a run takes the whole key: the run of
   * `order-1` may be gone, and then `order-17` is not meant.
   */
  readonly to?: "read" | undefined;
}

/** Resolves a typed text to the ID of a run of a store. */
export const resolveRun = (world: World, typed: TypedRun): Promise<string> =>
  resolveIn(
    {
      isThere: async (run) => (await findRow(world, run, world.clock.now())) !== null,
      tenant: async () => DEFAULT_TENANT,
      pages: (asked, after) => listRuns(world, { ...ANY_RUN, ...asked, limit: LISTED_MAX, after }),
    },
    typed,
  );

/** Resolves a typed text to a run ID. */
export async function resolveIn(runs: Runs, typedRun: TypedRun): Promise<string> {
  const text = typedRun.text.toLowerCase();
  const isWhole = isRunId(text);
  if (isWhole && (await runs.isThere(text))) return text;
  const dash = text.indexOf("-");
  const typed = text.slice(dash + 1);
  const isShort = typed.length < TYPED_MIN;
  const tenant = dash < 0 ? await runs.tenant() : text.slice(0, dash);
  const named = isWhole || isShort ? [] : await runsWith(runs, { tenant, begins: `${tenant}-${typed}` });
  const found = isWhole || named.length > 0 ? named : await runsUnder(runs, typedRun.text);
  const [only] = found;
  const next = typedRun.command("list");
  const isMeant = only?.isUnder !== false || (typedRun.to === "read" && typedRun.text.length >= TYPED_MIN);
  if (only !== undefined && found.length === 1 && isMeant) return only.run;
  if (found.length > 1) throw ambiguous({ text: typedRun.text, found, next });
  // A text such as `order-17` begins with no tenant of the caller: it is the key of a run rather than a part of an ID.
  const isOfId = text.length < TYPED_MIN || tenant === (await runs.tenant());
  if (isShort && isOfId) throw tooShort(typedRun.text, { only, next });
  throw unknownRun(typedRun.text, next, { only, isShort });
}

/** A run that the text may mean. `isUnder`: the text is its whole key, and not a part of it; absent: it is a part of its ID. */
interface Meant {
  readonly run: string;
  readonly startKey?: string | null;
  readonly isUnder?: boolean;
}

/** The runs that were started under that key, or else under one that begins so. Agents may have a run each. */
async function runsUnder(runs: Runs, key: string): Promise<readonly Meant[]> {
  if (key === "") return [];
  const tenant = await runs.tenant();
  const found: Meant[] = [];
  for await (const page of pagesOf(runs, { tenant, begins: null, key })) {
    // A damaged row matches every filter, and nothing says that it has this key.
    for (const { run, agent, startKey } of page.runs)
      found.push({ run, startKey, isUnder: run === runId(sha256, { tenant, agent, idempotencyKey: key }) });
  }
  const exact = found.filter(({ isUnder }) => isUnder);
  return exact.length > 0 ? exact : found;
}

/** The error for a text that names no run. `only`: the one run whose key begins so, where the whole key is asked for. */
export function unknownRun(
  text: string,
  next: string,
  { only, isShort = false }: { readonly only?: Meant | undefined; readonly isShort?: boolean } = {},
): UserError {
  const ids = isShort ? `no ID is shortened to less than ${TYPED_MIN} characters` : "no run ID in this store begins so";
  const kept = "ended runs are kept for a day, or as long as their agent says";
  return new UserError({
    code: "RunUnknown",
    exit: EXIT.notFound,
    what: `there is no run ${text}`,
    why: `${ids}, and ${keyedWords(only)}; ${kept}`,
    next,
  });
}

const keyedWords = (only: Meant | undefined): string =>
  only === undefined
    ? "no run was started under this key"
    : `one run was started under a key that begins so: ${candidate(only, [])}`;

/** The error for a run that disappeared between two reads, because its retention expired or an operator purged it. */
export function runGone(run: string, next: string): UserError {
  const why =
    "its retention expired, or an operator purged it: ended runs are kept for a day, or as long as their agent says";
  return new UserError({ code: "RunUnknown", exit: EXIT.notFound, what: `run ${run} was removed`, why, next });
}

/** The error for a run whose row cannot be decoded. */
export function runUnreadable(run: string, next: string): UserError {
  const why = "its row is damaged, or another version of cairn wrote it; nothing was changed";
  return new UserError({ code: "Unreadable", exit: EXIT.store, what: `run ${run} cannot be read`, why, next });
}

async function runsWith(
  runs: Runs,
  { tenant, begins }: { readonly tenant: string; readonly begins: string },
): Promise<readonly Meant[]> {
  const found: string[] = [];
  for await (const page of pagesOf(runs, { tenant, begins, key: null }))
    found.push(...[...page.runs, ...page.damaged].map(({ run }) => run));
  return found
    .filter((run) => run.startsWith(begins))
    .toSorted()
    .map((run) => ({ run }));
}

async function* pagesOf({ pages }: Runs, asked: RunsSought): AsyncGenerator<Awaited<ReturnType<Runs["pages"]>>> {
  let after: string | null = null;
  do {
    const page = await pages(asked, after);
    yield page;
    after = page.next;
  } while (after !== null);
}

function ambiguous({
  text,
  found,
  next,
}: {
  readonly text: string;
  readonly found: readonly Meant[];
  readonly next: string;
}): UserError {
  const all = found.map(({ run }) => run);
  const shown = found.slice(0, CANDIDATES_SHOWN).map((each) => candidate(each, all));
  const more = found.length > shown.length ? ", ..." : "";
  return new UserError({
    code: "RunAmbiguous",
    exit: EXIT.usage,
    what: `${found.length} runs begin with ${text}, or have it as their key or as the beginning of their key`,
    why: `type more characters of one of them: ${shown.join(", ")}${more}`,
    next,
    facts: { runs: all.slice(0, CANDIDATES_LISTED) },
  });
}

/** The ID as far as it tells the run from the others, with its key if it was found by that. */
const candidate = ({ run, startKey }: Meant, among: readonly string[]): string =>
  startKey == null ? shortRun(run, among) : `${shortRun(run, among)} [${startKey}]`;

/** `only`: the one run whose key begins so. */
function tooShort(
  text: string,
  { only, next }: { readonly only: Meant | undefined; readonly next: string },
): UserError {
  const what = text === "" ? "the run ID is empty" : `${text} is too short to name a run`;
  const why = `type at least ${TYPED_MIN} characters of it, its tenant not counted: a shorter prefix may match the wrong run; ${keyedWords(only)}`;
  return new UserError({ code: "RunTooShort", exit: EXIT.usage, what, why, next });
}
