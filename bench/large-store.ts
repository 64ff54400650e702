/**
 * Makes a store with many runs, without driving them all: the waiting ones are real, and each ended one is a copy of one
 * that was driven, under an ID and an incarnation of its own, with copies of its objects.
 */
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";
import { type Store, openStore } from "../src/adapters/local/store/database.ts";
import { storedRow } from "../src/adapters/local/store/row-text.ts";
import { rowRemover } from "../src/adapters/local/store/removals.ts";
import { withKernel } from "../src/features/compose.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { checksumOf } from "../src/codec/checksum.ts";
import { prefixUnder } from "../src/history/object-keys.ts";
import { startRun } from "../src/operations/start.ts";
import type { Agent } from "../src/ports/agent.ts";
import type { World } from "../src/ports/world.ts";
import { runId } from "../src/protocol/ids.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { type Row, hasEnded } from "../src/protocol/row.ts";
import { newRunner, performBeats } from "./perform-beats.ts";
import { prose } from "./sentences.ts";

const TENANT = "default";
/** How many of the ended runs belong to an agent of which there are few. They are the oldest. */
const RARE = 10;
/** Of the waiting runs, each of these waits for an approval, and the others for a message. */
const GATE_EVERY = 100;

interface LargeStore {
  readonly ended: number;
  readonly waiting: number;
  /** Of the ended runs, so many are removed, and wait for their clean-up. */
  readonly removed?: number;
}

/** A conversation: its answer ends its turn, and `pay` waits for an approval. */
const talker = defineAgent({
  ...{ name: "talker", version: "1", instructions: "Talk.", task: z.string(), chat: { idle: "28d" } },
  model: scriptedModel({
    name: "talker-model",
    reply: ({ messages }) => {
      const tokens = { tokensIn: 10, tokensOut: 5 };
      const asked = messages.findLast(({ role }) => role === "user")?.text ?? "";
      return asked.startsWith("pay")
        ? { calls: [{ tool: "pay", args: { euros: 5 } }], ...tokens }
        : { text: "Yes.", ...tokens };
    },
  }),
  tools: {
    pay: tool({
      ...{ input: z.object({ euros: z.number() }), effect: "keyed", approval: "always" },
      run: () => ({ isPaid: true }),
    }),
  },
}) as Agent;

/** One reply of 2 KB, and its end. */
const teller = (name: string): Agent =>
  defineAgent({
    ...{ name, version: "1", instructions: "Tell.", task: z.number() },
    model: scriptedModel({
      name: "teller-model",
      reply: ({ task }) => ({ text: prose(Number(task.json), 2_000), tokensIn: 10, tokensOut: 500 }),
    }),
    tools: {},
  });

/** Fills a new store in `dir`. Nothing waits for the disk. Returns the IDs of two runs, one that waits and one that has ended. */
export async function makeLargeStore(
  dir: string,
  { ended, waiting, removed = 0 }: LargeStore,
): Promise<{ readonly waits: string; readonly ended: string }> {
  const store = openStore({ dir, create: true });
  store.rows.exec("PRAGMA synchronous = OFF");
  const world = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } }));
  const now = Date.now();
  try {
    const rows = [await driven(world, teller("rare"), 0), await driven(world, teller("teller"), 1)] as const;
    const [rare, usual] = rows.map((row) => ({ row, objects: objectsOf(store, row) }));
    let last = rows[1].run;
    store.rows.exec("BEGIN IMMEDIATE");
    const copy = copier(store);
    for (let index = 0; index < ended - rows.length; index += 1) {
      const of = index < RARE ? rare : usual;
      const run = runId(world.hash, { tenant: TENANT, agent: of?.row.agent ?? "", idempotencyKey: `copy ${index}` });
      const statusSince = now - (ended - index) * 10;
      if (of !== undefined) copy({ ...of, run, born: world.random.hex().slice(0, of.row.born.length), statusSince });
      last = run;
    }
    if (removed > 0) removeOldest(store, { removed, now });
    store.rows.exec("COMMIT");
    let waits = "";
    for (let index = 0; index < waiting; index += 1)
      waits = (await driven(world, talker, index % GATE_EVERY === 0 ? "pay" : "hello")).run;
    return { waits, ended: last };
  } finally {
    store.close();
  }
}

async function driven(world: World, agent: Agent, input: string | number): Promise<Row> {
  const started = await startRun(world, { agent, input, tenant: TENANT, idempotencyKey: null });
  if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
  const runner = newRunner(world, agent);
  for await (const route of performBeats(started.row, () => runner)) void route;
  const row = await world.table.read(started.row.run, world.clock.now());
  if (row === null || (!hasEnded(row) && row.park === null && row.status !== "waiting"))
    throw new Error(`${started.row.run} neither ended nor waits`);
  return row;
}

interface StoredObject {
  /** Its key below the prefix of its run. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly putAt: number;
}

function objectsOf({ rows }: Store, row: Row): readonly StoredObject[] {
  const prefix = prefixUnder(row);
  const found = rows
    .prepare("SELECT key, bytes, putAt FROM objects WHERE key >= ? AND key < ?")
    .all(prefix, `${prefix}~`);
  return (found as unknown as readonly { key: string; bytes: Uint8Array; putAt: number }[]).map(
    ({ key, bytes, putAt }) => ({ name: key.slice(prefix.length), bytes, putAt }),
  );
}

/** Stores copies of a run inside the caller's transaction. */
function copier({ rows: db }: Store) {
  const insert = db.prepare(
    `INSERT INTO runs (run, tenant, agent, asks, status, statusSince, alive, expiresAtSec, row, journal, parts)
     VALUES (:run, :tenant, :agent, 0, :status, :statusSince, 0, :expiresAtSec, :row, :journal, NULL)`,
  );
  const put = db.prepare("INSERT INTO objects (key, bytes, putAt) VALUES (?, ?, ?)");
  return (of: {
    readonly row: Row;
    readonly objects: readonly StoredObject[];
    readonly run: string;
    readonly born: string;
    readonly statusSince: number;
  }): void => {
    const { run, born, statusSince } = of;
    const snapshot = {
      ...of.row.snapshot,
      key: of.row.snapshot.key.replace(prefixUnder(of.row), prefixUnder({ run, born })),
    };
    const copy: Row = { ...of.row, run, born, statusSince, createdAt: statusSince, snapshot, endNotified: true };
    const row = { ...copy, checksum: checksumOf(copy) };
    const { tenant, agent, status, expiresAtSec } = row;
    const { row: text, journal } = storedRow(row);
    insert.run({ run, tenant, agent, status, statusSince, expiresAtSec, row: text, journal });
    for (const { name, bytes, putAt } of of.objects) put.run(`${prefixUnder({ run, born })}${name}`, bytes, putAt);
  };
}

function removeOldest(store: Store, { removed, now }: { readonly removed: number; readonly now: number }): void {
  const remove = rowRemover(store.rows);
  const oldest = store.rows.prepare(
    "SELECT run, row ->> '$.born' AS born FROM runs WHERE alive = 0 ORDER BY statusSince LIMIT ?",
  );
  for (const { run, born } of oldest.all(removed)) remove({ run: String(run), born: String(born) }, now);
}
