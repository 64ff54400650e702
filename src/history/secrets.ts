/**
 * The secrets that a process knows, and the redaction built from them. Everything that cairn writes is redacted before
 * it becomes bytes: events (`active-run.ts`), values (`write-objects.ts`), messages (`inbox.ts`) and alarms
 * (`alarm.ts`). Inputs that contain a secret are refused (`start.ts`).
 *
 * Secret values exist only in memory and are read again after a few minutes. The old value of a rotated secret is still
 * redacted, since data that contains it may still arrive.
 */
import type { Agent, ToolSecrets } from "../ports/agent.ts";
import { type KnownSecret, type Redaction, redactionOf } from "../codec/redaction/redaction.ts";
import type { AbsentSecret, SecretLook, Secrets } from "../ports/secrets.ts";
import { withTimeout } from "../ports/with-timeout.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";

type Knowing = Pick<World, "secrets" | "clock"> & Partial<Pick<World, "limits">>;

interface Looked {
  readonly look: SecretLook;
  readonly readAt: number;
}

/** What a process knows about the secrets of one world. */
interface Known {
  readonly looks: Map<string, Looked>;
  /** Every value that this process read, oldest first. */
  readonly values: KnownSecret[];
  redaction: Redaction;
  /** When the declared names were last read. */
  listedAt: number;
  /** When the store of secrets last gave no answer in its time. */
  silentAt: number;
}

/** How long a store of secrets may take for an answer, and for how long it is not asked again if it gave none. */
const ASK_MS = 5_000;

/** How long a value is used before the process reads it again. */
const FRESH_MS = 5 * 60_000;
/** How long the process does not look again for a secret that was absent. */
const ABSENT_MS = 30_000;
/** How long an old value is used while the secret store cannot be reached. */
const STALE_MS = 3_600_000;
/** How long the list of declared names is cached. Another process may declare a new name in that time. */
const LISTED_MS = 1_000;
/** How many values a process remembers, including old values of rotated secrets. */
const VALUES_MAX = 512;
/** How many values of one name that tools hid: tokens that are replaced each hour must not drive out secrets. */
const HIDDEN_MAX = 8;
/** Names that a reference `[secret NAME]` may have, so that redaction skips it. */
const SECRET_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;

const SHAPES_ONLY = redactionOf([]);
const known = new WeakMap<Secrets, Known>();

function knownOf(secrets: Secrets): Known {
  const found = known.get(secrets);
  if (found !== undefined) return found;
  const nothing: Known = {
    looks: new Map(),
    values: [],
    redaction: SHAPES_ONLY,
    listedAt: -Infinity,
    silentAt: -Infinity,
  };
  known.set(secrets, nothing);
  return nothing;
}

/** The redaction with all secrets known so far. Without any, it still detects credentials by their format. */
export const redactionIn = ({ secrets }: { readonly secrets?: Secrets }): Redaction =>
  secrets === undefined ? SHAPES_ONLY : knownOf(secrets).redaction;

/**
 * Reads every secret that any agent declared, and those of `own`, unless that happened a moment ago. Call it before
 * every write that may contain a secret. Rejects with `StoreUnreachable` if a secret was never read and cannot be read
 * now.
 */
export async function learnSecrets(world: Knowing, own: readonly string[] = []): Promise<void> {
  const all = knownOf(world.secrets);
  const isListed = Math.abs(world.clock.now() - all.listedAt) < LISTED_MS;
  if (!isListed || own.some((name) => !all.looks.has(name))) await readAll(world, own, ABSENT_MS);
}

/**
 * The same before an input is stored: the input may contain a secret that was set a moment ago. Rejects with
 * `SecretUnread` if this process cannot read the value of a secret, since it could not search the input for it.
 */
export async function learnSecretsOfInput(world: Knowing, own: readonly string[]): Promise<void> {
  const { hidden, looks } = await readAll(world, own, 0);
  for (const [name, look] of looks) {
    if (look.kind === "unread") throw new SecretUnread(`the secret ${name}`, look);
  }
  if (hidden !== null) throw new SecretUnread("a secret of another agent", hidden);
}

/** This process cannot read a secret, so it cannot search an input for it. Nothing was written. */
export class SecretUnread extends StoreUnreachable {
  override readonly name = "SecretUnread";
  override readonly code = "SecretUnread";

  constructor(what: string, { where, mend }: Omit<AbsentSecret, "kind">) {
    const why = `it cannot be read in ${where}, so the input cannot be searched for it`;
    super(`${what} may have a value that is not known here, and nothing was started: ${why}; ${mend}`, { store: what });
  }
}

/** `hidden`: set if this process may not list the names that other agents declare. */
async function readAll(
  world: Knowing,
  own: readonly string[],
  absentMs: number,
): Promise<{ readonly hidden: AbsentSecret | null; readonly looks: ReadonlyMap<string, SecretLook> }> {
  const { secrets, clock } = world;
  const all = knownOf(secrets);
  if (own.some((name) => !all.looks.has(name))) await answered(world, () => secrets.declare(own));
  const declared = await answered(world, () => secrets.declared());
  const hidden = "kind" in declared ? declared : null;
  const names = [...new Set([...("kind" in declared ? [] : declared), ...own])];
  const looks = await Promise.all(names.map(async (name) => [name, await lookUp(world, name, absentMs)] as const));
  all.listedAt = clock.now();
  return { hidden, looks: new Map(looks) };
}

/**
 * The answer of the store of secrets. One that says nothing cannot be reached: a beat that waited for it would be killed at
 * its deadline, again and again (schedule 243). A short beat waits for a part of its time. No answer of it is null.
 */
async function answered<T>({ secrets, clock, limits }: Knowing, ask: () => Promise<T>): Promise<T> {
  const all = knownOf(secrets);
  const ms = Math.min(ASK_MS, 2 * (limits?.drainMs ?? ASK_MS));
  const late = new StoreUnreachable(`the store of secrets gave no answer within ${ms} ms`, { store: "the secrets" });
  if (Math.abs(clock.now() - all.silentAt) < ASK_MS) throw late;
  const answer = await withTimeout(ask(), ms, clock);
  if (answer !== null) return answer;
  all.silentAt = clock.now();
  throw late;
}

async function lookUp(world: Knowing, name: string, absentMs = ABSENT_MS): Promise<SecretLook> {
  const { secrets, clock } = world;
  const all = knownOf(secrets);
  const before = all.looks.get(name);
  // The clock may be set back between two reads.
  const ageMs = before === undefined ? Infinity : Math.abs(clock.now() - before.readAt);
  if (before !== undefined && ageMs < (before.look.kind === "found" ? FRESH_MS : absentMs)) return before.look;
  try {
    const look = await answered(world, () => secrets.get(name));
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

/** Remembers a value that no store of secrets has. The oldest one of that name is forgotten if there are many. */
function hide(all: Known, { name, value }: KnownSecret): void {
  const own = all.values.filter((each) => each.name === name);
  const [oldest] = own;
  if (own.some((each) => each.value === value)) return;
  if (own.length >= HIDDEN_MAX && oldest !== undefined) all.values.splice(all.values.indexOf(oldest), 1);
  remember(all, { name, value });
}

/** Reads a secret that may be absent, for a caller that calls a model. */
export const readerIn =
  (world: Knowing) =>
  async (name: string): Promise<string | null> => {
    const look = await lookUp(world, name);
    return look.kind === "found" ? look.value : null;
  };

/** A tool requests a secret that its agent does not declare, or that is not set. */
class SecretAbsent extends Error {
  override readonly name = "SecretAbsent";
}

/** An agent that another copy of cairn built may have no `secrets` field. */
type Declaring = Pick<Agent, "name"> & Partial<Pick<Agent, "secrets">>;

/** The secrets of a tool. Each value is read on request, and redaction knows it before the tool receives it. */
export const secretsFor = (world: Knowing, { name: agent, secrets = [] }: Declaring): ToolSecrets => ({
  get: async (name) => {
    if (!secrets.includes(name)) {
      const write = `secrets: [${[...secrets, name].map((each) => JSON.stringify(each)).join(", ")}]`;
      throw new SecretAbsent(`agent ${agent} does not declare the secret ${name}: write ${write} in defineAgent`);
    }
    // An operator may have set it since the last read, so it is read each time.
    const look = await lookUp(world, name, 0);
    if (look.kind === "found") return look.value;
    throw new SecretAbsent(
      `the secret ${name} is not set; it was looked for in ${look.where}; to set it: ${look.mend}`,
    );
  },
  hide: (name, value) => {
    if (!SECRET_NAME.test(name))
      throw new Error(`${JSON.stringify(name)} is no name: write capital letters, digits and _`);
    hide(knownOf(world.secrets), { name, value });
  },
});
