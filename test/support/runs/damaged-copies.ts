/** A long run that died during a beat, and copies of it with damaged objects or a damaged row. */
import { type MemoryStore, memoryStore } from "../../../src/adapters/memory/tables.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { type MemoryWorld, memoryWorld } from "../../../src/adapters/memory/world.ts";
import { canonical, compress, decompress, sha256 } from "../../../src/codec/canonical.ts";
import { type Snapshot, decodeSnapshot } from "../../../src/codec/snapshot.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { beginRun, runnerOf } from "../harness/drive.ts";
import { runBeats, longRunAgent } from "./long-runs.ts";
import { dieInTool, createHarness } from "../harness/harness.ts";
import { rewriteRow } from "./rewrite-row.ts";

export const BEATS = 66;

export interface StoredRun {
  readonly store: MemoryStore;
  readonly run: string;
}

/**
 * The data of a run: 66 beats with sealed events, segments and a blob, and the journal of a beat that died in its tool.
 */
export async function createLongRun(): Promise<StoredRun> {
  const harness = createHarness();
  let acted = 0;
  const agent = longRunAgent({
    reply: () => ({ text: "x".repeat(3_000), calls: [{ tool: "act", args: {} }] }),
    run: () => {
      acted += 1;
      return acted === 7 ? "y".repeat(40_000) : "acted";
    },
  });
  const payload = await runBeats(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}), BEATS);
  await dieInTool(harness, { payload, agent });
  return { store: harness.world.store, run: payload.run };
}

export class DamagedCopy {
  readonly store = memoryStore();
  readonly world: MemoryWorld;
  readonly run: string;

  constructor({ store, run }: StoredRun) {
    this.run = run;
    for (const [name, row] of store.rows) this.store.rows.set(name, structuredClone(row));
    for (const [key, bytes] of store.objects) this.store.objects.set(key, Uint8Array.from(bytes));
    const { limits, clock } = createHarness().world;
    this.world = withKernel(memoryWorld({ limits, clock, store: this.store }));
  }

  get row(): Row {
    return this.store.rows.get(this.run) as Row;
  }

  get newest(): Snapshot {
    return decodeSnapshot(this.row.snapshot, this.object(this.row.snapshot.key));
  }

  object(key: string): Uint8Array {
    return this.store.objects.get(key) as Uint8Array;
  }

  /** The objects in the order in which they were put. */
  keys(folder: string): string[] {
    return [...this.store.objects.keys()].filter((key) => key.includes(`/${folder}/`));
  }

  change(to: Partial<Row>): void {
    this.store.rows.set(this.run, rewriteRow(this.row, to));
  }

  delete(key: string | undefined): void {
    if (key === undefined || !this.store.objects.delete(key)) throw new Error(`there is no object ${key}`);
  }

  flip(key: string): void {
    const bytes = this.object(key);
    const middle = Math.floor(bytes.length / 2);
    this.store.objects.set(
      key,
      bytes.map((byte, at) => (at === middle ? byte ^ 0xff : byte)),
    );
  }

  /** The newest snapshot with changed content, and a row with its new digest. */
  forge(to: (document: Snapshot) => object): void {
    const { key } = this.row.snapshot;
    const document = JSON.parse(
      decompress(this.object(key), { what: "it", bytesMax: 1e7 }).toString("utf8"),
    ) as Snapshot;
    const text = canonical(to(document));
    this.store.objects.set(key, compress(text));
    this.change({ snapshot: { ...this.row.snapshot, digest: sha256(text) } });
  }

  /** The findings of `verify`. */
  async findings(): Promise<readonly string[]> {
    const verified = await verify(this.world, { run: this.run });
    return verified?.findings.map(({ where, what }) => `${where}: ${what}`) ?? ["the run is gone"];
  }
}
