/**
 * Resolves which run the user means: a full run ID, a unique prefix of one, with or without its tenant, or the key under
 * which it was started.
 *
 * A short prefix is refused. In a store with few runs it would match a run that the user did not mean, and `purge`
 * would delete that run.
 */
import { DEFAULT_TENANT, isRunId } from "../../core/ids.ts";
import type { World } from "../../ports/world.ts";
import { findRow } from "../../history/damage.ts";
import { ANY_RUN, LISTED_MAX, listRuns } from "../../operations/list.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { shortRun } from "../../render/words.ts";

const PAGE = 500;
/** The minimum length of a typed prefix, not counting the tenant. */
const TYPED_MIN = 6;
const CANDIDATES_SHOWN = 5;
const CANDIDATES_LISTED = 20;

/** Where the runs are among which one is meant. */
interface Runs {
  readonly isThere: (run: string) => Promise<boolean>;
  /** The tenant of an ID that names none. */
  readonly tenant: () => Promise<string>;
  /** The IDs of runs, page by page. Those that are not asked for may be among them if a prefix is. */
  readonly pages: (
    asked: RunsSought,
    after: string | null,
  ) => Promise<{ readonly runs: readonly string[]; readonly next: string | null }>;
}

/** Runs of a tenant that begin with the prefix, or that were started under the key. */
export type RunsSought = { readonly tenant: string } & (
  | { readonly prefix: string; readonly key: null }
  | { readonly prefix: null; readonly key: string }
);

interface TypedRun {
  readonly text: string;
  /** Builds a command for the same place. */
  readonly command: (...words: readonly string[]) => string;
}

/** Resolves a typed text to the ID of a run of a store. */
export const resolveRun = (world: World, typed: TypedRun): Promise<string> =>
  resolveIn(
    {
      isThere: async (run) => (await findRow(world, run, world.clock.now())) !== null,
      tenant: async () => DEFAULT_TENANT,
      pages: async ({ tenant, prefix, key }, after) => {
        if (prefix === null) {
          const page = await listRuns(world, { ...ANY_RUN, tenant, key, limit: LISTED_MAX, after });
          return { runs: page.runs.map(({ run }) => run), next: page.next };
        }
        const now = world.clock.now();
        const only = { beginsWith: prefix };
        const page = await world.table.list({ tenant, status: null, limit: PAGE, after, now, only });
        return { runs: [...page.rows, ...page.damaged].map(({ run }) => run), next: page.next };
      },
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
  const named = isWhole || isShort ? [] : await runsWith(runs, { tenant, prefix: `${tenant}-${typed}` });
  const found = isWhole || named.length > 0 ? named : await runsUnder(runs, typedRun.text);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (only !== undefined) throw ambiguous({ text, found, next: typedRun.command("list") });
  if (isShort) throw tooShort(typedRun.text, typedRun.command("list"));
  throw unknownRun(typedRun.text, typedRun.command("list"));
}

/** The runs that were started under that key. Agents may have a run each. */
const runsUnder = async (runs: Runs, key: string): Promise<readonly string[]> =>
  key === "" ? [] : allPages(runs, { tenant: await runs.tenant(), prefix: null, key });

/** The error for a text that names no run. */
export const unknownRun = (text: string, next: string): UserError =>
  new UserError({
    code: "RunUnknown",
    exit: EXIT.notFound,
    what: `there is no run ${text}`,
    why: "no run ID in this store has this prefix, and no run was started under this key; ended runs are kept for a day, or as long as their agent says",
    next,
  });

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
  { tenant, prefix }: { readonly tenant: string; readonly prefix: string },
): Promise<readonly string[]> {
  const found = await allPages(runs, { tenant, prefix, key: null });
  return found.filter((run) => run.startsWith(prefix)).toSorted();
}

async function allPages(runs: Runs, asked: RunsSought): Promise<readonly string[]> {
  const found: string[] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<Runs["pages"]>> = await runs.pages(asked, after);
    found.push(...page.runs);
    after = page.next;
  } while (after !== null);
  return found;
}

function ambiguous({
  text,
  found,
  next,
}: {
  readonly text: string;
  readonly found: readonly string[];
  readonly next: string;
}): UserError {
  const shown = found.slice(0, CANDIDATES_SHOWN).map((run) => shortRun(run, found));
  const more = found.length > shown.length ? ", ..." : "";
  return new UserError({
    code: "RunAmbiguous",
    exit: EXIT.usage,
    what: `${found.length} runs begin with ${text}, or have it as their key`,
    why: `type more characters of one of them: ${shown.join(", ")}${more}`,
    next,
    facts: { runs: found.slice(0, CANDIDATES_LISTED) },
  });
}

function tooShort(text: string, next: string): UserError {
  const what = text === "" ? "the run ID is empty" : `${text} is too short to name a run`;
  const why = `type at least ${TYPED_MIN} characters of it, its tenant not counted: a shorter prefix may match the wrong run; no run was started under this key`;
  return new UserError({ code: "RunTooShort", exit: EXIT.usage, what, why, next });
}
