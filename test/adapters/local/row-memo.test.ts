/** Rows that a process remembers: it returns what the store has, also when another process or damage changed it. */
import { expect, test } from "vitest";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { RowDamaged } from "../../../src/codec/row.ts";
import type { Store } from "../../../src/adapters/local/store/database.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { NOW, RUN, claim, commit, creation, open, temporaryStore } from "../../process/fixtures/store.ts";

const tableOf = (store: Store) =>
  withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } })).table;

/** A run that one process has claimed and committed, and another process on the same store. */
async function committed() {
  const store = temporaryStore();
  const [mine, theirs] = [tableOf(store), tableOf(open(store.dir))];
  await mine.create(creation());
  const claimed = await mine.decide(claim(), CLAIM);
  if (claimed.kind !== "granted") throw new Error(`not claimed: ${claimed.kind}`);
  const journal = Uint8Array.of(1, 2, 3);
  const outcome = await mine.decide(commit(claimed.row, { journal }), COMMIT);
  if (outcome.kind !== "committed") throw new Error(`not committed: ${outcome.kind}`);
  return { store, mine, theirs, row: outcome.row, journal };
}

test("a row that this process wrote is what another process reads", async () => {
  const { mine, theirs } = await committed();
  const read = await mine.read(RUN, NOW);
  expect(read).not.toBeNull();
  expect({ ...read, journal: [...(read?.journal ?? [])] }).toEqual({
    ...(await theirs.read(RUN, NOW)),
    journal: [1, 2, 3],
  });
});

test("a row that another process changed is read anew", async () => {
  const { mine, theirs, row } = await committed();
  const { run, born } = row;
  await mine.read(RUN, NOW);
  await theirs.request({ run, born, now: NOW, want: "pause" });
  expect(await mine.read(RUN, NOW)).toMatchObject({ pause: true, wakeCount: row.wakeCount + 1 });
});

test("a bit of the journal that flips under a process is reported as damage", async () => {
  const { store, mine } = await committed();
  await mine.read(RUN, NOW);
  store.rows.prepare("UPDATE runs SET journal = ? WHERE run = ?").run(Uint8Array.of(1, 2, 2), RUN);
  await expect(mine.read(RUN, NOW)).rejects.toThrow(RowDamaged);
});

test("a caller that changes what it handed over, or what it got, changes no row", async () => {
  const { mine, row, journal } = await committed();
  const read = await mine.read(RUN, NOW);
  for (const bytes of [journal, row.journal, read?.journal]) bytes?.fill(9);
  expect([...((await mine.read(RUN, NOW))?.journal ?? [])]).toEqual([1, 2, 3]);
});
