/** A closed embedded store with runs in every state, and copies of its file with one flipped bit. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type OpenOptions, type Store, openStore } from "../../src/adapters/local/database.ts";
import { executionsOf } from "../../src/adapters/local/executions.ts";
import { localWorld } from "../../src/adapters/local/world.ts";
import { seededRandom, virtualClock } from "../../src/adapters/memory/clock.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { canonical } from "../../src/codec/canonical.ts";
import { executionName } from "../../src/protocol/ids.ts";
import type { Page } from "../../src/ports/run-table.ts";
import { tombstoneOf } from "../../src/protocol/tombstone.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { World } from "../../src/ports/world.ts";
import { show } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { verify } from "../../src/history/verify.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { AT } from "./build.ts";
import { attempt, begin, drive, runnerOf } from "./drive.ts";
import { type Part, actor, callsThenOver, dieInTool, replyOf } from "./stage.ts";

export interface Scene {
  readonly bytes: Buffer;
  readonly runs: { readonly [name in "ended" | "gated" | "dead" | "queued"]: Payload };
}

const fileIn = (dir: string): string => join(dir, "cairn.sqlite");

interface Room {
  readonly store: Store;
  readonly world: World;
}

function enter(dir: string, how: Omit<OpenOptions, "dir">): Room {
  const { create } = how;
  const store = openStore({ dir, ...how });
  const clock = virtualClock(create ? AT : AT + 3_600_000);
  const limits = limitsFor(3_000, { settleMs: 20, skewMs: 20 });
  const bare = localWorld({ store, limits, telemetry: { record: () => {} } });
  return { store, world: { ...bare, clock, random: seededRandom(create ? "scene" : "later") } };
}

const clerk = (run: Part["run"] = () => "acted"): Agent => actor({ run, reply: callsThenOver(3) });

const WORDS = { text: "take the train to Basel", by: "ann", id: "w" };

export async function makeScene(): Promise<Scene> {
  const dir = temporaryDir();
  const { store, world } = enter(dir, { create: true });
  const talker = clerk(() => "y".repeat(40_000));
  const ended = await begin(world, talker, {});
  await drive(runnerOf(world, talker), ended);
  const row = await world.table.read(ended.run, AT);
  if (row === null) throw new Error("the run is gone");
  await world.table.keepKey(tombstoneOf(row, { status: "completed", at: AT, keptMs: 8e9, expiresAtSec: 0 }));
  const gatedAgent = actor({ approval: "always" });
  const gated = await begin(world, gatedAgent, {});
  await drive(runnerOf(world, gatedAgent), gated);
  const dead = await begin(world, clerk(), {});
  const reply = await replyOf(attempt(runnerOf(world, clerk()), dead));
  const next = { run: reply.run, born: reply.born, chain: reply.chain, epoch: reply.epoch, agent: reply.agent };
  await dieInTool({ world }, { payload: next, agent: clerk() });
  const queued = await begin(world, clerk(), {});
  await send(world, { run: queued.run, ...WORDS });
  store.close();
  return { bytes: readFileSync(fileIn(dir)), runs: { ended, gated, dead: next, queued } };
}

/** The codes of errors that report damage. */
const NAMED =
  /^(?:StoreDamaged|StoreInvalid|StoreTooNew|RowDamaged|MessageDamaged|Unreadable|UnknownFormat|DigestMismatch|\w+Missing)$/;

const codeOf = (error: unknown): string => String((error as { readonly code?: unknown }).code);

/** What readers and later invocations find in a file. */
export interface Seen {
  readonly told: Readonly<Record<string, string>>;
  /** Where damage was reported, and how. */
  readonly named: readonly string[];
  /** The rows and journals in the file, which have their own checksums. */
  readonly rows: string;
}

/** Rethrows any error that does not report damage. */
export async function observe(of: {
  readonly scene: Scene;
  readonly dir: string;
  readonly bytes: Buffer;
  readonly check?: "none";
}): Promise<Seen> {
  const { scene, dir, bytes, check } = of;
  // The previous observation made commits, which this file does not contain.
  for (const end of ["cairn.mark", "cairn.sqlite-wal", "cairn.sqlite-shm"]) rmSync(join(dir, end), { force: true });
  writeFileSync(fileIn(dir), bytes);
  // The previous store in this place may have had more commits.
  rmSync(join(dir, "cairn.mark"), { force: true });
  const eyes = new Eyes();
  let room: Room | null = null;
  try {
    room = enter(dir, { create: false, ...(check !== undefined && { check }) });
    const { store } = room;
    await eyes.look(
      "rows",
      async () => store.rows.prepare("SELECT row, hex(journal) AS journal FROM runs").all() as never,
    );
    await readAll(eyes, room, scene);
    for (const name of ["dead", "queued"] as const) await eyes.look(`drive ${name}`, driven(room, scene.runs[name]));
  } catch (error) {
    if (!NAMED.test(codeOf(error))) throw error;
    eyes.named.push(`open: ${codeOf(error)}`);
  } finally {
    room?.store.close();
  }
  return { told: eyes.told, named: eyes.named, rows: eyes.told["rows"] ?? "" };
}

class Eyes {
  readonly told: Record<string, string> = {};
  readonly named: string[] = [];

  async look(what: string, look: () => Promise<unknown>): Promise<void> {
    try {
      this.told[what] = canonical((await look()) ?? null);
    } catch (error) {
      if (!NAMED.test(codeOf(error))) throw error;
      this.named.push(`${what}: ${codeOf(error)}`);
    }
  }
}

async function readAll(eyes: Eyes, { store, world }: Room, { runs }: Scene): Promise<void> {
  const { table, clock } = world;
  const now = clock.now();
  const pageOf = async (page: Promise<Page>): Promise<readonly string[]> => {
    const { rows, damaged } = await page;
    eyes.named.push(...damaged.map(({ run }) => `page: ${run}`));
    return rows.map(({ run }) => run);
  };
  const query = { limit: 9, after: null, now };
  await eyes.look("list", () => pageOf(table.list({ ...query, tenant: "local", status: null })));
  await eyes.look("alive", () => pageOf(table.alive(query)));
  for (const [name, of] of Object.entries(runs)) {
    await eyes.look(`show ${name}`, () => show(world, of.run));
    await eyes.look(`inbox ${name}`, () => table.inbox({ ...of, now, limit: 9 }));
    await eyes.look(`key ${name}`, () => table.readKey(of.run, now));
    await eyes.look(`verify ${name}`, async () => {
      const { findings = [] } = (await verify(world, { run: of.run })) ?? {};
      eyes.named.push(...findings.map(({ where }) => `verify ${name}: ${where}`));
      return findings.length;
    });
    await eyes.look(`send ${name}`, () => send(world, { run: of.run, ...WORDS }));
    const execution = { name: executionName(of.run, of.born, 1), payload: of, now };
    await eyes.look(`execution ${name}`, async () => {
      const found = executionsOf(store).start(execution);
      // A damaged execution counts as ended, and the sweeper hands its run over.
      if (found?.stage === "ended") eyes.named.push(`execution ${name}: over`);
      return found;
    });
  }
}

/** The result of a run's later invocations, and the keys of its tool calls. */
const driven =
  ({ world }: Room, payload: Payload): (() => Promise<unknown>) =>
  async () => {
    const keys: string[] = [];
    const agent = clerk(({ key }) => {
      keys.push(key);
      return "acted";
    });
    const reply = await drive(runnerOf(world, agent), payload);
    return { reply, keys, shown: await show(world, payload.run) };
  };
