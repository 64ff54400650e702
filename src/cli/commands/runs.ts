/**
 * Resolves which run the user means: a full run ID, or a unique prefix of one, with or without its tenant.
 *
 * A short prefix is refused. In a store with few runs it would match a run that the user did not mean, and `purge`
 * would delete that run.
 */
import { DEFAULT_TENANT, isRunId } from "../../core/ids.ts";
import type { World } from "../../ports/world.ts";
import { findRow } from "../../history/damage.ts";
import { CliError, EXIT } from "../errors.ts";
import { type Opened, openExisting } from "../open.ts";
import type { BeatFlags, Shell } from "../shell.ts";
import { shortRun } from "../render/words.ts";

const PAGE = 500;
/** The minimum length of a typed prefix, not counting the tenant. */
const TYPED_MIN = 6;
const CANDIDATES_SHOWN = 5;
const CANDIDATES_LISTED = 20;

/** Resolves a typed text to a run ID. `of.command` builds a command for the same store. */
export async function resolveRun(
  world: World,
  of: { readonly text: string; readonly command: (...words: readonly string[]) => string },
): Promise<string> {
  const text = of.text.toLowerCase();
  const isWhole = isRunId(text);
  if (isWhole && (await findRow(world, text, world.clock.now())) !== null) return text;
  const dash = text.indexOf("-");
  const tenant = dash < 0 ? DEFAULT_TENANT : text.slice(0, dash);
  const typed = text.slice(dash + 1);
  if (typed.length < TYPED_MIN) throw tooShort(of.text, of.command("list"));
  const found = isWhole ? [] : await runsWith(world, { tenant, prefix: `${tenant}-${typed}` });
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (only !== undefined) throw ambiguous({ text, found, next: of.command("list") });
  throw new CliError({
    code: "RunUnknown",
    exit: EXIT.notFound,
    what: `there is no run ${of.text}`,
    why: "no run ID in this store has this prefix; ended runs are kept for a day, or as long as their agent says",
    next: of.command("list"),
  });
}

/** Opens an existing store, and resolves the run that the user typed. */
export async function openRun(
  shell: Shell,
  of: { readonly run: string; readonly flags: BeatFlags },
): Promise<{ readonly opened: Opened; readonly run: string }> {
  const opened = await openExisting(shell, of.flags);
  const { command } = opened.settings;
  return { opened, run: await resolveRun(opened.world, { text: of.run, command }) };
}

/** The error for a run that disappeared between two reads, because its retention expired or an operator purged it. */
export function runGone(run: string, next: string): CliError {
  const why =
    "its retention expired, or an operator purged it: ended runs are kept for a day, or as long as their agent says";
  return new CliError({ code: "RunUnknown", exit: EXIT.notFound, what: `run ${run} was removed`, why, next });
}

/** The error for a run whose row cannot be decoded. */
export function runUnreadable(run: string, next: string): CliError {
  const why = "its row is damaged, or another version of cairn wrote it; nothing was changed";
  return new CliError({ code: "Unreadable", exit: EXIT.store, what: `run ${run} cannot be read`, why, next });
}

async function runsWith(
  world: World,
  { tenant, prefix }: { readonly tenant: string; readonly prefix: string },
): Promise<string[]> {
  const isMeant = (run: string): boolean => run.startsWith(prefix);
  const found: string[] = [];
  let after: string | null = null;
  do {
    const page = await world.table.list({ tenant, status: null, limit: PAGE, after, now: world.clock.now() });
    found.push(...[...page.rows, ...page.damaged].map(({ run }) => run).filter(isMeant));
    after = page.next;
  } while (after !== null);
  return found.toSorted();
}

function ambiguous(of: { readonly text: string; readonly found: readonly string[]; readonly next: string }): CliError {
  const { text, found, next } = of;
  const shown = found.slice(0, CANDIDATES_SHOWN).map((run) => shortRun(run, found));
  const more = found.length > shown.length ? ", ..." : "";
  return new CliError({
    code: "RunAmbiguous",
    exit: EXIT.usage,
    what: `${found.length} runs begin with ${text}`,
    why: `type more characters of one of them: ${shown.join(", ")}${more}`,
    next,
    facts: { runs: found.slice(0, CANDIDATES_LISTED) },
  });
}

function tooShort(text: string, next: string): CliError {
  const what = text === "" ? "the run ID is empty" : `${text} is too short to name a run`;
  const why = `type at least ${TYPED_MIN} characters of it, its tenant not counted: a shorter prefix may match the wrong run`;
  return new CliError({ code: "RunTooShort", exit: EXIT.usage, what, why, next });
}
