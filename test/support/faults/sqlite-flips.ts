/** A closed embedded store with runs in every state, and copies of its file with one flipped bit. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type OpenOptions, type Store, openStore, reaching } from "../../../src/adapters/local/store/database.ts";
import { executionsOf } from "../../../src/adapters/local/store/executions.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { seededRandom, virtualClock } from "../../../src/adapters/memory/clock.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { canonical } from "../../../src/codec/canonical.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import type { Page } from "../../../src/ports/run-table.ts";
import { tombstoneOf } from "../../../src/protocol/tombstone.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import type { World } from "../../../src/ports/world.ts";
import { show } from "../../../src/operations/views.ts";
import { send } from "../../../src/operations/steer.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { temporaryDir } from "../../process/fixtures/store.ts";
import { AT } from "../states/states-and-events.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../harness/drive.ts";
import { type ScriptedAgentOptions, scriptedAgent, callsThenFinal, dieInTool, beatReply } from "../harness/harness.ts";

interface FlipScenario {
  readonly bytes: Buffer;
  readonly runs: { readonly [name in "ended" | "gated" | "dead" | "queued"]: Payload };
}

const fileIn = (dir: string): string => join(dir, "cairn.sqlite");

interface OpenStore {
  readonly store: Store;
  readonly world: World;
}

function enter(dir: string, how: Omit<OpenOptions, "dir">): OpenStore {
  const { create } = how;
  const store = openStore({ dir, ...how });
  const clock = virtualClock(create ? AT : AT + 3_600_000);
  const limits = limitsFor(3_000, { settleMs: 20, skewMs: 20 });
  const bare = withKernel(localWorld({ store, limits, telemetry: { record: () => {} } }));
  return { store, world: { ...bare, clock, random: seededRandom(create ? "scene" : "later") } };
}

const clerk = (run: ScriptedAgentOptions["run"] = () => "acted"): Agent =>
  scriptedAgent({ run, reply: callsThenFinal(3) });

const WORDS = { text: "take the train to Basel", by: "ann", id: "w" };

export async function createFlipScenario(): Promise<FlipScenario> {
  const dir = temporaryDir();
  const { store, world } = enter(dir, { create: true });
  const talker = clerk(() => "y".repeat(40_000));
  const ended = await beginRun(world, talker, {});
  await drive(runnerOf(world, talker), ended);
  const row = await world.table.read(ended.run, AT);
  if (row === null) throw new Error("the run is gone");
  await world.table.keepKey(tombstoneOf(row, { status: "completed", at: AT, keptMs: 8e9, expiresAtSec: 0 }));
  const gatedAgent = scriptedAgent({ approval: "always" });
  const gated = await beginRun(world, gatedAgent, {});
  await drive(runnerOf(world, gatedAgent), gated);
  const dead = await beginRun(world, clerk(), {});
  const reply = await beatReply(attemptBeat(runnerOf(world, clerk()), dead));
  const next = { run: reply.run, born: reply.born, chain: reply.chain, epoch: reply.epoch, agent: reply.agent };
  await dieInTool({ world }, { payload: next, agent: clerk() });
  const queued = await beginRun(world, clerk(), {});
  await send(world, { run: queued.run, ...WORDS });
  store.close();
  return { bytes: readFileSync(fileIn(dir)), runs: { ended, gated, dead: next, queued } };
}

/** The codes of errors that report damage. */
const NAMED =
  /^(?:StoreDamaged|StoreInvalid|StoreTooNew|BeforeFirstRelease|OtherSchemas|RowDamaged|MessageDamaged|Unreadable|UnknownFormat|DigestMismatch|\w+Missing)$/;

const codeOf = (error: unknown): string => String((error as { readonly code?: unknown }).code);

/** What readers and later invocations find in a file. */
export interface Observation {
  readonly told: Readonly<Record<string, string>>;
  /** Where damage was reported, and how. */
  readonly named: readonly string[];
  /** The rows and journals in the file, which have their own checksums. */
  readonly rows: string;
}

/** Rethrows any error that does not report damage. */
export async function observe(of: {
  readonly scene: FlipScenario;
  readonly dir: string;
  readonly bytes: Buffer;
  readonly check?: "none";
}): Promise<Observation> {
  const { scene, dir, bytes, check } = of;
  // The previous observation made commits, which this file does not contain.
  for (const end of ["cairn.mark", "cairn.sqlite-wal", "cairn.sqlite-shm"]) rmSync(join(dir, end), { force: true });
  writeFileSync(fileIn(dir), bytes);
  // The previous store in this place may have had more commits.
  rmSync(join(dir, "cairn.mark"), { force: true });
  const observer = new Observer();
  let opened: OpenStore | null = null;
  try {
    opened = enter(dir, { create: false, ...(check !== undefined && { check }) });
    const { store } = opened;
    await observer.look(
      "rows",
      async () =>
        reaching(store, () => store.rows.prepare("SELECT row, hex(journal) AS journal FROM runs").all()) as never,
    );
    await readAll(observer, opened, scene);
    for (const name of ["dead", "queued"] as const)
      await observer.look(`drive ${name}`, driven(opened, scene.runs[name]));
  } catch (error) {
    if (!NAMED.test(codeOf(error))) throw error;
    observer.named.push(`open: ${codeOf(error)}`);
  } finally {
    opened?.store.close();
  }
  return { told: observer.told, named: observer.named, rows: observer.told["rows"] ?? "" };
}

class Observer {
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

async function readAll(observer: Observer, { store, world }: OpenStore, { runs }: FlipScenario): Promise<void> {
  const { table, inbox, clock } = world;
  const now = clock.now();
  const pageOf = async (page: Promise<Page>): Promise<readonly string[]> => {
    const { rows, damaged } = await page;
    observer.named.push(...damaged.map(({ run }) => `page: ${run}`));
    return rows.map(({ run }) => run);
  };
  const query = { limit: 9, after: null, now };
  await observer.look("list", () => pageOf(table.list({ ...query, tenant: "local", status: null })));
  await observer.look("alive", () => pageOf(table.alive(query)));
  for (const [name, of] of Object.entries(runs)) {
    await observer.look(`show ${name}`, () => show(world, of.run));
    await observer.look(`inbox ${name}`, () => inbox.unread({ ...of, now, limit: 9 }));
    await observer.look(`key ${name}`, () => table.readKey(of.run, now));
    await observer.look(`verify ${name}`, async () => {
      const { findings = [] } = (await verify(world, { run: of.run })) ?? {};
      observer.named.push(...findings.map(({ where }) => `verify ${name}: ${where}`));
      return findings.length;
    });
    await observer.look(`send ${name}`, async () => {
      const sent = await send(world, { run: of.run, ...WORDS });
      // The digest of the first delivery differs, so the repetition is refused by name, and its sender knows.
      if (sent.kind === "conflict") observer.named.push(`send ${name}: MessageConflict`);
      return sent;
    });
    const execution = { name: executionName(of.run, of.born, 1), payload: of, now };
    await observer.look(`execution ${name}`, async () => {
      const found = executionsOf(store).start(execution);
      // A damaged execution counts as ended, and the sweeper hands its run over.
      if (found?.stage === "ended") observer.named.push(`execution ${name}: over`);
      return found;
    });
  }
}

/** The result of a run's later invocations, and the keys of its tool calls. */
const driven =
  ({ world }: OpenStore, payload: Payload): (() => Promise<unknown>) =>
  async () => {
    const keys: string[] = [];
    const agent = clerk(({ key }) => {
      keys.push(key);
      return "acted";
    });
    const reply = await drive(runnerOf(world, agent), payload);
    return { reply, keys, shown: await show(world, payload.run) };
  };
