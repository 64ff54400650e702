/** The contract of the port `Records`: one atomic write at a time, expiry, lists in pages, and damaged records. */
import {
  type NewRecord,
  RECORD_BODY_BYTES_MAX,
  type RecordKey,
  type Records,
  type StoredRecord,
} from "../../ports/records.ts";
import { type Case, insist, must, mustBe, mustEqual } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { times } from "./run.ts";

/** A store of records, and a tenant that no other case uses. */
export interface RecordsWorld {
  readonly records: Records;
  readonly tenant: string;
  /** Damages the body of a record that is there. */
  damage(key: RecordKey): Promise<void>;
}

const NOW = 1_700_000_000_000;

const recordOf = ({ tenant }: RecordsWorld, change: Partial<NewRecord> = {}): NewRecord => ({
  kind: "audit",
  about: `subject of ${tenant}`,
  id: "first",
  tenant,
  at: NOW,
  body: { said: "hello" },
  expiresAtSec: null,
  ...change,
});

const inSeconds = (ms: number): number => Math.floor((NOW + ms) / 1_000);

/** Every record of the list, read in pages of that size. */
const listed = async (world: RecordsWorld, query: ListOf): Promise<readonly StoredRecord[]> =>
  (await allOf(world, query)).records;

type ListOf = Omit<Parameters<Records["list"]>[0], "after" | "now" | "kind"> & { readonly now?: number };

/** Every record of the list and the keys of the damaged ones, read in pages of that size. */
async function allOf(
  { records }: RecordsWorld,
  query: ListOf,
): Promise<{ readonly records: readonly StoredRecord[]; readonly damaged: readonly RecordKey[] }> {
  const found: StoredRecord[] = [];
  const damaged: RecordKey[] = [];
  let after: string | null = null;
  do {
    const page = await records.list({ kind: "audit", after, now: NOW, ...query });
    const size = page.records.length + page.damaged.length;
    must(size <= query.limit, `a page has at most ${query.limit} records, not ${size}`);
    found.push(...page.records);
    damaged.push(...page.damaged.map(({ kind, about, id }) => ({ kind, about, id })));
    after = page.next;
  } while (after !== null);
  return { records: found, damaged };
}

export const recordCases: readonly Case<RecordsWorld>[] = [
  {
    name: "adds a record once, and shows the first one to every other writer",
    run: async (world) => {
      const { records } = world;
      const record = recordOf(world);
      mustEqual(await records.get(record, NOW), null, "a record before it is added");
      await mustBe(() => records.add(record, NOW), "added");
      mustEqual(await records.get(record, NOW), { ...record, version: 1 }, "the record");
      const second = await insist(() => records.add({ ...record, body: "other" }, NOW));
      mustEqual(second, { kind: "exists", record: { ...record, version: 1 } }, "a second record with the key");
    },
  },
  {
    name: "keeps the largest body, whose JSON escapes its quotes and line ends",
    run: async (world) => {
      const { records } = world;
      const line = '"a","b",""\n';
      const perLine = Buffer.byteLength(JSON.stringify(line)) - 2;
      const body = line.repeat(Math.floor((RECORD_BODY_BYTES_MAX - 2) / perLine));
      const record = recordOf(world, { body });
      await mustBe(() => records.add(record, NOW), "added");
      await mustBe(() => records.replace({ ...record, version: 1 }, NOW), "replaced");
      mustEqual(await records.get(record, NOW), { ...record, version: 2 }, "the record");
    },
  },
  {
    name: "replaces the body of the version that the writer saw, and no other",
    run: async (world) => {
      const { records } = world;
      const first = { ...recordOf(world), version: 1 };
      await mustBe(() => records.replace(first, NOW), "changed");
      await mustBe(() => records.add(first, NOW), "added");
      await mustBe(() => records.replace({ ...first, body: [2], expiresAtSec: inSeconds(9_000) }, NOW), "replaced");
      const second = { ...first, body: [2], expiresAtSec: inSeconds(9_000), version: 2 };
      mustEqual(await records.get(first, NOW), second, "the record after it was replaced");
      await mustBe(() => records.replace({ ...first, body: "late" }, NOW), "changed");
      await mustBe(() => records.replace({ ...second, body: null, expiresAtSec: null }, NOW), "replaced");
      mustEqual(await records.get(first, NOW), { ...first, body: null, version: 3 }, "the record at last");
    },
  },
  {
    name: "lets one of 20 writers replace a version, and one of 20 add a record",
    run: async (world) => {
      const { records } = world;
      const record = recordOf(world);
      const added = await Promise.all(
        times(20, (writer) => insist(() => records.add({ ...record, body: writer }, NOW))),
      );
      mustEqual(added.filter(({ kind }) => kind === "added").length, 1, "how many added it");
      const replaced = await Promise.all(
        times(20, (writer) => insist(() => records.replace({ ...record, version: 1, body: writer }, NOW))),
      );
      mustEqual(replaced.filter(({ kind }) => kind === "replaced").length, 1, "how many replaced it");
      mustEqual((await records.get(record, NOW))?.version, 2, "the version after that");
    },
  },
  {
    name: "treats an expired record as absent, to the second, deleted or not",
    run: async (world) => {
      const { records } = world;
      const record = recordOf(world, { expiresAtSec: inSeconds(5_000) });
      await mustBe(() => records.add(record, NOW), "added");
      const later = NOW + 5_000;
      must((await records.get(record, later - 1_000)) !== null, "a record is there until it expires");
      mustEqual(await records.get(record, later), null, "an expired record");
      for (const by of [{ tenant: world.tenant }, { about: record.about }])
        mustEqual(await listed(world, { by, limit: 9, now: later }), [], "the list without an expired record");
      await mustBe(() => records.replace({ ...record, version: 1 }, later), "changed");
      await mustBe(() => records.add({ ...record, body: "again", expiresAtSec: null }, later), "added");
      mustEqual((await records.get(record, later))?.body, "again", "the record that took its place");
    },
  },
  {
    name: "lists the records of a tenant and of a subject, newest first, in pages",
    run: async (world) => {
      const { records, tenant } = world;
      const ids = times(7, (index) => `id ${index}`);
      for (const [index, id] of ids.entries()) {
        // Times that repeat: the ID decides between equal ones.
        const about = index % 2 === 0 ? `even of ${tenant}` : `odd of ${tenant}`;
        await mustBe(() => records.add(recordOf(world, { id, about, at: NOW + Math.floor(index / 3) }), NOW), "added");
      }
      const other = { tenant: `${tenant}x`, about: `other of ${tenant}` };
      await mustBe(() => records.add(recordOf(world, other), NOW), "added");
      await mustBe(() => records.add(recordOf(world, { kind: "token", about: `even of ${tenant}` }), NOW), "added");
      for (const limit of [1, 3, 7, 50]) {
        const idsOf = async (by: Parameters<Records["list"]>[0]["by"]) =>
          (await listed(world, { by, limit })).map(({ id }) => id);
        mustEqual(await idsOf({ tenant }), ids.toReversed(), "the records of the tenant");
        mustEqual(await idsOf({ about: `even of ${tenant}` }), ["id 6", "id 4", "id 2", "id 0"], "those of a subject");
      }
    },
  },
  {
    name: "lists name damaged records and contain all other records",
    run: async (world) => {
      const { records, tenant } = world;
      const [one, two, three, four, five] = times(5, (index) => `id ${index}`) as [
        ...[string, string, string, string, string],
      ];
      const { about } = recordOf(world);
      for (const [index, id] of [one, two, three, four, five].entries())
        await mustBe(() => records.add(recordOf(world, { id, at: NOW + index }), NOW), "added");
      for (const id of [two, four, five]) await world.damage({ kind: "audit", about, id });
      for (const limit of [1, 2, 3, 50]) {
        for (const by of [{ tenant }, { about }]) {
          const found = await allOf(world, { by, limit });
          mustEqual(
            found.records.map(({ id }) => id),
            [three, one],
            `the intact records in pages of ${limit}`,
          );
          const keys = [five, four, two].map((id) => ({ kind: "audit", about, id }));
          mustEqual(found.damaged, keys, `the damaged records in pages of ${limit}`);
        }
      }
    },
  },
  {
    name: "rejects with RecordDamaged to get a damaged record or to add over it, and leaves it as it is",
    run: async (world) => {
      const { records } = world;
      const record = recordOf(world);
      await mustBe(() => records.add(record, NOW), "added");
      await world.damage(record);
      for (const act of [() => records.get(record, NOW), () => records.add(record, NOW)])
        mustEqual(await codeOf(act), "RecordDamaged", "what it rejects with");
      mustEqual((await allOf(world, { by: { about: record.about }, limit: 9 })).damaged.length, 1, "the damaged ones");
    },
  },
  {
    name: "overwrites a damaged record once, and no other one",
    run: async (world) => {
      const { records } = world;
      const record = recordOf(world);
      const fresh = { ...record, body: "fresh", expiresAtSec: inSeconds(5_000) };
      await mustBe(() => records.overwriteDamaged(fresh, NOW), "changed");
      await mustBe(() => records.add(record, NOW), "added");
      await mustBe(() => records.overwriteDamaged(fresh, NOW), "changed");
      mustEqual((await records.get(record, NOW))?.body, record.body, "a record that is not damaged");
      await world.damage(record);
      const overwritten = await Promise.all(
        times(5, (writer) => insist(() => records.overwriteDamaged({ ...fresh, body: writer }, NOW))),
      );
      mustEqual(
        overwritten.filter(({ kind }) => kind === "replaced").length,
        1,
        "the number of writers that overwrote it",
      );
      mustEqual((await records.get(record, NOW))?.version, 1, "the version after that");
      await world.damage(record);
      await mustBe(() => records.overwriteDamaged(fresh, NOW + 5_000), "changed");
      mustEqual(await records.get(record, NOW + 5_000), null, "a damaged record that has expired");
    },
  },
  {
    name: "keeps hostile names apart, and gives an empty page for a cursor that is none",
    run: async (world) => {
      const { records, tenant } = world;
      for (const name of HOSTILE.filter((each) => each !== "")) {
        const record = recordOf(world, { about: `${tenant} ${name}`, id: `x${name}`, body: name });
        await mustBe(() => records.add(record, NOW), "added");
        mustEqual((await records.get(record, NOW))?.body, name, "the body under a hostile name");
        const by = { about: record.about };
        const page = await records.list({ kind: "audit", by, after: name, limit: 5, now: NOW });
        must(page.records.length <= 1 && page.next === null, "a page behind an unknown cursor is not longer");
      }
    },
  },
];

/** The code of the error with which `act` rejects; null if it does not. */
async function codeOf(act: () => Promise<unknown>): Promise<unknown> {
  const refusal: unknown = await act().then(
    () => null,
    (error: unknown) => error,
  );
  return refusal instanceof Error && "code" in refusal ? refusal.code : null;
}
