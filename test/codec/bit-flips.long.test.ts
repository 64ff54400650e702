/**
 * Flips every bit of stored rows and journals, one at a time. Each flip is reported as damage of that row, or leaves
 * its meaning unchanged. No flip causes an unnamed error, and none changes committed data unnoticed.
 */
import { describe, expect, test } from "vitest";
import { ATTRIBUTES, type Attribute } from "../../src/adapters/aws/table/attributes.ts";
import { type TableItem, rowItem } from "../../src/adapters/aws/table/item.ts";
import { rowInItem } from "../../src/adapters/aws/table/item-reader.ts";
import { type Stored, rowInText, storedRow, withoutParts } from "../../src/adapters/local/store/row-text.ts";
import { canonical } from "../../src/codec/canonical.ts";
import { checksumOf } from "../../src/codec/checksum.ts";
import { impossibleIn } from "../../src/codec/row-range.ts";
import { type Found, RowUnreadable } from "../../src/codec/row.ts";
import { decodeJournal, encodeJournal } from "../../src/codec/journal.ts";
import { type Row } from "../../src/protocol/row.ts";
import { AT, row, callPart, EVENT } from "../support/states/states-and-events.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import { playScene } from "../slow/crash/play.ts";
import { attemptBeat, beginRun, runnerOf } from "../support/harness/drive.ts";
import { FEW_REQUESTS } from "../../src/ports/stored-sizes.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";
import { scriptedAgent, beatReply, createHarness } from "../support/harness/harness.ts";

type AttributeValue = TableItem[string];

const entry = { execution: `${row().run}-${row().born}-1`, epoch: 4, retry: 1_000 };
const journal = encodeJournal(
  [
    {
      version: 7,
      epoch: 5,
      events: [
        EVENT.started,
        EVENT.replied([callPart("pay", { euros: 12 })]),
        EVENT.intended("c1"),
        EVENT.invoked("c1", 5),
      ],
    },
  ],
  { quality: FEW_REQUESTS.journalQuality },
);
const claimed = {
  epoch: 5,
  entry,
  version: 7,
  chainClaims: 5,
  commitId: "0123456789abcdef",
  inputDigest: "7".repeat(64),
};
const snapshot = { version: 6, key: `runs/local/${row().run}/${row().born}/snapshots/6-5-1`, digest: "a".repeat(64) };

const ROWS: Readonly<Record<string, Row>> = {
  "that was just made": rewriteRow(row(), { unaccountedModelCalls: 0, marksAtClaim: 1 }),
  "with a call under way": rewriteRow(row(), {
    ...{ ...claimed, snapshot, journal, status: "running", phase: "ExecutingTools" },
    ...{
      owner: "0011223344556677",
      leaseUntil: AT + 60_000,
      claims: 1,
      unaccountedModelCalls: 1,
      claimedAt: AT - 60_000,
      effectsSettleAt: AT - 9_000,
    },
    ...{ wakeCount: 3, wakeCountSeen: 2, pause: true, takeovers: 1, deaths: 1 },
  }),
  "that is parked": rewriteRow(row(), {
    ...{ ...claimed, snapshot, status: "waiting", phase: "AwaitingApproval", wakeAt: AT + 86_400_000 },
    park: { token: "a token of the service", entry: { ...entry, epoch: 5 } },
    storeOutage: { store: "the objects", since: AT - 5_000 },
    brief: { limits: { beats: 20, microUsd: 500_000 }, cracks: ["runaway"], isScheduled: true },
  }),
  "of a child that ended and was redriven": rewriteRow(row(), {
    ...{ ...claimed, snapshot, status: "running", phase: "Failed", level: 2, cancel: true },
    ...{ parent: { run: row().run, born: "zzzzzzzzzz" }, redrive: { id: "wish", by: "ada", why: "it is back" } },
  }),
  "whose end was told": rewriteRow(row(), {
    ...{
      ...claimed,
      snapshot,
      status: "completed",
      phase: "Completed",
      endNotified: true,
      expiresAtSec: AT / 1_000 + 86_400,
    },
  }),
};

const bits = (bytes: Uint8Array): readonly number[] => Array.from({ length: bytes.length * 8 }, (_, bit) => bit);

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

const flippedText = (given: string, bit: number): string => Buffer.from(flipped(Buffer.from(given), bit)).toString();

/** The damage or the meaning of the row; a thrown error is neither and fails the test. */
const meaning = (found: Found): string => (found instanceof RowUnreadable ? `named ${found.code}` : meaningOf(found));

/** The row without its checksum, which no reader uses: a row without one is accepted. */
function meaningOf({ checksum: _, journal: events, ...known }: Row): string {
  const fields = Object.entries(known).filter(([name]) => name in row() || name in OPTIONAL);
  return canonical({ ...Object.fromEntries(fields), journal: Buffer.from(events ?? []).toString("hex") });
}

const OPTIONAL = { level: 1, redrive: 1, brief: 1 };

const rowOfText = (stored: Stored, run: string): Found => rowInText(stored, run, withoutParts);

const tried = { text: 0, item: 0, possible: 0 };

describe.each(Object.entries(ROWS))("a row %s", (_, whole) => {
  const stored = storedRow(whole);
  const intact = meaning(rowOfText(stored, whole.run));

  test("of the embedded store: each flip of its text and journal is reported or changes nothing", () => {
    expect(intact).toBe(meaningOf(whole));
    let [named, harmless] = [0, 0];
    const judge = (found: Found): void => {
      const meant = meaning(found);
      if (meant.startsWith("named ")) named += 1;
      else harmless += 1;
      expect(["named RowDamaged", intact]).toContain(meant);
    };
    const textBits = bits(Buffer.from(stored.row));
    for (const bit of textBits) judge(rowOfText({ ...stored, row: flippedText(stored.row, bit) }, whole.run));
    const journalBits = stored.journal === null ? [] : bits(stored.journal);
    for (const bit of journalBits)
      judge(rowOfText({ ...stored, journal: flipped(stored.journal as Uint8Array, bit) }, whole.run));
    tried.text += named + harmless;
    expect(named + harmless).toBe(textBits.length + journalBits.length);
    // Harmless flips lie in the name of the checksum field, and in text with the same meaning.
    expect(harmless).toBeLessThan(40);
  });

  test("as an item: each flip of a committed field is reported; one of another field is reported or a possible value", () => {
    const item = rowItem(whole);
    const sound = rowInItem(item);
    expect(meaning(sound)).toBe(intact);
    const count = { flips: 0, named: 0, harmless: 0, possible: 0 };
    for (const [name, value] of Object.entries(item)) {
      for (const changed of flipsOf(value)) {
        count.flips += 1;
        const meant = meaning(rowInItem({ ...item, [name]: changed }));
        if (meant.startsWith("named ")) count.named += 1;
        else if (meant === intact) count.harmless += 1;
        else {
          count.possible += 1;
          expect({ name, isUncovered: UNCOVERED.has(name) }).toEqual({ name, isUncovered: true });
        }
      }
    }
    tried.item += count.flips;
    tried.possible += count.possible;
    expect(count.flips).toBe(count.named + count.harmless + count.possible);
    expect(count.named).toBeGreaterThan(count.flips / 2);
  });
});

/**
 * Attributes that claims, deliveries, hand-overs, parks and requests change, and what only lists read. No checksum covers
 * them on DynamoDB.
 */
const UNCOVERED: ReadonlySet<string> = new Set(
  (
    [
      ...[
        "epoch",
        "owner",
        "leaseUntil",
        "effectsSettleAt",
        "chain",
        "chainClaims",
        "claimedAt",
        "claims",
        "takeovers",
        "deaths",
        "unaccountedModelCalls",
      ],
      ...["entryExecution", "entryEpoch", "entryRetry", "parkToken", "parkExecution", "parkEpoch", "parkRetry"],
      ...["wakeCount", "deadline", "since", "expiresAtSec", "redrive", "brief"],
    ] as const satisfies readonly Attribute[]
  ).map((attribute) => ATTRIBUTES[attribute]),
);

/** The value with each of its bits flipped once, of the same type, as a client would decode it. */
function flipsOf(value: AttributeValue): readonly AttributeValue[] {
  if (value.S !== undefined) return bits(Buffer.from(value.S)).map((bit) => ({ S: flippedText(value.S ?? "", bit) }));
  if (value.N !== undefined) return bits(Buffer.from(value.N)).map((bit) => ({ N: flippedText(value.N ?? "", bit) }));
  if (value.B !== undefined) return bits(value.B).map((bit) => ({ B: flipped(value.B as Uint8Array, bit) }));
  if (value.L === undefined) return [];
  return value.L.flatMap((each, at) => flipsOf(each).map((changed) => ({ L: (value.L ?? []).with(at, changed) })));
}

test("flips each bit of texts, journals and items, and counts the flips to possible values", () => {
  expect(tried).toEqual({ text: 61_432, item: 16_632, possible: 1_399 });
});

describe("a journal", () => {
  test("has flips that decode to other events, which only the checksum of its row detects", () => {
    const before = canonical(decodeJournal(journal));
    let changed = 0;
    for (const bit of bits(journal)) {
      try {
        if (canonical(decodeJournal(flipped(journal, bit))) !== before) changed += 1;
      } catch (error) {
        expect(error).toMatchObject({ name: "Unreadable" });
      }
    }
    expect(changed).toBeGreaterThan(0);
    expect(bits(journal).length).toBeGreaterThan(1_000);
  });
});

test("every row of a whole run has a matching checksum, also one that was released in an outage", async () => {
  const { rows } = await playScene();
  expect(rows.length).toBeGreaterThan(20);
  for (const each of rows) {
    const { version, checksum } = each;
    expect({ version, checksum, impossible: impossibleIn(each) }).toEqual({
      version,
      checksum: checksumOf(each),
      impossible: null,
    });
  }
  const harness = createHarness();
  const payload = await beginRun(harness.world, scriptedAgent({}), {});
  const get = () => Promise.reject(new StoreUnreachable("the objects are away"));
  const away = { ...harness.world, objects: { ...harness.world.objects, get } };
  expect(await beatReply(attemptBeat(runnerOf(away, scriptedAgent({})), payload))).toMatchObject({ route: "wait" });
  const released = harness.row(payload.run);
  expect({ version: released.version, owner: released.owner, checksum: released.checksum }).toEqual({
    version: 1,
    owner: null,
    checksum: checksumOf(released),
  });
});
