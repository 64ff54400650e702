/** The services of one AWS account, as far as their quotas and latencies matter: token buckets, Lambda, DynamoDB. */
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import type { Network } from "../../support/aws/dynamo-table.ts";
import type { SeededChoices } from "../seeded-choices.ts";
import { LATENCY_MS, type Quota, type Quotas } from "./quotas.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Counts by name, in the order in which each name first came up. */
export class Tally {
  readonly counts: Record<string, number> = {};

  add(name: string, by = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }
}

/** A token bucket. A request passes while there is anything in it, and may take more than that: a debt. */
export class Bucket {
  readonly #quota: Quota;
  readonly #time: VirtualTime;
  #level: number;
  #at: number;

  constructor(quota: Quota, time: VirtualTime) {
    [this.#quota, this.#time] = [quota, time];
    [this.#level, this.#at] = [quota.size, time.now()];
  }

  hasAny(): boolean {
    const { size, perSecond } = this.#quota;
    const now = this.#time.now();
    this.#level = Math.min(size, this.#level + ((now - this.#at) / 1_000) * perSecond);
    this.#at = now;
    return this.#level > 0;
  }

  take(tokens: number): void {
    this.#level -= tokens;
  }
}

export interface Site {
  readonly time: VirtualTime;
  readonly choices: SeededChoices;
  readonly quotas: Quotas;
  readonly tally: Tally;
}

/** A delay around the given one. */
export const around = ({ choices }: Pick<Site, "choices">, ms: number): number => ms * (0.5 + choices.unit());

/** The environments of Lambda. Each is a process that remembers rows, and that serves one invocation after another. */
export class Lambda {
  readonly #site: Site;
  readonly #start: () => RunTable;
  readonly #warm: RunTable[] = [];
  #busy = 0;

  constructor(site: Site, start: () => RunTable) {
    [this.#site, this.#start] = [site, start];
  }

  /** Null: Lambda turns the call away. */
  take(): { readonly table: RunTable; readonly isCold: boolean } | null {
    if (this.#busy >= this.#site.quotas.lambdaConcurrency) return null;
    this.#busy += 1;
    const warm = this.#warm.pop();
    if (warm === undefined) this.#site.tally.add("cold starts");
    return { table: warm ?? this.#start(), isCold: warm === undefined };
  }

  /** `process`: it may serve the next invocation; null if it died. */
  giveBack(process: RunTable | null): void {
    this.#busy -= 1;
    if (process !== null) this.#warm.push(process);
  }
}

/** How often the answer of a write is lost, applied or not. */
const LOST_ONE_IN = 1_000;

type Item = Readonly<Record<string, { readonly S?: string | undefined; readonly N?: string | undefined }>>;
type Sent = Parameters<Network["send"]>[0];

/** The way to the table, with latency, throttles of table and indexes, and lost answers. */
export function tableNetwork(site: Site): Network {
  const { time, choices, quotas, tally } = site;
  const [writes, reads] = [new Bucket(quotas.tableWrites, time), new Bucket(quotas.tableReads, time)];
  const partitions = new Map<string, Bucket>();
  const partitionOf = (key: string): Bucket => {
    const found = partitions.get(key) ?? new Bucket(quotas.partitionWrites, time);
    partitions.set(key, found);
    return found;
  };
  const admit = (name: string, buckets: readonly Bucket[]): void => {
    if (buckets.every((each) => each.hasAny())) return;
    tally.add(`throttled: ${name}`);
    throw Object.assign(new Error("the rate is above the capacity"), { name: "ThrottlingException" });
  };
  const read = (apply: () => object): object => {
    admit("table reads", [reads]);
    tally.add("table reads");
    reads.take(1);
    return apply();
  };
  /** The key of each run in the index of statuses. */
  const placed = new Map<string, string>();
  const write = ({ operation, input }: Sent, apply: () => object): object => {
    const moved = moveIn(input);
    const entries = indexEntries(input, moved, placed.get(moved?.run ?? ""));
    admit("table writes", [writes]);
    for (const { index, key } of entries) admit(`index ${index}`, [partitionOf(`${index} ${key}`)]);
    tally.add("table writes");
    // A refused condition is charged like a write.
    const units = operation === "TransactWriteItems" ? 4 : UNITS_PER_WRITE;
    tally.add("write units", units + entries.length);
    writes.take(units);
    for (const { index, key } of entries) partitionOf(`${index} ${key}`).take(1);
    const answer = apply();
    if (moved !== null) placed.set(moved.run, moved.key);
    return answer;
  };
  return {
    clock: time,
    send: async (sent, apply) => {
      await time.wait(around(site, LATENCY_MS.table) / 2);
      if (!WRITES.has(sent.operation)) {
        const answer = read(apply);
        await time.wait(around(site, LATENCY_MS.table) / 2);
        return answer;
      }
      const fate = choices.oneIn(LOST_ONE_IN) ? choices.pick(["applied", "dropped"] as const) : "answered";
      if (fate !== "answered") tally.add("answers lost");
      const answer = fate === "dropped" ? null : outcomeOf(() => write(sent, apply), tally);
      await time.wait(fate === "answered" ? around(site, LATENCY_MS.table) / 2 : TIMEOUT_MS);
      if (fate !== "answered" || answer === null) throw Object.assign(new Error("no answer"), { name: "TimeoutError" });
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

const WRITES: ReadonlySet<string> = new Set(["UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems"]);
const TIMEOUT_MS = 3_000;
/** A row with its journal, as DynamoDB rounds it. */
const UNITS_PER_WRITE = 2;

function outcomeOf(apply: () => object, tally: Tally): object {
  try {
    return apply();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (REFUSED.has(error.name)) tally.add("conditional failures");
    return error;
  }
}

const REFUSED: ReadonlySet<string> = new Set(["ConditionalCheckFailedException", "TransactionCanceledException"]);

const putIn = ({ TransactItems = [] }: Sent["input"]): Item =>
  TransactItems.map(({ Put }) => Put?.Item).find((each) => each !== undefined) ?? {};

/** The run that a write puts under a key of the index of statuses; null if it names none. */
function moveIn(input: Sent["input"]): { readonly run: string; readonly key: string } | null {
  const item = putIn(input);
  const run = input.Key?.[ATTRIBUTES.run]?.S ?? item[ATTRIBUTES.run]?.S;
  const key = item[ATTRIBUTES.tenantStatus]?.S ?? input.ExpressionAttributeValues?.[":new_tenantStatus"]?.S;
  return run === undefined || key === undefined ? null : { run, key };
}

/** The index entries that a write makes: each is charged to the partition of its key. A new status moves an entry. */
function indexEntries(
  input: Sent["input"],
  moved: { readonly key: string } | null,
  before: string | undefined,
): readonly Entry[] {
  const shard = putIn(input)[ATTRIBUTES.alive]?.N;
  const keys = moved === null || moved.key === before ? [] : [moved.key, ...(before === undefined ? [] : [before])];
  return [
    ...keys.map((key) => ({ index: "byStatus", key })),
    ...(shard === undefined ? [] : [{ index: "alive", key: shard }]),
  ];
}

interface Entry {
  readonly index: string;
  readonly key: string;
}
