/**
 * The secrets that a process knows, and the redaction that they make. Whatever cairn writes passes through here before it
 * becomes bytes: events (`active-run.ts`), values (`write-objects.ts`), messages (`inbox.ts`), lines for people (`alarm.ts`), and
 * inputs, which are refused (`start.ts`).
 *
 * Values live in the memory of the process alone, and are read again after a few minutes. The old value of one that was
 * changed is redacted as before: what holds it may still be on its way.
 */
import type { Agent, ToolSecrets } from "../ports/agent.ts";
import { type KnownSecret, type Redaction, redactionOf } from "../codec/redaction/redaction.ts";
import type { AbsentSecret, SecretLook, Secrets } from "../ports/secrets.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";

type Knowing = Pick<World, "secrets" | "clock">;

interface Looked {
  readonly look: SecretLook;
  readonly readAt: number;
}

/** What a process knows of the secrets of one world. */
interface Known {
  readonly looks: Map<string, Looked>;
  /** Every value that was read, the newest last. */
  readonly values: KnownSecret[];
  redaction: Redaction;
  /** When the names were read last. */
  listedAt: number;
}

/** How long a value is used before it is read again. */
const FRESH_MS = 5 * 60_000;
/** How long a secret that was not there is not read again. */
const ABSENT_MS = 30_000;
/** How long it is used where it cannot be read again. */
const STALE_MS = 3_600_000;
/** How long another process may have declared a name that this one does not know. */
const LISTED_MS = 1_000;
/** Values that a process remembers, old ones of changed secrets included. */
const VALUES_MAX = 512;

const SHAPES_ONLY = redactionOf([]);
const known = new WeakMap<Secrets, Known>();

function knownOf(secrets: Secrets): Known {
  const found = known.get(secrets);
  if (found !== undefined) return found;
  const nothing: Known = { looks: new Map(), values: [], redaction: SHAPES_ONLY, listedAt: -Infinity };
  known.set(secrets, nothing);
  return nothing;
}

/** As far as secrets are known now. Without any, credentials are still known by their shapes. */
export const redactionIn = ({ secrets }: { readonly secrets?: Secrets }): Redaction =>
  secrets === undefined ? SHAPES_ONLY : knownOf(secrets).redaction;

/**
 * Reads every secret that any agent declared, and those of `own`, unless that was done a moment ago: before anything is
 * written that may hold one. Rejects with `StoreUnreachable` where one was never read and cannot be.
 */
export async function knowSecrets(world: Knowing, own: readonly string[] = []): Promise<void> {
  const all = knownOf(world.secrets);
  const isListed = Math.abs(world.clock.now() - all.listedAt) < LISTED_MS;
  if (!isListed || own.some((name) => !all.looks.has(name))) await readAll(world, own, ABSENT_MS);
}

/**
 * The same before an input is kept, which may hold a secret that was set a moment ago. Rejects with `StoreUnreachable`
 * where a secret may have a value that this process cannot read: the input could not be searched for it.
 */
export async function knowSecretsOfInput(world: Knowing, own: readonly string[]): Promise<void> {
  const { hidden, looks } = await readAll(world, own, 0);
  for (const [name, look] of looks) {
    if (look.kind === "unread") throw new SecretUnread(`the secret ${name}`, look);
  }
  if (hidden !== null) throw new SecretUnread("a secret of another agent", hidden);
}

/** An input cannot be searched for a secret that this process cannot read. Nothing was written. */
export class SecretUnread extends StoreUnreachable {
  override readonly name = "SecretUnread";
  override readonly code = "SecretUnread";

  constructor(what: string, { where, mend }: Omit<AbsentSecret, "kind">) {
    const why = `it cannot be read in ${where}, so the input cannot be searched for it`;
    super(`${what} may have a value that is not known here, and nothing was started: ${why}; ${mend}`, { store: what });
  }
}

/** `hidden`: where the names that other agents declare may not be listed. */
async function readAll(
  world: Knowing,
  own: readonly string[],
  absentMs: number,
): Promise<{ readonly hidden: AbsentSecret | null; readonly looks: ReadonlyMap<string, SecretLook> }> {
  const { secrets, clock } = world;
  const all = knownOf(secrets);
  if (own.some((name) => !all.looks.has(name))) await secrets.declare(own);
  const declared = await secrets.declared();
  const hidden = "kind" in declared ? declared : null;
  const names = [...new Set([...("kind" in declared ? [] : declared), ...own])];
  const looks = await Promise.all(names.map(async (name) => [name, await lookUp(world, name, absentMs)] as const));
  all.listedAt = clock.now();
  return { hidden, looks: new Map(looks) };
}

async function lookUp({ secrets, clock }: Knowing, name: string, absentMs = ABSENT_MS): Promise<SecretLook> {
  const all = knownOf(secrets);
  const before = all.looks.get(name);
  // A clock may be set back in between.
  const ageMs = before === undefined ? Infinity : Math.abs(clock.now() - before.readAt);
  if (before !== undefined && ageMs < (before.look.kind === "found" ? FRESH_MS : absentMs)) return before.look;
  try {
    const look = await secrets.get(name);
    all.looks.set(name, { look, readAt: clock.now() });
    if (look.kind === "found") remember(all, { name, value: look.value });
    return look;
  } catch (error) {
    if (!(error instanceof StoreUnreachable) || before === undefined || ageMs >= STALE_MS) throw error;
    return before.look;
  }
}

function remember(all: Known, { name, value }: KnownSecret): void {
  if (all.values.some((each) => each.name === name && each.value === value)) return;
  all.values.push({ name, value });
  if (all.values.length > VALUES_MAX) all.values.shift();
  all.redaction = redactionOf(all.values);
}

/** The value of a secret that may be missing, for a caller that speaks to a model. */
export const readerIn =
  (world: Knowing) =>
  async (name: string): Promise<string | null> => {
    const look = await lookUp(world, name);
    return look.kind === "found" ? look.value : null;
  };

/** A tool asks for what its agent does not declare, or what is not set. */
class SecretAbsent extends Error {
  override readonly name = "SecretAbsent";
}

/** One of another copy of cairn may know of no secrets. */
type Declaring = Pick<Agent, "name"> & Partial<Pick<Agent, "secrets">>;

/** What a tool gets: each value is read when it is asked for, and known to the redaction before the tool has it. */
export const secretsFor = (world: Knowing, { name: agent, secrets = [] }: Declaring): ToolSecrets => ({
  get: async (name) => {
    if (!secrets.includes(name)) {
      const write = `secrets: [${[...secrets, name].map((each) => JSON.stringify(each)).join(", ")}]`;
      throw new SecretAbsent(`agent ${agent} does not declare the secret ${name}: write ${write} in defineAgent`);
    }
    // An operator may have set it since, so it is read each time.
    const look = await lookUp(world, name, 0);
    if (look.kind === "found") return look.value;
    throw new SecretAbsent(
      `the secret ${name} is not set; it was looked for in ${look.where}; to set it: ${look.mend}`,
    );
  },
});
