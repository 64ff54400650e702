/** The contract of the port `Records`: one atomic write at a time, expiry, and lists in pages. */
import type { NewRecord, Records, StoredRecord } from "../../ports/records.ts";
import { type Case, insist, must, mustBe, mustEqual } from "./case.ts";
import { HOSTILE } from "./commits.ts";
import { times } from "./run.ts";

/** A store of records, and a tenant that no other case uses. */
export interface RecordsWorld {
  readonly records: Records;
  readonly tenant: string;
}

const NOW = 1_700_000_000_000;

const recordOf = ({ tenant }: RecordsWorld, change: Partial<NewRecord> = {}): NewRecord => ({
  ...{ kind: "audit", about: `subject of ${tenant}`, id: "first", tenant, at: NOW },
  ...{ body: { said: "hello" }, expiresAtSec: null },
  ...change,
});

const inSeconds = (ms: number): number => Math.floor((NOW + ms) / 1_000);

/** Every record of the list, read in pages of that size. */
async function listed(
  { records }: RecordsWorld,
  of: Omit<Parameters<Records["list"]>[0], "after" | "now" | "kind"> & { readonly now?: number },
): Promise<readonly StoredRecord[]> {
  const found: StoredRecord[] = [];
  let after: string | null = null;
  do {
    const page = await records.list({ kind: "audit", after, now: NOW, ...of });
    must(page.records.length <= of.limit, `a page has at most ${of.limit} records, not ${page.records.length}`);
    found.push(...page.records);
    after = page.next;
  } while (after !== null);
  return found;
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
