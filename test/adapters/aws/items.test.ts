/**
 * Rows as DynamoDB items, and their sort keys: a row reads back unchanged, and a malformed item is never guessed at.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ATTRIBUTES } from "../../../src/adapters/aws/table/attributes.ts";
import { updateInput } from "../../../src/adapters/aws/table/expression.ts";
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { rowInItem } from "../../../src/adapters/aws/table/item-reader.ts";
import { swapWrite } from "../../../src/adapters/aws/table/row-writes.ts";
import * as keys from "../../../src/adapters/aws/table/keys.ts";
import { removedIncarnation } from "../../../src/adapters/aws/table/schema.ts";
import { Unreadable } from "../../../src/codec/canonical.ts";
import { RowDamaged } from "../../../src/codec/row.ts";
import { decodeJournal } from "../../../src/codec/journal.ts";
import { FORMAT, type Row, newRow } from "../../../src/protocol/row.ts";
import { decideRedrive } from "../../../src/protocol/row-redrive.ts";
import { sealedKey, segmentKey, snapshotKey } from "../../../src/history/object-keys.ts";
import { executionName } from "../../../src/protocol/ids.ts";

const RUN = `acme-${"a".repeat(26)}`;
const OF = { run: RUN, born: "aaaaaaaaaa" };

const rowWith = (change: Partial<Parameters<typeof newRow>[0]> = {}): Row =>
  newRow({
    ...{ ...OF, now: 1_700_000_000_000, deadline: 1_700_000_000_001, parent: null, tenant: "acme", agent: "travel" },
    ...{ agentVersion: "1", inputDigest: "digest", snapshot: { version: 0, key: "snapshots/0", digest: "digest" } },
    ...change,
  });

describe("a row as an item", () => {
  test("reads back unchanged", () => {
    const texts = fc.string({ unit: "grapheme" });
    const incarnation = fc.record({ run: fc.constant(`acme-${"b".repeat(26)}`), born: texts });
    const snapshot = fc.record({ version: fc.nat(), key: texts, digest: texts });
    const change = fc.record({ agent: texts, agentVersion: texts, inputDigest: texts, snapshot });
    fc.assert(
      fc.property(change, fc.option(incarnation), (changed, parent) => {
        const row = rowWith({ ...changed, parent });
        expect(rowInItem(rowItem(row))).toEqual(row);
        const limited = { ...row, spent: { ...row.spent, wallMs: changed.snapshot.version } };
        expect(rowInItem(rowItem(limited))).toEqual(limited);
      }),
    );
  });

  test("keeps what lists tell of the run, and is damaged with another shape of it", () => {
    const brief = { limits: { beats: 20, microUsd: 0 }, cracks: ["runaway", "of a later version"], isScheduled: true };
    const named = { ...brief, cracks: ["runaway", "later"] };
    const titled = { ...named, title: "refund 17" };
    const traced = { ...named, trace: "link 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 vendor=1" };
    for (const each of [
      named,
      titled,
      traced,
      { ...titled, startKey: "o", asks: true as const },
      { ...named, startKey: "o" },
      { ...named, labels: { team: "ops", env: "prod west" } },
      { limits: {}, cracks: [], isScheduled: false },
    ]) {
      expect(rowInItem(rowItem({ ...rowWith(), brief: each }))).toEqual({ ...rowWith(), brief: each });
    }
    const { [ATTRIBUTES.brief]: stored } = rowItem({ ...rowWith(), brief });
    for (const list of [[], stored?.L?.slice(0, 6) ?? [], [{ S: "x" }, ...(stored?.L?.slice(1) ?? [])]]) {
      expect(rowInItem({ ...rowItem(rowWith()), [ATTRIBUTES.brief]: { L: [...list] } })).toMatchObject({
        code: "RowDamaged",
      });
    }
  });

  test("keeps who redrove the run until a commit records it", () => {
    const note = { id: "r1", by: "ada", why: "the provider is back" };
    const item = rowItem({ ...rowWith(), redrive: note });
    expect(rowInItem(item)).toEqual({ ...rowWith(), redrive: note });
    expect(rowInItem({ ...item, [ATTRIBUTES.redrive]: { L: [{ S: "r1" }] } })).toMatchObject({ code: "RowDamaged" });
  });

  test("of a failed run becomes a live row only if it is still the row that was judged", () => {
    const before: Row = {
      ...{
        ...rowWith(),
        epoch: 4,
        version: 7,
        status: "failed",
        phase: "Failed",
        endNotified: true,
        expiresAtSec: 1_800_000_000,
      },
      ...{ deaths: 2, storeOutage: { store: "the bucket b", since: 7 }, wakeAt: 8, checksum: "sum" },
    };
    const note = { id: "r1", by: "ada", why: "" };
    const redrive = { ...OF, epoch: 4, version: 7, note, now: 1_700_000_000_005, deadline: 1_700_000_000_001 };
    const { row: after } = decideRedrive(before, redrive);
    const { condition, changes } = swapWrite(before, after, { replaces: ["deadline"] });
    const { ConditionExpression, UpdateExpression, ExpressionAttributeValues } = updateInput(condition, changes);
    for (const compared of ["#epoch = :seen_epoch", "#version = :seen_version", "#endNotified = :seen_endNotified"]) {
      expect(ConditionExpression).toContain(compared);
    }
    expect(ExpressionAttributeValues).toMatchObject({ ":seen_epoch": { N: "4" }, ":seen_version": { N: "7" } });
    const [, set = "", removed = ""] = /^SET (.*) REMOVE (.*)$/.exec(UpdateExpression) ?? [];
    const names = (list: string) =>
      list
        .split(", ")
        .map((each) => each.replace(/^#(\w+).*$/, "$1"))
        .toSorted();
    const written = ["alive", "chain", "claimedAt", "deadline", "due", "epoch", "redrive", "since", "tenantStatus"];
    expect(names(set)).toEqual(written);
    expect(names(removed)).toEqual([
      "checksum",
      "deaths",
      "endNotified",
      "expiresAtSec",
      "outageSince",
      "outageStore",
      "wakeAt",
    ]);
  });

  const LATER = new Set<string>([
    ATTRIBUTES.alive,
    ATTRIBUTES.due,
    ATTRIBUTES.unaccountedModelCalls,
    ATTRIBUTES.marksAtClaim,
  ]);
  const needed = Object.keys(rowItem(rowWith())).filter((name) => name !== "run" && !LATER.has(name));
  test.each(needed.filter((name) => name !== "item"))("is damaged without %s", (name) => {
    const { [name]: _, ...rest } = rowItem(rowWith());
    for (const item of [rest, { ...rest, [name]: { NULL: true } }])
      expect(rowInItem(item)).toMatchObject({
        code: "RowDamaged",
        why: expect.stringContaining(`attribute ${name} (`),
      });
  });

  test("is damaged with an invalid status, phase or number", () => {
    const item = rowItem(rowWith());
    for (const change of [
      { [ATTRIBUTES.tenantStatus]: { S: "acme#constructor" } },
      { [ATTRIBUTES.phase]: { S: "toString" } },
      { [ATTRIBUTES.epoch]: { N: "many" } },
      { [ATTRIBUTES.spent]: { L: [{ N: "1" }] } },
      { [ATTRIBUTES.parkExecution]: { S: "-1" } },
      { [ATTRIBUTES.since]: { S: "lately" } },
      { [ATTRIBUTES.expiresAtSec]: { S: "1" } },
    ]) {
      expect(rowInItem({ ...item, ...change })).toBeInstanceOf(RowDamaged);
    }
  });

  test("of a newer version is reported as newer, not as damaged, whatever else it contains", () => {
    const { [ATTRIBUTES.agent]: _, ...rest } = rowItem(rowWith());
    const later = { ...rest, [ATTRIBUTES.format]: { N: String(FORMAT + 1) } };
    const why = `it has format ${FORMAT + 1}, and this version of cairn knows format ${FORMAT}`;
    expect(rowInItem(later)).toMatchObject({ code: "RowNewer", why });
    expect(rowInItem({ ...rowItem(rowWith()), [ATTRIBUTES.format]: { N: "7" } })).toMatchObject({ format: 7 });
  });

  test("cannot be loaded when it was read without its journal", () => {
    expect(() => decodeJournal(new Uint8Array())).toThrow(Unreadable);
  });
});

describe("the names of an incarnation's items", () => {
  test("of a snapshot are its three numbers, and what only looks like one is kept", () => {
    const first = snapshotKey(OF, { version: 7, epoch: 3, put: 1 });
    expect(keys.shortKey(OF, first)).toBe("7-3-1");
    const later = snapshotKey(OF, { version: 12_345_678, epoch: 1_234_567, put: 12 });
    const other = snapshotKey({ ...OF, born: "bbbbbbbbbb" }, { version: 7, epoch: 3, put: 1 });
    for (const key of [first, later, other, first.replace("-1.json", "-01.json"), "7-3-1", `${first}x`])
      expect(keys.longKey(OF, keys.shortKey(OF, key))).toBe(key);
  });

  test("are shortened, and other names are kept unchanged", () => {
    const objects = [segmentKey(OF, "f".repeat(64)), sealedKey(OF, { from: 1, to: 2, digest: "e" })];
    for (const key of objects) {
      expect(keys.shortKey(OF, key).length).toBe(key.length - `runs/acme/${RUN}/aaaaaaaaaa`.length);
      expect(keys.longKey(OF, keys.shortKey(OF, key))).toBe(key);
    }
    const name = executionName(OF.run, OF.born, 12);
    expect(keys.shortExecution(OF, name)).toBe("-12");
    expect(keys.longExecution(OF, "-12")).toBe(name);
    const hostile = fc.oneof(fc.string(), fc.constantFrom("=", "-1", "/x", `${RUN}-aaaaaaaaaa`, `${name}=`));
    fc.assert(
      fc.property(hostile, (any) => {
        expect(keys.longKey(OF, keys.shortKey(OF, any))).toBe(any);
        expect(keys.longExecution(OF, keys.shortExecution(OF, any))).toBe(any);
      }),
    );
  });
});

describe("keys of messages", () => {
  const bytes = (text: string): Buffer => Buffer.from(text);
  const ids = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 });
  const moments = fc.nat({ max: 2_000_000_000_000 });

  test("sort by time, then by ID", () => {
    fc.assert(
      fc.property(moments, moments, ids, ids, (one, other, id, otherId) => {
        const [first, second] = [
          keys.inboxItem(OF, { sentAt: one, id }),
          keys.inboxItem(OF, { sentAt: other, id: otherId }),
        ];
        const expected = one - other || Buffer.compare(bytes(id), bytes(otherId));
        expect(Math.sign(Buffer.compare(bytes(first), bytes(second)))).toBe(Math.sign(expected));
      }),
    );
  });

  test("fit into a sort key and stay distinct, however long the ID", () => {
    const long = ["x".repeat(5_000), `${"x".repeat(4_999)}y`, "é".repeat(480), "é".repeat(481)];
    const items = long.flatMap((id) => [keys.inboxItem(OF, { sentAt: 1, id }), keys.seenItem(OF, id)]);
    expect(new Set(items).size).toBe(items.length);
    for (const item of items) expect(bytes(item).length).toBeLessThanOrEqual(1_024);
  });

  test("share a prefix within an incarnation that no other incarnation has", () => {
    expect(keys.inboxItem(OF, { sentAt: 1, id: "m" }).startsWith(keys.itemsOf("inbox", OF))).toBe(true);
    expect(keys.seenItem({ born: "bbbbbbbbbb" }, "m").startsWith(keys.itemsOf("seen", OF))).toBe(false);
  });
});

test("live runs spread over the shards", () => {
  const shards = Array.from({ length: 400 }, (_, index) => keys.aliveShard(`acme-${index}`));
  expect(new Set(shards).size).toBe(keys.ALIVE_SHARDS);
});

test("the stream filter passes rows and nothing else", () => {
  const image = rowItem(rowWith()) as Record<string, { readonly S?: string }>;
  expect(removedIncarnation(image)).toEqual(OF);
  expect(removedIncarnation({ ...image, item: { S: "seen#aaaaaaaaaa#m" } })).toBeNull();
  expect(removedIncarnation({ item: { S: "row" }, run: { S: RUN } })).toBeNull();
});
