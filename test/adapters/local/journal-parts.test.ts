/** Journals beside their rows: what each process reads, what damage is found, and what is left when a run has ended. */
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { checksum } from "../../../src/adapters/local/store/integrity.ts";
import type { Store } from "../../../src/adapters/local/store/database.ts";
import { inspectStore } from "../../../src/adapters/local/inspection.ts";
import { RowDamaged } from "../../../src/codec/row.ts";
import { appendToJournal } from "../../../src/codec/journal.ts";
import { checkedCommit } from "../../../src/codec/checksum.ts";
import type { Commit, Row } from "../../../src/protocol/row.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { BORN, NOW, RUN, claim, commit, creation, open, temporaryStore } from "../../process/fixtures/store.ts";
import { rewriteText } from "../../support/runs/rewrite-text.ts";

const tableOf = (store: Store) =>
  withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } })).table;

const part = (fill: number) => [{ version: fill, epoch: fill, events: [] }];
/** A journal of that many parts. */
const journalOf = (count: number): Uint8Array | null => {
  let journal: Uint8Array | null = null;
  for (let fill = 1; fill <= count; fill += 1) journal = appendToJournal(journal, part(fill));
  return journal;
};

/** A run whose journal has three parts, one for each of three commits. */
async function withParts(run = RUN) {
  const store = temporaryStore();
  const table = tableOf(store);
  const claimed = await claimedIn(table, run);
  let row = claimed;
  const write = async (change: Partial<Commit>): Promise<Row> => {
    const given = { ...commit(row, { run, release: false, ...change }) };
    const outcome = await table.decide(checkedCommit(row, given), COMMIT);
    if (outcome.kind !== "committed") throw new Error(`not committed: ${outcome.kind}`);
    ({ row } = outcome);
    return row;
  };
  for (const count of [1, 2, 3]) await write({ journal: journalOf(count) });
  return { store, table, write, row: () => row };
}

async function claimedIn(table: ReturnType<typeof tableOf>, run: string): Promise<Row> {
  await table.create(creation({ run }));
  const claimed = await table.decide(claim({ run }), CLAIM);
  if (claimed.kind !== "granted") throw new Error(`not claimed: ${claimed.kind}`);
  return claimed.row;
}

/** A page of 1 KB without its pointer to the next one, or a little less where a record does not fill it. */
const LAST_PAGE_BYTES = 990;
const rowText = ({ rows }: Store): string => String(rows.prepare("SELECT row FROM runs").get()?.["row"]);
const records = ({ rows }: Store): number => Number(rows.prepare("SELECT count(*) AS n FROM parts").get()?.["n"]);
const hex = (journal: Uint8Array | null = null): string | null => journal && Buffer.from(journal).toString("hex");

test("the claim, the commits and the release of a beat change one page of a row, the last", async () => {
  const { store, table, write } = await withParts();
  const before = rowText(store);
  await write({ journal: journalOf(4), release: true });
  const released = rowText(store);
  const next = await table.decide(claim({ entry: { execution: "execution 1", epoch: 1, retry: 0 } }), CLAIM);
  expect(next.kind).toBe("granted");
  for (const after of [released, rowText(store)]) {
    expect(after).not.toBe(before);
    expect({ length: after.length, start: after.slice(0, -LAST_PAGE_BYTES) }).toEqual({
      length: before.length,
      start: before.slice(0, -LAST_PAGE_BYTES),
    });
  }
});

test("each commit adds one record, and another process reads the whole journal", async () => {
  const { store, row } = await withParts();
  expect(records(store)).toBe(3);
  expect(store.rows.prepare("SELECT length(journal) AS bytes FROM runs").get()).toEqual({ bytes: 0 });
  const read = await tableOf(open(store.dir)).read(RUN, NOW);
  expect(hex(read?.journal)).toBe(hex(journalOf(3)));
  expect({ ...read, journal: null }).toEqual({ ...row(), journal: null });
});

test("a snapshot leaves no journal, and the next commits fill the same records again", async () => {
  const { store, table, write } = await withParts();
  await write({ journal: null });
  expect((await table.read(RUN, NOW))?.journal).toBeNull();
  const again = appendToJournal(null, part(9));
  await write({ journal: again });
  expect(records(store)).toBe(3);
  expect(hex((await tableOf(open(store.dir)).read(RUN, NOW))?.journal)).toBe(hex(again));
});

test("a part that is larger than a page is read whole", async () => {
  const { store, write } = await withParts();
  const note = Array.from({ length: 4_000 }, (_, index) => ((index * 7_919) % 65_521).toString(36)).join(" ");
  const large = appendToJournal(journalOf(3), [
    { version: 4, epoch: 1, events: [{ kind: "BudgetDebited", at: 0, debit: { note } } as never] },
  ]);
  await write({ journal: large });
  expect(large.byteLength).toBeGreaterThan(5_000);
  expect(hex((await tableOf(open(store.dir)).read(RUN, NOW))?.journal)).toBe(hex(large));
});

test("the parts of a run go with its end and with its row, and those of others stay", async () => {
  const { store, table, write } = await withParts();
  const other = `${RUN.slice(0, -1)}b`;
  const held = await claimedIn(table, other);
  await table.decide(commit(held, { run: other, journal: journalOf(1), release: false }), COMMIT);
  expect(records(store)).toBe(4);
  await write({ journal: null, status: "completed", phase: "Completed", release: true });
  expect(records(store)).toBe(1);
  // As a process of an older version removes it.
  store.rows.prepare("DELETE FROM runs WHERE run = ?").run(other);
  expect(records(store)).toBe(0);
});

test("a message that an older process delivers changes the text alone, and the journal stays", async () => {
  const { store, table } = await withParts();
  const { row: text } = store.rows.prepare("SELECT row FROM runs").get() as { readonly row: string };
  const { sum: _, ...fields } = JSON.parse(text) as Record<string, unknown>;
  const changed = JSON.stringify({ ...fields, wakeCount: 1 }).slice(0, -1);
  const sum = checksum(`${changed}}`, new Uint8Array());
  store.rows.prepare("UPDATE runs SET row = ?").run(`${changed},"sum":"${sum}"}`);
  expect(await table.read(RUN, NOW)).toMatchObject({ wakeCount: 1, journal: journalOf(3) });
});

describe("damage is reported, and the row is left as it is", () => {
  const noParts = (fields: object): Record<string, unknown> => ({ ...fields, parts: 7 });
  const damages: readonly (readonly [string, string | typeof noParts, string])[] = [
    ["a part", "UPDATE parts SET bytes = x'00000001ff' WHERE id % 65536 = 1", "are not those that were written"],
    ["the length of a part", "UPDATE parts SET bytes = x'7fffffffff' WHERE id % 65536 = 0", "are not those"],
    ["a record that is too short", "UPDATE parts SET bytes = x'00' WHERE id % 65536 = 0", "are not those"],
    ["a missing part", "DELETE FROM parts WHERE id % 65536 = 2", "1 of the 3 parts of its journal are missing"],
    ["the place of the parts", "UPDATE runs SET parts = parts + 65536", "names another place for its journal"],
    ["names of another shape", noParts, "where its"],
    ["no place", "UPDATE runs SET parts = NULL", "names another place for its journal"],
  ];
  test.each(damages)("%s", async (_, damage, why) => {
    const { store, row } = await withParts();
    if (typeof damage === "string") store.rows.exec(damage);
    else rewriteText(store, RUN, damage);
    const fresh = open(store.dir);
    const read = tableOf(fresh).read(RUN, NOW);
    await expect(read).rejects.toThrow(RowDamaged);
    expect(inspectStore(fresh, { overdueBefore: 0 }).damaged).toMatchObject([
      { run: RUN, why: expect.stringContaining(why) },
    ]);
    const { version } = row();
    const refused = await tableOf(fresh).decide(commit({ ...row(), version }, { born: BORN }), COMMIT);
    expect(refused.kind).toBe("unreadable");
  });
});

test("a flipped place of one run removes no parts of another", async () => {
  const { store, table } = await withParts();
  const other = `${RUN.slice(0, -1)}b`;
  const held = await claimedIn(table, other);
  await table.decide(commit(held, { run: other, journal: journalOf(1), release: false }), COMMIT);
  store.rows.prepare("UPDATE runs SET parts = (SELECT parts FROM runs WHERE run = ?) WHERE run = ?").run(other, RUN);
  store.rows.prepare("DELETE FROM runs WHERE run = ?").run(RUN);
  expect(hex((await tableOf(open(store.dir)).read(other, NOW))?.journal)).toBe(hex(journalOf(1)));
});

test("lists show such rows without reading their parts", async () => {
  const { store, table, row } = await withParts();
  store.rows.exec("DELETE FROM parts");
  const { rows, damaged } = await table.list({ tenant: "local", status: null, limit: 9, after: null, now: NOW });
  expect(damaged).toEqual([]);
  expect(rows).toMatchObject([{ run: RUN, version: row().version }]);
});
