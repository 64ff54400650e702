/** The one reader of history: what it reads on each way, and that damage is a piece like any other. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type HistoryPiece, type Reading, commitsOf, inOrder, readHistory } from "../../src/history/reader.ts";
import { BEATS, DamagedCopy, type StoredRun, createLongRun } from "../support/runs/damaged-copies.ts";
import { recordObjectCalls } from "../support/runs/long-runs.ts";
import { filesBelow } from "../support/rules/source.ts";

const ROOT = join(import.meta.dirname, "../..");

let storedRun: StoredRun;

beforeAll(async () => {
  storedRun = await createLongRun();
});

const copy = (): DamagedCopy => new DamagedCopy(storedRun);

async function piecesOf(of: DamagedCopy, reading: Reading): Promise<readonly HistoryPiece[]> {
  const pieces: HistoryPiece[] = [];
  for await (const piece of readHistory({ objects: of.world.objects, row: of.row }, reading)) pieces.push(piece);
  return pieces;
}

const count = (pieces: readonly HistoryPiece[], kind: HistoryPiece["kind"]): number =>
  pieces.filter((piece) => piece.kind === kind).length;

const committed = (pieces: readonly HistoryPiece[], among: readonly HistoryPiece["kind"][]): readonly number[] =>
  inOrder(
    pieces.map((piece) =>
      piece.kind === "damaged" || !among.includes(piece.kind) ? [] : commitsOf(piece).map(({ version }) => version),
    ),
  );

describe("a history", () => {
  test("has the same commits on each path, and the shortest path reads no snapshot that sealed events cover", async () => {
    const whole = copy();
    const states = await piecesOf(whole, { through: "states" });
    expect(count(states, "snapshot")).toBe(BEATS + 1);
    expect(count(states, "sealed")).toBe(0);
    const all = committed(states, ["journal", "snapshot"]);
    expect(all.length).toBeGreaterThan(BEATS);

    const commits = await piecesOf(whole, { through: "commits", after: 0 });
    expect(committed(commits, ["journal", "snapshot", "sealed"])).toEqual(all);
    expect(count(commits, "sealed")).toBe(1);
    expect(count(commits, "snapshot")).toBe(BEATS - 64);

    const everything = await piecesOf(whole, { through: "everything" });
    expect(count(everything, "snapshot")).toBe(BEATS + 1);
    expect(count(everything, "sealed")).toBe(1);
  });

  test("is read one object at a time, and only as far as its caller asks", async () => {
    const whole = copy();
    const { world, gets } = recordObjectCalls(whole.world);
    const history = readHistory({ objects: world.objects, row: whole.row }, { through: "states" });
    for (const [reads, kind] of ["journal", "snapshot", "snapshot"].entries()) {
      expect((await history.next()).value).toMatchObject({ kind });
      expect(gets).toHaveLength(reads);
    }
    await history.return(undefined);
    expect(gets).toHaveLength(2);
  });

  test("reports after each snapshot how many versions are left", async () => {
    const steps: (readonly [number, number])[] = [];
    await piecesOf(copy(), { through: "states", onStep: (...step) => void steps.push(step) });
    expect(steps).toHaveLength(BEATS + 1);
    expect(steps[0]).toEqual([copy().newest.version, copy().row.version]);
    expect(steps.at(-1)).toEqual([0, copy().row.version]);
  });
});

describe("damage", () => {
  test("of the journal or a snapshot is a piece, and the readable history follows it", async () => {
    const damaged = copy();
    const key = damaged.keys("snapshots")[30] as string;
    const version = Number(/snapshots\/(\d+)/.exec(key)?.[1]);
    damaged.delete(key);
    damaged.change({ journal: new Uint8Array([9, 9]) });
    const pieces = await piecesOf(damaged, { through: "everything" });
    expect(pieces[0]).toMatchObject({ kind: "damaged", part: "journal", where: "the journal", hidesOlder: false });
    const at = pieces.findIndex((piece) => piece.kind === "damaged" && piece.part === "snapshot");
    expect(pieces[at]).toMatchObject({ where: `snapshot ${version}`, version, hidesOlder: true });
    expect(pieces.slice(at + 1).map(({ kind }) => kind)).toEqual(["sealed"]);
  });

  test("of sealed events hides nothing when nothing was committed before them", async () => {
    const damaged = copy();
    damaged.delete(damaged.keys("events")[0]);
    const pieces = await piecesOf(damaged, { through: "commits", after: 0 });
    expect(pieces.at(-1)).toMatchObject({ kind: "damaged", part: "sealed", hidesOlder: false });
  });

  test("of the row's format is the only piece", async () => {
    const strange = copy();
    strange.change({ format: 0 } as never);
    expect(await piecesOf(strange, { through: "everything" })).toMatchObject([{ kind: "damaged", part: "row" }]);
  });
});

/** `load` defines the reads, `seal` reads what its cache lacks, `vouch` compares the seals of the newest two snapshots. */
test("no other file reads snapshots or sealed objects in a loop", () => {
  const reads = filesBelow(ROOT)
    .filter((path) => /^src\/.*\.ts$/.test(path))
    .filter((path) => /\bread(Snapshot|Sealed)\(/.test(readFileSync(join(ROOT, path), "utf8")));
  const names = ["event-parts", "load", "reader", "seal", "vouch"].map((name) => `src/history/${name}.ts`);
  expect(reads.toSorted()).toEqual(names);
});
